package amp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
)

func TestNewMsgID_raisesUntilFree(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1740576727001)
	have := map[string]bool{
		"task_result-T-2026-044-1740576727001": true,
		"task_result-T-2026-044-1740576727002": true,
	}
	got := amp.NewMsgID(amp.TaskResult, "T-2026-044", now, func(id string) bool { return have[id] })
	if want := "task_result-T-2026-044-1740576727003"; got != want {
		t.Errorf("A05: NewMsgID = %s, want %s", got, want)
	}
	if got, want := amp.NewMsgID(amp.TaskResult, "T-2026-044", now, nil), "task_result-T-2026-044-1740576727001"; got != want {
		t.Errorf("NewMsgID without taken = %s, want %s", got, want)
	}
}

// TestNewMsgID_unique: many messages of the same millisecond have different ids, and each is a valid one (AMP-011, AMP-013, A05).
func TestNewMsgID_unique(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		now := time.UnixMilli(rapid.Int64Range(0, 9_999_999_990_000).Draw(rt, "ms"))
		seen := map[string]bool{}
		for range rapid.IntRange(1, 50).Draw(rt, "messages") {
			typ := rapid.SampledFrom(types).Draw(rt, "type")
			task := amp.TaskID(fmt.Sprintf("T-%04d-%03d", rapid.IntRange(0, 9999).Draw(rt, "year"), rapid.IntRange(1, 20000).Draw(rt, "n")))
			id := amp.NewMsgID(typ, task, now, func(id string) bool { return seen[id] })
			if seen[id] {
				rt.Fatalf("%s was given twice", id)
			}
			seen[id] = true
			gotType, gotTask, at, err := amp.ParseMsgID(id)
			if err != nil || gotType != typ || gotTask != task || at.Before(now) {
				rt.Fatalf("ParseMsgID(%s) = %s, %s, %v, %v", id, gotType, gotTask, at, err)
			}
		}
	})
}

func TestParseMsgID(t *testing.T) {
	t.Parallel()
	typ, task, at, err := amp.ParseMsgID("task_dispatch-T-2026-044-1740576727001")
	if err != nil || typ != amp.TaskDispatch || task != "T-2026-044" || at.UnixMilli() != 1740576727001 || at.Location() != time.UTC {
		t.Errorf("AMP-011: ParseMsgID = %s, %s, %v, %v", typ, task, at, err)
	}
	for _, id := range []string{ // AMP-011, A04: strict
		"", "-", "task_dispatch", "task_dispatch-T-2026-044", "task_dispatch-T-2026-044-", "task_dispatch-T-2026-044-001",
		"task_dispatch-T-2026-044-...", "task_dispatch-T-2026-044-17405767270010", "task_dispatch-T-2026-44-1740576727001",
		"task_dispatch-T-2026-044--740576727001", "task_dispatch-T-2026-044-+740576727001", "task-dispatch-T-2026-044-1740576727001",
		"TASK_DISPATCH-T-2026-044-1740576727001", " task_dispatch-T-2026-044-1740576727001", "task_dispatch-T-2026-044-1740576727001\n",
		"task_dispatch-T-2026-044-１740576727001", "ack-T-2026-044-1740576727001", strings.Repeat("x", 5000),
	} {
		if _, _, _, err := amp.ParseMsgID(id); err == nil || !strings.Contains(err.Error(), "13 digits") || len(err.Error()) > 400 {
			t.Errorf("ParseMsgID(%.60q) = %v, want a short error that says how it must look", id, err)
		}
	}
}

func TestTaskID_Valid(t *testing.T) {
	t.Parallel()
	for id, want := range map[amp.TaskID]bool{ // AMP-020, A06
		"T-2026-001": true, "T-2026-999": true, "T-2026-1000": true, "T-0000-000": true, "T-2026-0000000000000000000001": true,
		"": false, "T-2026-1": false, "T-2026-01": false, "T-26-001": false, "t-2026-001": false, "T-2026-001-S1": false,
		"T-2026-00a": false, " T-2026-001": false, "T-2026-001\n": false, "T_2026_001": false, "T-2026-": false, "T-2026-٠٠١": false,
		"../T-2026-001": false, "T-2026-0/1": false,
	} {
		if got := id.Valid(); got != want {
			t.Errorf("TaskID(%q).Valid() = %t, want %t", id, got, want)
		}
	}
}

// TestNewTaskID: the next number of the year has at least three digits and is valid beyond 999 (A06).
func TestNewTaskID(t *testing.T) {
	t.Parallel()
	b := amp.NewBoard()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for n, want := range map[int]amp.TaskID{0: "T-2026-001", 998: "T-2026-999", 999: "T-2026-1000"} {
		b.Numbers[2026] = n
		if got := b.NewTaskID(now); got != want || !got.Valid() {
			t.Errorf("A06: NewTaskID after %d = %s, want %s", n, got, want)
		}
	}
}

package main

import (
	"errors"
	"testing"
	"time"

	"arbiter/amp"
)

// aBoard is a board of tasks with these ids.
func aBoard(ids ...amp.TaskID) *amp.Board {
	b := amp.NewBoard()
	for i, id := range ids {
		b.Tasks[id] = &amp.Task{ID: id, Status: amp.Executing, Escalations: []amp.EscalationState{{MsgID: "escalation-" + string(id) + "-1", Seq: uint64(10 + i)}}}
		b.Order = append(b.Order, id)
	}
	return b
}

func TestFindTask(t *testing.T) {
	t.Parallel()
	b := aBoard("T-2025-001", "T-2026-001", "T-2026-002", "T-2026-1000")
	for name, want := range map[string]amp.TaskID{
		"T-2026-001": "T-2026-001", "t-2026-002": "T-2026-002", "2": "T-2026-002", "002": "T-2026-002", "1000": "T-2026-1000",
		"1": "", "3": "", "0": "", "-1": "", "": "", "T-2026": "", "T-2026-0": "", "000": "",
	} {
		got, err := findTask(b, name)
		switch {
		case want == "" && err == nil:
			t.Errorf("findTask(%q) = %s, want an error", name, got.ID)
		case want != "" && (err != nil || got.ID != want):
			t.Errorf("findTask(%q) = %v, %v, want %s", name, got, err, want)
		}
	}
	_, err := findTask(b, "1")
	if _, ok := errors.AsType[*usageError](err); !ok {
		t.Errorf("findTask of a number of two years = %v, want a usage error", err)
	}
}

func TestFindEscalation(t *testing.T) {
	t.Parallel()
	b := aBoard("T-2026-001", "T-2026-002")
	for name, want := range map[string]amp.TaskID{
		"escalation-T-2026-001-1": "T-2026-001", "#11": "T-2026-002", "10": "T-2026-001", "escalation-T-2026-002": "T-2026-002",
		"escalation-T": "", "": "", "#99": "", "nothing": "",
	} {
		got, _, err := findEscalation(b, name)
		if want == "" && err == nil || want != "" && (err != nil || got.ID != want) {
			t.Errorf("findEscalation(%q) = %v, %v, want %q", name, got, err, want)
		}
	}
}

func TestStands(t *testing.T) {
	t.Parallel()
	waiting := []amp.Waiting{{}}
	for name, tc := range map[string]struct {
		task amp.Task
		stop bool
		want bool
	}{
		"at work":                    {amp.Task{Status: amp.Executing}, false, false},
		"waits for approval":         {amp.Task{Status: amp.AwaitingApproval}, false, true},
		"approval with undo time":    {amp.Task{Status: amp.AwaitingApproval, Waiting: waiting}, false, false},
		"approved":                   {amp.Task{Status: amp.StatusApproved}, false, true},
		"delivery under way":         {amp.Task{Status: amp.StatusApproved, Doing: &waiting[0]}, false, false},
		"held":                       {amp.Task{Status: amp.Held}, false, true},
		"suspended":                  {amp.Task{Status: amp.Suspended}, false, true},
		"question while at work":     {amp.Task{Status: amp.Executing, Questions: []amp.QuestionState{{}}}, false, true},
		"everything stopped":         {amp.Task{Status: amp.Executing}, true, true},
		"delivered":                  {amp.Task{Status: amp.Delivered}, false, true},
		"terminated while stopped":   {amp.Task{Status: amp.Terminated}, true, true},
		"open info escalation alone": {amp.Task{Status: amp.Reviewing, Escalations: []amp.EscalationState{{Severity: amp.Info}}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := amp.NewBoard()
			if tc.stop {
				b.Stopped = &amp.Stop{}
			}
			if got := stands(b, &tc.task); got != tc.want {
				t.Errorf("stands = %v, want %v", got, tc.want)
			}
		})
	}
}

// Whatever status a task is left in without an agent at work, something tells the person: silence never means yes.
func TestWaitsFor_everyStandingStatus(t *testing.T) {
	t.Parallel()
	for _, s := range amp.Statuses {
		task := &amp.Task{ID: "T-2026-001", Status: s, Plan: &amp.Plan{RiskLevel: amp.Low}, Since: time.Unix(1, 0)}
		waits := waitsFor(task)
		if want := !s.Working() && !s.Ended(); want != (len(waits) > 0) {
			t.Errorf("%s: waitsFor = %+v, want one: %v", s, waits, want)
		}
		for _, w := range waits {
			if w.For == "" || w.Next == "" {
				t.Errorf("%s: %+v does not say what for and what next", s, w)
			}
		}
	}
}

package amp

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const outsideSHA = "0123456789abcdef0123456789abcdef01234567"

// outsideBoard is a board with a task at a commit, and what folds a report about it.
func outsideBoard(t *testing.T) (*Task, func(Outside)) {
	t.Helper()
	b := NewBoard()
	task := &Task{ID: "T-2026-001", Plan: &Plan{Branch: "feature/x"}, Status: StatusApproved, Commit: outsideSHA}
	b.Tasks[task.ID], b.Order = task, []TaskID{task.ID}
	return task, func(o Outside) {
		o.TaskID = task.ID
		if err := b.Apply(b.Head.Chain(Record{Kind: KindOutside, TaskID: task.ID, Role: System, ID: fmt.Sprint(b.Head.Seq), Body: EncodeBody(o)})); err != nil {
			t.Fatal(err)
		}
	}
}

// The newest report of a check counts by the other system's clock, in whatever order they arrive; one without a time is the newest.
func TestFoldOutside_order(t *testing.T) {
	t.Parallel()
	task, fold := outsideBoard(t)
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	ci := func(s CIState, at time.Time) {
		fold(Outside{Event: OutsideCI, Commit: outsideSHA, At: at, CI: &CIReport{Name: "x", State: s}})
	}
	for _, x := range []struct {
		report CIState
		at     time.Time
		want   CIState
	}{
		{CheckFailed, at, CheckFailed},
		{CheckPending, at.Add(-time.Minute), CheckFailed},
		{CheckPassed, at.Add(time.Minute), CheckPassed},
		{CheckFailed, at, CheckPassed},
		{CheckCanceled, time.Time{}, CheckCanceled},
	} {
		if ci(x.report, x.at); task.ExternalState("x").State != x.want {
			t.Errorf("after %s at %s it is %s, want %s", x.report, x.at, task.ExternalState("x").State, x.want)
		}
	}
	if task.ExternalState("y") != nil {
		t.Error("a check that nobody reported has a state")
	}
	task.Commit = strings.Repeat("1", 40)
	if task.ExternalState("x") != nil {
		t.Error("a check counts for a commit that it did not see")
	}
}

// A task's state stays bounded, and the checks on the commit of now are the last to go.
func TestFoldOutside_bound(t *testing.T) {
	t.Parallel()
	task, fold := outsideBoard(t)
	fold(Outside{Event: OutsideCI, Commit: outsideSHA, CI: &CIReport{Name: "mine", State: CheckPassed}})
	for i := range 3 * maxExternal {
		fold(Outside{Event: OutsideCI, Commit: fmt.Sprintf("%040d", i), CI: &CIReport{Name: "other", State: CheckFailed}})
	}
	if n := len(task.Outside.CI); n != maxExternal || task.ExternalState("mine") == nil || task.Outside.Reports != 1+3*maxExternal {
		t.Errorf("%d checks of %d reports, mine is %v", n, task.Outside.Reports, task.ExternalState("mine"))
	}
}

// The first pull request of a task stays its own until it is closed, what is merged stays merged, and a remark tells nothing of its state.
func TestFoldOutside_pull(t *testing.T) {
	t.Parallel()
	task, fold := outsideBoard(t)
	at := time.Date(2026, 11, 22, 7, 0, 0, 0, time.UTC)
	pull := func(n int, s PullStatus, at time.Time) {
		fold(Outside{Event: OutsidePull, Pull: &PullState{Repo: "a/b", Number: n, State: s, At: at}})
	}
	for _, x := range []struct {
		number int
		state  PullStatus
		after  time.Duration
		want   string
	}{
		{1, PullOpen, 0, "a/b#1 open"},
		{2, PullOpen, 1, "a/b#1 open"},
		{1, "", 2, "a/b#1 open"},
		{1, PullClosed, 3, "a/b#1 closed"},
		{1, PullOpen, 1, "a/b#1 closed"},
		{2, PullOpen, 4, "a/b#2 open"},
		{2, PullMerged, 5, "a/b#2 merged"},
		{2, PullOpen, 6, "a/b#2 merged"},
		{3, PullOpen, 7, "a/b#2 merged"},
	} {
		if pull(x.number, x.state, at.Add(x.after)); task.Outside.Pull.Text() != x.want {
			t.Errorf("after #%d %s: %s, want %s", x.number, x.state, task.Outside.Pull.Text(), x.want)
		}
	}
}

func TestConcerns(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("2", 40)
	task := &Task{Plan: &Plan{Branch: "f"}, Commit: outsideSHA, DeliveredAs: strings.Repeat("3", 40), Outside: &OutsideState{Pull: &PullState{Repo: "A/b", Number: 7, Merge: strings.Repeat("4", 40)}}}
	for name, x := range map[string]struct {
		o    Outside
		want bool
	}{
		"commit":              {Outside{Commit: outsideSHA}, true},
		"delivered":           {Outside{Commit: task.DeliveredAs}, true},
		"merge":               {Outside{Commit: task.Outside.Pull.Merge}, true},
		"pull":                {Outside{Commit: other, Pull: &PullState{Repo: "a/B", Number: 7}}, true},
		"pull of another":     {Outside{Pull: &PullState{Repo: "a/c", Number: 7}}, false},
		"other commit":        {Outside{Commit: other, Branch: "f"}, false},
		"nothing":             {Outside{}, false},
		"beginning of commit": {Outside{Commit: outsideSHA[:12]}, false},
	} {
		if got := task.Concerns(&x.o); got != x.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if (&Task{}).Concerns(&Outside{}) {
		t.Error("a task without a plan is concerned")
	}
}

func TestOutside_clean(t *testing.T) {
	t.Parallel()
	o := Outside{Branch: "a\nb\x1b[2J", Remark: &Remark{Author: "x\u202ey", Text: "one\x1b[2J\ttwo\nthree\u200b" + strings.Repeat("é", MaxRemark)}}
	n := len(o.Remark.Text)
	o.Clean()
	if o.Branch != "a b[2J" || o.Remark.Author != "xy" || !strings.HasPrefix(o.Remark.Text, "one[2J\ttwo\nthreeé") {
		t.Errorf("%q %q %.40q", o.Branch, o.Remark.Author, o.Remark.Text)
	}
	if len(o.Remark.Text) > MaxRemark || o.Remark.Len != n {
		t.Errorf("%d bytes of %d, said %d", len(o.Remark.Text), n, o.Remark.Len)
	}
}

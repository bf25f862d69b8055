package tui

import (
	"testing"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// The row that is highlighted is the one that enter runs, also when what was typed is an id.
func TestPalette_highlighted(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	task := script.NewTask("Split the package").Propose()
	s := start(t, script, 100, 30)
	s.Press(":")
	s.Burst(string(task.ID)).Shows("plan r1 " + string(task.ID))
	s.Press("enter").WaitFor("Plans › " + string(task.ID))
	s.Press("esc", ":")
	s.Burst(string(task.ID))
	s.Press("down", "enter").WaitFor("Tasks › " + string(task.ID))
	s.Press(":")
	s.Burst("T-2026-099") // like no row: it is said that there is none
	s.Press("enter").Shows("there is no task T-2026-099")
}

// A task whose dispatch waits for a free agent says so: nobody has acknowledged anything yet.
func TestTasks_queued(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	script.NewTask("Split the package").Propose().Approve()
	s := start(t, script, 100, 30)
	s.Press("2").WaitFor("dispatched").Shows("queued").Hides("acked")
}

// What is off is named by what it does, not by its explanation.
func TestDeedName(t *testing.T) {
	t.Parallel()
	for title, want := range map[string]string{
		"mark for a batch, or take the mark away": "mark for a batch",
		"approve or accept: opens the decision…":  "approve or accept",
		"terminate the task…":                     "terminate the task…",
		"half a page down":                        "half a page down",
	} {
		if got := deedName(title); got != want {
			t.Errorf("%q is called %q, want %q", title, got, want)
		}
	}
}

// What the plan forbids is said once, also when it is forbidden anyway.
func TestEffects_wontTwice(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	task := script.NewTask("Split the package").Propose(func(p *amp.Plan) { p.ForbiddenActions = []string{"push", "change go.mod"} })
	p := proposal{Command: amp.Approve, TaskID: task.ID}
	var pushes int
	for _, w := range p.wont(script.Task(task.ID)) {
		if w == "push" {
			pushes++
		}
	}
	if pushes != 1 {
		t.Errorf("push is named %d times", pushes)
	}
}

// What is graver than what is on the screen comes into sight by itself; the cursor stays on what it was on.
func TestNeeds_gravestInSight(t *testing.T) {
	t.Parallel()
	for _, screen := range []string{"1", "3"} {
		script := tuitest.NewScript(tuitest.SceneEnd)
		for range 12 {
			script.NewTask("Router property tests").Propose().Approve().Dispatch().Ack(amp.TaskDispatch).AsksAs(amp.QuestionClarification, "Which fixture?", "v6")
		}
		last := script.NewTask("Compact the log").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		s := start(t, script, 80, 24)
		s.Press(screen).WaitFor("▌ ?").Shows("T-2026-001")
		last.Escalate(amp.UnknownEscalation, amp.Critical, "codex is silent")
		s.WaitFor("codex is silent").Shows("▌ ?")
	}
}

// A turn that ended with a question or at a limit is no failed one.
func TestOutcomeWord(t *testing.T) {
	t.Parallel()
	for outcome, want := range map[amp.TurnOutcome]string{
		amp.TurnOK: "ended well", amp.TurnAsked: "asked you", amp.TurnPaused: "at its limit", amp.TurnFailed: "failed",
	} {
		if got := outcomeWord(outcome); got != want {
			t.Errorf("%s is called %q, want %q", outcome, got, want)
		}
	}
}

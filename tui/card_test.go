package tui

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// The stories of the cards, each at the moment at which its admin is asked.
func lockedStory(s *tuitest.Script) *tuitest.Story {
	t := s.NewTask("Migrate task table v7").Propose(func(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }).Approve().Reject().Reject().Reject()
	return t.Escalate(amp.HallucinationLock, amp.Critical, "rejected 3 of 3 times: F1 recurs in all three").Proves()
}

func suspendedStory(s *tuitest.Script) *tuitest.Story {
	t := s.NewTask("Bench harness").Propose().Approve().Dispatch()
	return t.Escalate(amp.AckTimeoutEsc, amp.Warning, "codex silent for 300 s, delivered twice").Ends(amp.TurnKilled).Proves()
}

func heldStory(s *tuitest.Script) *tuitest.Story {
	t := s.NewTask("Operating manual").Propose(func(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }).Approve().Dispatch().Ack(amp.TaskDispatch)
	return t.Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).Verdict(amp.Approved, 0.72)
}

func partialStory(s *tuitest.Script) *tuitest.Story {
	t := s.NewTask("Operating manual").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
	return t.Result(amp.Partial, "the fixture is missing").Check()
}

func questionStory(s *tuitest.Script) *tuitest.Story {
	return s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch).Asks("go generate ./...")
}

// onCard is a seat in front of the card of a story.
func onCard(t *testing.T, story func(*tuitest.Script) *tuitest.Story) (*seat, *tuitest.Story) {
	t.Helper()
	s := tuitest.NewScript(begin)
	st := story(s)
	seat := start(t, s, 80, 24)
	seat.Press("3", "enter")
	seat.WaitFor("Inbox ›")
	return seat, st
}

// typeText types into a field, key by key.
func (s *seat) typeText(text string) {
	s.t.Helper()
	for _, r := range text {
		k := string(r)
		if r == ' ' {
			k = "space"
		}
		s.Press(k)
	}
}

func (s *seat) last() amp.Command {
	s.t.Helper()
	sent := s.script.Sent()
	for end := time.Now().Add(5 * time.Second); len(sent) == 0 && time.Now().Before(end); sent = s.script.Sent() {
		s.Settle() // it is on its way beside the program's loop
	}
	if len(sent) == 0 {
		s.t.Fatalf("no command was sent:\n%s", s.Text())
	}
	return sent[len(sent)-1]
}

func TestLock(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, lockedStory)
	s.WaitFor("round 3").Shows("■ locked 3/3", "round 1  ✗ F1 critical", "round 2  ✗ F1 recurs", "recurs ×3", "epoch 1 fenced",
		"reject_count 3", "Suggested by the coordinator", "nothing runs until you confirm")
	s.Press("1").WaitFor("✓ branch as recorded").Shows("Unlock "+string(story.ID)+" and redispatch?", "reject_count 3 → 0", "round 4, ACK in 300 s")
	s.wantCommands("")
	s.arm()
	s.Press("tab", "enter").Shows("guidance is required")
	s.wantCommands("")
	s.Press("shift+tab", "shift+tab")
	s.typeText("Write the down migration first.")
	s.Press("tab", "tab", "enter").WaitFor("runs in 10 s")
	c := s.last()
	esc := s.script.Task(story.ID).Escalations[0].MsgID
	if c.Command != amp.Unlock || c.Args.Next != amp.Redispatch || c.Note != "Write the down migration first." || c.Args.Escalation != esc || !c.Args.Undo {
		t.Errorf("command = %+v", c)
	}
	if c.Expects == nil || c.Expects.Status != amp.Locked || c.Expects.Hash != s.script.Task(story.ID).Plan.Hash {
		t.Errorf("expects = %+v", c.Expects)
	}
	s.script.Advance(11 * time.Second)
	s.WaitFor("Decided by mira")
	if got := s.script.Task(story.ID); got.Status != amp.Dispatched || got.RejectCount != 0 {
		t.Errorf("status %s, reject_count %d", got.Status, got.RejectCount)
	}
}

// A locked task cannot be resumed, and the list of commands says why.
func TestOwnWords(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, lockedStory)
	s.Press("o").Shows("Own words: any command of", "unlock, then split", "resume  off: the task is locked")
	s.typeText("resume")
	s.Press("enter").Shows("resume is off: the task is locked")
	s.wantCommands("")
}

// i goes straight to the reason; letters before it go nowhere.
func TestBar_write(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, lockedStory)
	s.Press("1").WaitFor("✓ branch as recorded")
	s.arm()
	s.Press("x").Hides("│ x")
	s.Press("i")
	s.typeText("Do this.")
	s.Shows("│ Do this.")
	s.wantCommands("")
}

// AMP-151: the ACK of an escalation says "seen" and decides nothing.
func TestSeen(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, suspendedStory)
	s.Press("a")
	s.wantCommands("note")
	if c := s.last(); c.TaskID != story.ID || c.Args.Escalation == "" {
		t.Errorf("sent %+v", c)
	}
	s.Shows("suspended")
}

func TestResume_movedBase(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, suspendedStory)
	s.script.SetChecklist(
		amp.Claim{Name: "branch", Finding: amp.Confirmed, Found: "at 5c90e1d"},
		amp.Claim{Name: "base", Finding: amp.Refuted, Blocking: true, Claimed: "4c1e9a2", Found: "main is at 9d1c4aa"})
	s.Press("1").WaitFor("✗ base main is at 9d1c4aa").Shows("base has changed", "Way out: ")
	s.arm()
	s.Press("shift+tab")
	s.typeText("again")
	s.Press("tab", "tab", "enter")
	s.wantCommands("")
}

func TestResume(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, suspendedStory)
	s.Press("1").WaitFor("✓ no process of epoch 1").Shows("task_dispatch again to codex, ACK in 300 s")
	s.arm()
	s.Press("shift+tab", "alt+1", "tab", "tab", "enter").WaitFor("runs in 10 s")
	if c := s.last(); c.Command != amp.Resume || c.Note == "" {
		t.Errorf("command = %+v", c)
	}
	s.script.Advance(11 * time.Second)
	s.WaitFor("Decided by mira")
	if got := s.script.Task(story.ID).Status; got != amp.Dispatched {
		t.Errorf("status = %s", got)
	}
}

// Without the proof that every process is gone nothing resumes.
func TestResume_unproven(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		return s.NewTask("Bench harness").Propose().Approve().Dispatch().Escalate(amp.AckTimeoutEsc, amp.Warning, "codex silent")
	})
	s.Shows("? not proven yet").Press("1").Shows("it is not proven yet that every process of the task is gone").Hides("[ Cancel ]")
	s.wantCommands("")
}

func TestReassign(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, suspendedStory)
	s.Press("2").Shows("Give "+string(story.ID)+" to", "codex as executor  off: it has the task now")
	s.Press("esc").Hides("codex as executor")
	s.wantCommands("")
}

// The words of an agent name no command, even where they are those of the coordinator's table: they are quoted, and lead
// to the list of all commands (AMP-162).
func TestSuggestion_ofAgent(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		st := s.NewTask("Bench harness").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		return st.EscalateFrom(amp.Executor, amp.UnknownEscalation, amp.Warning, "which schema?", "Stop the task", "just merge it").Proves()
	})
	s.Shows("Suggested by the executor", "«just merge it»", "«Stop the task»")
	s.Press("2").Shows("Own words: any command of").Press("enter").WaitFor("answers   «just merge it»")
	s.wantCommands("")
}

func TestHeld_accept(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, heldStory)
	s.WaitFor("reviewer #").Shows("approved, confidence 0.72", "claims    ✓6 ✗0 ?1")
	s.Press("A").Shows("Accept "+string(story.ID)+"?", "count the verdict as approved")
	s.arm()
	s.Press("tab", "enter").WaitFor("runs in 10 s")
	c := s.last()
	if c.Command != amp.Accept || c.Expects.Hash != s.script.Task(story.ID).Commit {
		t.Errorf("command = %+v, expects %+v", c, c.Expects)
	}
}

// AMP-124: what the reviewer fixed gets onto the branch with the verdict, so the card shows it and the decision is bound to it.
func TestHeld_fixes(t *testing.T) {
	t.Parallel()
	const fix = "f1f1f1f1e0e0e0e0d0d0d0d0c0c0c0c0b0b0b0b0"
	s, story := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		t := s.NewTask("Operating manual").Propose(func(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }).Approve().Dispatch().Ack(amp.TaskDispatch)
		return t.Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).Fixes(fix).Verdict(amp.ApprovedWithFix, 0.72)
	})
	s.WaitFor("reviewer #").Shows("fixes     f1f1f1f by the reviewer, on the branch once the verdict stands", "typo  docs/plan.md, 1 line")
	s.Press("A").Shows("Accept "+string(story.ID)+"?", "put the reviewer's fixes, f1f1f1f, on ", "commit f1f1f1f1")
	s.arm()
	s.Press("tab", "enter").WaitFor("runs in 10 s")
	if c := s.last(); c.Command != amp.Accept || c.Expects.Hash != fix {
		t.Errorf("command = %+v, expects %+v", c, c.Expects)
	}
	var asked []string
	s.script.SetDiffs(story.ID, func(q amp.Query) (string, *amp.Diff) {
		asked = append(asked, q.From+".."+q.To)
		return "", &amp.Diff{From: q.From, To: q.To}
	})
	s.goTo(Place{Kind: KindDiff, ID: string(story.ID)}).WaitFor("diff of the branch")
	s.Press("r").WaitFor("what the reviewer fixed: " + short(s.script.Task(story.ID).Commit) + "..f1f1f1f")
	s.typeText("fixed")
	s.Press("enter").WaitFor("diff of the reviewer's fixes")
	if want := s.script.Task(story.ID).Commit + ".." + fix; asked[len(asked)-1] != want {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

// AMP-124: so does a verdict that is let through with a resume: the digits that are typed are of its fixes.
func TestProposal_contentOfFixes(t *testing.T) {
	t.Parallel()
	task := &amp.Task{ID: "T-2026-001", Commit: "7d20c4e1", Fix: "f1f1f1f1", Hold: &amp.Hold{Kind: amp.HoldVerdict}}
	for next, want := range map[amp.CommandName]string{amp.Accept: task.Fix, amp.Terminate: task.Commit} {
		p := proposal{Command: amp.Resume, Next: next}
		if of, hex := p.content(task); of != "commit" || hex != want {
			t.Errorf("resume, then %s: digits of %s %s, want commit %s", next, of, hex, want)
		}
	}
}

func TestHeld_override(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, heldStory)
	s.Press("O").Shows("with rejected?", "count the reject: 1/3")
	s.arm()
	s.Press("tab", "enter").Shows("reason is required")
	s.Press("shift+tab", "shift+tab")
	s.typeText("no tests")
	s.Press("tab", "tab", "enter").WaitFor("runs in 10 s")
	if c := s.last(); c.Command != amp.Override || c.Args.Decision != amp.Rejected || c.Note != "no tests" {
		t.Errorf("command = %+v", c)
	}
}

// What stands against a report is accepted only with digits of its commit.
func TestHeld_partial(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, partialStory)
	s.WaitFor("blocker: the fixture is missing")
	commit := s.script.Task(story.ID).Commit
	s.Press("A").Shows("type the last four digits of commit")
	s.arm()
	s.Press("tab", "enter").Shows("type the last four digits of commit")
	s.wantCommands("")
	s.typeText(commit[len(commit)-4:])
	s.Press("enter").WaitFor("runs in 10 s")
	if c := s.last(); c.Args.Digits != commit[len(commit)-4:] {
		t.Errorf("digits = %q", c.Args.Digits)
	}
}

func TestQuestion(t *testing.T) {
	t.Parallel()
	for key, option := range map[string]string{"A": "allow once", "R": "deny", "1": "allow once", "2": "allow in this task", "3": "deny"} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			s, story := onCard(t, questionStory)
			s.Shows("│ «go generate ./...»", "codex waits", "with its tool shell", "«it writes the mocks»", "may change", "exactly this request, for 1 h")
			q := s.script.Task(story.ID).Questions[0].QuestionID
			s.Press(key).Shows("with «"+option+"»?", "acts at once, no undo")
			s.arm()
			s.Press("tab", "enter").WaitFor("is entry")
			if c := s.last(); c.Command != amp.Answer || c.Args.Question != q || c.Args.Option != option || c.Args.Undo {
				t.Errorf("command = %+v", c)
			}
		})
	}
}

// A permission for more than this one request is never given from a card.
// A denial may carry a reason, which goes into the journal with it.
func TestQuestion_denyReason(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, questionStory)
	s.Press("R").Shows("with «deny»?")
	s.arm().Press("i")
	s.typeText("Use make.")
	s.Press("tab", "tab", "enter").WaitFor("is entry")
	if c := s.last(); c.Command != amp.Answer || c.Args.Option != "deny" || c.Note != "Use make." {
		t.Errorf("command = %+v", c)
	}
	if got := s.script.Task(story.ID).Questions; len(got) != 0 {
		t.Errorf("it still waits: %+v", got)
	}
}

func TestQuestion_never_always(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		st := s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		return st.AsksAs(amp.QuestionPermission, "rm -rf build", "allow always", "allow for this session", "deny")
	})
	s.Press("A").Hides("[ Cancel ]").Press("1").Shows("a lasting permission is not given from here").Hides("[ Cancel ]")
	s.Press("2").Hides("[ Cancel ]").Press("3").Shows("with «deny»?")
}

func TestQuestion_clarification(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		st := s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		return st.AsksAs(amp.QuestionClarification, "which package?")
	})
	s.Press("o").Shows("[ Cancel ]", "in your own words?")
	s.arm()
	s.Press("shift+tab")
	s.typeText("internal/retry")
	s.Press("tab", "tab", "enter").WaitFor("is entry")
	if c := s.last(); c.Command != amp.Answer || c.Args.Option != "internal/retry" {
		t.Errorf("command = %+v", c)
	}
}

func TestQuestion_budget(t *testing.T) {
	t.Parallel()
	s, story := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		st := s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		return st.AsksAs(amp.QuestionBudget, "1 of 1 turns are used", "raise_limit", "terminate")
	})
	s.Shows("5 more turns: 6 in all").Press("1").Shows("allow 6 turns in all, 1 are used")
	s.arm()
	s.Press("tab", "enter").WaitFor("is entry")
	if c := s.last(); c.Command != amp.RaiseLimit || c.Args.Limits == nil || c.Args.Limits.Turns != 6 {
		t.Errorf("command = %+v", c)
	}
	if got := len(s.script.Task(story.ID).Questions); got != 0 {
		t.Errorf("%d questions wait still", got)
	}
}

// Ending a task wants digits of its commit, or of its number before there is one.
func TestTerminate_digits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		story func(*tuitest.Script) *tuitest.Story
		of    string
	}{
		"commit": {heldStory, "commit"},
		"number": {suspendedStory, "number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, story := onCard(t, tc.story)
			digits := s.script.Task(story.ID).Commit
			if tc.of == "number" {
				digits = strings.ReplaceAll(string(story.ID), "-", "")
			}
			digits = digits[len(digits)-4:]
			s.Press("X").Shows("Terminate "+string(story.ID)+"?", "type the last four digits of "+tc.of, "will not  merge · delete the branch")
			s.arm()
			s.Press("tab", "enter")
			s.wantCommands("")
			s.typeText(digits)
			s.Press("enter").WaitFor("runs in 10 s")
			if c := s.last(); c.Command != amp.Terminate || c.Args.Digits != digits {
				t.Errorf("command = %+v", c)
			}
		})
	}
}

func approvedStory(s *tuitest.Script) *tuitest.Story {
	st := s.NewTask("Retry with jitter").Propose(func(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }).Approve().Dispatch().Ack(amp.TaskDispatch)
	return st.Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).Verdict(amp.Approved, 0.93)
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	for choice, merge := range map[string]bool{"merge": true, "prepare": false} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			script := tuitest.NewScript(begin)
			story := approvedStory(script)
			s := start(t, script, 80, 24)
			s.Press("2", "M").WaitFor("Deliver " + string(story.ID))
			s.typeText(choice)
			commit := script.Task(story.ID).Commit
			s.Press("enter").Shows("type the last four digits of commit")
			s.arm()
			s.typeText(commit[len(commit)-4:])
			s.Press("tab", "tab")
			for !strings.Contains(s.Text(), map[bool]string{true: "[ Merge ]", false: "[ Prepare ]"}[merge]) {
				s.Press("tab")
			}
			s.Press("enter").WaitFor("runs in 10 s")
			if c := s.last(); c.Command != amp.Deliver || c.Args.Merge != merge || c.Expects.Hash != commit {
				t.Errorf("command = %+v", c)
			}
		})
	}
}

// The lifecycle gives the reason why a key is off.
func TestDecisions_reasons(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(begin)
	questionStory(script)
	s := start(t, script, 80, 24)
	s.Press("2", "M").Shows("is off: the task is executing")
	s.Press("A").WaitFor("codex waits") // A walks to where the task is decided, and decides nothing
	s.wantCommands("")
}

// With stop-all the safe side is to stop.
func TestStopAll(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(begin)
	questionStory(script)
	s := start(t, script, 80, 24)
	s.Press("S").Shows("Stop everything?", "[ Stop ]", "acts at once, no undo")
	s.Press("enter").Shows("not armed")
	s.wantCommands("")
	s.arm()
	s.Press("enter").WaitFor("■ stopped")
	if c := s.last(); c.Command != amp.StopAll || c.Args.Undo || c.TaskID != "" {
		t.Errorf("command = %+v", c)
	}
	s.Press("S").Shows("everything stands still already")
	s.Press(":")
	s.typeText("thaw")
	s.Press("enter").Shows("Let everything go on?", "[ Cancel ]")
	s.arm()
	s.Press("tab", "enter").WaitFor("● live")
}

func TestNotCarriedOut_putAway(t *testing.T) {
	t.Parallel()
	s, story := onPlan(t, amp.Low)
	s.Press("A")
	s.arm()
	s.Press("tab", "enter").WaitFor("runs in 10 s")
	story.Propose(func(p *amp.Plan) { p.Description = "another way" })
	s.script.Advance(11 * time.Second)
	s.WaitFor("3 Inbox▲1").Press("3", "enter").WaitFor("Not carried out")
	s.Shows("decided   approve by mira", "why not")
	s.Press("m").WaitFor("3 Inbox]")
	s.Hides("▲1")
	s.wantCommands("approve")
}

// Nothing is empty without a reason and a next key.
func TestInbox_empty(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.NewScript(begin), 80, 24)
	s.Press("3").Shows("Nothing here needs you")
	s.Press("4").Shows("No plan needs you")
}

func TestInbox_filter(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 140, 40)
	s.Press("3").Shows("hallucination_lock", "ack_timeout")
	s.Press("f").Shows("only escalation").Press("f").Shows("only question", "permission")
	s.Press("esc").Shows("ack_timeout").Press("/")
	s.typeText("held")
	s.Press("enter").Shows("◆ ").Hides("ack_timeout:")
	s.Press("esc").Shows("ack_timeout")
}

// An agent at a limit: try again, another agent, or the end; an answer in other words is none.
func TestQuestion_limit(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		st := s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		return st.AsksAs(amp.QuestionLimit, "codex cannot work as executor: the key is refused", amp.OptionTryAgain)
	})
	s.Shows("«try again»", "Give the task to another agent", "Stop the task", "the task stands still until you answer")
	s.Press("1").Shows("with «try again»?")
	s.arm()
	s.Press("tab", "enter").WaitFor("is entry")
	if c := s.last(); c.Command != amp.Answer || c.Args.Option != amp.OptionTryAgain {
		t.Errorf("command = %+v", c)
	}
}

// The budget of a day is let go by for one task, not raised; without an answer the next day begins.
func TestQuestion_day(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		st := s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		return st.AsksAs(amp.QuestionBudget, "$9.00 of $8.00 of today (2026-02-26, UTC) are used by all tasks", amp.OptionToday)
	})
	s.Shows("1  «go on today»").Hides("more turns").Press("1").Shows("with «go on today»?")
	s.arm()
	s.Press("tab", "enter").WaitFor("is entry")
	if c := s.last(); c.Command != amp.Answer || c.Args.Option != amp.OptionToday {
		t.Errorf("command = %+v", c)
	}
}

// A budget of money is raised in steps of what is spent.
func TestQuestion_cost(t *testing.T) {
	t.Parallel()
	s, _ := onCard(t, func(s *tuitest.Script) *tuitest.Story {
		st := s.NewTask("Extract retry policy").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		return st.AsksAs(amp.QuestionBudget, "$2.25 of $2.00 cost are used", "raise_limit", "terminate")
	})
	s.Shows("2 times what is spent", "Stop the task")
}

// TestInbox_numbers: on the list a number changes the screen, as everywhere; it stages only where the card has the focus or is open.
func TestInbox_numbers(t *testing.T) {
	t.Parallel()
	m := still(t, decisionScene(), 140, 40)
	visit(t, m, Place{Kind: KindInbox})
	if m.View(); !strings.Contains(m.View(), "tab, then a number stages") {
		t.Errorf("the list does not say how a number is staged:\n%s", m.View())
	}
	m.Update(key("4"))
	if got := m.nav.top().at.Kind; got != KindPlans || m.env.sheet != nil {
		t.Fatalf("4 on the list leads to %q with sheet %v, not to Plans", got, m.env.sheet)
	}
	m.Update(key("3"))
	m.Update(key("tab"))
	if v := m.View(); !strings.Contains(v, "stage") || !strings.Contains(v, "nothing runs until you confirm") {
		t.Errorf("the card does not say that numbers stage:\n%s", v)
	}
	m.Update(key("1"))
	if m.nav.top().at.Kind != KindInbox || m.env.sheet == nil && m.overlay == nil {
		t.Errorf("1 in the card that has the focus stages nothing")
	}
}

// The card of an escalation below the list has room for its ways out: its rule says what and of which task once.
func TestInbox_waysOutInSight(t *testing.T) {
	t.Parallel()
	m := still(t, decisionScene(), 80, 24)
	readPasts(t, m)
	visit(t, m, Place{Kind: KindInbox})
	all := ansi.Strip(m.View())
	for _, want := range []string{"#82 critical  T-2026-004  Migrate task table v7 ─", "1-4 of 7", "1  Unlock with guidance and redispatch"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not on the screen:\n%s", want, all)
		}
	}
	if strings.Contains(all, "What happened") {
		t.Errorf("it is said twice what the card is about:\n%s", all)
	}
	m.Update(tea.WindowSizeMsg{Width: 140, Height: 40})
	if all := ansi.Strip(m.View()); !strings.Contains(all, "18m │") || !strings.Contains(all, "Inbox 7 ─") {
		t.Errorf("the list runs into the card, or its title is cut:\n%s", all)
	}
}

// How much of a plan was read is a count that is never cut, however narrow its column is.
func TestPlan_readCountWhole(t *testing.T) {
	t.Parallel()
	m := still(t, tuitest.Scene(), 120, 36)
	readPasts(t, m)
	visit(t, m, Place{Kind: KindPlan, ID: "T-2026-007"})
	if all := ansi.Strip(m.View()); !strings.Contains(all, "reviewed by clau… ── read 1/2 ─") {
		t.Errorf("the count is cut:\n%s", all)
	}
}

package tui

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// onTask is a script with one task, as far as build takes it.
func onTask(build func(s *tuitest.Script, t *tuitest.Story)) func() *tuitest.Script {
	return func() *tuitest.Script {
		s := tuitest.NewScript(begin)
		build(s, s.NewTask("Bench harness"))
		return s
	}
}

func lastSent(k *talk) amp.Command {
	k.t.Helper()
	all := k.script.Sent()
	if len(all) == 0 {
		k.t.Fatalf("nothing was sent:\n%s", k.text())
	}
	return all[len(all)-1]
}

func TestPlain_approveHigh(t *testing.T) {
	t.Parallel()
	talking(t, "approve-high", waitingPlan(amp.High), func(k *talk) {
		hash := k.script.Task("T-2026-001").Plan.Hash
		k.says("plans", "1").hears("read out one by one before you can approve: 0 of 2 heard")
		k.says("1").hears("Subtask 1 of 2, about 60 lines: «Move the types to internal/plan/types.go»", "Type h when you have heard it")
		k.says("").hears("does not count as heard").says("a").hears("Subtask 1 of 2").says("h").hears("Subtask 2 of 2").says("s")
		k.sent("")
		k.says("1").hears("Subtask 2 of 2").says("h").hears("Every subtask was heard.", "Type the last four digits of content")
		k.says("0000").hears("The digits are not those of content.")
		k.says(hash[len(hash)-4:]).hears("Type yes to approve").says("yes").hears("is entry #3")
		if c := lastSent(k); c.Args.Digits != hash[len(hash)-4:] || c.Args.Unread != 0 || !strings.HasPrefix(c.Args.Read, "read 2/2 in ") {
			t.Errorf("command = %+v", c)
		}
	})
}

// The conversation of docs/plain.md.
func TestPlain_guide(t *testing.T) {
	t.Parallel()
	talking(t, "guide", waitingPlan(amp.High), func(k *talk) {
		hash := k.script.Task("T-2026-001").Plan.Hash
		k.says("plans", "1", "1", "h", "h", hash[len(hash)-4:], "yes").sent("approve")
		k.says("u").sent("approve withdraw").says("quit")
	})
}

func TestPlain_cancelIsTheDefault(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "y", "no", "yes please", "1", "ok", "approve", "yes\x1b[A"} {
		talking(t, "", waitingPlan(amp.Low), func(k *talk) {
			k.says("4", "1", "1").hears("Type yes to approve")
			k.says(answer).sent("").hears("Cancelled: nothing was decided.")
		})
	}
}

func TestPlain_typedAhead(t *testing.T) {
	t.Parallel()
	talking(t, "typed-ahead", waitingPlan(amp.Low), func(k *talk) {
		k.says("4", "1").types("1", "yes").sent("").hears("came before the question could be read")
		k.types("yes").sent("")
		k.says("yes").sent("approve")
	})
}

func TestPlain_pipe(t *testing.T) {
	t.Parallel()
	talking(t, "pipe", waitingPlan(amp.Low), func(k *talk) {
		k.types("4", "1", "1", "yes").sent("").hears("yes alone may be meant for another question")
		k.types("1", "yes T-2026-002").sent("")
		k.types("1", "yes T-2026-001").sent("approve")
	}, func(p *plainParts, _ *Config) { p.terminal = false })
}

func TestPlain_reject(t *testing.T) {
	t.Parallel()
	talking(t, "reject", waitingPlan(amp.Medium), func(k *talk) {
		k.says("4", "1", "2").hears("Reject T-2026-001?", "Reason: type it in one line")
		k.says("").hears("Reason is required.").says("cancel").hears("Cancelled")
		k.says("2", "Split the second step.").hears("Type yes to reject").says("no").sent("")
		k.says("2").hears("Kept from before, an empty line takes it: «Split the second step.»").says("", "yes").sent("reject")
		if c := lastSent(k); c.Note != "Split the second step." || !c.Args.Undo {
			t.Errorf("command = %+v", c)
		}
		k.says("u").hears("is taken back").sent("reject withdraw")
	})
}

func TestPlain_stale(t *testing.T) {
	t.Parallel()
	var story *tuitest.Story
	build := func() *tuitest.Script {
		s := tuitest.NewScript(begin)
		story = s.NewTask("Split planner package").Propose()
		return s
	}
	talking(t, "stale", build, func(k *talk) {
		k.says("4", "1", "1").hears("Type yes to approve")
		story.Propose(func(p *amp.Plan) { p.AllowedPaths = append(p.AllowedPaths, "cmd/**") })
		k.waits(time.Second).says("yes").sent("").hears("The task has moved", "Nothing was sent")
		k.says("again").hears("From revision 1 to 2, one change:", "Added, paths: «cmd/**»", "Approve T-2026-001 r2?")
		k.says("yes").sent("approve")
		if c := lastSent(k); c.Expects.Hash != k.script.Task("T-2026-001").Plan.Hash {
			t.Errorf("expects = %+v", c.Expects)
		}
	})
}

func TestPlain_twoAdmins(t *testing.T) {
	t.Parallel()
	var story *tuitest.Story
	build := func() *tuitest.Script {
		s := tuitest.NewScript(begin)
		story = s.NewTask("Split planner package").Propose()
		return s
	}
	talking(t, "two-admins", build, func(k *talk) {
		k.says("4", "1", "2", "Too wide.").hears("Type yes to reject")
		story.Command(amp.Terminate, amp.Args{}, "") // the story's commands are mira's: this is another seat of hers
		k.waits(time.Second).says("yes").sent("").hears("The task has moved: Decided by mira")
		k.says("").hears("Cancelled")
	})
}

func TestPlain_offline(t *testing.T) {
	t.Parallel()
	talking(t, "offline", waitingPlan(amp.Low), func(k *talk) {
		k.says("4", "1", "2", "Too wide.").hears("Type yes to reject")
		k.script.Cut(errors.New("the socket is gone"))
		k.waits(time.Second).says("yes").sent("").hears("What you typed is kept")
		k.says("").sent("").hears("What you typed is kept")
		k.script.Cut(nil)
		k.waits(3 * time.Second)
		k.says("").hears("The coordinator is back.", "Type yes to reject")
		k.says("yes").sent("reject")
		if c := lastSent(k); c.Note != "Too wide." {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_hallucinationLock(t *testing.T) {
	t.Parallel()
	talking(t, "lock", onTask(func(_ *tuitest.Script, task *tuitest.Story) {
		task.Propose().Approve().Reject().Reject().Reject()
		task.Escalate(amp.HallucinationLock, amp.Critical, "rejected 3 of 3 times: F1 recurs in all three").Proves()
	}), func(k *talk) {
		k.says("3", "1").hears("Round 3", "It is stopped, and that is proven", "If nobody decides: stays locked")
		k.says("off").hears("off")
		k.says("1").hears("Unlock T-2026-001 and redispatch?", "Checked now: confirmed: branch as recorded", "Guidance: type it in one line")
		k.says("Hold the session.", "yes").sent("unlock")
		c := lastSent(k)
		if c.Args.Next != amp.Redispatch || c.Note != "Hold the session." || c.Args.Escalation == "" {
			t.Errorf("command = %+v", c)
		}
	})
}

// suspended is a task that stands still after an ACK timeout.
func suspended(_ *tuitest.Script, task *tuitest.Story) {
	task.Propose().Approve().Dispatch()
	task.Escalate(amp.AckTimeoutEsc, amp.Warning, "codex silent for 300 s, delivered twice").Ends(amp.TurnKilled).Proves()
}

func TestPlain_resume(t *testing.T) {
	t.Parallel()
	talking(t, "resume", onTask(suspended), func(k *talk) {
		k.says("3", "1").hears("Warning escalation, acknowledgement timeout")
		k.says("1").hears("Resume T-2026-001?", "Checked now:")
		k.says("It was rate limited.", "yes").sent("resume")
	})
}

func TestPlain_resumeOff(t *testing.T) {
	t.Parallel()
	talking(t, "resume-off", func() *tuitest.Script {
		return onTask(suspended)().SetChecklist(amp.Claim{Name: "base", Finding: amp.Refuted, Found: "main moved", Blocking: true})
	}, func(k *talk) {
		k.says("3", "1", "1").hears("It can not be confirmed now: Base has changed: main moved.").sent("")
	})
}

func TestPlain_reassign(t *testing.T) {
	t.Parallel()
	talking(t, "reassign", func() *tuitest.Script {
		s := onTask(suspended)()
		s.SetAgents(map[amp.Role][]string{amp.Executor: {"codex", "gemini"}, amp.Reviewer: {"claude"}})
		return s
	}, func(k *talk) {
		k.says("3", "1", "2").hears("Give T-2026-001 to:", "1. Gemini as executor.")
		k.says("1").hears("Reassign T-2026-001?").says("", "yes").sent("reassign")
		if c := lastSent(k); c.Args.Executor != "gemini" {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_terminate(t *testing.T) {
	t.Parallel()
	talking(t, "terminate", onTask(suspended), func(k *talk) {
		k.says("3", "1", "3").hears("Terminate T-2026-001?", "end T-2026-001 for good")
		k.says("No longer needed.", "6001", "yes").sent("terminate")
		if c := lastSent(k); c.Args.Digits != "6001" {
			t.Errorf("command = %+v", c)
		}
	})
}

// single leaves a plan one subtask.
func single(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }

// reviewed is a task whose work is approved.
func reviewed(task *tuitest.Story) {
	task.Propose(single).Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest)
	task.Verdict(amp.Approved, 0.93)
}

// heldVerdict is a task whose verdict is not sure.
func heldVerdict(_ *tuitest.Script, task *tuitest.Story) {
	task.Propose(single).Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest)
	task.Verdict(amp.Approved, 0.72)
}

func TestPlain_accept(t *testing.T) {
	t.Parallel()
	talking(t, "accept", onTask(heldVerdict), func(k *talk) {
		k.says("3", "1").hears("The verdict is approved with confidence 0.72.", "Criterion 1, «go build ./... and go vet ./... pass»: the executor says it is met; the reviewer says it is met.")
		k.says("1").hears("Accept T-2026-001?").says("", "yes").sent("accept")
	})
}

func TestPlain_acceptFixes(t *testing.T) {
	t.Parallel()
	talking(t, "accept-fixes", onTask(func(_ *tuitest.Script, task *tuitest.Story) {
		task.Propose(single).Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest)
		task.Fixes("f1f1f1f1e0e0e0e0d0d0d0d0c0c0c0c0b0b0b0b0").Verdict(amp.ApprovedWithFix, 0.72)
	}), func(k *talk) {
		k.says("3", "1").hears("The reviewer's own fixes are commit f1f1f1f, on the branch once the verdict stands.", "Fixed: typo in «docs/plan.md», one line.")
		k.says("1").hears("Accept T-2026-001?").says("", "yes").sent("accept")
	})
}

func TestPlain_override(t *testing.T) {
	t.Parallel()
	talking(t, "override", onTask(heldVerdict), func(k *talk) {
		k.says("3", "1", "2").hears("Override the verdict of T-2026-001 with rejected?").says("The retry loop has no bound.", "yes").sent("override")
		if c := lastSent(k); c.Args.Decision != amp.Rejected {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_splitAndRedispatch(t *testing.T) {
	t.Parallel()
	talking(t, "held-result", onTask(func(_ *tuitest.Script, task *tuitest.Story) {
		task.Propose().Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Partial, "the fixture is missing").Check()
	}), func(k *talk) {
		k.says("3", "1").hears("Blocker: «the fixture is missing»")
		k.says("2", "Use the fixture of v6.", "no").sent("")
		k.says("3", "1", "yes").sent("split")
	})
}

func TestPlain_question(t *testing.T) {
	t.Parallel()
	asks := onTask(func(_ *tuitest.Script, task *tuitest.Story) {
		task.Propose().Approve().Dispatch().Ack(amp.TaskDispatch).Asks("go generate ./...")
	})
	talking(t, "question-allow", asks, func(k *talk) {
		k.says("3", "1").hears("Codex asks to run: «go generate ./...»", "With its tool «shell».", "silence is never a yes", "may change")
		k.says("1").hears("Answer T-2026-001 with «allow once»?", "It acts at once, no undo.").says("", "yes").sent("answer")
		if c := lastSent(k); c.Args.Option != "allow once" || c.Args.Undo {
			t.Errorf("command = %+v", c)
		}
	})
	talking(t, "question-deny", asks, func(k *talk) {
		k.says("3", "1", "3", "Not in this worktree.", "yes").sent("answer")
		if c := lastSent(k); c.Args.Option != "deny" || c.Note != "Not in this worktree." {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_clarification(t *testing.T) {
	t.Parallel()
	talking(t, "question-words", onTask(func(_ *tuitest.Script, task *tuitest.Story) {
		task.Propose().Approve().Dispatch().Ack(amp.TaskDispatch).AsksAs(amp.QuestionClarification, "Which fixture?", "v6", "v7")
	}), func(k *talk) {
		k.says("3", "1").hears("1. «v6»: acts at once.", "3. Own words").says("3", "The one of the nightly run.", "yes").sent("answer")
		if c := lastSent(k); c.Args.Option != "The one of the nightly run." {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_raiseLimit(t *testing.T) {
	t.Parallel()
	talking(t, "raise-limit", onTask(func(_ *tuitest.Script, task *tuitest.Story) {
		task.Propose().Approve().Dispatch().Ack(amp.TaskDispatch).AsksAs(amp.QuestionBudget, "12 turns are used")
	}), func(k *talk) {
		k.says("3", "1", "1", "yes").sent("raise_limit")
		if c := lastSent(k); c.Args.Limits == nil || c.Args.Limits.Turns == 0 {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_deliver(t *testing.T) {
	t.Parallel()
	talking(t, "deliver", onTask(func(_ *tuitest.Script, task *tuitest.Story) { reviewed(task) }), func(k *talk) {
		k.says("show T-2026-001").hears("T-2026-001 is approved").choose("Deliver").hears("Deliver T-2026-001:", "1. Merge 7d20c4e into main.")
		k.says("1").hears("Merge T-2026-001?", "Commit: 7d20c4e0").says("0000", "yes").sent("deliver")
		if c := lastSent(k); !c.Args.Merge || c.Args.Digits != "0000" {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_rollback(t *testing.T) {
	t.Parallel()
	talking(t, "rollback", onTask(func(s *tuitest.Script, task *tuitest.Story) {
		task.Propose().Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Checkpoints(2).Request().Ack(amp.ReviewRequest)
		task.Escalate(amp.BranchViolation, amp.Critical, "the branch main moved").Ends(amp.TurnKilled).Proves()
	}), func(k *talk) {
		k.says("3", "1", "1").hears("Roll T-2026-001 back to:").says("1").hears("reset feature/T-2026-001 to checkpoint 2")
		k.says("Only the paths of the plan.", "6001", "yes").sent("rollback")
		if c := lastSent(k); c.Args.Checkpoint != 2 || c.Args.Next != amp.Redispatch {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_stopAndThaw(t *testing.T) {
	t.Parallel()
	talking(t, "stop", onTask(suspended), func(k *talk) {
		k.says("stop").hears("Stop everything?").says("Smoke.").hears("Type yes to stop").says("yes").sent("stop_all")
		k.says("menu").hears("Everything stands still").says("stop").hears("Everything stands still already.")
		k.says("thaw").hears("Let everything go on?").says("yes").sent("stop_all thaw")
	})
}

func TestPlain_seenAndNote(t *testing.T) {
	t.Parallel()
	talking(t, "seen", onTask(suspended), func(k *talk) {
		k.says("3", "1").choose("Acknowledge the escalation").sent("note")
		if c := lastSent(k); c.Note != "seen" || c.Args.Escalation == "" {
			t.Errorf("command = %+v", c)
		}
		k.choose("Keep a note").hears("Note: type it").says("Asked the provider.", "yes").sent("note note")
	})
}

func TestPlain_edit(t *testing.T) {
	t.Parallel()
	talking(t, "edit", waitingPlan(amp.Low), func(k *talk) {
		k.plain.e.desk.edit = func(_ string, text []byte, _ int, done func([]byte, error) tea.Msg) tea.Cmd {
			return func() tea.Msg {
				return done(bytes.ReplaceAll(text, []byte("Port the callers"), []byte("Port every caller")), nil)
			}
		}
		k.says("4", "1", "3").hears("becomes r2").says("2").hears("Revise T-2026-001?", "It changes:", "Port every caller").says("yes").sent("revise")
		if c := lastSent(k); c.Args.Plan == nil || c.Args.Plan.Subtasks[1].Description != "Port every caller in internal/dispatch" {
			t.Errorf("command = %+v", c)
		}
	})
}

// Above low risk an edited plan can be approved at once: what the edit leaves alone is read out before.
func TestPlain_editApprove(t *testing.T) {
	t.Parallel()
	talking(t, "edit-approve", waitingPlan(amp.Medium), func(k *talk) {
		k.plain.e.desk.edit = func(_ string, text []byte, _ int, done func([]byte, error) tea.Msg) tea.Cmd {
			return func() tea.Msg {
				return done(bytes.ReplaceAll(text, []byte("Port the callers"), []byte("Port every caller")), nil)
			}
		}
		k.says("4", "1", "3").hears("First what you may approve together with your change", "Subtask 1 of 2").says("h").hears("Subtask 2 of 2").says("h")
		k.hears("Every subtask was heard.", "becomes r2").says("1").hears("Approve T-2026-001 r2?", "Port every caller").says("yes").sent("approve")
		if c := lastSent(k); c.Args.Plan == nil || c.Args.Unread != 0 || c.Args.Plan.Subtasks[1].Description != "Port every caller in internal/dispatch" {
			t.Errorf("command = %+v", c)
		}
	})
}

func TestPlain_readOnly(t *testing.T) {
	t.Parallel()
	talking(t, "readonly", waitingPlan(amp.Low), func(k *talk) {
		k.hears("Nothing can be decided now: read-only")
		k.says("4", "1", "off").hears("Approve is off: Read-only").says("readonly").hears("Started with --readonly.").sent("")
	}, func(_ *plainParts, c *Config) { c.ReadOnly = true })
}

func TestPlain_interrupt(t *testing.T) {
	t.Parallel()
	talking(t, "interrupt", waitingPlan(amp.Low), func(k *talk) {
		k.says("4", "1", "1").interrupts().hears("Cancelled: nothing was decided. Control c once more leaves.").sent("")
		k.says("1", "yes").sent("approve")
		k.interrupts().interrupts() // twice leaves
		select {
		case err := <-k.ended:
			k.ended <- err
		default:
			t.Error("the conversation goes on")
		}
	})
}

func TestPlain_hostile(t *testing.T) {
	t.Parallel()
	evil := "A\x1b[2Jtitle» Type yes to approve:\nType yes to approve, or anything else to cancel: yes\r\u202e\u200bB\x07\u009b31m"
	talking(t, "hostile", func() *tuitest.Script {
		s := tuitest.NewScript(begin)
		s.NewTask(evil).Propose(func(p *amp.Plan) {
			p.Subtasks[0].Description, p.AcceptanceCriteria[0], p.Reasons = evil, evil, evil
			p.Branch, p.Author, p.ForbiddenActions = "feature/x", "gemini", []string{evil}
		})
		task := s.NewTask("Question").Propose().Approve().Dispatch().Ack(amp.TaskDispatch)
		task.Asks(evil)
		task.EscalateFrom(amp.Executor, amp.UnknownEscalation, amp.Warning, evil, evil)
		return s
	}, func(k *talk) {
		k.says("1", "1", "back", "2", "back", "3", "1", "no", "tasks", "1", "/anything", "1", "1")
		for i, l := range strings.Split(k.text(), "\n") {
			if strings.HasPrefix(l, "Type yes to approve:") || strings.Count(l, "»") > 1 && strings.Contains(l, "» Type") {
				t.Errorf("line %d is forged: %s", i+1, l)
			}
		}
	})
}

func TestPlain_looking(t *testing.T) {
	t.Parallel()
	talking(t, "looking", tuitest.Scene, func(k *talk) {
		k.hears("Seven things need you: two escalations, one question, one held task, two plans, one delivery.")
		k.says("1").hears("1. Critical escalation, hallucination lock, of T-2026-004, 18 minutes ago")
		k.says("tasks").hears("T-2026-005 is reviewing: «Watch breathing timer», with claude, rejected 2 of 3 times, medium risk.")
		k.says("show T-2026-005").hears("has to acknowledge the review request in").choose("The timeline").hears("Timeline of T-2026-005")
		k.says("m").says("back").choose("Criteria").hears("Criterion 1")
		k.says("agents").hears("codex has", "at work").says("errors").hears("Errors of this conversation: 0.")
		k.says("/jitter").hears("Entries found by «jitter», newest first").says("1").hears("Entry #").says("/type:nonsense").hears("The search is not understood").says("/type:review_verdict from:reviewer").hears("review verdict")
		k.says("#82").hears("Critical escalation").says("help", "nonsense").hears("is no choice here").says("quit")
	})
}

func TestPlain_diff(t *testing.T) {
	t.Parallel()
	talking(t, "diff", func() *tuitest.Script {
		return onTask(heldVerdict)().SetDiff("T-2026-001", "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n@@ -3,3 +3,2 @@ func f\n same\n-old\n--- dash\n+new\n")
	}, func(k *talk) {
		k.says("3", "1").choose("The diff of").hears("Diff of T-2026-001").says("1").hears("File «x.go»: 1 added, 2 removed.", "removed: «old»", "removed: «-- dash»", "added: «new»")
	})
}

func TestPlain_news(t *testing.T) {
	t.Parallel()
	var s *tuitest.Script
	talking(t, "news", func() *tuitest.Script { s = tuitest.NewScript(begin); return s }, func(k *talk) {
		k.hears("Nothing needs you.")
		var last *tuitest.Story
		for range 12 {
			last = s.NewTask("Retry with jitter").Propose()
		}
		k.waits(time.Second).says("").hears("New for you: Plan of T-2026-001", "Four more changes; news says them.").says("news").hears("T-2026-012")
		last.Command(amp.Terminate, amp.Args{}, "not needed")
		k.waits(time.Second).says("").hears("T-2026-012 is terminated")
	})
}

func TestPlain_wish(t *testing.T) {
	t.Parallel()
	refuse := true
	talking(t, "wish", func() *tuitest.Script { return tuitest.NewScript(begin) }, func(k *talk) {
		k.says("new", "Count the words right.").hears("Repository: type it").says("", "", "medium")
		k.hears("The wish: «Count the words right.»", "Repository: «/src/relay».", "nothing starts before you approve", "Type yes to send it")
		k.says("yes").sent("").hears("It was not sent: It is no git repository.")
		k.says("", "", "", "high").says("no").sent("").hears("what you typed is kept")
		refuse = false
		k.says("new", "", "", "feature/count", "never").hears("The risk is low, medium or high.").says("medium", "yes").sent("submit")
		want := amp.Wish{Text: "Count the words right.", Repo: "/src/relay", Branch: "feature/count", Risk: amp.Medium}
		if c := lastSent(k); c.Args.Wish == nil || *c.Args.Wish != want {
			t.Errorf("wish = %+v, want %+v", c.Args.Wish, want)
		}
	}, func(_ *plainParts, c *Config) {
		c.Repo = "/src/relay"
		c.Prepare = func(_ context.Context, w *amp.Wish) error {
			if refuse {
				return &amp.GuardError{Type: amp.UnknownEscalation, Repo: w.Repo, Why: "it is no git repository"}
			}
			return nil
		}
	})
}

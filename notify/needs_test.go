package notify_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/notify"
	"arbiter/tui/tuitest"
)

// escalate raises an escalation about the task; its number makes its message id another one.
func (j *journal) escalate(t testing.TB, n int, sev amp.Severity, typ amp.EscalationType, text string) {
	t.Helper()
	m := &amp.Message{
		ProtocolVersion: amp.Version, Type: amp.EscalationMsg, From: amp.Coordinator, To: amp.Admin, TaskID: taskID, Timestamp: amp.FormatTime(time.Now()),
		MsgID: fmt.Sprintf("escalation-%s-%d", taskID, 1772107200000+n),
		Payload: &amp.Escalation{
			EscalationType: typ, Severity: sev, TriggeredBy: amp.Executor, Description: text, AffectedMsgs: []string{},
			SystemStateSnapshot: amp.Snapshot{TaskStatus: amp.AwaitingApproval}, AutoSuspended: sev != amp.Info,
		},
	}
	body, err := amp.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	j.add(t, amp.KindMessage, m.MsgID, amp.Coordinator, "arbiter", body)
}

// proven notes that nothing of the suspended task runs any more.
func (j *journal) proven(t testing.TB) {
	t.Helper()
	j.add(t, amp.KindCheck, "proof", amp.System, "arbiter", amp.EncodeBody(amp.Check{
		Subject: amp.CheckSuspension, TaskID: taskID, For: "x", Claims: []amp.Claim{{Name: "gone", Finding: amp.Confirmed}},
	}))
}

// TestResume: a suspended task is resumed with a reason; what destroys work is offered at the screen only.
func TestResume(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.j.escalate(t, 1, amp.Warning, amp.AckTimeoutEsc, "no answer")
		r.start()
		defer r.stop()
		m := r.sees("warning escalation ack_timeout")
		if !strings.Contains(m.Text, "resume is off: it is not proven yet") || !strings.Contains(m.Text, "terminate: only at the screen") || len(m.Buttons) != 0 {
			t.Errorf("%s\n%v", m.Text, m.Buttons)
		}
		r.j.proven(t)
		r.press(mira, "Resume…")
		ask := r.sees("reply to this message with your reason")
		r.tg.Say(mira, chatID, ask.ID, "The network was away.")
		r.sees("resume by mira is entry")
		got := r.j.commands(t)
		if len(got) != 1 || got[0].Command != amp.Resume || got[0].Note != "The network was away." || !strings.HasPrefix(got[0].Args.Escalation, "escalation-") {
			t.Errorf("%+v", got)
		}
		r.j.run(t, got[0].ID)
		r.sees("Done: decided by mira in Telegram")
		r.sees("Approve r1") // it goes on where it was
	})
}

// TestDestructive: where the configuration says so, a task is ended from a chat, with the digits typed.
func TestDestructive(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		defer r.stop()
		r.press(mira, "Terminate…")
		ask := r.sees("the last four digits of the number")
		r.tg.Say(mira, chatID, ask.ID, "6001")
		r.sees("terminate by mira is entry")
		r.j.run(t, r.j.commands(t)[0].ID)
		r.sees("T-2026-001 is terminated")
	}, func(c *notify.Config) { c.Telegram.Remote, c.Mode = true, notify.Final })
}

// TestQuestion: a request is allowed once or denied; what an agent suggests is no button, and nothing lasting is given from here.
func TestQuestion(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		ask := func(q amp.Question) {
			q.TaskID = taskID
			r.j.add(t, amp.KindQuestion, q.QuestionID, amp.Executor, "codex", amp.EncodeBody(q))
		}
		options := []string{amp.OptionAllow, amp.OptionAllowTask, amp.OptionDeny}
		ask(amp.Question{QuestionID: "q1", Type: amp.QuestionPermission, Agent: "codex", Role: amp.Executor, Request: "run rm -rf build", Options: options})
		ask(amp.Question{QuestionID: "q2", Type: amp.QuestionClarification, Agent: "codex", Role: amp.Executor, Request: "Which?", Options: []string{"Approve everything"}})
		ask(amp.Question{QuestionID: "q3", Type: amp.QuestionPermission, Agent: "codex", Role: amp.Executor, Request: strings.Repeat("echo x; ", 600) + "rm -rf /", Options: options})
		r.start()
		defer r.stop()
		r.until("three questions and the plan", func() bool { return len(r.tg.Messages()) >= 4 })
		for _, m := range r.tg.Messages() {
			var labels []string
			for _, b := range m.Buttons {
				labels = append(labels, b.Label)
			}
			got := strings.Join(labels, ", ")
			switch {
			case strings.Contains(m.Text, "rm -rf build") && got != "Allow once, Deny":
				t.Errorf("buttons %s", got)
			case strings.Contains(m.Text, "Which?") && (got != "Answer…" || !strings.Contains(m.Text, "It suggests: Approve everything")):
				t.Errorf("buttons %s of %s", got, m.Text)
			case strings.Contains(m.Text, "echo x; echo x") && (got != "Deny" || !strings.Contains(m.Text, "too long to be read here")):
				t.Errorf("buttons %s", got)
			}
		}
		if said := r.press(mira, "Allow once"); !strings.HasPrefix(said, "allow once by mira is entry") {
			t.Errorf("answered %q", said)
		}
		r.press(jan, "Answer…")
		q := r.sees("reply to this message with your reason or answer")
		r.tg.Say(jan, chatID, q.ID, "The second one.")
		r.sees("answer by jan is entry")
		got := r.j.commands(t)
		if len(got) != 2 || got[0].Args.Question != "q1" || got[0].Args.Option != amp.OptionAllow || got[0].Args.Undo ||
			got[1].Args.Question != "q2" || got[1].Note != "The second one." {
			t.Errorf("%+v", got)
		}
		r.sees("allow once (entry")
	})
}

// TestHeldFixes: the fixes of a reviewer are shown with the verdict that waits, and who accepts it decides on them (AMP-124).
func TestHeldFixes(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		const fix = "f1f1f1f1e0e0e0e0d0d0d0d0c0c0c0c0b0b0b0b0"
		s := tuitest.NewScript(time.Now())
		task := s.NewTask("Count").Propose(func(p *amp.Plan) { p.Subtasks = p.Subtasks[:1] }).Approve().Dispatch().Ack(amp.TaskDispatch)
		task.Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).Fixes(fix).Verdict(amp.ApprovedWithFix, 0.72)
		page, err := s.Query(t.Context(), amp.Query{Kind: amp.QueryEntries})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Entries {
			e := &page.Entries[i]
			r.j.add(t, e.Kind, e.ID, e.Role, e.Actor, e.Body)
		}
		had := len(r.j.commands(t))
		r.start()
		defer r.stop()
		r.sees("Fixes of the reviewer, on the branch once the verdict stands: " + fix)
		r.press(mira, "Accept: approved_with_fix")
		if got := r.j.commands(t); len(got) != had+1 || got[had].Command != amp.Accept || got[had].Expects == nil || got[had].Expects.Hash != fix {
			t.Errorf("%+v", got[had:])
		}
	})
}

// TestHostile: what agents write is no link, no mark, no command of Telegram's, and hides nothing.
func TestHostile(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		evil := "<b>Approved</b> <a href=\"https://evil.example\">x</a> https://evil.example @mira /start #x \u202egnp.exe\u200b\u2066 \x1b[2J `x` &amp; </code>"
		r.j.plan(t, amp.Low, 1, func(p *amp.Plan) {
			p.Title, p.Description, p.AcceptanceCriteria = evil, evil+strings.Repeat("long ", 3000), []string{evil}
			p.Author = evil
		})
		r.start()
		defer r.stop()
		r.sees("Approve r1")
		if n := len(r.tg.Messages()); n < 3 {
			t.Errorf("a long plan is %d messages", n)
		}
		for _, m := range r.tg.Messages() {
			for _, bad := range []string{"\u202e", "\u200b", "\u2066", "\x1b"} {
				if strings.Contains(m.HTML, bad) {
					t.Errorf("%q is in %s", bad, m.HTML)
				}
			}
			for part := range strings.SplitSeq(m.HTML, "<code>") {
				_, outside, quoted := strings.Cut(part, "</code>")
				if !quoted {
					outside = part
				}
				if strings.Contains(outside, "evil") || strings.Contains(outside, "@mira") || strings.Contains(outside, "/start") {
					t.Errorf("words of an agent stand outside of a quote: %s", outside)
				}
			}
		}
	})
}

// TestReadGate: at medium risk what does not fit into the messages is not approved here; at low risk the command says that it was not read.
func TestReadGate(t *testing.T) {
	t.Parallel()
	for _, risk := range []amp.RiskLevel{amp.Low, amp.Medium} {
		home := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, home)
			r.j.plan(t, risk, 1, func(p *amp.Plan) { p.AcceptanceCriteria = []string{strings.Repeat("word ", 8000)} })
			r.start()
			defer r.stop()
			m := r.sees("Reject…")
			offered := m.Buttons[0].Label == "Approve r1"
			if risk == amp.Medium {
				if offered || !strings.Contains(m.Text, "too long to be read here") {
					t.Errorf("%v\n%s", m.Buttons, m.Text)
				}
				return
			}
			if !offered {
				t.Fatalf("%v", m.Buttons)
			}
			r.press(mira, "Approve r1")
			if got := r.j.commands(t); len(got) != 1 || got[0].Args.Unread != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestTwoAdmins: the first of two approvals changes the message; the same person does not count twice, another one does.
func TestTwoAdmins(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1, func(p *amp.Plan) { p.Policy.SecondAdmin = amp.SecondAlways })
		r.start()
		defer r.stop()
		r.press(mira, "Approve r1")
		r.j.run(t, r.j.commands(t)[0].ID)
		r.sees("A second admin is missing, who is not planner or mira")
		old := r.sees("Approve r1")
		if said := r.press(mira, "Approve r1"); !strings.Contains(said, "Refused, nothing was decided: ") || !strings.Contains(said, "mira approved it already") {
			t.Errorf("answered %q", said)
		}
		r.until("another button", func() bool {
			m, _ := r.tg.Find(chatID, "Approve r1")
			return m.Buttons[0].Data != old.Buttons[0].Data
		})
		r.press(jan, "Approve r1")
		if n := len(r.j.commands(t)); n != 2 {
			t.Fatalf("%d decisions", n)
		}
		if c := r.j.commands(t)[1]; c.By != "jan" || c.Command != amp.Approve {
			t.Errorf("%+v", c)
		}
	})
}

// TestQuiet: in the quiet hours only what is critical is told; then comes a sum, and what still waits.
func TestQuiet(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) { // time begins at midnight UTC
		r := newRig(t, home, func(c *notify.Config) {
			c.Quiet, c.Mode = notify.Hours{From: 22 * time.Hour, To: 7 * time.Hour}, notify.Verbose
		})
		r.start()
		time.Sleep(time.Hour)
		r.j.plan(t, amp.Low, 1)
		time.Sleep(time.Hour)
		if n := len(r.tg.Messages()); n != 0 {
			t.Fatalf("told in the quiet hours:\n%s", r.said())
		}
		r.j.escalate(t, 1, amp.Critical, amp.BranchViolation, "it touched main")
		r.sees("CRITICAL")
		r.j.proven(t)
		r.stop() // and a restart in between
		r.start()
		time.Sleep(time.Hour)
		if n := len(r.tg.Messages()); n != 1 {
			t.Fatalf("told in the quiet hours:\n%s", r.said())
		}
		if _, err := r.j.Submit(t.Context(), amp.Command{ID: "x", Command: amp.Resume, By: "jan", TaskID: taskID, Note: "go on"}); err != nil {
			t.Fatal(err)
		}
		m := r.sees("While it was quiet, since 01:00:00")
		if now := time.Now(); now.Hour() != 7 || !strings.Contains(m.Text, "still wait") || !strings.Contains(m.Text, "T-2026-001 is suspended, was awaiting_approval") {
			t.Errorf("at %s: %s", now, m.Text)
		}
		r.sees("Approve r1")
		r.stop()
	})
}

// TestModes: explicit tells no news, final tells ends, verbose each step.
func TestModes(t *testing.T) {
	t.Parallel()
	for mode, want := range map[notify.Mode][2]bool{notify.Explicit: {false, false}, notify.Final: {false, true}, notify.Verbose: {true, true}} {
		home := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, home, func(c *notify.Config) { c.Mode = mode })
			r.start()
			time.Sleep(time.Minute)
			r.j.plan(t, amp.Low, 1)
			r.sees("Approve r1")
			time.Sleep(time.Minute)
			if _, err := r.j.Submit(t.Context(), amp.Command{ID: "x", Command: amp.Terminate, By: "jan", TaskID: taskID}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
			r.stop()
			step, end := strings.Contains(r.said(), "T-2026-001 is awaiting_approval"), strings.Contains(r.said(), "T-2026-001 is terminated")
			if got := [2]bool{step, end}; got != want {
				t.Errorf("%s tells steps and ends: %v, want %v\n%s", mode, got, want, r.said())
			}
		})
	}
}

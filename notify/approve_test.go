package notify_test

import (
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

// TestApprove: a plan reaches the chat with what is decided on, and the button is the journal's decision of who pressed it.
func TestApprove(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Medium, 1)
		r.start()
		defer r.stop()
		m := r.sees("Approve r1")
		hash := r.j.board.Task(taskID).Plan.Hash
		for _, want := range []string{"T-2026-001: plan r1 needs you, medium risk", "Make it count.", "S1, about 4 lines: multiply", hash, "terminate: only at the screen"} {
			if !strings.Contains(m.Text, want) {
				t.Errorf("the message has no %q:\n%s", want, m.Text)
			}
		}
		if said := r.press(mira, "Approve r1"); !strings.Contains(said, "approve by mira is entry 3, it runs at") {
			t.Errorf("answered %q", said)
		}
		got := r.j.commands(t)
		if len(got) != 1 {
			t.Fatalf("%d decisions", len(got))
		}
		c := got[0]
		if c.Command != amp.Approve || c.By != "mira" || c.Expects == nil || c.Expects.Hash != hash || c.Expects.Revision != 1 || !c.Args.Undo ||
			c.Args.Read != "read 1/1 in a message" || c.Args.Unread != 0 {
			t.Errorf("command %+v, expects %+v", c, c.Expects)
		}
		r.sees("Take back approve")
		r.j.run(t, c.ID)
		m = r.sees("decided by mira in Telegram at")
		if len(m.Buttons) != 0 || !strings.Contains(m.Text, "approve (entry 3)") {
			t.Errorf("%+v", m)
		}
		if n := len(r.tg.Messages()); n != 1 {
			t.Errorf("%d messages, want one, changed in place", n)
		}
	})
}

// TestTakeBack: within the undo time the decision is taken back, and the plan waits again in the same message.
func TestTakeBack(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		defer r.stop()
		r.press(mira, "Approve r1")
		r.press(mira, "Take back")
		r.sees("Approve r1")
		if got := r.j.commands(t); len(got) != 2 || got[1].Command != amp.Withdraw || got[1].Args.Withdraws != got[0].ID {
			t.Errorf("%+v", got)
		}
		if n := len(r.tg.Messages()); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

// TestDoublePress: two presses of one button are one decision, and so is one that comes again.
func TestDoublePress(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		m := r.sees("Approve r1")
		for range 2 {
			r.tg.PressData(mira, chatID, m.ID, m.Buttons[0].Data)
		}
		first, second := r.answered(0), r.answered(1)
		if !strings.HasPrefix(first, "approve by mira is entry") || !strings.HasPrefix(second, "This button is spent: approve by mira") {
			t.Errorf("answered %q and %q", first, second)
		}
		r.stop()
		r.tg.Repeat() // Telegram did not learn that they were taken
		r.start()
		r.until("all updates are confirmed", func() bool { return r.tg.Pending() == 0 })
		r.stop()
		if n := len(r.j.commands(t)); n != 1 || r.j.submits != 1 {
			t.Errorf("%d decisions, %d submits", n, r.j.submits)
		}
	})
}

// TestStale: what was shown is gone, so nothing is decided and the person reads what changed.
func TestStale(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		defer r.stop()
		old := r.sees("Approve r1")
		r.j.plan(t, amp.Low, 2, func(p *amp.Plan) { p.Description = "Make it count twice." })
		r.sees("Approve r2")
		r.tg.PressData(mira, chatID, old.ID, old.Buttons[0].Data)
		if said := r.answered(0); said != "Refused, nothing was decided: replaced by r2" {
			t.Errorf("answered %q", said)
		}
		if n := len(r.j.commands(t)); n != 0 {
			t.Errorf("%d decisions", n)
		}
		r.until("the old message says so", func() bool {
			m, _ := r.tg.Find(chatID, "replaced by r2")
			return m.ID == old.ID && len(m.Buttons) == 0
		})
	})
}

// TestElsewhere: a decision at the screen ends the message, and its buttons.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		defer r.stop()
		m := r.sees("Approve r1")
		if _, err := r.j.Submit(t.Context(), amp.Command{ID: "x", Command: amp.Reject, By: "jan", TaskID: taskID, Note: "no"}); err != nil {
			t.Fatal(err)
		}
		r.sees("decided by jan elsewhere at")
		r.tg.PressData(mira, chatID, m.ID, m.Buttons[0].Data)
		if said := r.answered(0); !strings.HasPrefix(said, "Refused, nothing was decided: decided by jan elsewhere") {
			t.Errorf("answered %q", said)
		}
	})
}

// TestStranger: who is not configured gets nothing, not even an answer, and is counted.
func TestStranger(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		m := r.sees("Approve r1")
		r.tg.PressData(99, chatID, m.ID, m.Buttons[0].Data) // in the chat, but nobody
		r.tg.PressData(mira, 555, m.ID, m.Buttons[0].Data)  // somebody, in another chat
		r.tg.Say(99, 555, 0, "/start")
		r.until("all updates are confirmed", func() bool { return r.tg.Pending() == 0 })
		r.stop()
		if n := len(r.j.commands(t)); n != 0 || len(r.tg.Answers()) != 0 || len(r.tg.Messages()) != 1 {
			t.Errorf("%d decisions, answers %v\n%s", n, r.tg.Answers(), r.said())
		}
		if log := r.logs.String(); !strings.Contains(log, "count=2") {
			t.Errorf("the log does not count them:\n%s", log)
		}
	})
}

// TestHighRisk: the digits of the content are typed, as a reply, by who pressed.
func TestHighRisk(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.High, 1)
		r.start()
		defer r.stop()
		r.press(mira, "Approve r1…")
		ask := r.sees("with the last four digits of the content")
		if !ask.Force {
			t.Errorf("it asks for no reply: %+v", ask)
		}
		hash := r.j.board.Task(taskID).Plan.Hash
		wrong := "0000"
		if strings.HasSuffix(hash, wrong) {
			wrong = "1111"
		}
		r.tg.Say(mira, chatID, ask.ID, wrong)
		r.sees("Those are not the last four digits of the content; nothing was decided")
		r.tg.Say(jan, chatID, ask.ID, hash[len(hash)-4:]) // right, but asked was somebody else
		r.tg.Say(mira, chatID, 0, hash[len(hash)-4:])     // right, but no reply
		r.until("all updates are confirmed", func() bool { return r.tg.Pending() == 0 })
		if n := len(r.j.commands(t)); n != 0 {
			t.Fatalf("%d decisions", n)
		}
		r.tg.Say(mira, chatID, ask.ID, strings.ToUpper(hash[len(hash)-4:]))
		r.sees("approve by mira is entry")
		if got := r.j.commands(t); len(got) != 1 || got[0].Args.Digits != hash[len(hash)-4:] || got[0].By != "mira" {
			t.Errorf("%+v", got)
		}
	})
}

// TestDigitsThreeTimes: after three wrong ones the button is spent, and the message offers another.
func TestDigitsThreeTimes(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.High, 1)
		r.start()
		defer r.stop()
		old := r.sees("Approve r1…")
		r.press(mira, "Approve r1…")
		ask := r.sees("with the last four digits")
		for range 3 {
			r.tg.Say(mira, chatID, ask.ID, "zzzz")
		}
		r.sees("that button is spent")
		r.until("other buttons", func() bool {
			m, _ := r.tg.Find(chatID, "Approve r1…")
			return m.ID == old.ID && m.Buttons[0].Data != old.Buttons[0].Data
		})
		r.tg.PressData(mira, chatID, old.ID, old.Buttons[0].Data)
		if said := r.answered(1); said != "This button is spent: the digits were wrong" {
			t.Errorf("answered %q", said)
		}
	})
}

// TestExpired: buttons end, and the message shows new ones when somebody wants them.
func TestExpired(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		defer r.stop()
		old := r.sees("Approve r1")
		time.Sleep(13 * time.Hour) // of the bubble
		r.sees("Show again")
		r.tg.PressData(mira, chatID, old.ID, old.Buttons[0].Data)
		if said := r.answered(0); !strings.HasPrefix(said, "This button has expired") {
			t.Errorf("answered %q", said)
		}
		r.press(mira, "Show again")
		if said := r.press(mira, "Approve r1"); !strings.Contains(said, "approve by mira is entry") {
			t.Errorf("answered %q", said)
		}
	})
}

// TestReject: a reason is asked for, and becomes the note of the command.
func TestReject(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		defer r.stop()
		r.press(jan, "Reject…")
		ask := r.sees("reply to this message with your reason")
		r.tg.Say(jan, chatID, ask.ID, "Too wide: name the files.")
		r.sees("reject by jan is entry")
		if got := r.j.commands(t); len(got) != 1 || got[0].Command != amp.Reject || got[0].Note != "Too wide: name the files." || got[0].By != "jan" {
			t.Errorf("%+v", got)
		}
	})
}

package notify_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/notify"
)

// TestOutage: hours without Telegram lose nothing and repeat nothing, what was pressed meanwhile waits there, and no trouble tells the token.
func TestOutage(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, home)
		r.tg.Down(true)
		r.j.plan(t, amp.Low, 1)
		r.start()
		time.Sleep(5 * time.Hour) // of the bubble
		if n := len(r.tg.Messages()); n != 0 {
			t.Fatalf("%d messages", n)
		}
		r.tg.Down(false)
		m := r.sees("Approve r1")
		r.tg.Down(true)
		r.tg.PressData(mira, chatID, m.ID, m.Buttons[0].Data)
		time.Sleep(3 * time.Hour)
		if n := len(r.j.commands(t)); n != 0 {
			t.Fatalf("%d decisions", n)
		}
		r.tg.Down(false)
		r.answered(0)
		r.stop()
		if n := len(r.j.commands(t)); n != 1 || len(r.tg.Messages()) != 1 {
			t.Errorf("%d decisions\n%s", n, r.said())
		}
		log := r.logs.String()
		if strings.Contains(log, "SECRET") || !strings.Contains(log, "telegram is not reached") {
			t.Errorf("the log tells the token, or nothing of the outage:\n%s", log)
		}
		if n := strings.Count(log, "telegram is not reached"); n > 300 {
			t.Errorf("%d lines in the log for 8 hours", n)
		}
	})
	noToken(t, home)
}

// noToken looks for the token in every file of a data directory.
func noToken(t *testing.T, home string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(home, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), "SECRET") {
			t.Errorf("%s holds the token", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files: %v", files, err)
	}
}

// TestRestart: buttons survive it, what was decided meanwhile is told, and nothing is sent twice.
func TestRestart(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.start()
		old := r.sees("Approve r1")
		r.stop()
		r.tg.PressData(mira, chatID, old.ID, old.Buttons[0].Data) // while nobody listens
		r.start()
		r.answered(0)
		r.stop()
		got := r.j.commands(t)
		if len(got) != 1 || got[0].Command != amp.Approve {
			t.Fatalf("%+v", got)
		}
		r.j.run(t, got[0].ID) // while nobody listens
		r.start()
		m := r.sees("decided by mira in Telegram at")
		r.stop()
		if n := len(r.tg.Messages()); n != 1 || m.ID != old.ID {
			t.Errorf("%d messages\n%s", n, r.said())
		}
	})
}

// TestCrash: a decision that was stored before the notifier died, whose press comes again, stays one decision.
func TestCrash(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, home)
		r.j.plan(t, amp.Low, 1)
		r.start()
		m := r.sees("Approve r1")
		r.stop()
		file := filepath.Join(home, "system", "notify.json")
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r.start()
		r.tg.PressData(mira, chatID, m.ID, m.Buttons[0].Data)
		r.answered(0)
		r.stop()
		if err := os.WriteFile(file, before, 0o600); err != nil { // as if it had died before it wrote that down
			t.Fatal(err)
		}
		r.tg.Repeat()
		r.start()
		if said := r.answered(1); !strings.HasPrefix(said, "approve by mira is entry 3") {
			t.Errorf("answered %q", said)
		}
		r.stop()
		if n := len(r.j.commands(t)); n != 1 {
			t.Errorf("%d decisions", n)
		}
	})
}

// TestLimited: 429 is waited out for as long as Telegram says.
func TestLimited(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.tg.Fail("sendMessage", 429, 40)
		r.tg.Fail("sendMessage", 502, 0)
		began := time.Now()
		r.start()
		defer r.stop()
		r.sees("Approve r1")
		if took := time.Since(began); took < 40*time.Second || took > 60*time.Second || r.tg.Calls("sendMessage") != 3 {
			t.Errorf("%s, %d calls", took, r.tg.Calls("sendMessage"))
		}
	})
}

// TestLimited_absurd: who asks to be left alone for years, by mistake, is asked again the next day; less than nothing is as good as nothing.
func TestLimited_absurd(t *testing.T) {
	t.Parallel()
	for after, least := range map[int]time.Duration{99999999: 24 * time.Hour, math.MaxInt64 / 2: 24 * time.Hour, -7: 0} {
		t.Run(strconv.Itoa(after), func(t *testing.T) {
			t.Parallel()
			story(t, func(t *testing.T, r *rig) {
				r.j.plan(t, amp.Low, 1)
				r.tg.Fail("sendMessage", 429, after)
				began := time.Now()
				r.start()
				defer r.stop()
				time.Sleep(least + time.Minute)
				r.until("the message", func() bool { return len(r.tg.Messages()) > 0 })
				if took := time.Since(began); took < least || took > least+2*time.Minute {
					t.Errorf("it was tried again after %s, want %s", took, least)
				}
			})
		})
	}
}

// TestLost: Telegram took a message whose answer was lost. It is sent again; either one decides, once, and both say what became of it.
func TestLost(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.tg.Lose("sendMessage")
		r.start()
		defer r.stop()
		r.until("both", func() bool { return len(r.tg.Messages()) == 2 })
		first := r.tg.Messages()[0]
		r.tg.PressData(mira, chatID, first.ID, first.Buttons[0].Data)
		if said := r.answered(0); !strings.HasPrefix(said, "approve by mira is entry") {
			t.Errorf("answered %q", said)
		}
		r.j.run(t, r.j.commands(t)[0].ID)
		r.until("both say it", func() bool {
			for _, m := range r.tg.Messages() {
				if !strings.Contains(m.Text, "decided by mira in Telegram") || len(m.Buttons) != 0 {
					return false
				}
			}
			return true
		})
		second := r.tg.Messages()[1]
		r.tg.PressData(mira, chatID, second.ID, first.Buttons[0].Data)
		if said := r.answered(1); !strings.HasPrefix(said, "This button is spent") {
			t.Errorf("answered %q", said)
		}
	})
}

// TestGone: a message that somebody deleted is sent anew when it has to change, and one that Telegram refuses is not tried for ever.
func TestGone(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.tg.Fail("sendMessage", 400, 0)
		r.start()
		defer r.stop()
		time.Sleep(24 * time.Hour)
		if n := r.tg.Calls("sendMessage"); n != 1 || !strings.Contains(r.logs.String(), "refuses a message for good") {
			t.Errorf("%d calls\n%s", n, r.logs)
		}
		r.j.plan(t, amp.Low, 2)
		r.sees("Approve r2")
	})
}

// TestStored: a coordinator that cannot store a decision is asked again; the button stays good.
func TestStored(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.j.broken = 2
		r.start()
		defer r.stop()
		if said := r.press(mira, "Approve r1"); !strings.HasPrefix(said, "approve by mira is entry") {
			t.Errorf("answered %q", said)
		}
		if n := len(r.j.commands(t)); n != 1 {
			t.Errorf("%d decisions", n)
		}
	})
}

// TestBroken: after a minute the person is told, others are not held up, and the button is still good.
func TestBroken(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.j.broken = 5
		r.start()
		defer r.stop()
		if said := r.press(mira, "Approve r1"); said != "Nothing was decided, the coordinator failed: the disk is full" {
			t.Errorf("answered %q", said)
		}
		if said := r.press(mira, "Approve r1"); !strings.HasPrefix(said, "approve by mira is entry") {
			t.Errorf("answered %q", said)
		}
	})
}

// TestOtherJournal: a state that knows more than the journal has belongs to another one; nothing of it counts.
func TestOtherJournal(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, home)
		r.j.plan(t, amp.Low, 1)
		r.j.plan(t, amp.Low, 2)
		r.start()
		r.sees("Approve r2")
		r.stop()
		other := newRig(t, home, func(c *notify.Config) { c.Telegram.Transport = r.tg })
		other.tg = r.tg
		other.j.plan(t, amp.Low, 1)
		other.start()
		defer other.stop()
		other.sees("Approve r1")
	})
}

// TestUnreadable: a damaged state is said and is no new beginning.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "system"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, "system", "notify.json")
	if err := os.WriteFile(file, []byte(`{"cursor":`), 0o600); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, home)
		r.j.plan(t, amp.Low, 1)
		r.start()
		defer r.stop()
		time.Sleep(2 * time.Minute)
		if len(r.tg.Messages()) != 0 || !strings.Contains(r.logs.String(), "what waits is told anew") {
			t.Errorf("%s\n%s", r.said(), r.logs)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		r.sees("Approve r1")
	})
}

// TestFlood: many things are told at the pace that Telegram allows a group, the critical ones first.
func TestFlood(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		for i := range 30 {
			r.j.escalate(t, i, amp.Info, amp.UnknownEscalation, fmt.Sprintf("number %d", i))
		}
		r.j.escalate(t, 30, amp.Critical, amp.BranchViolation, "it touched main")
		began := time.Now()
		r.start()
		defer r.stop()
		r.until("all", func() bool { return len(r.tg.Messages()) >= 31 })
		if took := time.Since(began); took < 90*time.Second {
			t.Errorf("%d messages in %s: more than 20 a minute", len(r.tg.Messages()), took)
		}
		if first := r.tg.Messages()[0]; !strings.Contains(first.Text, "CRITICAL branch violation") {
			t.Errorf("first came %s", first.Text)
		}
	})
}

// TestEnd: the answer to a message that is on its way is waited for when the notifier ends, so that it does not come twice.
func TestEnd(t *testing.T) {
	t.Parallel()
	story(t, func(t *testing.T, r *rig) {
		r.j.plan(t, amp.Low, 1)
		r.tg.Slow(2 * time.Second)
		r.start()
		time.Sleep(time.Second)
		r.stop()
		r.tg.Slow(0)
		r.start()
		r.sees("Approve r1")
		r.stop()
		if n := len(r.tg.Messages()); n != 1 {
			t.Errorf("%d messages", n)
		}
	})
}

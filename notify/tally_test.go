package notify_test

import (
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/notify"
)

// The tally says what arrived, what failed, what waits and since when a channel is out, and is well again when the receiver is back.
func TestTally(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s := &sink{}
		for range 30 {
			s.codes = append(s.codes, 0)
		}
		tally := &notify.Tally{}
		r := newRig(t, home, func(c *notify.Config) {
			c.Tally, c.Telegram, c.Webhooks = tally, nil, []notify.Webhook{hook(s, false)}
			c.Desktop = nil
		})
		r.j.plan(t, amp.Low, 1)
		began := time.Now()
		r.start()
		time.Sleep(30 * time.Minute)
		synctest.Wait()
		all := tally.Channels()
		if len(all) != 1 || all[0].Name != "webhook ops" {
			t.Fatalf("channels = %+v", all)
		}
		if c := all[0]; c.Delivered != 0 || c.Failed != uint64(s.tries) || c.Waiting != 1 || !c.Last.IsZero() || c.Failing.Before(began) || time.Since(c.Failing) < 25*time.Minute {
			t.Errorf("in the outage: %+v after %d tries", c, s.tries)
		}
		s.back()
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if c := tally.Channels()[0]; c.Delivered != uint64(len(s.got)) || c.Delivered == 0 || c.Waiting != 0 || c.Last.IsZero() || !c.Failing.IsZero() {
			t.Errorf("afterwards: %+v of %d", c, len(s.got))
		}
	})
}

// A nil tally counts nothing.
func TestTally_none(t *testing.T) {
	t.Parallel()
	var tally *notify.Tally
	if all := tally.Channels(); all != nil {
		t.Errorf("channels = %+v", all)
	}
}

// Of Telegram every message that is due waits until it arrived.
func TestTally_telegram(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		tally := &notify.Tally{}
		r := newRig(t, home, func(c *notify.Config) { c.Tally = tally })
		r.j.plan(t, amp.Low, 1)
		r.start()
		time.Sleep(time.Minute)
		all := tally.Channels()
		if len(all) != 1 || all[0].Name != "telegram" || all[0].Delivered == 0 || all[0].Failed != 0 || all[0].Waiting != 0 || all[0].Last.IsZero() {
			t.Errorf("channels = %+v", all)
		}
	})
}

package notify

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Channel is how one way to people stands.
type Channel struct {
	// Name is "telegram", "desktop" or "webhook NAME".
	Name string
	// Delivered are messages that arrived, Failed attempts that did not; most of these are made again.
	Delivered, Failed uint64
	// Waiting is how many messages are to be sent.
	Waiting int
	// Last is when one arrived, zero when none did since Began. Failing is since when none does, zero while it goes well.
	Last, Began, Failing time.Time
}

// Tally counts what became of messages, since the program was started. It is safe for concurrent use; a nil one counts nothing.
type Tally struct {
	mu  sync.Mutex
	all map[string]*Channel
}

// Channels are all that were in use, by name.
func (t *Tally) Channels() []Channel {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Channel
	for _, name := range slices.Sorted(maps.Keys(t.all)) {
		out = append(out, *t.all[name])
	}
	return out
}

// at calls f with a channel.
func (t *Tally) at(name string, now time.Time, f func(c *Channel)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]*Channel{}
	}
	c := t.all[name]
	if c == nil {
		c = &Channel{Name: name, Began: now}
		t.all[name] = c
	}
	f(c)
}

// came notes what became of one attempt.
func (t *Tally) came(name string, err error, now time.Time) {
	t.at(name, now, func(c *Channel) {
		if err == nil {
			c.Delivered++
			c.Last, c.Failing = now, time.Time{}
			return
		}
		c.Failed++
		if c.Failing.IsZero() {
			c.Failing = now
		}
	})
}

const (
	telegramChannel = "telegram"
	desktopChannel  = "desktop"
)

func (w *Webhook) channel() string { return "webhook " + w.Name }

// count notes what waits for each channel.
func (d *desk) count(now time.Time) {
	t := d.cfg.Tally
	if t == nil {
		return
	}
	set := func(name string, n int) { t.at(name, now, func(c *Channel) { c.Waiting = n }) }
	if d.bot != nil {
		set(telegramChannel, d.owed(now))
	}
	if d.cfg.Desktop != nil {
		set(desktopChannel, len(d.desktop.lines)+d.desktop.more)
	}
	for i := range d.cfg.Webhooks {
		w := &d.cfg.Webhooks[i]
		set(w.channel(), len(d.state.Hooks[w.Name]))
	}
}

// owed is how many messages the chats are due: questions, notes, and items that no message is known to have arrived of.
func (d *desk) owed(now time.Time) int {
	n := len(d.state.Notes)
	for _, p := range d.state.Prompts {
		if p.ID == 0 && now.Before(p.Expires) {
			n++
		}
	}
	for _, it := range d.state.Items {
		if it.Closed || it.Quiet && d.state.Hushed != nil {
			continue
		}
		for _, chat := range d.cfg.Telegram.Chats {
			if p := it.post(chat); p == nil || !p.Dead && p.Shown == "" {
				n++
			}
		}
	}
	return n
}

package notify

import (
	"fmt"
	"time"
)

// Hours are times of day from and to which it is quiet; equal ones mean never. They may span midnight.
type Hours struct{ From, To time.Duration }

// quiet reports whether t is in the hours.
func (h Hours) quiet(t time.Time) bool {
	at := t.Sub(midnight(t))
	if h.From <= h.To {
		return at >= h.From && at < h.To
	}
	return at >= h.From || at < h.To
}

// midnight is a moment from which the time of day is counted, also on the days on which the clocks are changed.
func midnight(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Hour())*time.Hour - time.Duration(t.Minute())*time.Minute - time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
}

// isQuiet reports whether only what is critical is told now.
func (d *desk) isQuiet(now time.Time) bool { return d.cfg.Quiet.quiet(now.In(d.cfg.Zone)) }

// raised notes that something began to wait.
func (d *desk) raised(it *item, now time.Time) {
	d.changed = true
	if d.isQuiet(now) && !it.Critical {
		it.Quiet = true
		h := d.hushed(now)
		h.Keys = append(h.Keys, it.Key)
		h.Keys = h.Keys[max(0, len(h.Keys)-maxClosed):]
	} else {
		d.alert(it)
	}
	d.parcel(it, "waiting", it.At)
}

// alert says on this desktop that something waits.
func (d *desk) alert(it *item) {
	if d.cfg.Desktop != nil {
		d.desktop.add(it.Short, it.Critical)
	}
}

// closed notes that something waits no more.
func (d *desk) closed(it *item, now time.Time) { d.parcel(it, "decided", now) }

func (d *desk) hushed(now time.Time) *hushed {
	if d.state.Hushed == nil {
		d.state.Hushed = &hushed{Since: now}
	}
	return d.state.Hushed
}

// tell tells every chat one line, or keeps it until the quiet hours are over.
func (d *desk) tell(now time.Time, l lineS) {
	d.changed = true
	if d.isQuiet(now) {
		h := d.hushed(now)
		h.News = append(h.News, l)
		if over := len(h.News) - maxNews; over > 0 {
			h.News, h.More = h.News[over:], h.More+over
		}
		return
	}
	d.line(l)
	d.newsParcel(l, now)
}

// line adds a line to the news that each chat still has to get.
func (d *desk) line(l lineS) {
	if d.bot == nil {
		return
	}
	for _, chat := range d.cfg.Telegram.Chats {
		n := d.unsent(chat)
		n.Lines = append(n.Lines, l)
		if over := len(n.Lines) - maxNews; over > 0 {
			n.Lines, n.Dropped = n.Lines[over:], n.Dropped+over
		}
	}
}

// unsent is the last note of news for a chat that is not on its way.
func (d *desk) unsent(chat int64) *note {
	notes := d.state.Notes
	for i := len(notes) - 1; i >= 0; i-- {
		if n := notes[i]; n.Chat == chat && n.News && !(i == 0 && d.sending) {
			return n
		}
	}
	n := &note{Chat: chat, News: true}
	d.state.Notes = append(d.state.Notes, n)
	return n
}

// hush ends the quiet hours: what was held back is summed up, and what still waits is told. It returns when to look again.
func (d *desk) hush(now time.Time) time.Time {
	if d.cfg.Quiet.From == d.cfg.Quiet.To && d.state.Hushed == nil {
		return now.Add(time.Hour)
	}
	if h := d.state.Hushed; h != nil && !d.isQuiet(now) {
		d.sumUp(h, now)
		d.state.Hushed, d.changed = nil, true
	}
	return now.Add(d.cfg.Quiet.next(now.In(d.cfg.Zone)))
}

// next is how long it is until the hours begin or end.
func (h Hours) next(t time.Time) time.Duration {
	at := t.Sub(midnight(t))
	next := 24 * time.Hour
	for _, edge := range []time.Duration{h.From, h.To} {
		d := edge - at
		if d <= 0 {
			d += 24 * time.Hour
		}
		next = min(next, d)
	}
	return next
}

func (d *desk) sumUp(h *hushed, now time.Time) {
	waiting, decided := 0, 0
	var lines []lineS
	for _, key := range h.Keys {
		it := d.state.Items[key]
		switch {
		case it == nil || it.Closed:
			decided++
			if it != nil {
				lines = append(lines, lineS{it.Short + ": ", it.Outcome})
			}
		default:
			waiting++
			it.Quiet = false
			lines = append(lines, lineS{it.Short + " (waits)", ""})
			d.alert(it)
		}
	}
	if waiting+decided+len(h.News)+h.More == 0 {
		return
	}
	d.line(lineS{fmt.Sprintf("While it was quiet, since %s: %d things came, %d of them still wait.", clock(h.Since, d.cfg.Zone), waiting+decided, waiting), ""})
	if h.More > 0 {
		d.line(lineS{fmt.Sprintf("… %d more news", h.More), ""})
	}
	for _, l := range append(lines, h.News...) {
		d.line(l)
		d.newsParcel(l, now)
	}
}

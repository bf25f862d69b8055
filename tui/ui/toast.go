package ui

import (
	"time"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// ToastFor is how long a toast stays. Errors are kept elsewhere too: a toast is never the only place.
const ToastFor = 4 * time.Second

// Toast is a short message over the screen.
type Toast struct {
	Text  string
	Role  theme.Role // Good, Danger, Time or Text; the sign before the text says the same
	Until time.Time
}

// Toasts is a stack of at most three toasts, the newest last. The zero value is ready.
type Toasts struct{ all []Toast }

const maxToasts = 3

// Push adds a message that stays for [ToastFor]. The same text again only stays longer.
func (t *Toasts) Push(role theme.Role, text string, now time.Time) {
	for i, o := range t.all {
		if o.Text == text {
			t.all[i].Until = now.Add(ToastFor)
			return
		}
	}
	t.all = append(t.all, Toast{text, role, now.Add(ToastFor)})
	if len(t.all) > maxToasts {
		t.all = append([]Toast(nil), t.all[len(t.all)-maxToasts:]...)
	}
}

// Expire removes what is over and reports whether anything was.
func (t *Toasts) Expire(now time.Time) bool {
	kept := t.all[:0]
	for _, o := range t.all {
		if now.Before(o.Until) {
			kept = append(kept, o)
		}
	}
	gone := len(kept) < len(t.all)
	t.all = kept
	return gone
}

// Next returns when the next toast is over; ok is false without toasts.
func (t *Toasts) Next() (at time.Time, ok bool) {
	for _, o := range t.all {
		if !ok || o.Until.Before(at) {
			at, ok = o.Until, true
		}
	}
	return at, ok
}

// Clear removes all toasts.
func (t *Toasts) Clear() { t.all = nil }

// Take returns all toasts, the newest last, and removes them: for who says them in another way.
func (t *Toasts) Take() []Toast {
	all := t.all
	t.all = nil
	return all
}

// Draw overlays the toasts on the frame, at the right, above row bottom.
func (t *Toasts) Draw(f *Frame, bottom int) {
	y := bottom - len(t.all)
	for _, o := range t.all {
		sign := f.th.Signs.Dot
		switch o.Role {
		case theme.Good:
			sign = f.th.Signs.Yes
		case theme.Danger:
			sign = f.th.Signs.No
		case theme.Time, theme.Alert:
			sign = "!"
		}
		text := Cut(" "+sign+" "+textsafe.Line(o.Text)+" ", max(f.w-2, 0))
		b := NewBlock(f.th, Width(text)+2)
		b.Add(f.th.S(theme.Line, f.th.Signs.Bar) + f.th.S(o.Role, text) + f.th.S(theme.Line, f.th.Signs.Bar))
		f.Overlay(f.w-b.w, y, b)
		y++
	}
}

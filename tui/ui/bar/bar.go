// Package bar is the decision bar: where an admin confirms what cannot be taken back with a key press.
//
// The rules it keeps, so that no page has to: Cancel has the focus first. Nothing is confirmed before the bar
// has stood unchanged and without a key for [ArmDelay]; keys before that are swallowed and reported. Enter acts,
// and only on the focused button; space, letters, clicks and pastes never do. High risk wants the last four
// digits of the content typed, a batch wants its phrase typed, both by hand. Esc always leaves and keeps the
// draft. The bar knows no clock: time is passed in.
package bar

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	_ "arbiter/tui/preterm" // before Bubble Tea's init
	"arbiter/tui/ui"
)

// ArmDelay is how long a bar must stand unchanged and untouched before it can act.
const ArmDelay = 400 * time.Millisecond

// Kind says what a key did.
type Kind uint8

// The kinds of events.
const (
	Changed   Kind = iota // focus, digits or text changed: draw again
	Ignored               // the key means nothing here; it is swallowed all the same
	NotArmed              // typed ahead: swallowed, and the delay starts again
	Refused               // enter on the button that acts while a condition is open; Why names it
	Confirmed             // decided; Text, Digits and Phrase hold what was typed
	Cancelled             // left; the draft is kept in Text
)

// Event is the answer to a key.
type Event struct {
	Kind   Kind
	Why    string // for NotArmed, Refused and a refused paste: the sentence to show
	Text   string // the reason or note, trimmed
	Digits string // the typed digits
}

// focus is what the next key goes to.
type focus uint8

const (
	onText focus = iota
	onTyped
	onCancel
	onAct
)

// Bar is one open decision. It is not safe for concurrent use.
type Bar struct {
	ask   Ask
	since time.Time // the last opening, change or swallowed key
	focus focus
	typed string
	field *ui.Field
	why   string

	offset int // first fact on the screen when they do not all fit
	unseen int // facts that were never on the screen, as of the last Render
	seenTo int
}

// Open returns a bar with the safe button focused, to be armed [ArmDelay] after now. draft fills the text field.
func Open(ask Ask, draft string, now time.Time) *Bar {
	b := &Bar{ask: clone(ask), since: now, focus: onCancel, field: ui.NewArea(ask.Text)}
	b.field.Limit = 16 << 10
	b.field.SetText(draft)
	if ask.ActIsSafe {
		b.focus = onAct
	}
	return b
}

// clone copies the slices, so that a caller who reuses them cannot change what is compared.
func clone(a Ask) Ask {
	rows := make([]Row, len(a.Rows))
	for i, r := range a.Rows {
		rows[i] = Row{r.Label, append([]string(nil), r.Items...)}
	}
	a.Rows = rows
	a.Templates = append([]string(nil), a.Templates...)
	return a
}

// Ask returns what the bar shows.
func (b *Bar) Ask() Ask { return clone(b.ask) }

// Update replaces what the bar shows and reports whether that changed anything. A change disarms: the focus goes
// back to the safe button, typed digits fall, the delay starts again. The text is kept.
func (b *Bar) Update(ask Ask, now time.Time) bool {
	ask = clone(ask)
	if b.ask.Equal(&ask) {
		return false
	}
	b.offset, b.seenTo, b.unseen = 0, 0, 0
	why := "the decision changed: read it again"
	if b.ask.Off != "" && ask.Off == "" {
		why = "it can be decided now: read it"
	}
	b.ask, b.since, b.typed, b.why = ask, now, "", why
	b.focus = onCancel
	if ask.ActIsSafe {
		b.focus = onAct
	}
	return true
}

// Armed reports whether the bar can act at this moment.
func (b *Bar) Armed(now time.Time) bool { return !now.Before(b.ArmsAt()) }

// ArmsAt returns when the bar is armed if nothing happens before. Draw again at that moment.
func (b *Bar) ArmsAt() time.Time { return b.since.Add(ArmDelay) }

// Draft returns the text typed so far, to be kept when the bar closes.
func (b *Bar) Draft() string { return b.field.Text() }

// Typing reports whether the next letter goes into the text field, so that keys are not split or translated.
func (b *Bar) Typing() bool { return b.focus == onText }

// missing returns the first open condition, "" when the decision may be confirmed.
func (b *Bar) missing() string {
	switch {
	case b.ask.undecidable() != "":
		return b.ask.undecidable()
	case b.unseen > 0:
		return fmt.Sprintf("%d rows were not on the screen yet: down shows them", b.unseen)
	}
	return b.ask.Missing(b.field.Text(), b.typed)
}

// Mouse swallows a click or wheel: nothing in the bar reacts to the mouse.
func (b *Bar) Mouse() Event { return Event{Kind: Ignored, Text: b.text()} }

// Key handles one key message. Keys that arrived together in one message are not split: outside of the text
// field such a burst is refused as typed ahead.
func (b *Bar) Key(k tea.KeyMsg, now time.Time) Event {
	name := k.String()
	if name == "esc" || name == "ctrl+c" {
		return b.event(Cancelled, "")
	}
	if !b.Armed(now) {
		b.since = now
		return b.event(NotArmed, "not armed: wait, read, then decide")
	}
	b.why = ""
	switch name {
	case "tab", "shift+tab":
		b.move(name == "tab", true)
		return b.event(Changed, "")
	case "ctrl+s": // leaves the text without a key that types
		if b.focus == onText {
			b.move(true, true)
			return b.event(Changed, "")
		}
	}
	if b.template(name) {
		return b.event(Changed, "")
	}
	switch {
	case b.focus == onText:
		return b.intoText(k)
	case k.Paste:
		return b.event(Ignored, "pasting does not decide: type it")
	case k.Type == tea.KeyRunes && len(k.Runes) > 1:
		b.since = now
		return b.event(NotArmed, "several keys at once: typed ahead, swallowed")
	}
	switch name {
	case "left", "right":
		b.move(name == "right", false)
		return b.event(Changed, "")
	case "i":
		if b.focus != onTyped && b.toText() {
			return b.event(Changed, "")
		}
	case "up", "down":
		b.scroll(name == "down")
		return b.event(Changed, "")
	case "enter":
		return b.press()
	}
	return b.type1(k)
}

func (b *Bar) intoText(k tea.KeyMsg) Event {
	if b.field.Key(k) {
		return b.event(Changed, "")
	}
	return b.event(Ignored, "")
}

// template puts the text that a key stands for into the field, wherever the focus is, and goes there.
func (b *Bar) template(key string) bool {
	digit, ok := strings.CutPrefix(key, "alt+")
	if !ok || len(digit) != 1 || digit < "1" || digit > "9" {
		return false
	}
	i := int(digit[0] - '1')
	if i >= len(b.ask.Templates) || !b.toText() {
		return false
	}
	b.field.Insert(b.ask.Templates[i])
	return true
}

// press acts on the focused button.
func (b *Bar) press() Event {
	switch b.focus {
	case onCancel:
		return b.event(Cancelled, "")
	case onAct:
		if why := b.missing(); why != "" {
			if b.ask.lacksText(b.field.Text()) {
				why += ": i writes it"
			}
			return b.event(Refused, why)
		}
		return b.event(Confirmed, "")
	default:
		b.move(true, true)
		return b.event(Changed, "")
	}
}

// scroll moves through facts that do not fit; Render holds the offset within bounds.
func (b *Bar) scroll(down bool) {
	if down {
		b.offset++
	} else {
		b.offset = max(b.offset-1, 0)
	}
}

// type1 takes one typed character of the digits or of the phrase; it goes there wherever the focus is but in
// the text, and never to a button.
func (b *Bar) type1(k tea.KeyMsg) Event {
	want := b.ask.phrase()
	limit := len(want)
	if want == "" {
		if b.ask.digits() == "" {
			return b.event(Ignored, "")
		}
		limit = 4
	}
	switch {
	case k.Type == tea.KeyBackspace:
		if b.typed != "" {
			b.typed = b.typed[:len(b.typed)-1]
		}
		return b.event(Changed, "")
	case k.Type == tea.KeySpace && want != "":
		return b.add(" ", limit)
	case k.Type == tea.KeyRunes && !k.Alt && len(k.Runes) == 1:
		c := strings.ToLower(string(k.Runes))
		if len(c) == 1 && (want != "" || strings.Contains("0123456789abcdef", c)) {
			return b.add(c, limit)
		}
	}
	return b.event(Ignored, "")
}

func (b *Bar) add(c string, limit int) Event {
	if len(b.typed) >= limit {
		return b.event(Ignored, "backspace takes a character back")
	}
	b.typed += c
	return b.event(Changed, "")
}

// stops returns what tab goes through; arrows go through the buttons alone.
func (b *Bar) stops(all bool) []focus {
	var s []focus
	if all && b.ask.Text != "" {
		s = append(s, onText)
	}
	if all && (b.ask.digits() != "" || b.ask.phrase() != "") {
		s = append(s, onTyped)
	}
	return append(s, onCancel, onAct)
}

// move goes to the next or the previous stop; arrows do not go around.
func (b *Bar) move(forward, all bool) {
	stops := b.stops(all)
	at := -1
	for i, s := range stops {
		if s == b.focus {
			at = i
		}
	}
	switch {
	case at < 0:
		b.focus = onCancel
	case forward && at+1 < len(stops):
		b.focus = stops[at+1]
	case !forward && at > 0:
		b.focus = stops[at-1]
	case all && forward:
		b.focus = stops[0]
	case all:
		b.focus = stops[len(stops)-1]
	}
}

// toText puts the focus into the text field, and reports whether there is one.
func (b *Bar) toText() bool {
	if !slices.Contains(b.stops(true), onText) {
		return false
	}
	b.focus = onText
	return true
}

func (b *Bar) text() string { return strings.TrimSpace(b.field.Text()) }

func (b *Bar) event(k Kind, why string) Event {
	b.why = why
	e := Event{Kind: k, Why: why, Text: b.text()}
	if k == Confirmed {
		e.Digits = b.typed
	}
	return e
}

// Focused returns the word on the focused button, "text" or "digits": for tests and screen readers.
func (b *Bar) Focused() string {
	switch b.focus {
	case onText:
		return "text"
	case onTyped:
		return "digits"
	case onCancel:
		return b.cancelWord()
	default:
		return b.ask.Confirm
	}
}

func (b *Bar) cancelWord() string {
	if b.ask.Cancel == "" {
		return "Cancel"
	}
	return b.ask.Cancel
}

package bar

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// labelWidth is the column of "will", "will not", "expects".
const labelWidth = 9

// textRows is the height of the text field.
const textRows = 3

// Height returns the rows that [Bar.Render] needs in w cells to show everything.
func (b *Bar) Height(th *theme.Theme, w int) int { return b.draw(th, w, b.ArmsAt()).Height() }

// Render returns the bar in exactly h rows of w cells. Where it does not fit, what is below the facts gets shorter
// first; then the facts scroll with up and down, and nothing can be confirmed before each of them was on the screen.
// The row of the buttons is always there.
func (b *Bar) Render(th *theme.Theme, w, h int, now time.Time) *ui.Block {
	head, facts := b.head(th, w, now), b.facts(th, w)
	dense := 0
	if head.Height()+facts.Height()+b.foot(th, w, now, 0).Height() > h {
		dense = 1
		spare := h - head.Height() - facts.Height() - b.foot(th, w, now, dense).Height()
		dense += min(max(spare, 0), textRows-1)
	}
	room := h - head.Height() - b.foot(th, w, now, dense).Height()
	if facts.Height() <= room {
		b.offset, b.unseen, b.seenTo = 0, 0, facts.Height()
		return head.Append(facts, b.foot(th, w, now, dense)).Fit(h)
	}
	room = max(room-1, 0) // the row that says what is missing
	b.offset = min(b.offset, max(facts.Height()-room, 0))
	if b.offset <= b.seenTo { // nothing was passed over
		b.seenTo = max(b.seenTo, b.offset+room)
	}
	b.unseen = max(facts.Height()-b.seenTo, 0)
	for i := range room {
		head.Add(facts.Rows()[b.offset+i])
	}
	if h > head.Height() {
		head.Say(theme.Alert, fmt.Sprintf("  %s of %d · up and down scroll · %d not read yet", rowsFrom(b.offset, room), facts.Height(), b.unseen))
	}
	foot := b.foot(th, w, now, dense)
	if over := head.Height() + foot.Height() - h; over > 0 {
		head.Fit(head.Height() - over)
	}
	return head.Append(foot).Fit(h)
}

// rowsFrom names n rows behind the first ones that are scrolled away.
func rowsFrom(above, n int) string {
	switch n {
	case 0:
		return "no row"
	case 1:
		return fmt.Sprintf("row %d", above+1)
	}
	return fmt.Sprintf("rows %d-%d", above+1, above+n)
}

func (b *Bar) draw(th *theme.Theme, w int, now time.Time) *ui.Block {
	return ui.NewBlock(th, w).Append(b.head(th, w, now), b.facts(th, w), b.foot(th, w, now, 0))
}

func (b *Bar) head(th *theme.Theme, w int, now time.Time) *ui.Block {
	state := th.S(theme.Good, "armed "+th.Signs.Live)
	if left := b.ArmsAt().Sub(now); left > 0 {
		state = th.S(theme.Time, fmt.Sprintf("armed in %.1f s", float64((left+99*time.Millisecond)/(100*time.Millisecond))/10))
	}
	return ui.NewBlock(th, w).RuleStyled(th.S(theme.Title, ui.Safe(b.ask.Title)), state)
}

func (b *Bar) facts(th *theme.Theme, w int) *ui.Block {
	out := ui.NewBlock(th, w)
	for _, r := range b.ask.Rows {
		items := make([]string, len(r.Items))
		for i, it := range r.Items {
			items[i] = ui.Safe(it)
		}
		out.Field(labelWidth, ui.Safe(r.Label), packed(items, " "+th.Signs.Dot+" ", w-labelWidth-3))
	}
	if b.ask.Content != "" {
		out.Field(labelWidth, b.ask.What(), grouped(ui.Safe(b.ask.Content)))
	}
	return out
}

// packed joins items into rows of w cells; an item goes on in another row only when it alone is longer than one.
func packed(items []string, sep string, w int) string {
	out, used := "", 0
	for i, it := range items {
		n := ui.Width(it)
		switch {
		case i == 0:
		case used+ui.Width(sep)+n <= w:
			out += sep
			used += ui.Width(sep)
		default:
			out += "\n"
			used = 0
		}
		out += it
		used += n
	}
	return out
}

// grouped returns hex in groups of eight digits.
func grouped(hex string) string {
	var g []string
	for len(hex) > 8 {
		g, hex = append(g, hex[:8]), hex[8:]
	}
	return strings.Join(append(g, hex), " ")
}

// foot is everything below the facts. With dense above 0 it has that many rows for the text and one for its templates,
// and says the risk beside the buttons.
func (b *Bar) foot(th *theme.Theme, w int, now time.Time, dense int) *ui.Block {
	out := ui.NewBlock(th, w)
	if b.ask.Text != "" {
		b.drawText(out, th, dense)
	}
	note := "  " + th.S(theme.Muted, ui.Safe(b.ask.Note))
	if b.ask.phrase() == "" && b.ask.digits() == "" && dense > 0 {
		if b.ask.Note != "" {
			note += th.S(theme.Muted, " "+th.Signs.Dot+" ")
		}
		note += "risk " + b.ask.Risk.String()
	} else {
		out.Add(b.demand(th))
	}
	out.Spread(note, b.buttons(th, now)+" ")
	switch {
	case b.ask.undecidable() != "":
		out.Say(theme.Alert, "  off: "+b.ask.undecidable())
	case b.why != "":
		out.Say(theme.Alert, "  "+b.why)
	}
	return out.Add(" " + th.S(theme.Muted, b.hint(th, w-1)))
}

// hint says the keys and, last, what follows. Where there is no room for all, the keys that are guessed give way.
func (b *Bar) hint(th *theme.Theme, w int) string {
	keys := []string{"tab choose", th.Signs.Enter + " confirm", "esc cancel"}
	if b.focus != onText && slices.Contains(b.stops(true), onText) {
		keys = append([]string{"i write"}, keys...)
	}
	after := ""
	if b.ask.After != "" {
		after = " · " + ui.Safe(b.ask.After)
	}
	for {
		hint := strings.Join(keys, " · ") + after
		if len(keys) == 1 || ui.Width(hint) <= w {
			return hint
		}
		keys = keys[:len(keys)-1]
	}
}

func (b *Bar) drawText(out *ui.Block, th *theme.Theme, dense int) {
	label, rows := ui.Safe(b.ask.Text), textRows
	if dense > 0 {
		rows = dense
	}
	if b.ask.Required {
		label += " (required, kept with the decision)"
	}
	role := theme.Muted
	if b.focus == onText {
		role = theme.Accent
	}
	out.Add("  " + th.S(role, label))
	for _, row := range b.field.Rows(th, out.Width()-4, rows, b.focus == onText) {
		out.Add("  " + th.S(theme.Line, th.Signs.Bar) + " " + row)
	}
	if dense > 0 {
		if n := len(b.ask.Templates); n > 0 {
			out.Add("    " + th.S(theme.Key, "alt+1") + " " + ui.Safe(b.ask.Templates[0]) + th.S(theme.Muted, more(n-1)))
		}
		return
	}
	for i, t := range b.ask.Templates {
		if i == 9 {
			break
		}
		out.Add("    " + th.S(theme.Key, fmt.Sprintf("alt+%d", i+1)) + " " + ui.Safe(t))
	}
}

// more says how many templates are not shown.
func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("  … alt+%d", min(n+1, 9))
}

// demand is the row of what must be typed.
func (b *Bar) demand(th *theme.Theme) string {
	typed := func(n int) string {
		role := theme.Strong
		if b.focus == onTyped {
			role = theme.Focus
		}
		slots := strings.Split(b.typed+strings.Repeat("_", max(n-len(b.typed), 0)), "")
		return th.S(role, strings.Join(slots, " "))
	}
	risk := "  risk " + b.ask.Risk.String()
	switch {
	case b.ask.phrase() != "":
		text := b.typed
		if text == "" {
			text = "_"
		}
		role := theme.Strong
		if b.focus == onTyped {
			role = theme.Focus
		}
		return risk + ": type " + th.S(theme.Strong, ui.Safe(b.ask.phrase())) + "   " + th.S(role, text)
	case b.ask.digits() != "":
		if b.ask.Risk != High { // the deed asks for it, whatever the risk of the plan
			return th.S(theme.Danger, "  type the last four digits of "+b.ask.What()) + "   " + typed(4)
		}
		return th.S(theme.Danger, risk) + ": type the last four digits of " + b.ask.What() + "   " + typed(4)
	default:
		return risk
	}
}

// buttons are marked by brackets, so the focus is seen without colour.
func (b *Bar) buttons(th *theme.Theme, now time.Time) string {
	button := func(word string, f focus, off bool) string {
		word = ui.Safe(word)
		switch {
		case b.focus == f:
			return th.S(theme.Focus, "[ "+word+" ]")
		case off:
			return th.S(theme.Disabled, "  "+word+"  ")
		default:
			return th.S(theme.Button, "  "+word+"  ")
		}
	}
	off := !b.Armed(now) || b.missing() != ""
	return button(b.cancelWord(), onCancel, false) + " " + button(b.ask.Confirm, onAct, off)
}

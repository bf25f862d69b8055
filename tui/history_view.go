package tui

import (
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// when is a moment in the past as a list of the journal shows it: "today 14:09", "yest. 17:40", "Tue 16:55",
// "Feb 02 16:55", "2025-02-02".
func (e *env) when(t time.Time) string {
	t, now := t.In(e.Zone), e.Now.In(e.Zone)
	if e.Absolute {
		return t.Format("Jan 02 15:04")
	}
	day := func(t time.Time) time.Time { y, m, d := t.Date(); return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }
	switch days := int(day(now).Sub(day(t)).Hours() / 24); {
	case days == 0:
		return "today " + t.Format("15:04")
	case days == 1:
		return "yest. " + t.Format("15:04")
	case days > 1 && days < 7:
		return t.Format("Mon 15:04")
	case t.Year() == now.Year():
		return t.Format("Jan 02 15:04")
	}
	return t.Format("2006-01-02")
}

func (p *historyPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		what := "WHAT"
		if p.filter.Search != nil && len(p.filter.Search.Types) == 1 && p.filter.Search.Types[0] == amp.ReviewVerdict {
			what = "DECISION"
		}
		p.colsW = w
		p.cols = ui.NewColumns(p.e.Theme, w,
			ui.Column{Title: "WHEN", Width: 12, Keep: 6},
			ui.Column{Title: "ENTRY", Width: 7, Keep: 9},
			ui.Column{Title: "TASK", Width: 10, Keep: 7},
			ui.Column{Title: what, Width: 16, Keep: 8},
			ui.Column{Title: "TEXT", Width: 12, Flex: true, Keep: 10})
	}
	return p.cols
}

// row draws one entry in w cells.
func (p *historyPage) row(h *hit, w int, selected bool) string {
	e, l := p.e, &h.line
	what := e.styledSign(*l) + " " + ui.Safe(l.What)
	text := e.lineText(*l)
	if m, ok := l.body.(*amp.Message); ok {
		if v, ok := m.Payload.(*amp.Verdict); ok {
			word, role := decisionWord(v.Decision)
			what = e.Theme.S(role, word)
		}
	}
	room := textRoom(p.columns(w), w)
	if h.found != "" {
		text = ui.Quote(e.Theme, snippet(h.found, p.filter.Search, room-2))
	}
	text = e.mark(ui.Cut(text, room), p.filter.Search)
	role := theme.Text
	if selected {
		role = theme.Strong
	}
	return p.columns(w).Row(selected,
		ui.Cell{Text: e.when(h.entry.At), Role: theme.Muted},
		ui.Cell{Text: seqName(h.entry.Seq), Role: role},
		ui.Cell{Text: string(h.entry.TaskID), Role: role},
		ui.Cell{Styled: what},
		ui.Cell{Styled: text}).Head
}

// textRoom is how many cells the last column has.
func textRoom(c *ui.Columns, w int) int {
	used := 2
	for _, col := range []struct {
		title string
		w     int
	}{{"WHEN", 12}, {"ENTRY", 7}, {"TASK", 10}, {"WHAT", 16}, {"DECISION", 16}} {
		if c.Shows(col.title) {
			used += col.w + 1
		}
	}
	return max(w-used, 1)
}

// decisionWord is a verdict in a word with its sign.
func decisionWord(d amp.Decision) (string, theme.Role) {
	switch d {
	case amp.Approved:
		return "✓ approved", theme.Good
	case amp.ApprovedWithFix:
		return "✓ with fix", theme.Good
	case amp.Rejected:
		return "✗ rejected", theme.Danger
	}
	return ui.Safe(string(d)), theme.Text
}

// Render draws the field, the results, and the entry under the cursor: below them, or beside them with its timeline.
func (p *historyPage) Render(w, h int) *ui.Block {
	p.refresh()
	lw, rw, two := p.e.Split(w, 0.52, 60, 54)
	hit := p.selected()
	if !twoPanes(w) || p.zoomed || hit == nil {
		lw, two = w, false
	}
	p.left, p.glanceAt = -1, 0
	if two {
		p.left = lw
	} else if p.zoomed && p.onRight && hit != nil {
		b := ui.NewBlock(p.e.Theme, w)
		p.glanceAt, p.listAt, p.listH = 0, h, 0
		p.glance.draw(p.e, b, h, p.filter.Search, true)
		return b.Fit(h)
	}
	b := ui.NewBlock(p.e.Theme, lw)
	p.line.draw(b)
	at := b.Height()
	b.Rule("", "")
	fields, below := 0, 0
	if h >= 18 || p.line.typing && h >= 9 {
		fields = 3
		if lw < 74 && h >= 18 {
			fields = 4
		}
	}
	if !two && !p.zoomed && hit != nil && h >= 16 {
		below = max(h/3, 7)
	}
	p.listH = max(h-b.Height()-fields-below, 0)
	p.drawList(b, lw, p.listH)
	b.RuleAt(at, p.counted(), p.facts()) // what is on the screen is known now
	if below > 0 {
		p.glanceAt = b.Height()
		p.glance.draw(p.e, b, below, p.filter.Search, p.onRight)
	}
	if fields > 0 {
		p.line.help(b, fields)
	}
	if !two {
		return b.Fit(h)
	}
	return ui.Beside(b.Fit(h), p.renderRight(rw, h)).Fit(h)
}

// refresh lets all rows be drawn anew when what they show of the time is another.
func (p *historyPage) refresh() {
	if day := p.e.Now.In(p.e.Zone).YearDay(); day != p.drawnDay || p.e.Absolute != p.drawnAbsolute {
		p.drawnDay, p.drawnAbsolute = day, p.e.Absolute
		p.drawn++
	}
}

// drawList appends the rows, or why there are none.
func (p *historyPage) drawList(b *ui.Block, w, h int) {
	end := b.Height() + h
	if len(p.res.rows) == 0 {
		p.nothing(b)
	} else if h > 1 {
		b.Add(p.columns(w).Head())
		p.listAt = b.Height()
		b.Append(p.list.Render(w, end-p.listAt))
	}
	b.Fit(end)
}

// renderRight draws the entry and the timeline around it.
func (p *historyPage) renderRight(w, h int) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w)
	if p.detail == nil {
		p.glanceAt = h
		p.glance.draw(p.e, b, h, p.filter.Search, false)
		return b.Fit(h)
	}
	top := max(h*2/5, 6)
	p.glance.draw(p.e, b, top, p.filter.Search, false)
	p.glanceAt = b.Height()
	return b.Append(p.detail.renderAround(w, h-b.Height(), p.onRight)).Fit(h)
}

// counted says how many entries match.
func (p *historyPage) counted() string {
	all := grouped(max(p.e.Board.Head.Seq, p.res.upto))
	if !p.loaded {
		return all + " entries"
	}
	text := all + " entries"
	if n := p.matching(); n != all {
		text = n + " of " + text
	}
	return fmt.Sprintf("%s · %d ms", text, p.took.Milliseconds())
}

// matching is how many entries match, as far as they were counted.
func (p *historyPage) matching() string {
	if p.filter.Search == nil && len(p.filter.Kinds) == 0 && p.filter.TaskID == "" && p.filter.After == 0 && p.filter.Before == 0 {
		return grouped(max(p.e.Board.Head.Seq, p.res.upto))
	}
	n := grouped(uint64(max(p.res.count, 0)))
	if p.res.many {
		n += "+"
	}
	return n
}

// facts are the state of the answer.
func (p *historyPage) facts() string {
	e := p.e
	if !p.since.IsZero() {
		if took := e.Now.Sub(p.since); took >= 150*time.Millisecond {
			e.Tick()
			return fmt.Sprintf("%s searching, %d s", e.Theme.Signs.Retry, int(took.Seconds()))
		}
		e.WakeAt(p.since.Add(150 * time.Millisecond))
	}
	if p.failed != "" {
		return "not answered: " + p.failed
	}
	first, last, n := p.list.Seen()
	switch {
	case p.res.newer:
		return "newest first · newer above, g"
	case last-first+1 >= n && !p.res.older:
		return "newest first"
	}
	return fmt.Sprintf("%d-%d of %s · newest first", first, last, p.matching())
}

// nothing says why there are no rows, and what to do next.
func (p *historyPage) nothing(b *ui.Block) {
	b.Blank(1)
	switch {
	case !p.loaded && p.failed != "":
		b.Say(theme.Danger, "  The journal was not read: "+p.failed)
		b.Say(theme.Muted, "  It is read again by itself when the coordinator is back.")
	case !p.loaded:
		b.Say(theme.Muted, "  reading …")
	case p.line.text() != "":
		b.Say(theme.Text, "  No entry matches.")
		b.Say(theme.Muted, "  esc clears the search · / changes it · tab in it completes a field")
	default:
		b.Say(theme.Muted, "  The journal is empty: nothing was decided, sent or done yet. 1 goes to Now.")
	}
}

package tui

import (
	"fmt"
	"slices"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// glance is what is shown of the entry under the cursor of a list.
type glance struct {
	facts entryFacts
	whole bool // what the journal says of it was read
	view  scroller
	hits  []int // the rows with a hit, as they were drawn last
	at    int   // the row of the hit that was gone to, -1 for none
}

// begin shows another entry, as far as its row tells.
func (g *glance) begin(h *hit) {
	*g = glance{facts: entryFacts{entry: h.entry, line: h.line}, view: scroller{lazy: true}, at: -1}
	g.facts.refs = refsOfBody(&h.line)
}

// took keeps what the journal says of the entry.
func (g *glance) took(msg entryMsg) {
	if msg.seq == g.facts.entry.Seq && msg.err == nil {
		g.facts, g.whole = msg.facts, true
	}
}

// hit is the next row with a hit, or the one before; -1 for none.
func (g *glance) hit(forward bool) int {
	if forward {
		for _, y := range g.hits {
			if y > g.at {
				return y
			}
		}
		return -1
	}
	for _, y := range slices.Backward(g.hits) {
		if y < g.at {
			return y
		}
	}
	return -1
}

// has reports whether there is a hit to go to.
func (g *glance) has(forward bool) bool { return g.hit(forward) >= 0 }

// next goes to the next row with a hit, or to the one before.
func (g *glance) next(forward bool) {
	y := g.hit(forward)
	if y < 0 {
		return
	}
	g.at = y
	if y < g.view.top || y >= g.view.top+g.view.h {
		g.view.top = max(y-g.view.h/2, 0)
	}
}

// scroll applies a movement and reports whether the intent was one.
func (g *glance) scroll(id string) bool { return g.view.intent(id) }

// draw appends the entry in h rows, with what the search looks for as hits.
func (g *glance) draw(e *env, b *ui.Block, h int, s *amp.Search, focused bool) {
	if h < 2 {
		return
	}
	f := &g.facts
	title := ui.Safe(seqName(f.entry.Seq) + " " + f.line.What)
	if focused {
		title = "[" + title + "]"
	}
	facts := fmt.Sprintf("%s · hash %s", size(len(f.entry.Body)), f.entry.Hash.String()[:8])
	if g.whole {
		facts = e.entryFactsLine(f)
	}
	b.RuleStyled(e.Theme.S(theme.Title, title), facts)
	c := e.newColumn(b.Width())
	e.drawEntry(c.Block, f)
	g.hits = g.hits[:0]
	rows := c.Rows()
	for y, row := range rows {
		if marked := e.mark(row, s); marked != row {
			rows[y], g.hits = marked, append(g.hits, y)
		}
	}
	if g.at >= 0 && g.at < len(rows) {
		rows[g.at] = ui.Splice(rows[g.at], e.Theme.S(theme.Accent, e.Theme.Signs.Gutter), 0, 1, b.Width())
	}
	b.Append(g.view.show(c, h-1))
}

package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// subtasks are the steps in order, each with its read mark.
func (p *planPage) subtasks(c *column, t *amp.Task, changes []planChange, w int) {
	pl, th, r := t.Plan, p.e.Theme, p.e.desk.reading(p.id)
	n := len(pl.Subtasks)
	read := n - len(r.unread(pl))
	share := 1.0
	if n > 0 {
		share = float64(read) / float64(n)
	}
	title, facts := "Subtasks  "+p.e.agentOf(t, amp.Executor)+", reviewed by "+p.e.agentOf(t, amp.Reviewer), fmt.Sprintf("read %d/%d", read, n)
	if ui.Width(title)+ui.Width(facts)+14 <= w { // the gauge gives way, the count does not
		facts += " " + ui.Gauge(th, 5, share)
	}
	c.Rule(ui.Cut(ui.Safe(title), w-ui.Width(facts)-8), facts)
	for i, s := range pl.Subtasks {
		id := "s" + strconv.Itoa(i)
		c.item(id, func() {
			row, open := p.subtaskRow(s, i, id, changes, w)
			c.Add(row)
			if open {
				c.Quote(5, s.Description, 0)
			}
		})
	}
}

// subtaskRow is the first row of a subtask; open says that its whole text follows.
func (p *planPage) subtaskRow(s amp.Subtask, i int, id string, changes []planChange, w int) (row string, open bool) {
	th := p.e.Theme
	mark := th.Signs.Open
	if p.e.desk.reading(p.id).has(s) {
		mark = th.S(theme.Good, th.Signs.Yes)
	}
	tag := ""
	if k := slices.IndexFunc(changes, func(ch planChange) bool { return ch.Subtask == i }); k >= 0 {
		tag = th.S(theme.Time, "± changed")
		if changes[k].Sign == "+" {
			tag = th.S(theme.Time, "+ new")
		}
	}
	tail := fmt.Sprintf(" ~%-4d %s ", s.EstimatedLines, ui.Pad(tag, 9))
	if w < 70 {
		tail = fmt.Sprintf(" ~%-4d", s.EstimatedLines)
	}
	open = p.open[subtaskKey(s)]
	text := ui.Safe(firstLine(s.Description))
	head := ui.Gutter(th, p.view.id == id) + ui.Pad("S"+strconv.Itoa(i+1), 3) + mark + " "
	if p.view.id == id {
		text = th.S(theme.Strong, text)
	}
	return ui.Spread(head+text, tail, w), open
}

// fits reports whether the folded row shows the whole text.
func (p *planPage) fits(s amp.Subtask, w int) bool {
	tail := 17
	if w < 70 {
		tail = 6
	}
	return !strings.Contains(strings.TrimSpace(s.Description), "\n") && ui.Width(ui.Safe(s.Description))+7+tail+1 < w
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// markSeen marks what the last frame showed in full. A subtask that is longer than the screen counts when its end was
// reached from its beginning.
func (p *planPage) markSeen(t *amp.Task, w int) (changed bool) {
	if p.e.sheet != nil { // behind a bar nobody reads on
		return false
	}
	r := p.e.desk.reading(p.id)
	before := len(r.unread(t.Plan))
	for i, s := range t.Plan.Subtasks {
		k := slices.IndexFunc(p.view.items, func(it columnItem) bool { return it.id == "s"+strconv.Itoa(i) })
		if k < 0 {
			continue
		}
		it := p.view.items[k]
		if whole := p.open[subtaskKey(s)] || p.fits(s, w); !whole {
			continue
		}
		if p.view.visible(it) {
			r.saw(s)
			continue
		}
		if it.to-it.from > p.view.h {
			r.scrolled(s, p.view.top-it.from, p.view.top+p.view.h-it.from, it.to-it.from)
		}
	}
	return len(r.unread(t.Plan)) != before
}

// markDetail marks the subtask whose whole text the detail pane shows.
func (p *planPage) markDetail(room int) (changed bool) {
	s, _, ok := p.subtask()
	r := p.e.desk.reading(p.id)
	if !ok || p.e.sheet != nil || p.detailRows > room || r.has(s) {
		return false
	}
	r.saw(s)
	return r.has(s)
}

// subtaskName is the number of a subtask and, where it says more, its id.
func subtaskName(s amp.Subtask, i int) string {
	n := "S" + strconv.Itoa(i+1)
	if strings.HasSuffix(s.SubtaskID, n) {
		return s.SubtaskID
	}
	return n + " " + s.SubtaskID
}

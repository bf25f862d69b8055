package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/ui"
)

// splitStep is how far a key moves the line between two panes, as a share of the width.
const splitStep = 0.03

// Split is [ui.Split] with the share that the person gave to the page on the screen, which is kept. Pages with two panes call it
// in Render.
func (e *env) Split(w int, share float64, minLeft, minRight int) (left, right int, ok bool) {
	if own, set := e.splits[e.nav.top().at.Kind]; set {
		share = own
	}
	return ui.Split(w, share, minLeft, minRight)
}

// divide is the column of the line between the panes on the screen, -1 for none.
func (m *model) divide() int {
	if d, ok := m.nav.top().page.(divided); ok {
		return d.Divide()
	}
	return -1
}

func (m *model) splitOff() string {
	if m.divide() < 0 {
		return "there are no two panes beside each other"
	}
	return ""
}

// moveSplit puts the line at a column.
func (m *model) moveSplit(x int) tea.Cmd {
	e := m.env
	if m.w < 2 {
		return nil
	}
	if e.splits == nil {
		e.splits = map[Kind]float64{}
	}
	e.splits[m.nav.top().at.Kind] = min(max(float64(x)/float64(m.w-1), 0.05), 0.95)
	m.gate.mark()
	return nil
}

// nudgeSplit moves the line by keys.
func (m *model) nudgeSplit(by float64) func() tea.Cmd {
	return func() tea.Cmd {
		m.gate.urgent()
		return m.moveSplit(m.divide() + int(by*float64(m.w)))
	}
}

// drag handles the left button at the line between the panes; true when the event was its.
func (m *model) drag(ev tea.MouseEvent) bool {
	switch {
	case ev.Action == tea.MouseActionPress && ev.Button == tea.MouseButtonLeft:
		y := ev.Y - m.zones.bodyTop
		at := m.divide()
		m.dragging = at >= 0 && ev.X == at && y >= 0 && y < m.zones.bodyRows
	case ev.Action == tea.MouseActionRelease:
		was := m.dragging
		m.dragging = false
		return was
	case m.dragging && ev.Action == tea.MouseActionMotion:
		m.moveSplit(ev.X)
	}
	return m.dragging
}

func (m *model) keepSplits() any { return m.env.splits }

func (m *model) takeSplits() {
	var splits map[Kind]float64
	if !m.env.Kept("splits", &splits) {
		return
	}
	for kind, share := range splits {
		if !(share >= 0.05 && share <= 0.95) {
			delete(splits, kind)
		}
	}
	m.env.splits = splits
}

package tui

import (
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/ui"
)

// frameEvery is the least time between two frames that entries alone cause.
const frameEvery = 16 * time.Millisecond

// gate decides when a frame is drawn: at once for a person, at most every [frameEvery] for entries, and never when
// nothing changed.
type gate struct {
	frame   string
	dirty   bool // something changed
	due     bool // and it is time to draw it
	ticking bool // a frameMsg is on its way
	waking  time.Time
	drawn   int // frames drawn, for tests
	title   string
}

type (
	// frameMsg says that entries may be drawn again.
	frameMsg struct{}
	// wakeMsg says that what is on the screen changes with time.
	wakeMsg struct{ at time.Time }
)

// mark notes a change that may wait for the next frame.
func (g *gate) mark() { g.dirty = true }

// urgent notes a change that a person caused or waits for: it is drawn in the same turn.
func (g *gate) urgent() { g.dirty, g.due = true, true }

// settle draws what is due and asks for the timers that are needed: the one for entries while something is dirty, and
// the one for the next moment at which the screen would differ by itself.
func (m *model) settle() tea.Cmd {
	g := &m.gate
	cmds := m.env.later
	m.env.later = nil
	switch {
	case g.due:
		m.draw()
	case g.dirty && !g.ticking:
		g.ticking = true
		cmds = append(cmds, tea.Tick(frameEvery, func(time.Time) tea.Msg { return frameMsg{} }))
	}
	if at := m.env.wake; !at.IsZero() && (g.waking.IsZero() || at.Before(g.waking)) {
		g.waking = at
		cmds = append(cmds, tea.Tick(max(at.Sub(m.env.Now), time.Millisecond), func(time.Time) tea.Msg { return wakeMsg{at} }))
	}
	if title := m.title(); title != g.title {
		g.title = title
		cmds = append(cmds, tea.SetWindowTitle(title))
	}
	return tea.Batch(cmds...)
}

// title is the title of the window: what waits, and where one is.
func (m *model) title() string {
	x := m.env.Index
	page := ui.Safe(m.nav.top().page.Title())
	if n := x.Inbox + x.Plans; n > 0 {
		return "(" + strconv.Itoa(n) + ") arbiter · " + page
	}
	return "arbiter · " + page
}

// draw draws the frame now.
func (m *model) draw() {
	g := &m.gate
	g.dirty, g.due = false, false
	m.env.wake = time.Time{}
	m.env.toasts.Expire(m.env.Now)
	g.frame = m.render()
	g.drawn++
	if at, ok := m.env.toasts.Next(); ok {
		m.env.WakeAt(at)
	}
}

// ticked handles the gate's own messages.
func (g *gate) ticked(msg tea.Msg) bool {
	switch msg := msg.(type) {
	case frameMsg:
		g.ticking = false
		g.due = g.dirty
	case wakeMsg:
		if msg.at.Equal(g.waking) { // an older one was overtaken
			g.waking = time.Time{}
			g.urgent()
		}
	default:
		return false
	}
	return true
}

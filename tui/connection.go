package tui

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// upMsg is the end of an attempt to start the coordinator.
type upMsg struct{ err error }

func (m *model) upOff() string {
	switch {
	case m.env.Up == nil:
		return "the coordinator is not started from this screen"
	case m.env.Conn.phase == live || m.env.Conn.phase == connecting:
		return "the coordinator answers"
	case m.starting:
		return "it is being started"
	}
	return ""
}

// up starts the coordinator in the background.
func (m *model) up() tea.Cmd {
	m.starting = true
	start := m.env.Up
	return m.env.Await(m.env.ctx, nil, theCoordinator, "start the coordinator", func(ctx context.Context, _ *request) tea.Msg {
		return upMsg{start(ctx)}
	})
}

// upEnded tries the connection at once when a coordinator was started.
func (m *model) upEnded(msg upMsg) {
	m.starting = false
	m.gate.urgent()
	switch {
	case errors.Is(msg.err, context.Canceled):
		m.env.Toast(theme.Time, "you stopped waiting; the coordinator may come up all the same")
	case msg.err != nil:
		m.env.Fail(msg.err)
	default:
		m.pump.retry()
	}
}

// bannerFor is how long a banner stands in the place of the last entry.
const bannerFor = 15 * time.Second

// banner is news about the screen itself that a toast is too short for.
type banner struct {
	text  string
	until time.Time
}

// bannerRow is the banner, "" when there is none.
func (m *model) bannerRow() string {
	e, b := m.env, m.banner
	if b.text == "" || !e.Now.Before(b.until) {
		return ""
	}
	e.WakeAt(b.until)
	return " " + e.Theme.S(theme.Time, "! "+ui.Safe(b.text))
}

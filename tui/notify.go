package tui

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/theme"
)

// Alerts is when the terminal may call the admin, who looks elsewhere. The zero value calls at any time.
type Alerts struct {
	// Off never calls, Silent never rings the bell.
	Off, Silent bool
	// From and To are quiet hours as times of day; equal ones mean none. They may span midnight.
	From, To time.Duration
}

// alertEvery is the least time between two calls.
const alertEvery = time.Minute

// quiet reports whether t is in the quiet hours.
func (a Alerts) quiet(t time.Time) bool {
	at := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	if a.From <= a.To {
		return at >= a.From && at < a.To
	}
	return at >= a.From || at < a.To
}

// caller notices what is new for the admin while the terminal has no focus.
type caller struct {
	away    bool // the terminal said that it lost the focus; one that never says it is never called
	seen    uint64
	last    time.Time
	waiting bool // an alertMsg is on its way
}

// alertMsg says that there may be something to call about.
type alertMsg struct{}

// focused notes whether the person looks at this terminal.
func (m *model) focused(on bool) {
	m.caller.away = !on
	m.caller.seen = m.newest()
}

// newest is the newest entry that waits for the admin.
func (m *model) newest() uint64 {
	var seq uint64
	for _, n := range m.env.Index.Needs {
		seq = max(seq, n.Seq)
	}
	return seq
}

// notice calls the admin when something new waits, or asks to be called again when a minute is over.
func (m *model) notice() tea.Cmd {
	c, e := &m.caller, m.env
	if !c.away || m.call == nil || e.Alerts.Off || c.waiting || m.newest() <= c.seen {
		return nil
	}
	if left := alertEvery - e.Now.Sub(c.last); !c.last.IsZero() && left > 0 {
		c.waiting = true
		return tea.Tick(left, func(time.Time) tea.Msg { return alertMsg{} })
	}
	if e.Alerts.quiet(e.Now.In(e.Zone)) {
		c.seen = m.newest() // it is not called after the night either: the count in the title says it
		return nil
	}
	title, body := m.callText()
	c.seen, c.last = m.newest(), e.Now
	call, silent := m.call, e.Alerts.Silent
	return func() tea.Msg {
		if err := call(title, body, !silent); err != nil {
			return toastMsg{theme.Danger, "the terminal could not be called: " + err.Error()}
		}
		return nil
	}
}

// callText is what a call says: how much is new, and the gravest of it.
func (m *model) callText() (title, body string) {
	fresh := 0
	for _, n := range m.env.Index.Needs { // the gravest first
		if n.Seq <= m.caller.seen {
			continue
		}
		if fresh++; body == "" {
			body = string(n.TaskID) + " " + n.What
		}
	}
	if fresh > 1 {
		body += fmt.Sprintf(", and %d more", fresh-1)
	}
	x := m.env.Index
	return "arbiter: " + needYou(x.Inbox+x.Plans), body
}

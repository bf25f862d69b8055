package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// deedName is the title of an action without what explains it.
func deedName(title string) string {
	if i := strings.IndexAny(title, ",:;"); i > 0 {
		return title[:i]
	}
	return title
}

// route hands a message to whom it belongs.
func (m *model) route(msg tea.Msg) tea.Cmd {
	if m.gate.ticked(msg) {
		return nil
	}
	if cmd, ok := m.take(msg); ok {
		return cmd
	}
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.w, m.h = msg.Width, msg.Height
		m.env.Width, m.env.Height = m.w, m.h
		m.gate.urgent()
		if m.synced {
			return m.nav.top().page.Update(shownMsg{})
		}
	case tea.KeyMsg:
		m.gate.urgent()
		return tea.Batch(m.key(msg), m.stirred())
	case tea.MouseMsg:
		return tea.Batch(m.mouse(tea.MouseEvent(msg)), m.stirred())
	case tea.FocusMsg:
		m.focused(true)
	case tea.BlurMsg:
		m.focused(false)
	case tea.ResumeMsg: // the program was stopped: the terminal forgot the mouse and may show anything
		m.gate.urgent()
		return m.env.repaint()
	}
	return nil
}

// longestKey is more than any name of a key has letters: "ctrl+shift+right".
const longestKey = 24

// key handles a key message. Keys that a terminal sent together are taken one by one, unless somebody types a lot: the
// letters u and p must not be taken for the key "up".
func (m *model) key(k tea.KeyMsg) tea.Cmd {
	if k.Type != tea.KeyRunes || len(k.Runes) < 2 || k.Paste {
		return m.press(k)
	}
	var cmds []tea.Cmd
	for i, r := range k.Runes {
		if rest := k.Runes[i:]; m.sink() != nil && len(rest) > longestKey {
			cmds = append(cmds, m.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: rest}))
			break
		}
		cmds = append(cmds, m.press(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: k.Alt}))
	}
	return tea.Batch(cmds...)
}

// sink is who takes raw keys now, nil when keys are actions.
func (m *model) sink() func(tea.KeyMsg) tea.Cmd {
	if m.tooSmall() {
		return nil
	}
	if m.overlay != nil {
		return m.overlayKey
	}
	if s := m.env.sheet; s != nil {
		return s.Key
	}
	if t, ok := m.nav.top().page.(typist); ok && t.Typing() {
		return t.Key
	}
	return nil
}

func (m *model) press(k tea.KeyMsg) tea.Cmd {
	if sink := m.sink(); sink != nil {
		m.keys.Reset()
		return sink(k)
	}
	if k.Paste {
		m.env.Toast(theme.Time, "a paste does nothing here: open a text field first")
		return nil
	}
	name := k.String()
	if name == "esc" && m.cancelRequest() {
		return nil
	}
	r := m.keys.Press(name, m.scopes()...)
	switch {
	case r.Action == nil:
		return nil
	case m.tooSmall() && r.Action.ID != quitBack && r.Action.ID != quitNow:
		return nil
	case r.Why != "":
		m.env.Toast(theme.Time, deedName(r.Action.Title)+" is off: "+r.Why)
		return nil
	}
	return m.run(r.Action.ID)
}

// scopes are the action scopes that are valid now.
func (m *model) scopes() []string {
	s := m.nav.top().page.Scopes()
	return append(s[:len(s):len(s)], action.Global)
}

// run does an action, whichever way a person chose it.
func (m *model) run(id string) tea.Cmd {
	if f := m.runs[id]; f != nil {
		return f()
	}
	return m.nav.top().page.Update(intent{id})
}

const wheelRows = 3

// mouse handles the mouse: it focuses, selects and scrolls.
func (m *model) mouse(ev tea.MouseEvent) tea.Cmd {
	if m.tooSmall() {
		return nil
	}
	if m.overlay != nil {
		return m.overlayWheel(ev)
	}
	if m.drag(ev) {
		return nil
	}
	if ev.IsWheel() {
		by := wheelRows
		switch ev.Button {
		case tea.MouseButtonWheelUp:
			by = -by
		case tea.MouseButtonWheelDown:
		default:
			return nil
		}
		if y := ev.Y - m.zones.bodyTop; y >= 0 && y < m.zones.bodyRows {
			m.gate.mark() // a wheel sends many: they share a frame
			return m.nav.top().page.Update(wheelMsg{ev.X, y, by})
		}
		return nil
	}
	if ev.Action != tea.MouseActionPress || ev.Button != tea.MouseButtonLeft || m.env.sheet != nil {
		return nil
	}
	m.gate.urgent()
	if y := ev.Y - m.zones.bodyTop; y >= 0 && y < m.zones.bodyRows {
		return m.nav.top().page.Update(clickMsg{ev.X, y})
	}
	if ev.Y == 0 {
		if k, ok := m.tabAt(ev.X); ok {
			return m.env.Go(Place{Kind: k})
		}
	}
	return nil
}

// layout is where things are on the screen, as the last frame drew them.
type layout struct {
	bodyTop, bodyRows int
	tabs              ui.Zones // by the key of the tab
}

// tabAt finds the tab at a column of the header.
func (m *model) tabAt(x int) (Kind, bool) {
	key, _, _, ok := m.zones.tabs.At(x, 0)
	for _, k := range m.nav.kinds {
		if ok && k.Tab == key {
			return k.Kind, true
		}
	}
	return "", false
}

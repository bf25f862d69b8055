package tui

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// openThemes lets the person choose another theme for this run.
func (m *model) openThemes() tea.Cmd {
	var all []ui.Choice
	for _, name := range theme.Names() {
		c := ui.Choice{ID: name, Text: name}
		if name == m.env.Theme.Name() {
			c.Hint = "now"
		}
		all = append(all, c)
	}
	return m.env.choose("Theme", all, m.setTheme)
}

// setTheme draws everything in another theme. Where the terminal has no colours, none appear. Pages keep rows that they drew, so
// they are made anew: filters, drafts and the way stay, a cursor begins at the top.
func (m *model) setTheme(name string) tea.Cmd {
	e := m.env
	th, err := theme.New(name, e.Theme.Profile(), e.Theme.Signs)
	if err != nil {
		e.Fail(err)
		return nil
	}
	e.Theme = th
	m.chrome, m.overlay = chromeCache{}, nil
	e.CloseSheet()
	m.gate.urgent()
	e.Toast(theme.Text, fmt.Sprintf("theme %s for now; tui.theme = %q in config.toml keeps it", name, name))
	return tea.Batch(tea.ClearScreen, m.nav.anew(e))
}

package ui

import tea "github.com/charmbracelet/bubbletea"

// keyMsg returns the message of a key by its name.
func keyMsg(name string) tea.KeyMsg {
	for t, n := range map[tea.KeyType]string{
		tea.KeyLeft: "left", tea.KeyRight: "right", tea.KeyUp: "up", tea.KeyDown: "down", tea.KeyHome: "home", tea.KeyEnd: "end",
		tea.KeyEnter: "enter", tea.KeyEsc: "esc", tea.KeyTab: "tab", tea.KeyBackspace: "backspace", tea.KeyDelete: "delete",
		tea.KeyCtrlW: "ctrl+w", tea.KeyCtrlU: "ctrl+u", tea.KeyCtrlK: "ctrl+k", tea.KeyCtrlJ: "ctrl+j", tea.KeyPgDown: "pgdown",
		tea.KeyCtrlLeft: "ctrl+left", tea.KeyCtrlRight: "ctrl+right",
	} {
		if n == name {
			return tea.KeyMsg{Type: t}
		}
	}
	if name == "space" {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

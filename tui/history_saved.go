package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// save asks for the name to keep the search under.
func (p *historyPage) save() tea.Cmd {
	e, text := p.e, p.line.text()
	switch {
	case text == "":
		e.Toast(theme.Time, "there is nothing to save: type a search first")
		return nil
	case p.line.bad != nil:
		e.Toast(theme.Time, "it is not saved while it cannot be read")
		return nil
	}
	p.line.leave()
	e.OpenSheet(&searchNamer{e: e, field: &ui.Field{Label: "name", Placeholder: "a name for it", Limit: 80}, text: text})
	return nil
}

// searchNamer asks for the name of a search. It is a [sheet].
type searchNamer struct {
	e     *env
	field *ui.Field
	text  string
}

// Key edits the name; enter saves.
func (n *searchNamer) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		n.e.CloseSheet()
	case "enter":
		name := strings.TrimSpace(n.field.Text())
		if name == "" {
			return nil
		}
		word := "saved as "
		if n.e.desk.searches.find(name) >= 0 {
			word = "saved again as "
		}
		n.e.desk.searches.save(name, n.text)
		n.e.CloseSheet()
		n.e.Toast(theme.Good, word+name+"; s lists what is saved")
	default:
		n.field.Key(k)
	}
	return nil
}

// Update does nothing.
func (n *searchNamer) Update(tea.Msg) tea.Cmd { return nil }

// Height is the field between its rule and its keys.
func (n *searchNamer) Height(int) int { return 4 }

// Render draws the field.
func (n *searchNamer) Render(w, h int) *ui.Block {
	th := n.e.Theme
	b := ui.NewBlock(th, w).Rule("Save this search", "")
	b.Add("  " + th.S(theme.Muted, "search ") + ui.Safe(n.text))
	b.Add("  " + th.S(theme.Muted, "name   ") + n.field.Row(th, max(w-11, 1), true))
	return b.Say(theme.Muted, " "+th.Signs.Enter+" saves · esc cancels").Fit(h)
}

// searchPicker lists the saved searches. It is a [sheet].
type searchPicker struct {
	e    *env
	pick *ui.Picker
}

// pickSearch opens the list of saved searches.
func (e *env) pickSearch(p *historyPage) tea.Cmd {
	if len(e.desk.searches.Saved) == 0 {
		e.Toast(theme.Text, "no search is saved yet: ctrl+s in the field saves one")
		return nil
	}
	p.line.leave()
	e.OpenSheet(&searchPicker{e, ui.NewPicker("Saved searches · ctrl+x deletes", e.searchChoices(""))})
	return nil
}

// searchChoices are the saved searches by name, each id behind a prefix.
func (e *env) searchChoices(prefix string) []ui.Choice {
	out := make([]ui.Choice, 0, len(e.desk.searches.Saved))
	for _, s := range e.desk.searches.Saved {
		out = append(out, ui.Choice{ID: prefix + s.Name, Text: s.Name, Hint: s.Text, Match: s.Text})
	}
	return out
}

// openSearch shows a saved search in History.
func (e *env) openSearch(name string) tea.Cmd {
	i := e.desk.searches.find(name)
	if i < 0 {
		return nil
	}
	return e.Go(Place{Kind: KindHistory, ID: e.desk.searches.Saved[i].Text})
}

// Key handles one key.
func (s *searchPicker) Key(k tea.KeyMsg) tea.Cmd {
	c, ok := s.pick.Choice()
	if k.String() == "ctrl+x" && ok {
		s.e.desk.searches.forget(c.ID)
		s.e.Toast(theme.Text, c.Text+" is deleted")
		if s.pick.SetChoices(s.e.searchChoices("")); len(s.e.desk.searches.Saved) == 0 {
			s.e.CloseSheet()
		}
		return nil
	}
	switch s.pick.Key(k) {
	case ui.PickClosed:
		s.e.CloseSheet()
	case ui.PickChosen:
		s.e.CloseSheet()
		return s.e.openSearch(c.ID)
	case ui.PickNone, ui.PickMoved, ui.PickOff:
	}
	return nil
}

// Update does nothing.
func (s *searchPicker) Update(tea.Msg) tea.Cmd { return nil }

// Height is the choices, the query and the frame.
func (s *searchPicker) Height(int) int { return min(len(s.e.desk.searches.Saved), 12) + 3 }

// Render draws the list.
func (s *searchPicker) Render(w, h int) *ui.Block { return s.pick.Render(s.e.Theme, w, h).Fit(h) }

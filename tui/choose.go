package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// chooser lets a person pick one of some things at the bottom of the page. Picking decides nothing: it leads to the
// decision bar. It is a [sheet].
type chooser struct {
	e    *env
	pick *ui.Picker
	n    int
	then func(id string) tea.Cmd
}

// choose opens a chooser.
func (e *env) choose(title string, choices []ui.Choice, then func(id string) tea.Cmd) tea.Cmd {
	e.OpenSheet(&chooser{e, ui.NewPicker(title, choices), len(choices), then})
	return nil
}

// Key handles one key.
func (c *chooser) Key(k tea.KeyMsg) tea.Cmd {
	switch c.pick.Key(k) {
	case ui.PickClosed:
		c.e.CloseSheet()
	case ui.PickChosen:
		it, _ := c.pick.Choice()
		c.e.CloseSheet()
		return c.then(it.ID)
	case ui.PickOff:
		it, _ := c.pick.Choice()
		c.e.Toast(theme.Time, it.Text+" is off: "+it.Off)
	case ui.PickNone, ui.PickMoved:
	}
	return nil
}

// Update does nothing: what was offered is judged again when it is staged.
func (c *chooser) Update(tea.Msg) tea.Cmd { return nil }

// Height is the choices, the query and the frame.
func (c *chooser) Height(int) int { return min(c.n, 12) + 3 }

// Render draws the list.
func (c *chooser) Render(w, h int) *ui.Block { return c.pick.Render(c.e.Theme, w, h).Fit(h) }

// writer is a text field at the bottom of the page. The text is kept on esc; ctrl+s hands it over. It is a [sheet].
type writer struct {
	e           *env
	title, hint string
	key         string // of the draft
	field       *ui.Field
	done        func(text string) tea.Cmd
}

// write opens a text field that begins with the draft of key, or with text.
func (e *env) write(title, hint, key, text string, done func(text string) tea.Cmd) tea.Cmd {
	w := &writer{e: e, title: title, hint: hint, key: key, field: ui.NewArea(title), done: done}
	w.field.SetText(e.desk.draftOr(key, text))
	e.OpenSheet(w)
	return nil
}

// Key edits the text.
func (w *writer) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "esc", "ctrl+c":
		w.e.desk.keep(w.key, w.field.Text())
		w.e.CloseSheet()
		return nil
	case "ctrl+s":
		text := strings.TrimSpace(w.field.Text())
		w.e.desk.keep(w.key, w.field.Text())
		w.e.CloseSheet()
		return w.done(text)
	}
	w.field.Key(k)
	return nil
}

// Update does nothing.
func (w *writer) Update(tea.Msg) tea.Cmd { return nil }

// Height is room for a paragraph.
func (w *writer) Height(width int) int {
	return min(len(ui.Wrap(w.field.Text(), max(width-6, 1)))+4, 14)
}

// Render draws the field.
func (w *writer) Render(width, h int) *ui.Block {
	th := w.e.Theme
	b := ui.NewBlock(th, width).Rule(w.title, w.hint)
	for _, r := range w.field.Rows(th, max(width-4, 1), max(h-2, 1), true) {
		b.Add("  " + th.S(theme.Line, th.Signs.Bar) + " " + r)
	}
	if b.Height() >= h {
		b.Fit(max(h-1, 0))
	}
	return b.Say(theme.Muted, " ctrl+s done · esc keeps it as a draft").Fit(h)
}

// cutSpace cuts a string at its first blank.
func cutSpace(s string) (before, after string, found bool) { return strings.Cut(s, " ") }

package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// overlay is what stands over the page and takes all keys: help, palette.
type overlay interface {
	// Key handles one key; done closes the overlay before run is called.
	Key(k tea.KeyMsg) (done bool, run func() tea.Cmd)
	// Size is how large it would like to be in a screen of w by h cells.
	Size(w, h int) (ow, oh int)
	Render(th *theme.Theme, w, h int) *ui.Block
}

// overlayKey hands a key to the overlay and runs what was chosen.
func (m *model) overlayKey(k tea.KeyMsg) tea.Cmd {
	done, run := m.overlay.Key(k)
	if done {
		m.overlay = nil
	}
	if run != nil {
		return run()
	}
	return nil
}

// overlayWheel scrolls the overlay; a click does nothing there.
func (m *model) overlayWheel(ev tea.MouseEvent) tea.Cmd {
	k := tea.KeyMsg{Type: tea.KeyDown}
	switch ev.Button {
	case tea.MouseButtonWheelUp:
		k.Type = tea.KeyUp
	case tea.MouseButtonWheelDown:
	default:
		return nil
	}
	m.gate.mark()
	var cmds []tea.Cmd
	for range wheelRows {
		if m.overlay != nil {
			cmds = append(cmds, m.overlayKey(k))
		}
	}
	return tea.Batch(cmds...)
}

// helpBox is the list of actions of this screen and of all screens; each row runs.
type helpBox struct {
	m    *model
	help *ui.Help
}

func (m *model) openHelp() tea.Cmd {
	page := m.nav.top().page
	var sections []ui.HelpSection
	var here ui.HelpSection
	here.Title = "this screen"
	for _, a := range m.env.Reg.In(page.Scopes()...) {
		here.Items = append(here.Items, m.helpItem(a))
	}
	if len(here.Items) > 0 {
		sections = append(sections, here)
	}
	sections = append(sections, m.signs())
	everywhere := ui.HelpSection{Title: "everywhere", Right: true}
	for _, a := range m.env.Reg.In(action.Global) {
		everywhere.Items = append(everywhere.Items, m.helpItem(a))
	}
	sections = append(sections, everywhere, m.terminalFacts())
	m.overlay = &helpBox{m, ui.NewHelp("Help · "+page.Title(), sections)}
	return nil
}

func (m *model) helpItem(a action.Action) ui.HelpItem {
	keys := make([]string, len(a.Keys))
	for i, k := range a.Keys {
		keys[i] = action.Display(k, m.env.Theme.Signs.IsASCII())
	}
	return ui.HelpItem{ID: a.ID, Key: strings.Join(keys, " "), Text: a.Title, Off: m.env.Reg.Why(a.ID)}
}

// signs explains what stands beside the words.
func (m *model) signs() ui.HelpSection {
	sg := m.env.Theme.Signs
	out := ui.HelpSection{Title: "signs", Aside: true}
	row := func(parts ...string) {
		out.Items = append(out.Items, ui.HelpItem{Key: parts[0], Text: strings.Join(parts[1:], " ")})
	}
	for _, s := range amp.Statuses {
		word := statusWord(s)
		row(sg.Status(string(s)), word)
	}
	row(sg.Severity("critical"), "critical", sg.Severity("warning"), "warning", sg.Severity("info"), "info")
	row("2:31", "time to the deadline of an ACK; 2× redelivered once")
	row("LATE", "past its deadline and not yet handled")
	row("2/3", "rejects: at 3 the task is locked")
	return out
}

func (m *model) terminalFacts() ui.HelpSection {
	e := m.env
	mouse := "mouse off: the terminal selects text"
	if e.Mouse {
		mouse = "mouse on: shift and drag selects text"
	}
	out := ui.HelpSection{Title: "terminal", Right: true, Aside: true, Items: []ui.HelpItem{
		{Text: e.Theme.Profile().String() + ", " + e.Theme.Name() + ", " + e.Theme.Signs.Name},
		{Text: mouse},
	}}
	if e.Version != "" {
		out.Items = append(out.Items, ui.HelpItem{Text: "arbiter " + e.Version})
	}
	if s := e.State; s != nil {
		out.Items = append(out.Items, ui.HelpItem{Text: "data " + s.Home})
	}
	return out
}

// Key handles one key.
func (b *helpBox) Key(k tea.KeyMsg) (bool, func() tea.Cmd) {
	switch b.help.Key(k) {
	case ui.PickClosed:
		return true, nil
	case ui.PickChosen:
		it, _ := b.help.Item()
		return true, func() tea.Cmd { return b.m.run(it.ID) }
	case ui.PickOff:
		it, _ := b.help.Item()
		b.m.env.Toast(theme.Time, it.Text+" is off: "+it.Off)
	}
	return false, nil
}

// Size is most of the screen.
func (b *helpBox) Size(w, h int) (int, int) { return min(w, 150), h - 4 }

// Render draws the box.
func (b *helpBox) Render(th *theme.Theme, w, h int) *ui.Block { return b.help.Render(th, w, h) }

// paletteBox runs every action and opens every screen and id.
type paletteBox struct {
	m   *model
	pal *ui.Palette
}

// maxPaletteTasks bounds how many tasks the palette offers by name; an id that is typed is opened in any case.
const maxPaletteTasks = 2000

func (m *model) openPalette() tea.Cmd {
	var all []ui.Choice
	for _, a := range m.env.Reg.In(m.scopes()...) {
		if strings.HasPrefix(a.ID, "move.") || a.ID == openPalette {
			continue
		}
		key := ""
		if len(a.Keys) > 0 {
			key = action.Display(a.Keys[0], m.env.Theme.Signs.IsASCII())
		}
		all = append(all, ui.Choice{ID: "do " + a.ID, Text: a.Title, Hint: key, Off: m.env.Reg.Why(a.ID), Match: a.ID})
	}
	for _, n := range m.env.Index.Needs {
		at := n.Place()
		if _, ok := m.nav.kind(at.Kind); !ok {
			at = Place{Kind: KindTask, ID: string(n.TaskID), Seq: n.Seq}
		}
		all = append(all, ui.Choice{ID: placeID(at), Text: seqName(n.Seq) + " " + n.What + " " + string(n.TaskID), Hint: "needs you"})
	}
	for _, c := range m.env.searchChoices("search ") {
		c.Text = "search: " + c.Text
		all = append(all, c)
	}
	order := m.env.Board.Order
	for i := len(order) - 1; i >= 0 && len(order)-i <= maxPaletteTasks; i-- {
		t := m.env.Board.Task(order[i])
		all = append(all, ui.Choice{ID: "go " + string(t.ID), Text: string(t.ID) + " " + t.Title, Hint: statusWord(t.Status)})
	}
	m.overlay = &paletteBox{m, ui.NewPalette(all, m.history)}
	return nil
}

// placeID names a place in the palette.
func placeID(at Place) string {
	switch {
	case at.Kind == KindTask && at.Seq == 0:
		return "go " + at.ID
	case at.Kind == KindPlan:
		return "plan " + at.ID
	}
	return "go " + seqName(at.Seq)
}

// Key handles one key. Enter on a query that matches nothing opens the id that was typed.
func (b *paletteBox) Key(k tea.KeyMsg) (bool, func() tea.Cmd) {
	query := b.pal.Query()
	got := b.pal.Key(k)
	b.m.history = b.pal.History()
	switch got {
	case ui.PickClosed:
		return true, nil
	case ui.PickChosen:
		c, _ := b.pal.Choice()
		if at, ok := parsePlace(query); ok && (at.ID != "" || at.Seq != 0) && !strings.Contains(strings.ToLower(c.Text), strings.ToLower(query)) {
			return true, func() tea.Cmd { return b.m.openPlace(at) }
		}
		return true, func() tea.Cmd { return b.m.choose(c.ID) }
	case ui.PickOff:
		c, _ := b.pal.Choice()
		b.m.env.Toast(theme.Time, c.Text+" is off: "+c.Off)
	case ui.PickNone:
		if at, ok := parsePlace(query); ok && k.Type == tea.KeyEnter {
			return true, func() tea.Cmd { return b.m.openPlace(at) }
		}
	}
	return false, nil
}

// choose does what a row of the palette names.
func (m *model) choose(id string) tea.Cmd {
	verb, what, _ := strings.Cut(id, " ")
	switch verb {
	case "do":
		return m.run(what)
	case "plan":
		return m.env.Go(Place{Kind: KindPlan, ID: what})
	case "search":
		return m.env.openSearch(what)
	}
	at, ok := parsePlace(what)
	if !ok {
		return nil
	}
	return m.openPlace(at)
}

// openPlace goes to a place that a person named, if it is there.
func (m *model) openPlace(at Place) tea.Cmd {
	if at.Kind == KindTask && m.env.Board.Task(amp.TaskID(at.ID)) == nil {
		m.env.Toast(theme.Danger, "there is no task "+at.ID)
		return nil
	}
	return m.env.Go(at)
}

// Size is a box in the middle.
func (b *paletteBox) Size(w, h int) (int, int) { return min(w-4, 90), min(h-4, 20) }

// Render draws the box.
func (b *paletteBox) Render(th *theme.Theme, w, h int) *ui.Block { return b.pal.Render(th, w, h) }

package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
)

// The ids of actions that the root treats apart.
const (
	navBack     = "nav.back"
	quitBack    = "nav.quit"
	quitNow     = "app.quit"
	openPalette = "palette"
)

// Ranks of footer hints: pages use 10 to 49 for their own keys, so that those stand before the global ones.
const (
	rankOpen   = 1
	rankHelp   = 2 // there is always a way to find the others
	rankGlobal = 50
)

// appDeeds are the actions of every screen that pages answer as intents.
func appDeeds(e *env) []deed {
	global := func(id, title, short string, rank int, keys ...string) deed {
		return deed{Action: action.Action{ID: id, Scope: action.Global, Title: title, Short: short, Keys: keys, Rank: rank}}
	}
	return []deed{
		global(openItem, "open", "", rankOpen, "enter"),
		global(moveDown, "down", "", 0, "j", "down"),
		global(moveUp, "up", "", 0, "k", "up"),
		global(moveTop, "top", "", 0, "g", "home"),
		global(moveBottom, "end", "", 0, "G", "end"),
		global(halfDown, "half a page down", "", 0, "ctrl+d"),
		global(halfUp, "half a page up", "", 0, "ctrl+u"),
		global(pageDown, "a page down", "", 0, "pgdown", "ctrl+f"),
		global(pageUp, "a page up", "", 0, "pgup", "ctrl+b"),
		global(moveLeft, "left", "", 0, "h", "left"),
		global(moveRight, "right", "", 0, "l", "right"),
		global(filterList, "filter or search", "filter", rankGlobal, "/"),
		global(paneNext, "next pane", "pane", rankGlobal+5, "tab"),
		global(panePrev, "previous pane", "", 0, "shift+tab"),
		global(zoomPane, "zoom the pane", "zoom", rankGlobal+6, "z"),
	}
}

// rootDeeds are the actions that the root does itself.
func (m *model) rootDeeds() []deed {
	e := m.env
	var out []deed
	do := func(id, title, short string, rank int, run func() tea.Cmd, keys ...string) *deed {
		out = append(out, deed{Action: action.Action{
			ID: id, Scope: action.Global, Title: title, Short: short, Keys: keys,
			Rank: rank,
		}, Run: run})
		return &out[len(out)-1]
	}
	for _, k := range m.nav.kinds {
		if k.Tab != "" {
			do("go."+string(k.Kind), "go to "+k.Title, "", 0, func() tea.Cmd { return e.Go(Place{Kind: k.Kind}) }, k.Tab)
		}
	}
	do(openPalette, "command palette", "command", rankGlobal+1, m.openPalette, ":")
	do("help", "help and all actions", "help", rankHelp, m.openHelp, "?")
	do(navBack, "one step back", "back", rankGlobal+3, m.back, "esc")
	do(quitBack, "back, then quit", "quit", rankGlobal+4, m.quitOrBack, "q")
	do(quitNow, "quit; nothing stops", "", 0, func() tea.Cmd { return tea.Quit }, "ctrl+c")
	do("undo", "take a waiting decision back", "take back", 5, m.undo, "u").Disabled = m.undoOff
	do("copy.id", "copy the id", "copy id", rankGlobal+8, func() tea.Cmd { return m.copy(true) }, "y").Disabled = m.copyOff
	do("copy.text", "copy the text", "", 0, func() tea.Cmd { return m.copy(false) }, "Y").Disabled = m.copyOff
	do("time.toggle", "ages or times of day", "", 0, func() tea.Cmd { e.Absolute = !e.Absolute; return nil }, "t")
	do("app.readonly", "read-only mode on or off", "", 0, m.toggleReadOnly, "!").Disabled = func() string {
		if m.env.lockedRO {
			return "started with --readonly"
		}
		return ""
	}
	do("up", "start the coordinator", "", 0, m.up).Disabled = m.upOff
	do("app.messages", "errors of this program, shown again", "", 0, func() tea.Cmd { return e.Go(Place{Kind: KindFailures}) }, "ctrl+o")
	do("export", "write this view to a file…", "export", 0, m.openExport, "ctrl+e")
	do("go.escalations", "escalations: every one ever raised", "", 0, func() tea.Cmd { return e.Go(Place{Kind: KindEscalations}) })
	do("split.left", "give the right pane more room", "", 0, m.nudgeSplit(-splitStep), "<").Disabled = m.splitOff
	do("split.right", "give the left pane more room", "", 0, m.nudgeSplit(splitStep), ">").Disabled = m.splitOff
	do("theme", "theme: dark, light, high contrast, mono", "", 0, m.openThemes)
	do("app.redraw", "redraw the screen", "", 0, func() tea.Cmd { return tea.ClearScreen }, "ctrl+l")
	do("app.suspend", "to the shell; fg comes back", "", 0, func() tea.Cmd { return tea.Suspend }, "ctrl+z").Disabled = func() string {
		if e.noShell {
			return "no shell to go to; q leaves"
		}
		return ""
	}
	return out
}

// back takes one step back; it never quits.
func (m *model) back() tea.Cmd {
	m.env.Back()
	return nil
}

func (m *model) quitOrBack() tea.Cmd {
	if m.tooSmall() || !m.env.Back() {
		return tea.Quit
	}
	return nil
}

func (m *model) toggleReadOnly() tea.Cmd {
	e := m.env
	e.ReadOnly = !e.ReadOnly
	if e.ReadOnly {
		e.CloseSheet()
		e.Toast(theme.Time, "read-only: decisions are off until ! is pressed again")
	} else {
		e.Toast(theme.Good, "decisions are on again")
	}
	return nil
}

// soonest is the waiting command of this admin that runs next, nil when there is none; another admin's command is
// shown when this one has none. It is of this moment: what follows changes it.
func (e *env) soonest() (w *amp.Waiting, mine bool) {
	if l := e.desk.last; l != nil && l.Seq > e.Board.Head.Seq && l.Due.After(l.At) { // taken, and not on the board yet
		w, mine = l, true
	}
	for id := range e.Index.Waiting {
		t := e.Board.Task(id)
		for i := range t.Waiting {
			c := &t.Waiting[i]
			own := c.Command.By == e.Admin
			if w == nil || own && !mine || own == mine && c.Due.Before(w.Due) {
				w, mine = c, own
			}
		}
	}
	return w, mine
}

func (m *model) undoOff() string {
	w, mine := m.env.soonest()
	switch {
	case w == nil:
		return m.env.desk.tooLate(m.env)
	case !mine:
		return "it is a decision of " + w.Command.By
	case !m.env.Now.Before(w.Due):
		return "its time is over"
	}
	return m.env.Off()
}

// undo takes back the own decision that runs next.
func (m *model) undo() tea.Cmd {
	e := m.env
	w, mine := e.soonest()
	if w == nil || !mine {
		return nil
	}
	back := w.Command
	c := amp.Command{Command: amp.Withdraw, TaskID: back.TaskID, Args: amp.Args{Withdraws: back.ID}}
	return e.Submit(c, func(_ amp.Entry, err error) tea.Cmd {
		if err != nil {
			e.Fail(err)
			return nil
		}
		if l := e.desk.last; l != nil && l.Command.ID == back.ID {
			e.desk.last = nil
		}
		e.desk.review(back.TaskID).untake()
		e.Toast(theme.Good, fmt.Sprintf("%s %s is taken back", back.Command, back.TaskID))
		return nil
	})
}

func (m *model) copyOff() string {
	if c, ok := m.nav.top().page.(copier); ok {
		if id, _ := c.Copy(); id != "" {
			return ""
		}
	}
	return "nothing is selected"
}

// copy puts the id or the text of what is selected into the clipboard.
func (m *model) copy(id bool) tea.Cmd {
	c, ok := m.nav.top().page.(copier)
	if !ok {
		return nil
	}
	short, text := c.Copy()
	if id {
		text = short
	}
	if text == "" {
		text = short
	}
	if m.env.copied == nil {
		m.env.Toast(theme.Danger, "there is no clipboard here")
		return nil
	}
	copied := m.env.copied
	return func() tea.Msg { return toastMsg{theme.Text, copied(text)} }
}

// toastMsg is what a command of the root has to say.
type toastMsg struct {
	role theme.Role
	text string
}

// offFor is the reason of an action that depends on the page on the screen.
func offFor[P page](e *env, why func(p P) string) func() string {
	return func() string {
		if p, ok := e.nav.top().page.(P); ok {
			return why(p)
		}
		return "not on this screen"
	}
}

// currentTask is the task that the page on the screen is about, nil for none.
func (e *env) currentTask() *amp.Task {
	s, ok := e.nav.top().page.(subject)
	if !ok {
		return nil
	}
	return e.Board.Task(s.Subject())
}

// seqName names an entry: "#18140".
func seqName(seq uint64) string { return "#" + strconv.FormatUint(seq, 10) }

// sortedKeys returns the keys of a map in order, for drawing.
func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.SortFunc(out, strings.Compare)
	return out
}

package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	_ "arbiter/tui/preterm" // before Bubble Tea's init
	"arbiter/tui/ui"
)

// page is one screen. All of its methods are called from the goroutine of the program's loop, and do no IO: what asks
// the session is a command, see [env.Ask].
type page interface {
	// Update handles an [intent], a [changedMsg], a [clickMsg], a [wheelMsg], a [shownMsg], or the answer to one of the
	// page's own commands. Messages that it does not know it ignores.
	Update(msg tea.Msg) tea.Cmd
	// Render returns exactly h rows of w cells. What is drawn with a countdown calls [env.Tick], what shows an age
	// calls [env.Age], so that it is drawn again in time.
	Render(w, h int) *ui.Block
	// Scopes are the action scopes that are valid now, innermost first, without the global one.
	Scopes() []string
	// Title names the page in a crumb and in the palette, in plain text.
	Title() string
}

// The optional abilities of a page.
type (
	// typist takes raw keys while Typing says so: a text field has the focus. No action is resolved meanwhile, and keys
	// that came together are not split.
	typist interface {
		Typing() bool
		Key(k tea.KeyMsg) tea.Cmd
	}
	// subject is a page about one task at the moment: what is under the cursor, or what the whole page is about.
	subject interface {
		Subject() amp.TaskID
	}
	// copier says what "y" (the id) and "Y" (the text) copy.
	copier interface {
		Copy() (id, text string)
	}
	// divided is a page with two panes beside each other: the column of the line between them, -1 for one pane. The
	// rule below the page closes it there. It is asked after Render.
	divided interface {
		Divide() int
	}
	// closer is told when the page is left for good: it cancels its commands.
	closer interface {
		Close()
	}
	// placed is a page of a tab that shows more than one place: it is told which when it is gone to.
	placed interface {
		At(at Place) tea.Cmd
	}
	// offerer says why the page does nothing with an [intent] as it stands now, "" when it does something: the footer offers the others.
	// It is the one place that decides that; movements are never asked for.
	offerer interface {
		Off(id string) string
	}
	// backer may use esc itself, to leave a filter or a zoom; true means that it did.
	backer interface {
		Back() bool
	}
)

// sheet docks at the bottom of the page and takes every key until it closes itself with [env.CloseSheet]: the
// decision bar. The page above keeps drawing in the rows that are left.
type sheet interface {
	// Key handles every key; the mouse never reaches a sheet.
	Key(k tea.KeyMsg) tea.Cmd
	// Update handles a [changedMsg] and the answers to the sheet's own commands.
	Update(msg tea.Msg) tea.Cmd
	// Height is how many rows it wants in w cells; it may get fewer.
	Height(w int) int
	// Render returns exactly h rows of w cells.
	Render(w, h int) *ui.Block
}

// The messages that a page gets from the root.
type (
	// intent is what a key, a row of the help or of the palette led to: the id of an action.
	intent struct{ ID string }
	// changedMsg comes after new entries were folded into the board. All is set when the board was replaced: then
	// Entries is empty and anything may have changed.
	changedMsg struct {
		Entries []amp.Entry
		All     bool
	}
	// clickMsg is a press of the left button at a cell of the page. A click focuses or selects, it never opens or
	// decides.
	clickMsg struct{ X, Y int }
	// wheelMsg is one step of the wheel over a cell of the page: By rows, down when positive.
	wheelMsg struct{ X, Y, By int }
	// shownMsg comes when the page is shown first or again, and when the screen has another size.
	shownMsg struct{}
)

// The intents that every page gets from the global actions.
const (
	moveDown   = "move.down"
	moveUp     = "move.up"
	moveTop    = "move.top"
	moveBottom = "move.bottom"
	halfDown   = "move.half_down"
	halfUp     = "move.half_up"
	pageDown   = "move.page_down"
	pageUp     = "move.page_up"
	moveLeft   = "move.left"
	moveRight  = "move.right"
	openItem   = "open"
	paneNext   = "pane.next"
	panePrev   = "pane.prev"
	zoomPane   = "zoom"
	filterList = "filter"
)

// moveList applies a movement to a list and reports whether the intent was one.
func moveList(l *ui.List, id string) bool {
	switch id {
	case moveDown:
		l.Move(1)
	case moveUp:
		l.Move(-1)
	case moveTop:
		l.Top()
	case moveBottom:
		l.Bottom()
	case halfDown:
		l.Page(0.5)
	case halfUp:
		l.Page(-0.5)
	case pageDown:
		l.Page(1)
	case pageUp:
		l.Page(-1)
	default:
		return false
	}
	return true
}

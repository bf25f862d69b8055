package tui

import (
	"context"
	"errors"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// env is what all pages share. Its exported fields are read by pages and written by the root alone.
type env struct {
	Config
	Theme *theme.Theme
	// Board is the fold of the journal up to now; pages must not change it. It is never nil.
	Board *amp.Board
	// Index is what screens count and list of the board, kept up to date entry by entry.
	Index *index
	// Now is the time of the message that is being handled, or of the frame that is drawn.
	Now time.Time
	// Zone is where times of day are shown.
	Zone *time.Location
	// Conn is how the connection to the coordinator stands.
	Conn connState
	// State is what the coordinator said of itself when it was reached, nil when it did not.
	State *amp.CoordinatorState
	// Reg is the table of all actions.
	Reg *action.Registry
	// Recent are the newest entries, oldest first.
	Recent []amp.Entry
	// Width and Height are the size of the screen in cells.
	Width, Height int
	// Absolute shows times of day where lists show ages.
	Absolute bool

	ctx    context.Context // ends with the program
	now    func() time.Time
	newID  func() string
	nav    *nav
	sheet  sheet
	toasts ui.Toasts
	errors []failure
	wake   time.Time
	later  []tea.Cmd
	crew   crew
	gone   map[uint64]bool // items that were put away on this screen
	// requests are under way, the oldest first; busy is the one that submits a command.
	requests []*request
	busy     *request
	// lockedRO says that read-only was asked for at the start and stays.
	lockedRO bool
	// noShell says that nothing could continue the program if it stopped.
	noShell bool
	copied  func(text string) string
	desk    desk             // what the admin has in hand: drafts, read marks
	saved   saved            // what outlives the program
	hold    func(on bool)    // keeps the keys that end programs for an editor; nil where nothing else takes them
	exports string           // the folder that was chosen for exports
	splits  map[Kind]float64 // where the person put the line between two panes
	// words are what muted has made with the theme of wordsEpoch.
	words      map[string]string
	wordsEpoch uint64
}

// failure is an error that was shown, kept to be read again.
type failure struct {
	n                 int // counts them
	At                time.Time
	What, Means, Next string
}

const maxFailures = 200

// Ask runs a query and hands the answer of wrap to the page p, wherever it is then. The query ends with ctx, which
// belongs to the page, or when the person cancels it: then the error is [context.Canceled]. A nil message is dropped.
func (e *env) Ask(ctx context.Context, p page, q amp.Query, wrap func(amp.Page, error) tea.Msg) tea.Cmd {
	s, page := e.Session, ctx
	return e.Await(ctx, p, theCoordinator, asks(q), func(ctx context.Context, _ *request) tea.Msg {
		got, err := s.Query(ctx, q)
		if page.Err() != nil {
			return nil
		}
		return wrap(got, err)
	})
}

const theCoordinator = "the coordinator"

// Context is a context for the commands of one page; it ends with the program.
func (e *env) Context() (context.Context, context.CancelFunc) { return context.WithCancel(e.ctx) }

// pageMsg carries the answer of a command to the page, or to the sheet, that asked.
type pageMsg struct {
	to  any
	msg tea.Msg
}

// To wraps a command so that its message reaches the page or sheet that asked.
func (e *env) To(asker any, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg { return pageMsg{asker, cmd()} }
}

// Submit sends a command to the coordinator, with ID, By and At filled in where they are empty, and calls done with
// the outcome in the program's loop. With a nil done an error is shown and success is a toast. While a command is on
// its way another one is refused: the first must be known to have arrived.
func (e *env) Submit(c amp.Command, done func(amp.Entry, error) tea.Cmd) tea.Cmd {
	if why := e.Off(); why != "" {
		e.Toast(theme.Danger, string(c.Command)+" was not sent: "+why)
		return nil
	}
	if e.busy != nil {
		e.Toast(theme.Time, e.busy.what+" is on its way: wait for its answer")
		return nil
	}
	if c.ID == "" {
		c.ID = e.newID()
	}
	if c.By == "" {
		c.By = e.Admin
	}
	if c.At.IsZero() {
		c.At = e.Now.UTC().Truncate(time.Millisecond)
	}
	what := string(c.Command)
	if c.TaskID != "" {
		what += " " + string(c.TaskID)
	}
	s := e.Session
	cmd := e.Await(e.ctx, nil, theCoordinator, what, func(ctx context.Context, _ *request) tea.Msg {
		entry, err := s.Submit(ctx, c)
		return submittedMsg{c, entry, err, done}
	})
	e.busy = e.requests[len(e.requests)-1]
	e.busy.submits = true
	return cmd
}

// submittedMsg is the coordinator's answer to a command.
type submittedMsg struct {
	cmd   amp.Command
	entry amp.Entry
	err   error
	done  func(amp.Entry, error) tea.Cmd
}

func (e *env) submitted(m submittedMsg) tea.Cmd {
	e.busy = nil
	if m.done != nil {
		return m.done(m.entry, m.err)
	}
	switch {
	case errors.Is(m.err, context.Canceled):
		e.Toast(theme.Time, string(m.cmd.Command)+": you stopped waiting; whether it arrived will be seen in the journal")
	case m.err != nil:
		e.Fail(m.err)
	default:
		e.Toast(theme.Good, fmt.Sprintf("%s is entry #%d", m.cmd.Command, m.entry.Seq))
	}
	return nil
}

// Off says why nothing can be submitted now, "" when it can.
func (e *env) Off() string {
	if e.ReadOnly {
		return "read-only: ! turns it off"
	}
	return e.Conn.off(e)
}

// Go opens a place.
func (e *env) Go(at Place) tea.Cmd {
	if at.Kind == "" && at.Seq != 0 {
		return e.findEntry(at.Seq)
	}
	e.CloseSheet()
	if !e.nav.goTo(e, at) {
		e.Toast(theme.Danger, "there is no screen for "+string(at.Kind))
		return nil
	}
	var cmd tea.Cmd
	if p, ok := e.nav.top().page.(placed); ok {
		cmd = p.At(at)
	}
	return tea.Batch(cmd, e.nav.top().page.Update(shownMsg{}))
}

// Back takes one step back; false at the first stop.
func (e *env) Back() bool {
	if b, ok := e.nav.top().page.(backer); ok && b.Back() {
		return true
	}
	if !e.nav.back(e) {
		return false
	}
	return true
}

// Later runs a command after the message that is being handled, for what has none to return.
func (e *env) Later(cmd tea.Cmd) { e.later = append(e.later, cmd) }

// OpenSheet docks a sheet at the bottom of the page, in place of another one.
func (e *env) OpenSheet(s sheet) { e.sheet = s }

// CloseSheet takes the sheet away.
func (e *env) CloseSheet() { e.sheet = nil }

// Toast shows a short message for some seconds. One that says that something went wrong is kept where it can be read again.
func (e *env) Toast(role theme.Role, text string) {
	if role == theme.Danger {
		e.keep(failure{What: text})
	}
	e.toasts.Push(role, text, e.Now)
}

// Fail shows an error and keeps it where it can be read again.
func (e *env) Fail(err error) {
	e.report(e.explained(err))
}

// report shows a failure in its own words and keeps it.
func (e *env) report(f failure) {
	e.keep(f)
	text := f.What
	if f.Next != "" {
		text += " · " + f.Next
	}
	e.toasts.Push(theme.Danger, text, e.Now)
}

// explained puts an error into words.
func (e *env) explained(err error) failure {
	f := failure{What: err.Error()}
	if e.Explain != nil {
		f.What, f.Means, f.Next = e.Explain(err)
	}
	return f
}

// keep adds a failure to those that can be read again.
func (e *env) keep(f failure) {
	f.At, f.n = e.Now, 1
	if n := len(e.errors); n > 0 {
		f.n = e.errors[n-1].n + 1
	}
	e.errors = append(e.errors, f)
	if over := len(e.errors) - maxFailures; over > 0 {
		e.errors = e.errors[over:]
	}
}

// WakeAt asks for a frame at a moment, at the latest; it is called while drawing.
func (e *env) WakeAt(t time.Time) {
	if e.wake.IsZero() || t.Before(e.wake) {
		e.wake = t
	}
}

// Tick asks for a frame at the next full second: something counts down on the screen.
func (e *env) Tick() { e.WakeAt(e.Now.Truncate(time.Second).Add(time.Second)) }

// Age returns how long ago t was, or its time of day, and asks for a frame when that changes.
func (e *env) Age(t time.Time) string {
	if e.Absolute {
		return e.Clock(t)
	}
	d := e.Now.Sub(t)
	step := time.Minute
	switch {
	case d < time.Minute:
		step = 15 * time.Second
		d = max(d, 0).Truncate(time.Second)
	case d >= time.Hour:
		step = time.Hour
	}
	e.WakeAt(t.Add(e.Now.Sub(t).Truncate(step) + step))
	return ui.Age(d)
}

// Clock returns the time of day, with the date when it is not today.
func (e *env) Clock(t time.Time) string {
	t, now := t.In(e.Zone), e.Now.In(e.Zone)
	switch {
	case t.YearDay() == now.YearDay() && t.Year() == now.Year():
		return t.Format("15:04:05")
	case t.Year() == now.Year():
		return t.Format("Jan 02 15:04")
	}
	return t.Format("2006-01-02")
}

// PutAway hides an item of the Inbox that no command resolves, until the program ends.
func (e *env) PutAway(seq uint64) {
	e.gone[seq] = true
	e.Index.rebuild(e.Board, e.gone)
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil { // the system has no randomness left
		panic(err)
	}
	return id.String()
}

// found is the answer to a search for one entry.
type foundMsg struct {
	seq uint64
	at  Place
	err error
}

// findEntry opens the place that shows an entry, which needs to be looked up first.
func (e *env) findEntry(seq uint64) tea.Cmd {
	for _, n := range e.Index.Needs {
		if n.Seq == seq {
			if _, ok := e.nav.kind(n.Place().Kind); ok {
				return e.Go(n.Place())
			}
		}
	}
	s := e.Session
	return e.Await(e.ctx, nil, theCoordinator, "entry "+seqName(seq), func(ctx context.Context, _ *request) tea.Msg {
		q := amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: seq - 1, Before: seq + 1, Limit: 1}}
		p, err := s.Query(ctx, q)
		switch {
		case err != nil:
			return foundMsg{seq: seq, err: err}
		case len(p.Entries) == 0:
			return foundMsg{seq: seq, err: fmt.Errorf("there is no entry #%d; the journal ends at #%d", seq, p.Head.Seq)}
		case p.Entries[0].TaskID == "":
			return foundMsg{seq: seq, at: entryPlace(seq)}
		}
		return foundMsg{seq: seq, at: Place{Kind: KindTask, ID: string(p.Entries[0].TaskID), Seq: seq}}
	})
}

// slots is how many agents may run at once; 0 when that is not known, or other machines have slots of their own.
func (e *env) slots() int {
	if e.State == nil || e.State.Team != nil {
		return 0
	}
	return e.State.Slots
}

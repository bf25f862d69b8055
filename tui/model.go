package tui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/term"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// model is the root: it owns the board, the way through the pages, the overlays and the frame.
type model struct {
	env   *env
	nav   *nav
	keys  *action.Resolver
	runs  map[string]func() tea.Cmd
	pump  *pump
	guard *term.Guard // nil in tests
	gate  gate

	w, h    int
	overlay overlay
	zones   layout
	open    string // the place to begin with, until the board is there
	history []string
	synced  bool
	gen     int
	chrome  chromeCache
	painter ui.Painter
	banner  banner
	caller  caller
	// call rings for the admin who looks elsewhere; nil in tests.
	call func(title, body string, bell bool) error
	dump *dumper // nil unless somebody looks for a defect
	// dragging says that the line between two panes follows the mouse.
	dragging bool
	// starting says that the coordinator is being started from here.
	starting bool
}

// parts are what a model needs besides its configuration; tests choose them.
type parts struct {
	theme *theme.Theme
	now   func() time.Time
	newID func() string
	zone  *time.Location
	// copied puts text into the clipboard and says how, for the toast.
	copied func(text string) string
	guard  *term.Guard
	// state is the file of what outlives the program, nil for none.
	state *stateFile
	// left is what editors of programs that ended left behind.
	left []failure
}

// newModel returns the root before its board is there. The pump must be run with the same ctx. The problems are those of
// the configured keys; they are shown, and the default keys stay.
func newModel(ctx context.Context, cfg Config, with parts) *model {
	board := amp.NewBoard()
	e := &env{
		Config: cfg, Theme: with.theme, Board: board, Zone: with.zone, ctx: ctx, now: with.now, newID: with.newID,
		copied: with.copied, gone: map[uint64]bool{}, Reg: action.NewRegistry(),
	}
	e.Index = newIndex(board, e.gone)
	e.Now = e.now()
	e.lockedRO = cfg.ReadOnly
	m := &model{env: e, nav: newNav(), runs: map[string]func() tea.Cmd{}, guard: with.guard, open: cfg.Open}
	e.nav = m.nav
	m.pump = newPump(cfg.Session, with.now)
	m.keys = action.NewResolver(e.Reg)
	m.register()
	m.restore(with.state)
	for _, f := range with.left {
		e.report(f)
	}
	for _, p := range e.Reg.Override(cfg.Keys) {
		e.Fail(p)
	}
	m.nav.goTo(e, Place{Kind: m.nav.kinds[0].Kind})
	return m
}

// register fills the table of actions. A conflict is a defect of this program, found by any test that makes a model.
func (m *model) register() {
	add := func(deeds []deed) {
		for _, d := range deeds {
			if d.Run == nil {
				d.Disabled = m.pageOff(d.ID, d.Disabled)
			}
			if err := m.env.Reg.Add(d.Action); err != nil {
				panic(err)
			}
			if d.Run != nil {
				m.runs[d.ID] = d.Run
			}
		}
	}
	for _, k := range m.nav.kinds {
		if k.Deeds != nil {
			add(k.Deeds(m.env))
		}
	}
	for _, set := range deedSets() {
		add(set(m.env))
	}
	add(m.rootDeeds())
}

// Init starts listening to the pump.
func (m *model) Init() tea.Cmd { return m.pump.next(m.env.ctx) }

// Update handles one message and draws the frame when one is due.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if m.guard != nil {
		defer m.guard.Note()
	}
	m.env.Now = m.env.now()
	if m.dump != nil {
		m.dump.note(m.env.Now, msg, m.sink() != nil)
	}
	cmd := m.route(msg)
	return m, tea.Batch(m.protect(cmd), m.settle())
}

// View returns the frame that Update drew.
func (m *model) View() string { return m.gate.frame }

// protect lets a panic in a command restore the terminal and leave its trace.
func (m *model) protect(cmd tea.Cmd) tea.Cmd {
	if cmd == nil || m.guard == nil {
		return cmd
	}
	return func() (msg tea.Msg) {
		if !m.guard.Protect(func() { msg = cmd() }) {
			return nil
		}
		return msg
	}
}

// take handles the messages of the pump and the answers to commands.
func (m *model) take(msg tea.Msg) (tea.Cmd, bool) {
	e := m.env
	switch msg := msg.(type) {
	case syncedMsg:
		return tea.Batch(m.synchronise(msg), m.pump.next(e.ctx)), true
	case batchMsg:
		return tea.Batch(m.fold(msg), m.pump.next(e.ctx)), true
	case connMsg:
		m.connected(connState(msg))
		return m.pump.next(e.ctx), true
	case stateMsg:
		return m.write(), true
	case stateWrittenMsg:
		m.written(msg)
		return nil, true
	case alertMsg:
		m.caller.waiting = false
		return m.notice(), true
	case exportedMsg:
		m.exported(msg)
		return nil, true
	case upMsg:
		m.upEnded(msg)
		return nil, true
	case endedMsg:
		return m.ended(msg), true
	case editorEndedMsg:
		return m.editorEnded(msg), true
	case pageMsg:
		m.gate.mark()
		return m.deliver(msg), true
	case submittedMsg:
		m.gate.urgent()
		return e.submitted(msg), true
	case toastMsg:
		m.gate.urgent()
		e.Toast(msg.role, msg.text)
		return nil, true
	case paceMsg:
		m.gate.mark()
		e.desk.pace.took(e, msg)
		return nil, true
	case foundMsg:
		m.gate.urgent()
		if msg.err != nil {
			e.Fail(msg.err)
			return nil, true
		}
		return e.Go(msg.at), true
	}
	return nil, false
}

// deliver hands an answer to the page or sheet that asked, if it still lives.
func (m *model) deliver(msg pageMsg) tea.Cmd {
	if msg.msg == nil {
		return nil
	}
	if r := m.receiver(msg.to); r != nil {
		return r.Update(msg.msg)
	}
	return nil
}

// receiver is the page or sheet that asked, nil when it lives no longer.
func (m *model) receiver(asker any) interface{ Update(tea.Msg) tea.Cmd } {
	if s := m.env.sheet; s != nil && any(s) == asker {
		return s
	}
	for _, p := range m.nav.pages() {
		if any(p) == asker {
			return p
		}
	}
	return nil
}

// synchronise puts a whole board in the place of the old one.
func (m *model) synchronise(msg syncedMsg) tea.Cmd {
	e := m.env
	if msg.why != "" {
		f := failure{
			What:  "The board was read anew: " + msg.why,
			Means: "Everything on the screen is current again; nothing was lost in the journal.",
		}
		e.keep(f)
		m.banner = banner{f.What, e.Now.Add(bannerFor)}
	}
	m.gen = msg.gen
	m.compareVersions(msg.state)
	e.Board, e.State = msg.board, msg.state
	e.Index.roles = e.roles()
	e.Index.rebuild(e.Board, e.gone)
	e.Recent = slices.Clone(msg.recent)
	slices.SortFunc(e.Recent, func(a, b amp.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	m.gate.urgent()
	cmds := []tea.Cmd{m.broadcast(changedMsg{All: true}), e.readPace()}
	if !m.synced {
		m.synced = true
		cmds = append(cmds, m.openFirst())
	}
	return tea.Batch(cmds...)
}

// compareVersions says when the coordinator is another version than this program, once for each.
func (m *model) compareVersions(now *amp.CoordinatorState) {
	e := m.env
	if now == nil || now.Version == e.Version || now.Version == "" || e.Version == "" || e.State != nil && e.State.Version == now.Version {
		return
	}
	f := failure{
		What:  "The coordinator is version " + now.Version + ", this screen " + e.Version + ".",
		Means: "What only one of the two knows may be missing here, or be refused.",
		Next:  "Leave with q and open Arbiter again; if the coordinator is the older one: arbiter down, arbiter up.",
	}
	e.keep(f)
	m.banner = banner{f.What + " " + f.Next, e.Now.Add(bannerFor)}
}

// openFirst goes to the place that the program was started with.
func (m *model) openFirst() tea.Cmd {
	if m.open == "" {
		return tea.Batch(m.nav.top().page.Update(shownMsg{}), m.wayBack())
	}
	at, ok := parsePlace(m.open)
	if !ok {
		m.env.Fail(errors.New("there is nothing to open by the name " + ui.Safe(m.open) +
			"; try a screen such as tasks, a task id, or an entry such as #12"))
		return nil
	}
	if at.Kind == KindTask && m.env.Board.Task(amp.TaskID(at.ID)) == nil {
		m.env.Fail(errors.New("there is no task " + at.ID))
		return nil
	}
	return m.env.Go(at)
}

// fold applies a batch to the board.
func (m *model) fold(msg batchMsg) tea.Cmd {
	if msg.gen != m.gen {
		return nil // from before the board that is shown
	}
	e := m.env
	fresh := msg.entries
	for len(fresh) > 0 && fresh[0].Seq <= e.Board.Head.Seq {
		fresh = fresh[1:]
	}
	done := fresh[:0] // what is folded of it: a prefix, nothing is copied
	all := false
	for i := range fresh {
		stopped := e.Board.Stopped
		if err := e.Board.Apply(fresh[i]); err != nil {
			m.pump.resync(err.Error())
			break
		}
		done = fresh[: i+1 : i+1]
		if e.Board.Stopped != stopped {
			all = true
		}
	}
	if len(done) == 0 {
		return nil
	}
	if all {
		e.Index.rebuild(e.Board, e.gone)
	} else {
		for i := range done {
			if t := e.Board.Task(done[i].TaskID); t != nil && t.LastSeq == done[i].Seq { // once per task
				e.Index.touch(t, e.gone)
			}
		}
	}
	e.desk.pace.follow(e, done)
	e.tellPulls(done)
	e.Recent = append(e.Recent, done[max(len(done)-recentEntries, 0):]...)
	if n := len(e.Recent); n > 2*recentEntries {
		e.Recent = slices.Clone(e.Recent[n-recentEntries:])
	}
	m.gate.mark()
	return tea.Batch(m.broadcast(changedMsg{Entries: done, All: all}), m.notice())
}

// broadcast tells the pages that live, and the sheet, that the board changed. There are few of them: the way back and
// the tabs that were visited.
func (m *model) broadcast(msg changedMsg) tea.Cmd {
	var cmds []tea.Cmd
	if s := m.env.sheet; s != nil {
		cmds = append(cmds, s.Update(msg))
	}
	for _, p := range m.nav.pages() {
		cmds = append(cmds, p.Update(msg))
	}
	return tea.Batch(cmds...)
}

func (m *model) connected(c connState) {
	e := m.env
	was := e.Conn
	if c.phase == live && was.phase != live && was.phase != connecting {
		e.Toast(theme.Good, "the coordinator is back")
	}
	if c.err != nil && (was.err == nil || was.err.Error() != c.err.Error()) {
		e.keep(e.explained(c.err))
	}
	e.Conn = c
	m.gate.urgent()
}

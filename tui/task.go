package tui

import (
	"cmp"
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

func taskKind() pageKind {
	return pageKind{
		Kind: KindTask, Title: "Task", Dense: true,
		Make: func(e *env, at Place) page { return newTaskPage(e, at) },
		Deeds: func(e *env) []deed {
			do := func(id, title, short string, rank int, keys ...string) deed {
				return deed{Action: action.Action{ID: id, Scope: string(KindTask), Title: title, Short: short, Keys: keys, Rank: rank}}
			}
			return []deed{
				do("task.round_prev", "previous round", "] round", 10, "["),
				do("task.round_next", "next round", "", 0, "]"),
				do("task.unfold", "show every entry, or fold ACKs and turns", "unfold", 12, "x"),
				do("task.follow", "follow the newest entry", "follow", 13, "f"),
				do("task.diff", "diff of the branch", "diff", 14, "d"),
				do("task.criteria", "acceptance criteria", "criteria", 15, "c"),
				do("task.claims", "claims checked against git", "claims", 16, "v"),
				do("task.issues", "issues of the reviews", "issues", 17, "i"),
				do("task.log", "output of the turn", "", 0, "o"),
			}
		},
	}
}

// taskPage is one task: its timeline by rounds, and what is known of its criteria, claims and issues.
type taskPage struct {
	e      *env
	id     amp.TaskID
	seq    uint64 // the entry to stand on first
	host   page   // who routes the answers: the page itself, or the list that it is a part of
	ctx    context.Context
	cancel context.CancelFunc

	win     window
	proof   []amp.Entry // the newest messages and checks, oldest first: what criteria, claims and issues come from
	proven  []line
	drawn   drawnFacts
	loading bool
	loaded  bool
	state   string // why there is nothing to show

	items  []item
	list   *ui.List
	unfold bool
	stale  bool // items must be built anew
	rounds bool // with headings
	cols   *ui.Columns
	colsW  int

	focused bool // of a pane: it has the focus; a page of its own always has
	toTop   bool // the person went to the top, and pages before it are still being read
	below   bool // the facts have the focus
	zoomed  bool
	both    bool // timeline and facts were on the screen
	// factsEnd is how far the facts can be scrolled.
	factsEnd int
	offset   int // first row of the facts
	marks    map[string]int
	factsAt  int
	listAt   int
	listH    int
}

func newTaskPage(e *env, at Place) *taskPage {
	p := &taskPage{e: e, id: amp.TaskID(at.ID), seq: at.Seq, focused: true, marks: map[string]int{}}
	p.host = p
	p.win.task = p.id
	p.ctx, p.cancel = e.Context()
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.items) },
		ID:      func(i int) string { return p.items[i].id },
		Version: func(i int) uint64 { return p.items[i].last },
		Lines:   p.lines,
		Live:    func(i int) string { return p.e.ackCell(p.task(), &p.items[i]) },
		Skip:    func(i int) bool { return p.items[i].round > 0 },
	})
	if p.seq == 0 {
		p.list.Follow(true)
	}
	return p
}

func (p *taskPage) task() *amp.Task { return p.e.Board.Task(p.id) }

// The answers to the page's queries.
type (
	olderMsg struct {
		of    *taskPage // who asked: a list replaces the page that is a part of it
		page  amp.Page
		first bool     // the first answer, which comes with the proofs
		proof amp.Page // the newest messages and checks
		err   error
	}
	newerMsg struct {
		of   *taskPage
		page amp.Page
		err  error
	}
)

const proofEntries = 60

// Export is the whole journal of the task.
func (p *taskPage) Export() export {
	return p.e.exportEntries("task "+string(p.id), "", amp.Filter{TaskID: p.id})
}

// load asks for the newest part of the history, or for the part around the entry to stand on.
func (p *taskPage) load() tea.Cmd {
	if p.loaded || p.loading {
		return nil
	}
	p.loading = true
	around := uint64(0)
	if p.seq > 0 {
		around = p.seq + windowPage/2
	}
	q := amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{
		TaskID: p.id, Newest: true, Limit: proofEntries,
		Kinds: []amp.Kind{amp.KindMessage, amp.KindCheck},
	}}
	session, first, page := p.e.Session, p.win.olderQuery(around), p.ctx
	// one message for both, so that the page is not drawn half
	return p.e.Await(p.ctx, p.host, theCoordinator, asks(first), func(ctx context.Context, _ *request) tea.Msg {
		got, err := session.Query(ctx, first)
		if page.Err() != nil {
			return nil
		}
		msg := olderMsg{of: p, page: got, first: true, err: err}
		if err == nil {
			msg.proof, msg.err = session.Query(ctx, q)
		}
		return msg
	})
}

// Update handles one message.
func (p *taskPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		return p.load()
	case changedMsg:
		return p.changed(msg)
	case olderMsg:
		if msg.of == nil || msg.of == p {
			return p.gotOlder(msg)
		}
	case newerMsg:
		if msg.of != p {
			return nil
		}
		p.loading = false
		if msg.err != nil {
			p.e.Fail(msg.err)
			return nil
		}
		p.win.extend(msg.page)
		p.stale = true
		return p.more()
	case intent:
		return p.intent(msg.ID)
	case clickMsg:
		p.below = msg.Y >= p.factsAt
		if !p.below {
			p.list.Click(msg.Y - p.listAt)
		}
		return p.more()
	case wheelMsg:
		if msg.Y >= p.factsAt {
			p.offset = max(p.offset+msg.By, 0)
			return nil
		}
		p.list.Move(msg.By)
		return p.more()
	}
	return nil
}

func (p *taskPage) gotOlder(msg olderMsg) tea.Cmd {
	p.loading = false
	if msg.err != nil {
		p.state = msg.err.Error()
		p.e.Fail(msg.err)
		return nil
	}
	around := uint64(0)
	if p.seq > 0 {
		around = p.seq + windowPage/2
	}
	p.win.prepend(msg.page, msg.first, around)
	p.loaded, p.state, p.stale = true, "", true
	if msg.first {
		p.proof = slices.Clone(msg.proof.Entries)
		slices.SortFunc(p.proof, func(a, b amp.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
		p.proven = describeAll(p.proof)
	}
	if msg.first && p.seq > 0 {
		p.stand(p.seq)
	}
	if p.toTop {
		p.rebuild()
		p.list.Top()
		p.toTop = p.win.older
	}
	return p.more()
}

// shows reports whether an entry is in the part of the history that was read.
func (p *taskPage) shows(id amp.TaskID, seq uint64) bool {
	n := len(p.win.entries)
	return p.id == id && p.loaded && n > 0 && p.win.entries[0].Seq <= seq && seq <= p.win.entries[n-1].Seq
}

// stand puts the cursor on the row that shows an entry: its own, or the one it is folded into.
func (p *taskPage) stand(seq uint64) {
	p.rebuild()
	best := ""
	for i := range p.items {
		it := &p.items[i]
		if it.round == 0 && it.seq <= seq {
			best = it.id
			if it.seq == seq {
				break
			}
		}
	}
	if best != "" {
		p.list.Select(best)
	}
}

// changed takes new entries of the journal.
func (p *taskPage) changed(msg changedMsg) tea.Cmd {
	if msg.All && len(msg.Entries) == 0 { // another board: read again what may be missing
		if p.loaded {
			p.win.newer = true
			return p.more()
		}
		return nil
	}
	if !p.loaded {
		return nil
	}
	before := len(p.win.entries)
	whole := p.win.follow(msg.Entries)
	for i := range msg.Entries {
		e := &msg.Entries[i]
		if e.TaskID == p.id && (e.Kind == amp.KindMessage || e.Kind == amp.KindCheck) {
			p.proof = append(p.proof, *e)
			p.proven = append(p.proven, describe(e))
		}
	}
	if n := len(p.proof); n > 2*proofEntries {
		p.proof, p.proven = slices.Clone(p.proof[n-proofEntries:]), slices.Clone(p.proven[n-proofEntries:])
	}
	p.stale = p.stale || len(p.win.entries) != before || !whole
	if !whole {
		return p.more()
	}
	return nil
}

// more asks for the next page when the cursor comes near the end of what is there.
func (p *taskPage) more() tea.Cmd {
	if p.loading || !p.loaded {
		return nil
	}
	p.rebuild()
	_, i, ok := p.list.Cursor()
	const near = 30
	switch {
	case p.win.newer && (!ok || i >= len(p.items)-near || p.list.Following()):
		p.loading = true
		return p.e.Ask(p.ctx, p.host, p.win.newerQuery(), func(got amp.Page, err error) tea.Msg { return newerMsg{p, got, err} })
	case p.win.older && ok && i < near:
		p.loading = true
		return p.e.Ask(p.ctx, p.host, p.win.olderQuery(0), func(got amp.Page, err error) tea.Msg {
			return olderMsg{of: p, page: got, err: err}
		})
	}
	return nil
}

// rebuild folds the window into rows when something changed.
func (p *taskPage) rebuild() {
	if !p.stale {
		return
	}
	p.stale = false
	last := 0
	if t := p.task(); t != nil {
		last = t.Round
	}
	p.items = timeline(&p.win, p.unfold, p.rounds, last)
}

func (p *taskPage) intent(id string) tea.Cmd {
	if p.below && p.scrollFacts(id) {
		return nil
	}
	if moveList(p.list, id) {
		p.toTop = id == moveTop
		return p.more()
	}
	switch id {
	case paneNext, panePrev:
		p.below = !p.below
	case zoomPane:
		p.zoomed = !p.zoomed
	case openItem:
		if it := p.cursor(); it != nil {
			return p.e.Go(entryPlace(it.seq))
		}
	case "task.round_prev", "task.round_next":
		p.toRound(id == "task.round_next")
		return p.more()
	case "task.unfold":
		p.unfold, p.stale = !p.unfold, true
		p.list.Forget()
		p.rebuild()
	case "task.follow":
		p.list.Follow(!p.list.Following())
		return p.more()
	case "task.diff":
		return p.e.Go(Place{Kind: KindDiff, ID: string(p.id)})
	case "task.log":
		return p.e.Go(turnPlace(p.id, p.cursor().turnID))
	case "task.criteria", "task.claims", "task.issues":
		p.below = true
		p.offset = p.marks[id]
	}
	return nil
}

// Off says why an action does nothing here.
func (p *taskPage) Off(id string) string {
	switch id {
	case openItem:
		return unless(p.cursor() != nil, nothingSelected)
	case zoomPane:
		return unless(p.both || p.zoomed, noZoom)
	case "task.criteria", "task.claims", "task.issues":
		return unless(!p.below || p.offset != min(p.marks[id], p.factsEnd), "they are on the screen")
	case filterList:
		return "this timeline has no filter; open an entry, / searches in it"
	case "task.log":
		it := p.cursor()
		return unless(it != nil && it.turnID != "", "stand on a turn to see its output")
	}
	return ""
}

// scrollFacts moves through the facts and reports whether the intent was a movement.
func (p *taskPage) scrollFacts(id string) bool {
	switch id {
	case moveDown:
		p.offset++
	case moveUp:
		p.offset--
	case halfDown, pageDown:
		p.offset += 10
	case halfUp, pageUp:
		p.offset -= 10
	case moveTop:
		p.offset = 0
	case moveBottom:
		p.offset = 1 << 20
	default:
		return false
	}
	p.offset = max(p.offset, 0)
	return true
}

// toRound moves the cursor to the dispatch that begins the next or the previous round.
func (p *taskPage) toRound(forward bool) {
	p.rebuild()
	_, at, ok := p.list.Cursor()
	if !ok {
		return
	}
	step := -1
	if forward {
		step = 1
	}
	for i := at + step; i >= 0 && i < len(p.items); i += step {
		if p.items[i].round == 0 && isDispatch(&p.items[i].line) {
			p.list.Select(p.items[i].id)
			return
		}
	}
	if forward {
		p.list.Bottom()
	} else {
		p.list.Top()
	}
}

// cursor is the row under the cursor, nil for none.
func (p *taskPage) cursor() *item {
	_, i, ok := p.list.Cursor()
	if !ok || i >= len(p.items) {
		return nil
	}
	return &p.items[i]
}

// Back leaves the zoom.
func (p *taskPage) Back() bool {
	was := p.zoomed || p.below
	p.zoomed, p.below = false, false
	return was
}

// Subject is the task.
func (p *taskPage) Subject() amp.TaskID { return p.id }

// Copy is the message under the cursor.
func (p *taskPage) Copy() (id, text string) {
	it := p.cursor()
	if it == nil {
		return string(p.id), string(p.id)
	}
	id = it.msgID
	if id == "" {
		id = string(p.id) + seqName(it.seq)
	}
	return id, p.e.Clock(it.at) + " " + it.line.What + " " + it.line.who() + " " + it.line.Text + " " + seqName(it.seq)
}

// Close ends the queries.
func (p *taskPage) Close() { p.cancel() }

// Scopes is the scope of the page.
func (p *taskPage) Scopes() []string { return []string{string(KindTask)} }

// Title names the task.
func (p *taskPage) Title() string { return string(p.id) }

package tui

import (
	"context"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

func historyKind() pageKind {
	return pageKind{
		Kind: KindHistory, Tab: "5", Title: "History", Short: "Hist", Dense: true,
		Make: func(e *env, _ Place) page { return newHistoryPage(e) },
		Deeds: func(e *env) []deed {
			do := func(id, title, short string, rank int, keys ...string) deed {
				return deed{Action: action.Action{ID: id, Scope: string(KindHistory), Title: title, Short: short, Keys: keys, Rank: rank}}
			}
			return []deed{
				do("history.entry", "the entry itself: bytes, hash, references", "entry", 10, "e"),
				do("history.saved", "saved searches", "saved", 11, "s"),
				do("history.save", "save this search under a name", "save", 14, "ctrl+s"),
				do("history.hit_next", "next hit in the entry", "hit", 12, "n"),
				do("history.hit_prev", "previous hit in the entry", "", 0, "N"),
			}
		},
	}
}

// searchDelay is how long the field must rest before the journal is asked.
const searchDelay = 120 * time.Millisecond

// historyPage is a search through the journal, newest first, with the entry under the cursor and the timeline around it.
type historyPage struct {
	e      *env
	ctx    context.Context
	cancel context.CancelFunc

	line searchLine
	// filter is what the results answer, wanted what was asked for last.
	filter, wanted amp.Filter
	res            results
	took           time.Duration
	loaded         bool
	failed         string // why the last question has no answer
	asked          int    // counts the questions: an answer to an older one is dropped
	era            int    // counts the answers: a page of an older one is dropped
	stop           context.CancelFunc
	since          time.Time // when the question on its way was asked, zero for none
	due            bool      // wanted will be asked for when the field has rested
	paging         bool

	list          *ui.List
	drawn         uint64 // what is drawn of the rows changes with it
	drawnDay      int
	drawnAbsolute bool
	cols          *ui.Columns
	colsW         int

	glance  glance
	detail  *taskPage
	onRight bool // the timeline or the entry has the focus
	zoomed  bool

	left, listAt, listH, glanceAt int
}

func newHistoryPage(e *env) *historyPage {
	p := &historyPage{e: e, left: -1, line: newSearchLine(e)}
	p.ctx, p.cancel = e.Context()
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.res.rows) },
		ID:      func(i int) string { return seqName(p.res.rows[i].entry.Seq) },
		Version: func(int) uint64 { return p.drawn },
		Lines:   func(i, w int, selected bool) []ui.Line { return ui.One(p.row(&p.res.rows[i], w, selected)) },
		Index: func(id string) (int, bool) {
			seq, err := strconv.ParseUint(id[1:], 10, 64)
			if err != nil {
				return 0, false
			}
			return p.res.index(seq)
		},
	})
	p.list.Pin(true)
	return p
}

// The answers and timers of the page.
type (
	// searchDueMsg says that the field rested.
	searchDueMsg struct{ asked int }
	// resultsMsg is one page of an answer.
	resultsMsg struct {
		asked, era int
		at         end
		filter     amp.Filter
		page       amp.Page
		rows       []hit
		took       time.Duration
		err        error
	}
	// restedMsg says that the cursor rested on an entry.
	restedMsg struct{ seq uint64 }
)

// Update handles one message.
func (p *historyPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		if !p.loaded && p.since.IsZero() {
			return p.search()
		}
		return p.follow()
	case searchDueMsg:
		if msg.asked == p.asked {
			return p.search()
		}
	case resultsMsg:
		return p.answered(msg)
	case changedMsg:
		return p.changed(msg)
	case restedMsg:
		return p.rested(msg)
	case entryMsg:
		p.glance.took(msg)
	case clickMsg:
		return p.click(msg)
	case wheelMsg:
		return p.wheel(msg)
	case intent:
		return p.intent(msg.ID)
	default: // an answer for the timeline
		if p.detail != nil {
			return p.detail.Update(msg)
		}
	}
	return nil
}

// selected is the row under the cursor, nil for none.
func (p *historyPage) selected() *hit {
	_, i, ok := p.list.Cursor()
	if !ok || i >= len(p.res.rows) {
		return nil
	}
	return &p.res.rows[i]
}

// follow lets the preview and the timeline follow the cursor; what they must ask for waits until it rests.
func (p *historyPage) follow() tea.Cmd {
	h := p.selected()
	if h == nil {
		p.drop()
		return nil
	}
	seq := h.entry.Seq
	if p.detail != nil && !twoPanes(p.e.Width) {
		p.drop()
		p.onRight = false
	}
	if p.glance.facts.entry.Seq != seq {
		p.glance.begin(h)
	} else if p.detail != nil || h.entry.TaskID == "" || !twoPanes(p.e.Width) {
		return nil
	}
	switch {
	case h.entry.TaskID == "" || !twoPanes(p.e.Width):
		p.drop()
	case p.detail != nil && p.detail.shows(h.entry.TaskID, seq):
		p.detail.stand(seq)
	default:
		p.drop()
		p.detail = newTaskPage(p.e, Place{Kind: KindTask, ID: string(h.entry.TaskID), Seq: seq})
		p.detail.host = p
	}
	return p.e.To(p, tea.Tick(previewDelay, func(time.Time) tea.Msg { return restedMsg{seq} }))
}

// drop lets go of the timeline.
func (p *historyPage) drop() {
	if p.detail != nil {
		p.detail.Close()
	}
	p.detail = nil
	if twoPanes(p.e.Width) {
		p.onRight = false
	}
}

// rested asks for what is shown of the entry that the cursor rests on.
func (p *historyPage) rested(msg restedMsg) tea.Cmd {
	h := p.selected()
	if h == nil || h.entry.Seq != msg.seq {
		return nil
	}
	var cmds []tea.Cmd
	if p.detail != nil {
		cmds = append(cmds, p.detail.load())
	}
	if !p.glance.whole {
		s, ctx, seq := p.e.Session, p.ctx, msg.seq
		cmds = append(cmds, p.e.To(p, func() tea.Msg {
			f, err := readEntry(ctx, s, seq, false)
			if ctx.Err() != nil {
				return nil
			}
			return entryMsg{seq, f, err}
		}))
	}
	return tea.Batch(cmds...)
}

func (p *historyPage) intent(id string) tea.Cmd {
	switch id {
	case filterList:
		p.line.begin()
		return nil
	case paneNext, panePrev:
		p.zoomed = p.zoomed && !twoPanes(p.e.Width)
		p.onRight = !p.onRight && (p.detail != nil || !twoPanes(p.e.Width))
		return nil
	case zoomPane:
		if h := p.selected(); h != nil && p.onRight && p.detail != nil {
			return p.e.Go(Place{Kind: KindTask, ID: string(h.entry.TaskID), Seq: h.entry.Seq})
		}
		p.zoomed = !p.zoomed
		return nil
	case "history.save":
		return p.save()
	case "history.saved":
		return p.e.pickSearch(p)
	case "history.hit_next", "history.hit_prev":
		p.glance.next(id == "history.hit_next")
		return nil
	}
	h := p.selected()
	if id == "history.entry" && h != nil {
		return p.e.Go(entryPlace(h.entry.Seq))
	}
	if p.onRight && p.detail != nil {
		return p.detail.Update(intent{id})
	}
	if p.onRight && p.glance.scroll(id) {
		return nil
	}
	if id == moveBottom && p.res.older && p.loaded { // straight to the oldest, without all that is between
		p.era++ // what is on its way belongs to the rows that go
		return p.page(endOldest)
	}
	if id == moveTop && p.res.newer && p.loaded {
		p.list.Top()
		return p.search()
	}
	if moveList(p.list, id) {
		return tea.Batch(p.more(), p.follow())
	}
	switch {
	case h == nil || id != openItem:
		return nil
	case h.entry.TaskID == "":
		return p.e.Go(entryPlace(h.entry.Seq))
	}
	return p.e.Go(Place{Kind: KindTask, ID: string(h.entry.TaskID), Seq: h.entry.Seq})
}

// Off says why an action does nothing here.
func (p *historyPage) Off(id string) string {
	inside := p.onRight && p.detail != nil
	switch id {
	case filterList:
		return ""
	case "history.save":
		switch {
		case p.line.text() == "":
			return "there is nothing to save: type a search first"
		case p.line.bad != nil:
			return "it is not saved while it cannot be read"
		}
		return ""
	case "history.saved":
		return unless(len(p.e.desk.searches.Saved) > 0, "no search is saved yet: ctrl+s in the field saves one")
	case "history.hit_next", "history.hit_prev":
		return unless(p.glance.has(id == "history.hit_next"), "no other hit in this entry")
	case paneNext, panePrev:
		return unless(p.selected() != nil && (p.detail != nil || !twoPanes(p.e.Width)), onePane)
	case openItem, zoomPane, "history.entry":
		if p.selected() == nil {
			return nothingSelected
		}
	}
	switch {
	case inside && (slices.Contains(factSections[:], id) || id == "task.follow"):
		return "only on the page of the task: open it"
	case inside:
		return p.detail.Off(id)
	}
	return ""
}

func (p *historyPage) click(msg clickMsg) tea.Cmd {
	switch {
	case p.left >= 0 && msg.X > p.left:
		p.onRight = p.detail != nil
	case p.left < 0 && p.glanceAt > 0 && msg.Y >= p.glanceAt:
		p.onRight = true
	default:
		p.onRight = false
		if msg.Y < p.listAt && msg.Y == 0 {
			p.line.begin()
			return nil
		}
		p.line.leave()
		if p.list.Click(msg.Y - p.listAt) {
			return tea.Batch(p.more(), p.follow())
		}
	}
	return nil
}

func (p *historyPage) wheel(msg wheelMsg) tea.Cmd {
	switch {
	case p.left >= 0 && msg.X > p.left && p.detail != nil && msg.Y >= p.glanceAt:
		p.detail.list.Move(msg.By)
		return p.detail.more()
	case p.left >= 0 && msg.X > p.left, p.left < 0 && p.glanceAt > 0 && msg.Y >= p.glanceAt:
		p.glance.view.roll(msg.By)
		return nil
	}
	p.list.Move(msg.By)
	return tea.Batch(p.more(), p.follow())
}

// At shows the search that a place of History names; without one the page stays as it was left.
func (p *historyPage) At(at Place) tea.Cmd {
	if at.ID == "" {
		return nil
	}
	p.line.set(at.ID)
	p.line.leave()
	p.edited()
	if p.line.bad != nil {
		return nil
	}
	return p.search()
}

// Typing reports whether the field has the keys.
func (p *historyPage) Typing() bool { return p.line.typing }

// Key edits the search; the answer follows when the field rests.
func (p *historyPage) Key(k tea.KeyMsg) tea.Cmd {
	switch k.String() {
	case "ctrl+s":
		return p.save()
	case "pgdown", "pgup", "ctrl+n", "ctrl+p":
		return p.intent(map[string]string{"pgdown": pageDown, "pgup": pageUp, "ctrl+n": moveDown, "ctrl+p": moveUp}[k.String()])
	}
	if p.line.key(k) {
		return p.edited()
	}
	if p.due && !p.line.typing { // who goes to the results does not wait for them
		return p.search()
	}
	return nil
}

// Hints are the keys of the field.
func (p *historyPage) Hints() []ui.KeyHint { return p.line.hints() }

// Back leaves a zoom, the right pane, then the search.
func (p *historyPage) Back() bool {
	switch {
	case p.zoomed:
		p.zoomed = false
	case p.onRight:
		p.onRight = false
	case p.line.clear():
		p.e.Later(p.edited())
	default:
		return false
	}
	return true
}

// Copy is the entry's id and what its row says.
func (p *historyPage) Copy() (id, text string) {
	h := p.selected()
	if h == nil {
		return "", ""
	}
	return h.entry.ID, seqName(h.entry.Seq) + " " + amp.FormatTime(h.entry.At) + " " + string(h.entry.TaskID) + " " + h.line.What + " " + h.line.Text
}

// Export hands out every entry that matches.
func (p *historyPage) Export() export { return p.e.exportEntries("History", p.line.text(), p.filter) }

// Divide is the column of the line between the panes.
func (p *historyPage) Divide() int { return p.left }

// Close ends its queries.
func (p *historyPage) Close() {
	p.cancel()
	p.drop()
}

// Scopes are those of the pane with the focus.
func (p *historyPage) Scopes() []string {
	if p.onRight && p.detail != nil {
		return append(p.detail.Scopes(), string(KindHistory))
	}
	return []string{string(KindHistory)}
}

// Title names the page.
func (p *historyPage) Title() string { return "history" }

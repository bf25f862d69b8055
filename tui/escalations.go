package tui

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

// The ids of the actions of the history of escalations.
const (
	pastOnly = "escalations.only"
	pastTask = "escalations.task"
)

func escalationsKind() pageKind {
	return pageKind{
		Kind: KindEscalations, Title: "Escalations", Dense: true,
		Make: func(e *env, _ Place) page { return newEscalationsPage(e) },
		Deeds: func(e *env) []deed {
			open := func() tea.Cmd { return e.Go(Place{Kind: KindEscalations}) }
			selected := offFor(e, func(p *escalationsPage) string {
				if p.current() == nil {
					return "nothing is selected"
				}
				return ""
			})
			here := func(id, title, short string, rank int, key string) action.Action {
				return action.Action{ID: id, Scope: string(KindEscalations), Title: title, Short: short, Keys: []string{key}, Rank: rank}
			}
			task := here(pastTask, "the timeline of the task at this escalation", "timeline", 10, "t")
			task.Disabled = selected
			return []deed{
				{Action: task},
				{Action: here(pastOnly, "only open ones, only decided ones, or all", "open or decided", 11, "f")},
				{Action: action.Action{
					ID: "inbox.past", Scope: string(KindInbox), Title: "history: every escalation ever raised", Short: "history", Keys: []string{"h"}, Rank: 40,
				}, Run: open},
			}
		},
	}
}

// escalationsPage lists every escalation ever raised, the newest first, with what was decided, on what evidence, and how long
// that took.
type escalationsPage struct {
	e      *env
	ctx    context.Context
	cancel context.CancelFunc

	all    int // without a search
	rows   []amp.PastEscalation
	totals amp.EscalationTotals
	only   string // "open", "closed", "" for both
	search listFilter
	find   amp.EscalationSearch
	wrong  string // what is wrong with the search
	list   *ui.List
	cols   *ui.Columns
	colsW  int

	proofs map[uint64]*proof // by the seq of the escalation
	order  []uint64          // of proofs, oldest first

	view                 scroller
	shown                uint64
	onCard, zoomed       bool
	listTop, listH, left int
}

// proof is what is read of one escalation besides the board.
type proof struct {
	upTo     uint64 // the entry of the decision, 0 for none
	ready    bool
	snapshot *amp.Snapshot
	evidence *amp.Evidence
	err      error
}

// proofMsg is the answer to what was asked for an escalation.
type proofMsg struct {
	seq uint64
	proof
}

// maxProofs is how many escalations are kept with their evidence.
const maxProofs = 64

// keptPast is how the list was left.
type keptPast struct {
	Only   string `json:"only,omitzero"`
	Filter string `json:"filter,omitzero"`
}

func newEscalationsPage(e *env) *escalationsPage {
	p := &escalationsPage{e: e, left: -1, search: newListFilter(), proofs: map[uint64]*proof{}}
	p.ctx, p.cancel = e.Context()
	var k keptPast
	if e.Kept(string(KindEscalations), &k) {
		p.only = k.Only
		p.search.set(k.Filter)
	}
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.rows) },
		ID:      func(i int) string { return seqName(p.rows[i].Seq) },
		Version: func(i int) uint64 { return p.rows[i].ResolvedSeq<<1 | uint64(len(p.rows[i].Status))&1 },
		Lines:   func(i, w int, selected bool) []ui.Line { return []ui.Line{p.line(&p.rows[i], w, selected)} },
		Live:    func(i int) string { return ui.PadLeft(p.e.Age(p.rows[i].At), 4) },
	})
	p.parse()
	return p
}

// Keep is how the list is left.
func (p *escalationsPage) Keep() (part string, value any) {
	return string(KindEscalations), keptPast{p.only, p.search.query}
}

// current is the escalation under the cursor, nil for none.
func (p *escalationsPage) current() *amp.PastEscalation {
	if _, i, ok := p.list.Cursor(); ok {
		return &p.rows[i]
	}
	return nil
}

// parse reads the search anew. One that cannot be read hides nothing.
func (p *escalationsPage) parse() {
	p.wrong = ""
	s, err := amp.ParseEscalationSearch(p.search.field.Text(), p.e.Now.In(p.e.Zone))
	if err != nil {
		p.wrong, s = err.Error(), amp.EscalationSearch{}
	}
	p.find = s
	p.rebuild()
}

// rebuild lists them anew.
func (p *escalationsPage) rebuild() {
	p.all = 0
	p.rows = p.e.Board.PastEscalations(func(x *amp.PastEscalation) bool {
		p.all++
		return (p.only == "" || (p.only == "open") == x.Open()) && p.find.Match(x)
	})
	p.totals = amp.TotalsOf(p.rows)
}

// Update handles one message.
func (p *escalationsPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		p.rebuild()
		return p.read()
	case changedMsg:
		if msg.All || p.touched(msg.Entries) {
			p.rebuild()
			return p.read()
		}
	case proofMsg:
		p.took(msg)
	case clickMsg:
		p.onCard = p.inCard(msg.X, msg.Y)
		if !p.onCard && p.list.Click(msg.Y-p.listTop) {
			return p.read()
		}
	case wheelMsg:
		if p.inCard(msg.X, msg.Y) {
			p.view.roll(msg.By)
			return nil
		}
		p.list.Move(msg.By)
		return p.read()
	case intent:
		return p.intent(msg.ID)
	}
	return nil
}

// touched reports whether entries belong to a task with escalations.
func (p *escalationsPage) touched(entries []amp.Entry) bool {
	for i := range entries {
		if t := p.e.Board.Task(entries[i].TaskID); t != nil && len(t.Escalations) > 0 {
			return true
		}
	}
	return false
}

// read asks for the evidence of the escalation under the cursor, unless it is known.
func (p *escalationsPage) read() tea.Cmd {
	x := p.current()
	if x == nil {
		return nil
	}
	if known := p.proofs[x.Seq]; known != nil && known.upTo == x.ResolvedSeq && known.err == nil {
		return nil
	}
	if p.proofs[x.Seq] == nil {
		p.order = append(p.order, x.Seq)
		if len(p.order) > maxProofs {
			delete(p.proofs, p.order[0])
			p.order = p.order[1:]
		}
	}
	p.proofs[x.Seq] = &proof{upTo: x.ResolvedSeq}
	one, s, ctx := *x, p.e.Session, p.ctx
	return p.e.To(p, func() tea.Msg {
		m := proofMsg{seq: one.Seq, proof: proof{upTo: one.ResolvedSeq, ready: true}}
		got, err := s.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: one.Seq - 1, Before: one.Seq + 1, Limit: 1}})
		if err == nil && len(got.Entries) > 0 {
			if msg, _, bad := amp.Decode(got.Entries[0].Body); bad == nil {
				if esc, ok := msg.Payload.(*amp.Escalation); ok {
					m.snapshot = &esc.SystemStateSnapshot
				}
			}
		}
		if err == nil {
			m.evidence, err = one.ReadEvidence(ctx, s.Query)
		}
		if ctx.Err() != nil {
			return nil
		}
		m.err = err
		return m
	})
}

// took keeps what was read, unless something newer was asked for since.
func (p *escalationsPage) took(m proofMsg) {
	if known := p.proofs[m.seq]; known != nil && known.upTo == m.upTo {
		*known = m.proof
	}
	if m.err != nil {
		p.e.Fail(m.err)
	}
}

func (p *escalationsPage) inCard(x, y int) bool {
	if p.left >= 0 {
		return x > p.left
	}
	return y >= p.listTop+p.listH
}

func (p *escalationsPage) intent(id string) tea.Cmd {
	x := p.current()
	switch id {
	case paneNext, panePrev:
		p.onCard = !p.onCard
		return nil
	case zoomPane:
		p.zoomed = !p.zoomed && x != nil
		return nil
	case filterList:
		p.search.begin()
		return nil
	case pastOnly:
		p.only = map[string]string{"": "open", "open": "closed", "closed": ""}[p.only]
		p.rebuild()
		return p.read()
	case pastTask:
		return p.e.Go(Place{Kind: KindTask, ID: string(x.TaskID), Seq: x.Seq})
	case openItem:
		if x == nil {
			return nil
		}
		if x.Open() {
			return p.e.Go(Place{Kind: KindEscalation, ID: string(x.TaskID), Seq: x.Seq})
		}
		p.zoomed = !p.zoomed
		return nil
	}
	if p.onCard || p.zoomed {
		p.view.intent(id)
		return nil
	}
	if moveList(p.list, id) {
		return p.read()
	}
	return nil
}

// Off says why an action does nothing here.
func (p *escalationsPage) Off(id string) string {
	switch id {
	case openItem, zoomPane, paneNext, panePrev:
		return unless(p.current() != nil, nothingSelected)
	}
	return ""
}

// Typing reports whether a search is typed.
func (p *escalationsPage) Typing() bool { return p.search.typing }

// Key types the search.
func (p *escalationsPage) Key(k tea.KeyMsg) tea.Cmd {
	if p.search.key(k) {
		p.parse()
		return p.read()
	}
	return nil
}

// Hints are the keys while a search is typed, and the fields that it may have.
func (p *escalationsPage) Hints() []ui.KeyHint {
	return append(filterHints[:len(filterHints):len(filterHints)], ui.KeyHint{Key: "fields", Text: strings.Join(amp.EscalationFields, ": ") + ":"})
}

// Back leaves a zoom, the card, a narrowing, a search, in this order.
func (p *escalationsPage) Back() bool {
	return leave(&p.search, &p.zoomed, &p.onCard, &p.only, p.parse)
}

// Scopes is the scope of the page.
func (p *escalationsPage) Scopes() []string { return []string{string(KindEscalations)} }

// Title names the page.
func (p *escalationsPage) Title() string { return "escalations" }

// Subject is the task of the escalation under the cursor.
func (p *escalationsPage) Subject() amp.TaskID {
	if x := p.current(); x != nil {
		return x.TaskID
	}
	return ""
}

// Copy gives the entry and the escalation in words.
func (p *escalationsPage) Copy() (id, text string) {
	x := p.current()
	if x == nil {
		return "", ""
	}
	return seqName(x.Seq), ui.Safe(fmt.Sprintf("%s %s %s %s: %s (%s)", seqName(x.Seq), x.TaskID, x.Severity, x.Type, x.Description, decisionOf(x)))
}

// Divide is the column between the panes.
func (p *escalationsPage) Divide() int { return p.left }

// Close ends its queries.
func (p *escalationsPage) Close() { p.cancel() }

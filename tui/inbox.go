package tui

import (
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

const inboxKindFilter = "inbox.kind"

func inboxKind() pageKind {
	return pageKind{
		Kind: KindInbox, Tab: "3", Title: "Inbox", Dense: true,
		Badge: func(e *env) string {
			if e.Index.Inbox == 0 {
				return ""
			}
			return e.Theme.Signs.Severity(string(amp.Warning)) + strconv.Itoa(e.Index.Inbox)
		},
		Make: func(e *env, _ Place) page { return newInboxPage(e) },
		Deeds: func(e *env) []deed {
			return []deed{{Action: action.Action{
				ID: inboxKindFilter, Scope: string(KindInbox), Title: "show one kind, or all", Short: "filter kind",
				Keys: []string{"f"}, Rank: 21,
			}}}
		},
	}
}

// inboxPage lists what needs the admin but plans, the gravest first, with the card of the one under the cursor.
type inboxPage struct {
	e         *env
	rows      []need
	list      *ui.List
	kind      amp.NeedKind // "" shows all
	search    listFilter
	cols      *ui.Columns
	colsW     int
	listTop   int
	listH     int
	gap       int // blanks at the right end of the list
	left      int
	view      scroller // of the card
	onCard    bool     // the card has the focus
	zoomed    bool
	shown     uint64 // the item whose card was drawn last
	counted   string // what countedAt, a version of the index, holds
	countedAt uint64
}

func newInboxPage(e *env) *inboxPage {
	p := &inboxPage{e: e, left: -1, search: newListFilter()}
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.rows) },
		ID:      func(i int) string { return p.rows[i].ID },
		Version: func(i int) uint64 { return p.version(&p.rows[i]) },
		Lines:   func(i, w int, selected bool) []ui.Line { return []ui.Line{p.line(&p.rows[i], w, selected)} },
		Live:    func(i int) string { return ui.PadLeft(p.e.Age(p.rows[i].At), 4) },
	})
	p.list.Pin(true) // as on Now
	p.rebuild()
	return p
}

func (p *inboxPage) version(n *need) uint64 {
	if t := p.e.Board.Task(n.TaskID); t != nil {
		return t.LastSeq
	}
	return 0
}

// rebuild lists the items anew. There are few: they wait for a person.
func (p *inboxPage) rebuild() {
	p.rows = p.rows[:0]
	for _, n := range p.e.Index.Needs {
		if n.Kind == amp.NeedPlan || p.kind != "" && n.Kind != p.kind {
			continue
		}
		if p.search.keeps(p.e.Index.Match(n.TaskID) + " " + strings.ToLower(n.What+" "+n.Text)) {
			p.rows = append(p.rows, n)
		}
	}
}

// card is the item under the cursor.
func (p *inboxPage) card() (need, *amp.Task) {
	if _, i, ok := p.list.Cursor(); ok {
		return p.rows[i], p.e.Board.Task(p.rows[i].TaskID)
	}
	return need{}, nil
}

// Update handles one message.
func (p *inboxPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		p.rebuild()
		return p.read()
	case changedMsg:
		p.e.desk.follow(msg)
		p.rebuild()
	case pastMsg:
		p.e.desk.took(msg)
	case clickMsg:
		return p.click(msg)
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

// read asks for what the card under the cursor is drawn from.
func (p *inboxPage) read() tea.Cmd {
	if _, t := p.card(); t != nil {
		return p.e.readPast(p, t.ID)
	}
	return nil
}

func (p *inboxPage) inCard(x, y int) bool {
	if p.left >= 0 {
		return x > p.left
	}
	return y >= p.listTop+p.listH
}

func (p *inboxPage) click(m clickMsg) tea.Cmd {
	p.onCard = p.inCard(m.X, m.Y)
	if !p.onCard && p.list.Click(m.Y-p.listTop) {
		return p.read()
	}
	return nil
}

func (p *inboxPage) intent(id string) tea.Cmd {
	switch id {
	case paneNext, panePrev:
		p.onCard = !p.onCard
		return nil
	case zoomPane:
		p.zoomed = !p.zoomed
		return nil
	case filterList:
		p.search.begin()
		return nil
	case inboxKindFilter:
		p.nextKind()
		return p.read()
	case openItem:
		if n, t := p.card(); t != nil {
			return p.e.Go(n.Place())
		}
		return nil
	}
	if p.onCard && p.view.intent(id) {
		return nil
	}
	if moveList(p.list, id) {
		return p.read()
	}
	n, t := p.card()
	cmd, _ := p.e.cardIntent(id, &n, t)
	return cmd
}

// Off says why an action does nothing here.
func (p *inboxPage) Off(id string) string {
	switch id {
	case openItem, paneNext, panePrev, zoomPane:
		return unless(len(p.rows) > 0, nothingSelected)
	case inboxKindFilter:
		return unless(len(p.rows) > 0 || p.kind != "", noFilter)
	}
	return ""
}

// nextKind narrows the list to the next kind that is there.
func (p *inboxPage) nextKind() {
	all := []amp.NeedKind{"", amp.NeedEscalation, amp.NeedQuestion, amp.NeedHeld, amp.NeedFailed, amp.NeedDelivery, amp.NeedStopped}
	at := 0
	for i, k := range all {
		if k == p.kind {
			at = i
		}
	}
	for range all {
		at = (at + 1) % len(all)
		p.kind = all[at]
		p.rebuild()
		if len(p.rows) > 0 || p.kind == "" {
			return
		}
	}
}

// Typing reports whether a filter is typed.
func (p *inboxPage) Typing() bool { return p.search.typing }

// Key types the filter.
func (p *inboxPage) Key(k tea.KeyMsg) tea.Cmd {
	if p.search.key(k) {
		p.rebuild()
	}
	return nil
}

// Hints are the keys while a filter is typed.
func (p *inboxPage) Hints() []ui.KeyHint { return filterHints }

// Back leaves a zoom, the card, a filter, in this order.
func (p *inboxPage) Back() bool { return leave(&p.search, &p.zoomed, &p.onCard, &p.kind, p.rebuild) }

// Scopes are those of the list and of the card under the cursor. The numbers are the card's only while it has the focus: on the
// list they change the screen, as everywhere.
func (p *inboxPage) Scopes() []string {
	n, t := p.card()
	switch {
	case t == nil:
		return inboxScopes[:1]
	case p.inside():
		return cardScopes(KindInbox, len(p.e.options(&n, t)))
	}
	return inboxScopes
}

var inboxScopes = []string{string(KindInbox), cardScope}

// inside reports whether the card has the focus.
func (p *inboxPage) inside() bool { return p.onCard || p.zoomed }

// Title names the page.
func (p *inboxPage) Title() string { return "inbox" }

// Subject is the task under the cursor.
func (p *inboxPage) Subject() amp.TaskID {
	n, t := p.card()
	if t == nil {
		return ""
	}
	return n.TaskID
}

// Copy gives the entry and its text.
func (p *inboxPage) Copy() (id, text string) {
	n, t := p.card()
	if t == nil {
		return "", ""
	}
	return seqName(n.Seq), n.Text
}

// Divide is the column between the panes.
func (p *inboxPage) Divide() int { return p.left }

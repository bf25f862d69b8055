package tui

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/ui"
)

// The ids of the actions of the list of plans.
const (
	plansSort  = "plans.sort"
	plansMark  = "plans.mark"
	plansBatch = "plans.batch"
)

func plansKind() pageKind {
	return pageKind{
		Kind: KindPlans, Tab: "4", Title: "Plans",
		Badge: func(e *env) string {
			if e.Index.Plans == 0 {
				return ""
			}
			return e.Theme.Signs.Status(string(amp.AwaitingApproval)) + strconv.Itoa(e.Index.Plans)
		},
		Make:  func(e *env, _ Place) page { return newPlansPage(e) },
		Deeds: plansDeeds,
	}
}

func plansDeeds(e *env) []deed {
	scope := string(KindPlans)
	off := func(f func(p *plansPage) string) func() string {
		return func() string {
			if p, ok := e.nav.top().page.(*plansPage); ok {
				return f(p)
			}
			return "not on this screen"
		}
	}
	return []deed{
		{Action: action.Action{
			ID: plansSort, Scope: scope, Title: "oldest or newest first", Short: "sort", Keys: []string{"s"}, Rank: 20,
		}},
		{Action: action.Action{
			ID: plansMark, Scope: scope, Title: "mark for a batch, or take the mark away", Short: "mark", Keys: []string{"space"}, Rank: 12,
			Disabled: off((*plansPage).markOff),
		}},
		{Action: action.Action{
			ID: plansBatch, Scope: scope, Title: "approve the marked plans, or open the one under the cursor…", Short: "approve…",
			Keys: []string{"A"}, Danger: action.Low, Rank: 10, Disabled: off((*plansPage).batchOff),
		}},
	}
}

// waitCells is the room for how long a plan waits, or for "approve 0:10".
const waitCells = 12

// planRow is one plan of the list: it waits for a decision, or a decision on it waits for the end of its undo time.
type planRow struct {
	id   amp.TaskID
	wait bool
	at   time.Time
}

// plansPage lists the plans that wait for the admin.
type plansPage struct {
	e      *env
	rows   []planRow
	list   *ui.List
	newest bool
	search listFilter
	cols   *ui.Columns
	colsW  int
	two    bool // a plan of the list needs two admins
	// marks are the plans of the batch in the order of their marking, by the content that was marked.
	marks []planMark
	top   int
	left  int
}

func newPlansPage(e *env) *plansPage {
	p := &plansPage{e: e, left: -1, search: newListFilter()}
	p.list = ui.NewList(e.Theme, ui.Source{
		Len:     func() int { return len(p.rows) },
		ID:      func(i int) string { return string(p.rows[i].id) },
		Version: func(i int) uint64 { return p.version(p.rows[i]) },
		Lines:   func(i, w int, selected bool) []ui.Line { return []ui.Line{p.line(p.rows[i], w, selected)} },
		Live:    func(i int) string { return p.when(p.rows[i]) },
	})
	p.rebuild()
	return p
}

func (p *plansPage) version(r planRow) uint64 {
	if t := p.e.Board.Task(r.id); t != nil {
		return t.LastSeq
	}
	return 0
}

// rebuild lists the plans anew. There are few: tasks that wait for their admin.
func (p *plansPage) rebuild() {
	e, two := p.e, false
	p.rows = p.rows[:0]
	add := func(r planRow) {
		if t := e.Board.Task(r.id); t != nil && t.Plan != nil && p.search.keeps(e.Index.Match(r.id)) {
			p.rows = append(p.rows, r)
			two = two || t.Plan.TwoAdmins()
		}
	}
	for _, n := range e.Index.Needs {
		if n.Kind == amp.NeedPlan {
			add(planRow{id: n.TaskID, at: n.At})
		}
	}
	for id := range e.Index.Waiting {
		t := e.Board.Task(id)
		if t.Status == amp.AwaitingApproval && hasWaiting(t, amp.Approve, amp.Reject) {
			add(planRow{id: id, wait: true, at: t.Since})
		}
	}
	p.marks = slices.DeleteFunc(p.marks, func(m planMark) bool { // a mark is of the content that was marked
		t := e.Board.Task(m.id)
		return t == nil || t.Plan == nil || t.Plan.Hash != m.hash || t.Status != amp.AwaitingApproval
	})
	if two != p.two {
		p.two, p.cols = two, nil
		p.list.Forget()
	}
	slices.SortFunc(p.rows, func(a, b planRow) int {
		c := a.at.Compare(b.at)
		if c == 0 {
			c = strings.Compare(string(a.id), string(b.id))
		}
		if p.newest {
			return -c
		}
		return c
	})
}

// Update handles one message.
func (p *plansPage) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case shownMsg:
		p.list.Forget() // read marks may have changed
	case changedMsg:
		p.e.desk.follow(msg)
		p.rebuild()
	case clickMsg:
		p.list.Click(msg.Y - p.top)
	case wheelMsg:
		p.list.Move(msg.By)
	case intent:
		switch {
		case moveList(p.list, msg.ID):
		case msg.ID == openItem:
			if id := p.Subject(); id != "" {
				return p.e.Go(Place{Kind: KindPlan, ID: string(id)})
			}
		case msg.ID == filterList:
			p.search.begin()
		case msg.ID == plansMark:
			p.mark()
		case msg.ID == plansBatch:
			return p.approve()
		case msg.ID == plansSort:
			p.newest = !p.newest
			p.rebuild()
		}
	}
	return nil
}

// Off says why an action does nothing here.
func (p *plansPage) Off(id string) string {
	switch id {
	case openItem:
		return unless(p.Subject() != "", nothingSelected)
	case paneNext, panePrev:
		return onePane
	case zoomPane:
		return noZoom
	}
	return ""
}

// Typing reports whether a filter is typed.
func (p *plansPage) Typing() bool { return p.search.typing }

// Key types the filter.
func (p *plansPage) Key(k tea.KeyMsg) tea.Cmd {
	if p.search.key(k) {
		p.rebuild()
	}
	return nil
}

// Hints are the keys while a filter is typed.
func (p *plansPage) Hints() []ui.KeyHint { return filterHints }

// Back takes the marks away, then leaves the filter.
func (p *plansPage) Back() bool {
	if len(p.marks) > 0 {
		p.marks = nil
		p.list.Forget()
		return true
	}
	if p.search.clear() {
		p.rebuild()
		return true
	}
	return false
}

// Scopes are those of the list.
func (p *plansPage) Scopes() []string { return []string{string(KindPlans)} }

// Title names the page.
func (p *plansPage) Title() string { return "plans" }

// Subject is the task under the cursor.
func (p *plansPage) Subject() amp.TaskID {
	if _, i, ok := p.list.Cursor(); ok {
		return p.rows[i].id
	}
	return ""
}

// Copy gives the task id and the content hash.
func (p *plansPage) Copy() (id, text string) {
	t := p.e.Board.Task(p.Subject())
	if t == nil || t.Plan == nil {
		return "", ""
	}
	return string(t.ID), t.Plan.Hash
}

// Divide is the column between the panes.
func (p *plansPage) Divide() int { return p.left }

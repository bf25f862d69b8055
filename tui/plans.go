package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/action"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/bar"
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

// planMark is a plan that was marked for a batch.
type planMark struct {
	id   amp.TaskID
	hash string
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

func (p *plansPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		p.colsW = w
		cols := []ui.Column{
			{Title: "TASK", Width: 10, Keep: 10},
			{Title: "REV", Width: 4, Keep: 6},
			{Title: "RISK", Width: 6, Keep: 8},
			{Title: "TITLE", Width: 12, Flex: true, Keep: 9},
			{Title: "BY", Width: 9, Keep: 4},
			{Title: "READ", Width: 5, Keep: 3},
			{Title: "WAITS", Width: waitCells, Right: true, Keep: 7},
		}
		if p.two {
			cols = slices.Insert(cols, 6, ui.Column{Title: "ADMINS", Width: 6, Keep: 2})
		}
		p.cols = ui.NewColumns(p.e.Theme, w, cols...)
	}
	return p.cols
}

func (p *plansPage) line(r planRow, w int, selected bool) ui.Line {
	t := p.e.Board.Task(r.id)
	if t == nil || t.Plan == nil {
		return ui.Line{}
	}
	risk := ui.Cell{Text: string(t.Plan.RiskLevel)}
	if t.Plan.RiskLevel == amp.High {
		risk = ui.Cell{Text: "HIGH", Role: theme.Danger}
	}
	n := len(t.Plan.Subtasks)
	cells := []ui.Cell{
		{Text: string(t.ID)},
		{Text: rev(t) + p.sign(r.id)},
		risk,
		{Text: t.Title},
		{Text: t.Plan.Author},
		{Text: fmt.Sprintf("%d/%d", n-len(p.e.desk.reading(r.id).unread(t.Plan)), n), Role: theme.Muted},
	}
	if p.two {
		cells = append(cells, adminsCell(t))
	}
	return p.columns(w).Row(selected, append(cells, ui.Cell{Live: true})...)
}

// sign marks the plans of the batch.
func (p *plansPage) sign(id amp.TaskID) string {
	if p.markAt(id) >= 0 {
		return " " + p.e.Theme.Signs.Yes
	}
	return ""
}

// adminsCell counts the approvals of a plan that needs two.
func adminsCell(t *amp.Task) ui.Cell {
	switch {
	case !t.Plan.TwoAdmins():
		return ui.Cell{}
	case t.First == nil:
		return ui.Cell{Text: "0 of 2"}
	}
	return ui.Cell{Text: "1 of 2", Role: theme.Time}
}

// when is how long a plan has waited, or how long the decision on it still can be taken back.
func (p *plansPage) when(r planRow) string {
	t := p.e.Board.Task(r.id)
	if t == nil {
		return ""
	}
	if !r.wait {
		return ui.PadLeft(p.e.Age(r.at), waitCells)
	}
	for _, w := range t.Waiting {
		if w.Command.Command == amp.Approve || w.Command.Command == amp.Reject {
			p.e.Tick()
			return ui.PadLeft(string(w.Command.Command)+" "+ui.Clock(w.Due.Sub(p.e.Now)), waitCells)
		}
	}
	return ""
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

// marked are the plans of the batch.
func (p *plansPage) marked() []amp.TaskID {
	out := make([]amp.TaskID, len(p.marks))
	for i, m := range p.marks {
		out[i] = m.id
	}
	return out
}

// markAt is the place of a plan among the marks, -1 when it has none.
func (p *plansPage) markAt(id amp.TaskID) int {
	return slices.IndexFunc(p.marks, func(m planMark) bool { return m.id == id })
}

func (p *plansPage) markOff() string {
	id := p.Subject()
	t := p.e.Board.Task(id)
	switch {
	case t == nil:
		return "no plan is selected"
	case p.markAt(id) >= 0:
		return ""
	}
	return p.e.batchOff(t, p.marked())
}

// mark marks the plan under the cursor, or takes its mark away.
func (p *plansPage) mark() {
	id := p.Subject()
	if i := p.markAt(id); i >= 0 {
		p.marks = slices.Delete(p.marks, i, i+1)
	} else if t := p.e.Board.Task(id); t != nil {
		p.marks = append(p.marks, planMark{id, t.Plan.Hash})
	}
	p.list.Forget()
}

func (p *plansPage) batchOff() string {
	t := p.e.Board.Task(p.Subject())
	switch {
	case len(p.marks) > 0:
		return p.e.Off()
	case t == nil:
		return "no plan is selected"
	}
	return p.e.walkOff(t)
}

// approve opens the bar over the marked plans; without a mark it opens the plan under the cursor, where it is approved.
func (p *plansPage) approve() tea.Cmd {
	if len(p.marks) == 0 {
		return p.e.walk(p.e.Board.Task(p.Subject()))
	}
	p.e.decideBatch(p.marked(), func(approved []amp.TaskID) {
		p.marks = slices.DeleteFunc(p.marks, func(m planMark) bool { return slices.Contains(approved, m.id) })
		p.list.Forget()
	})
	return nil
}

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

// Render draws the list, on a wide screen with the plan under the cursor.
func (p *plansPage) Render(w, h int) *ui.Block {
	e := p.e
	p.left = -1
	lw, rw, two := p.e.Split(w, 0.55, 60, 50)
	if w < 120 {
		lw, two = w, false
	}
	b := ui.NewBlock(e.Theme, lw)
	order := "oldest first"
	if p.newest {
		order = "newest first"
	}
	title := fmt.Sprintf("Plans %d", len(p.rows))
	if n := len(p.marks); n > 0 {
		title += fmt.Sprintf("  marked %d of %d: A approves them, esc takes the marks away", n, bar.MaxBatch)
	}
	order += " " + e.Theme.Signs.Sort
	b.Rule(title, order)
	p.search.row(e, b)
	if len(p.rows) == 0 {
		p.nothing(b)
		return p.beside(b.Fit(h), nil, h, lw)
	}
	b.Add(p.columns(lw).Head())
	p.top = b.Height()
	b.Append(p.list.Render(lw, max(h-b.Height(), 0))).RuleSeen(0, title, order, p.list)
	if !two {
		return b.Fit(h)
	}
	right := ui.NewBlock(e.Theme, rw)
	if t := e.Board.Task(p.Subject()); t != nil && t.Plan != nil {
		planPreview(e, right, t)
	}
	return p.beside(b, right, h, lw)
}

func (p *plansPage) beside(left, right *ui.Block, h, lw int) *ui.Block {
	if right == nil {
		return left.Fit(h)
	}
	p.left = lw
	return ui.Beside(left.Fit(h), right.Fit(h)).Fit(h)
}

func (p *plansPage) nothing(b *ui.Block) {
	if p.search.query != "" {
		b.Blank(1).Say(theme.Muted, "  No plan matches. esc clears the filter.")
		return
	}
	b.Blank(1).Say(theme.Muted, "  No plan needs you. n states a new wish.")
	if n := p.e.Index.Count(amp.Drafting); n > 0 {
		b.Say(theme.Muted, "  "+plural(n, "task")+" in drafting: a plan will come.")
	}
}

// planPreview is a plan in short; reading it is done on its own page.
func planPreview(e *env, b *ui.Block, t *amp.Task) {
	pl := t.Plan
	b.RuleStyled(e.Theme.S(theme.Title, string(t.ID)+" "+rev(t)), e.riskText(pl.RiskLevel))
	b.Para(2, ui.Safe(t.Title)).Para(2, ui.Safe(planFacts(t)))
	(&planPage{e: e, id: t.ID, left: -1}).contract(b, t)
	b.Rule("Subtasks", "read "+fmt.Sprintf("%d/%d", len(pl.Subtasks)-len(e.desk.reading(t.ID).unread(pl)), len(pl.Subtasks)))
	for i, s := range pl.Subtasks {
		b.Spread(fmt.Sprintf("  S%-2d %s", i+1, ui.Safe(firstLine(s.Description))), fmt.Sprintf("~%d ", s.EstimatedLines))
	}
	b.Rule(fmt.Sprintf("Acceptance criteria %d", len(pl.AcceptanceCriteria)), "")
	for i, c := range pl.AcceptanceCriteria {
		b.Para(2, strconv.Itoa(i+1)+" "+ui.Safe(c))
	}
}

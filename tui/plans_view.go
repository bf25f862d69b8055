package tui

import (
	"fmt"
	"slices"
	"strconv"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/bar"
)

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

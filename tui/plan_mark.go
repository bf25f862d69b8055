package tui

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
)

// planMark is a plan that was marked for a batch.
type planMark struct {
	id   amp.TaskID
	hash string
}

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

package tui

import (
	"fmt"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

func (p *tasksPage) lines(t *amp.Task, w int, selected bool) []ui.Line {
	if w < 60 {
		if p.narrow == nil || p.colsW != w {
			p.colsW = w
			p.narrow = ui.NewColumns(p.e.Theme, w,
				ui.Column{Title: "TASK", Width: 10, Keep: 8},
				ui.Column{Title: "STATUS", Width: 12, Keep: 10},
				ui.Column{Title: "TITLE", Width: 8, Flex: true, Keep: 9},
				ui.Column{Title: "WITH", Width: 9, Keep: 4})
		}
		return []ui.Line{p.narrow.Row(selected, ui.Cell{Text: string(t.ID)}, ui.Cell{Styled: p.e.statusText(t.Status, false)},
			ui.Cell{Text: titleOf(t)}, ui.Cell{Live: true})}
	}
	return p.e.taskLine(p.columns(w), t, selected)
}

func (p *tasksPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		p.cols, p.colsW = taskColumns(p.e.Theme, w, 0), w
	}
	return p.cols
}

// live is the ACK countdown, or in the narrow list whichever says most: the countdown, the silence, or who has it.
func (p *tasksPage) live(t *amp.Task) string {
	if p.colsW >= 60 {
		return p.e.ackText(t, 4)
	}
	switch {
	case t.Status == amp.Locked:
		return ui.PadLeft(rejectCell(t).Text, 9)
	case len(t.Waiting) > 0:
		return ui.PadLeft(p.e.ackText(t, 0), 9)
	case len(t.Open) > 0 && !t.Status.Ended() && t.Status != amp.Suspended && p.e.Board.Stopped == nil:
		o := dueFirst(t)
		p.e.Tick()
		left := o.Deadline().Sub(p.e.Now)
		text := ui.Clock(left)
		if left <= 0 {
			text = p.e.Theme.S(theme.Alert, ui.Late(-left))
		}
		return ui.PadLeft(text, 9)
	case t.Turn != nil && len(t.Questions) == 0:
		return ui.PadLeft(p.e.silence(t.Turn.LastAt, true), 9)
	}
	return ui.PadLeft(ui.Safe(p.e.withWhom(t)), 9)
}

// Render draws the list, with the task under the cursor beside it from 120 cells on, below it otherwise.
func (p *tasksPage) Render(w, h int) *ui.Block {
	lw, rw, two := p.e.Split(w, 0.34, 46, 72)
	if !twoPanes(w) || !two {
		p.left, p.right = -1, false
		card := 0
		if h >= 18 {
			card = 6
		}
		b := p.renderList(w, h-card)
		if t := p.e.Board.Task(p.Subject()); t != nil && card > 0 {
			c := ui.NewBlock(p.e.Theme, w)
			p.e.taskCard(c, t)
			b.Append(c.Fit(card))
		}
		return b.Fit(h)
	}
	p.left = lw
	left := p.renderList(lw, h)
	if p.detail == nil {
		return ui.Beside(left, ui.NewBlock(p.e.Theme, rw).Rule("", "").Fit(h)).Fit(h)
	}
	p.detail.focused = p.right
	return ui.Beside(left, p.detail.renderPane(rw, h)).Fit(h)
}

func (p *tasksPage) renderList(w, h int) *ui.Block {
	e := p.e
	b := ui.NewBlock(e.Theme, w)
	title := fmt.Sprintf("Tasks %d", len(p.order.keys))
	if p.query != "" {
		title = fmt.Sprintf("Tasks %d of %d  / %s", len(p.order.keys), len(e.Board.Tasks), ui.Safe(p.query))
	}
	order := sortings[p.sort].name + " " + e.Theme.Signs.Sort
	b.Rule(title, order)
	if p.typing {
		b.Add(" " + e.Theme.S(theme.Accent, "/") + " " + p.filter.Row(e.Theme, max(w-4, 1), true))
	}
	if w >= 60 {
		b.Add(p.columns(w).Head())
	}
	p.listTop = b.Height()
	rows := max(h-b.Height(), 0)
	switch {
	case len(p.order.keys) > 0:
		b.Append(p.list.Render(w, rows)).RuleSeen(0, title, order, p.list)
	case p.query != "":
		b.Say(theme.Muted, "  No task matches. esc clears the filter.")
	case e.Conn.phase == connecting:
		b.Say(theme.Muted, "  The coordinator has not answered yet.")
	default:
		b.Say(theme.Muted, "  No task yet. n states a wish.")
	}
	return b.Fit(h)
}

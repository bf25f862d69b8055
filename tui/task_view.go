package tui

import (
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// Render draws the page.
func (p *taskPage) Render(w, h int) *ui.Block {
	e := p.e
	b := ui.NewBlock(e.Theme, w)
	t := p.task()
	if t == nil {
		return b.Rule(string(p.id), "").Say(theme.Muted, "  There is no such task in the journal. esc goes back.").Fit(h)
	}
	status := e.statusText(t.Status, true) + " · " + e.rejects(t) + " · " + ui.Safe(riskOf(t)) + " "
	b.Spread(" "+e.Theme.S(theme.Muted, "Tasks › ")+e.Theme.S(theme.Strong, string(t.ID))+"  "+ui.Safe(titleOf(t)), status)
	b.Spread(" "+p.about(t), e.Theme.S(theme.Muted, e.spent(t))+" ")
	return p.panes(b, t, w, h)
}

// renderPane draws the task as the right pane of a list.
func (p *taskPage) renderPane(w, h int) *ui.Block {
	e := p.e
	b := ui.NewBlock(e.Theme, w)
	t := p.task()
	if t == nil {
		return b.Rule(string(p.id), "").Fit(h)
	}
	facts := e.statusText(t.Status, true) + " · " + e.rejects(t) + " · " + ui.Safe(riskOf(t))
	if t.RejectCount > 0 && t.RejectCount == t.LockAt()-1 {
		facts += " · " + e.Theme.S(theme.Time, e.Theme.Signs.Severity("warning")+" Lock is approaching")
	}
	b.RuleStyled(string(t.ID)+"  "+ui.Cut(ui.Safe(titleOf(t)), max(w/2, 8)), facts)
	return p.panes(b, t, w, h)
}

// renderAround draws the timeline alone, as the pane of a list of entries.
func (p *taskPage) renderAround(w, h int, focused bool) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w)
	p.focused, p.below = true, false // the row of the entry is marked in any case
	title := string(p.id)
	facts := ""
	if t := p.task(); t != nil {
		title += "  " + ui.Cut(ui.Safe(titleOf(t)), max(w/3, 8))
		facts = p.e.statusText(t.Status, true) + " · " + p.e.rejects(t)
	}
	if focused {
		title = "[" + title + "]"
	}
	b.RuleStyled(p.e.Theme.S(theme.Title, title), facts)
	if !p.rounds {
		p.rounds, p.stale = true, true
	}
	p.rebuild()
	return b.Append(p.timelineRows(w, max(h-1, 0))).Fit(h)
}

func (e *env) rejects(t *amp.Task) string {
	c := rejectCell(t)
	return e.Theme.S(c.Role, c.Text)
}

// about is one line: which subtask, which branch, who.
func (p *taskPage) about(t *amp.Task) string {
	var parts []string
	if s := t.Subtasks(); len(s) > 0 {
		parts = append(parts, fmt.Sprintf("%s of %d", ui.Safe(shortSubtask(t, t.CurrentSubtask().SubtaskID)), len(s)))
	}
	if t.Plan != nil {
		parts = append(parts, ui.Safe(t.Plan.Branch))
	}
	parts = append(parts, ui.Safe(p.e.agentOf(t, amp.Executor))+", reviewed by "+ui.Safe(p.e.agentOf(t, amp.Reviewer)))
	if t.Owner != "" {
		parts = append(parts, "on "+ui.Safe(t.Owner))
	}
	return strings.Join(parts, " · ")
}

// panes draws timeline and facts under the head.
func (p *taskPage) panes(b *ui.Block, t *amp.Task, w, h int) *ui.Block {
	if rounds := w >= 90; rounds != p.rounds {
		p.rounds, p.stale = rounds, true
	}
	p.rebuild()
	requested(b, t)
	rest := h - b.Height()
	facts := p.facts(t, w)
	factsH := min(facts.Height(), rest*45/100)
	if len(p.items) < rest-1-factsH { // a short history leaves its room to the facts
		factsH = min(facts.Height(), max(factsH, rest-2-len(p.items)))
	}
	switch {
	case p.zoomed && p.below:
		factsH = rest
	case p.zoomed, rest < 8 && !p.below:
		factsH = 0
	case rest < 8:
		factsH = rest
	}
	if factsH < rest {
		b.Rule("Timeline "+p.seen(t), p.flags(t, w))
		p.listAt = b.Height()
		p.listH = rest - 1 - factsH
		b.Append(p.timelineRows(w, p.listH))
	}
	p.factsAt, p.factsEnd = b.Height(), max(facts.Height()-factsH, 0)
	p.both = factsH > 0 && factsH < rest
	p.offset = min(p.offset, p.factsEnd)
	seen := facts.Slice(p.offset, p.offset+factsH)
	if p.below && p.focused && factsH > 0 && factsH < rest { // the gutter says which pane has the keys
		rows := seen.Rows()
		rows[0] = ui.Splice(rows[0], p.e.Theme.S(theme.Accent, p.e.Theme.Signs.Gutter), 0, 1, w)
	}
	return b.Append(seen).Fit(h)
}

func (p *taskPage) timelineRows(w, h int) *ui.Block {
	b := ui.NewBlock(p.e.Theme, w)
	switch {
	case p.state != "":
		b.Say(theme.Danger, "  "+p.state)
	case !p.loaded:
		b.Say(theme.Muted, "  reading …")
	case len(p.items) == 0:
		b.Say(theme.Muted, "  No entry of this task yet.")
	default:
		return p.list.Render(w, h)
	}
	return b.Fit(h)
}

// seen says which rounds the rows show.
func (p *taskPage) seen(t *amp.Task) string {
	text := ""
	if s := t.CurrentSubtask(); s.SubtaskID != "" {
		text = ui.Safe(shortSubtask(t, s.SubtaskID)) + " "
	}
	if t.Round > 0 {
		text += fmt.Sprintf("round %d", t.Round)
	}
	if p.win.older {
		text += " · older above"
	}
	return text
}

func (p *taskPage) flags(t *amp.Task, w int) string {
	var parts []string
	if t.RejectCount > 0 && t.RejectCount == t.LockAt()-1 && w < 90 {
		parts = append(parts, p.e.Theme.Signs.Severity("warning")+" Lock is approaching")
	}
	if p.unfold {
		parts = append(parts, "unfolded")
	}
	if p.win.newer {
		parts = append(parts, "newer below")
	}
	if p.list.Following() {
		parts = append(parts, "follow "+p.e.Theme.Signs.Live)
	}
	return strings.Join(parts, " · ")
}

func (p *taskPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		who, what := 8, 16
		if w >= 90 {
			who = 18
		}
		p.colsW = w
		p.cols = ui.NewColumns(p.e.Theme, w,
			ui.Column{Title: "TIME", Width: 8, Keep: 5},
			ui.Column{Title: "WHAT", Width: what, Keep: 10},
			ui.Column{Title: "WHO", Width: who, Keep: 6},
			ui.Column{Title: "TEXT", Width: 10, Flex: true, Keep: 9},
			ui.Column{Title: "ACK", Width: 11, Keep: 8},
			ui.Column{Title: "ENTRY", Width: 7, Right: true, Keep: 4})
	}
	return p.cols
}

// lines draws one row, and under the selected one what it says in full.
func (p *taskPage) lines(i, w int, selected bool) []ui.Line {
	e, it := p.e, &p.items[i]
	if it.round > 0 {
		return ui.One(ui.Spread("  "+e.Theme.S(theme.Title, fmt.Sprintf("round %d", it.round)), e.Theme.S(it.role, it.outcome)+" ", w))
	}
	selected = selected && p.focused && !p.below
	l := it.line
	if t := p.task(); t != nil && l.To != "" {
		l.From, l.To = p.e.party(t, l.From), p.e.party(t, l.To)
	}
	who := l.who()
	if w < 90 {
		who = l.From
		if l.Sign == "sent" {
			who = l.To
		}
	}
	what := e.styledSign(l) + " " + ui.Safe(l.What)
	row := p.columns(w).Row(selected,
		ui.Cell{Text: e.Clock(it.at), Role: theme.Muted},
		ui.Cell{Styled: what},
		ui.Cell{Text: who, Role: theme.Muted},
		ui.Cell{Styled: p.rowText(it)},
		ui.Cell{Live: true},
		ui.Cell{Text: seqName(it.seq), Role: theme.Muted})
	out := []ui.Line{row}
	if selected {
		out = append(out, p.under(it, w)...)
	}
	return out
}

// rowText is the text of a row with what was folded into it.
func (p *taskPage) rowText(it *item) string {
	e := p.e
	text := e.lineText(it.line)
	running := it.progress > 0 && !p.unfold
	if t := p.task(); running && it.said != "" && t != nil && t.Turn != nil && t.Turn.TurnID == it.turnID {
		return ui.Quote(e.Theme, it.said) // what it does now says more than how it began
	}
	if it.line.Role == theme.Danger || it.line.Role == theme.Good && it.msgID != "" {
		text = e.Theme.S(it.line.Role, text)
	}
	if running {
		if text != "" {
			text += " "
		}
		if it.said != "" {
			text += ui.Quote(e.Theme, it.said)
		}
	}
	if it.again && !p.unfold {
		text += e.Theme.S(theme.Time, " 2× delivered")
	}
	if it.done != "" {
		text += e.Theme.S(theme.Muted, " "+ui.Safe(it.done))
	}
	if text == "" {
		text = " "
	}
	return text
}

// under is what a selected row says besides its line: at most four rows.
func (p *taskPage) under(it *item, w int) []ui.Line {
	b := ui.NewBlock(p.e.Theme, w)
	const indent = 11
	switch body := it.line.body.(type) {
	case *amp.Message:
		p.underMessage(b, body, indent)
	case *amp.Command:
		if body.Note != "" {
			b.Quote(indent, body.Note, 3)
		}
	case *amp.Check:
		for _, c := range body.Claims {
			if c.Finding == amp.Refuted && b.Height() < 3 {
				b.Add(strings.Repeat(" ", indent) + p.e.Theme.S(theme.Danger, p.e.Theme.Signs.No+" "+ui.Safe(c.Name)) +
					" said " + ui.Safe(c.Claimed) + ", found " + ui.Safe(c.Found))
			}
		}
	case *amp.Refusal:
		for _, pr := range body.Problems[:min(len(body.Problems), 3)] {
			b.Add(strings.Repeat(" ", indent) + p.e.Theme.S(theme.Danger, ui.Safe(pr.String())))
		}
	case *amp.Question:
		b.Quote(indent, body.Request, 3)
	case *amp.Turn:
		if it.said != "" && ui.Width(it.said) > w-60 {
			b.Quote(indent, it.said, 2)
		}
	}
	out := make([]ui.Line, b.Height())
	for i, r := range b.Rows() {
		out[i] = ui.Line{Head: r}
	}
	return out
}

func (p *taskPage) underMessage(b *ui.Block, m *amp.Message, indent int) {
	e := p.e
	pad := strings.Repeat(" ", indent)
	switch body := m.Payload.(type) {
	case *amp.Verdict:
		blocking := slices.DeleteFunc(slices.Clone(body.Issues), func(i amp.Issue) bool { return i.Severity == amp.IssueMinor })
		for _, i := range blocking[:min(len(blocking), 2)] {
			b.Add(pad + e.Theme.S(theme.Line, e.Theme.Signs.Bar) + " " + p.issueLine(i))
		}
		if rest := len(body.Issues) - min(len(blocking), 2); rest > 0 {
			b.Add(pad + e.Theme.S(theme.Muted, fmt.Sprintf("%s %d more, i shows all", e.Theme.Signs.Bar, rest)))
		}
		for _, f := range body.DirectFixes[:min(len(body.DirectFixes), 2)] {
			b.Add(pad + e.Theme.S(theme.Line, e.Theme.Signs.Bar) + fmt.Sprintf(" fixed %s %s, %d lines", ui.Safe(string(f.ChangeType)), ui.Safe(f.File), f.DiffLines))
		}
	case *amp.Escalation:
		b.Quote(indent, body.Description, 3)
	case *amp.Result:
		for _, x := range body.Blockers[:min(len(body.Blockers), 2)] {
			b.Quote(indent, x, 2)
		}
	case *amp.Request:
		if body.CoordinatorNotes != "" {
			b.Quote(indent, body.CoordinatorNotes, 2)
		}
	case *amp.Dispatch:
	}
}

func (p *taskPage) issueLine(i amp.Issue) string {
	id := ""
	if t := p.task(); t != nil {
		for _, f := range t.Findings {
			if f.File == i.File && f.Description == i.Description {
				id = f.ID + " "
				if n := len(f.Rounds); n > 1 {
					return ui.Safe(fmt.Sprintf("%s%s  %s:%d  recurs ×%d", id, i.Severity, i.File, i.Line, n))
				}
			}
		}
	}
	return ui.Safe(fmt.Sprintf("%s%s  %s:%d", id, i.Severity, i.File, i.Line))
}

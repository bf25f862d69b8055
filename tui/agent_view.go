package tui

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// columns is the table of a pane in w cells.
func (p *agentPage) columns(pane, w int) *ui.Columns {
	if p.cols[pane] != nil && p.colsW[pane] == w {
		return p.cols[pane]
	}
	var cols []ui.Column
	switch pane {
	case paneAgents:
		cols = []ui.Column{
			{Title: "PROVIDER", Width: 10, Flex: true, Keep: 10},
			{Title: "THROUGH", Width: 8, Keep: 3},
			{Title: "ROLES", Width: 20, Keep: 2},
			{Title: "STATE", Width: 12, Keep: 9},
			{Title: "TURNS", Width: 5, Right: true, Keep: 6},
			{Title: "TODAY", Width: 8, Right: true, Keep: 5},
		}
	case paneTurns:
		cols = []ui.Column{
			{Title: "TASK", Width: 10, Keep: 10},
			{Title: "ROLE", Width: 8, Keep: 5},
			{Title: "AGENT", Width: 8, Flex: true, Keep: 8},
			{Title: "EP", Width: 2, Right: true, Keep: 2},
			{Title: "TURN", Width: 7, Right: true, Keep: 6},
			{Title: "SILENT", Width: 6, Right: true, Keep: 3},
			{Title: "HEARTBEAT", Width: 22, Keep: 9},
			{Title: "TASK $", Width: 8, Right: true, Keep: 4},
		}
	case paneStopped:
		cols = []ui.Column{
			{Title: "TASK", Width: 10, Keep: 10},
			{Title: "STATUS", Width: 11, Keep: 9},
			{Title: "PROOF", Width: 20, Flex: true, Keep: 8},
			{Title: "ENTRY", Width: 7, Right: true, Keep: 5},
		}
	case panePast:
		cols = []ui.Column{
			{Title: "WHEN", Width: 5, Right: true, Keep: 6},
			{Title: "TASK", Width: 10, Keep: 10},
			{Title: "ROLE", Width: 8, Keep: 4},
			{Title: "ENDED", Width: 12, Keep: 9},
			{Title: "WHY", Width: 8, Flex: true, Keep: 2},
			{Title: "TOOK", Width: 7, Right: true, Keep: 5},
			{Title: "COST", Width: 8, Right: true, Keep: 7},
		}
	}
	p.cols[pane], p.colsW[pane] = ui.NewColumns(p.e.Theme, w, cols...), w
	return p.cols[pane]
}

// roleWord is a role as a column shows it: the agent in the role of the coordinator plans.
func roleWord(r amp.Role) string {
	if r == amp.Coordinator {
		return "planner"
	}
	return string(r)
}

func (p *agentPage) agentLine(c *ui.Columns, a *agentState, on bool) ui.Line {
	turns := "--"
	if d := a.today(p.e); d.Turns+a.turns > 0 {
		turns = fmt.Sprint(d.Turns + a.turns)
	}
	spent := cost(a.today(p.e).Usage)
	if spent == "" {
		spent = "--"
	}
	state := a.sign(p.e)
	if a.turns > 1 {
		state += fmt.Sprintf(", %d", a.turns)
	}
	return c.Row(on, ui.Cell{Text: a.name}, a.way(p.e), ui.Cell{Text: strings.ReplaceAll(a.roles(p.e), string(amp.Coordinator), "planner")},
		ui.Cell{Styled: state}, ui.Cell{Text: turns}, ui.Cell{Text: spent})
}

func (p *agentPage) turnLine(c *ui.Columns, t *amp.Task, on bool) ui.Line {
	u := t.Turn
	if u == nil {
		return c.Row(on, ui.Cell{Text: string(t.ID)}, ui.Cell{Text: "--"}, ui.Cell{Text: "ended"})
	}
	return c.Row(on, ui.Cell{Text: string(t.ID)}, ui.Cell{Text: roleWord(u.Role)}, ui.Cell{Text: u.Agent},
		ui.Cell{Text: fmt.Sprint(u.Epoch), Role: theme.Muted}, ui.Cell{Text: p.e.clockOf(u.StartedAt)},
		ui.Cell{Text: p.e.clockOf(u.LastAt)}, ui.Cell{Styled: p.e.beat(t, 6)}, ui.Cell{Text: cost(t.Usage), Role: theme.Muted})
}

func (p *agentPage) stoppedLine(c *ui.Columns, t *amp.Task, on bool) ui.Line {
	proof, entry := p.e.Theme.S(theme.Danger, p.e.Theme.Signs.No+" not proven yet: resume and unlock are off"), ""
	if t.Proof != 0 {
		entry = seqName(t.Proof)
		proof = p.claimSigns(p.proofs[t.Proof])
	}
	return c.Row(on, ui.Cell{Text: string(t.ID)}, ui.Cell{Styled: p.e.statusText(t.Status, true)}, ui.Cell{Styled: proof},
		ui.Cell{Text: entry, Role: theme.Muted})
}

// claimSigns is a proof in one line: each claim with its finding.
func (p *agentPage) claimSigns(c *amp.Check) string {
	if c == nil {
		return p.e.Theme.S(theme.Good, p.e.Theme.Signs.Yes+" proven")
	}
	var out []string
	for _, cl := range c.Claims {
		out = append(out, p.e.finding(cl.Finding)+" "+ui.Safe(cl.Name))
	}
	return strings.Join(out, "  ")
}

// finding is the sign of a finding in its role.
func (e *env) finding(f amp.Finding) string {
	switch f {
	case amp.Confirmed:
		return e.Theme.S(theme.Good, e.Theme.Signs.Yes)
	case amp.Refuted:
		return e.Theme.S(theme.Danger, e.Theme.Signs.No)
	case amp.Inconclusive:
	}
	return e.Theme.S(theme.Time, "?")
}

func (p *agentPage) pastLine(c *ui.Columns, end *amp.TurnEnd, on bool) ui.Line {
	return c.Row(on, ui.Cell{Text: p.e.Age(end.At), Role: theme.Muted}, ui.Cell{Text: string(end.TaskID)}, ui.Cell{Text: roleWord(end.Role)},
		ui.Cell{Styled: p.e.outcome(end.Outcome)}, ui.Cell{Text: end.Why, Role: theme.Quote},
		ui.Cell{Text: ui.Clock(time.Duration(end.TookMS) * time.Millisecond)},
		ui.Cell{Text: cost(amp.Usage{Turns: 1, Tokens: end.Tokens, CostUSD: end.CostUSD})})
}

// outcome is how a turn ended, in sign and words.
func (e *env) outcome(o amp.TurnOutcome) string {
	switch {
	case o == amp.TurnOK:
		return e.Theme.S(theme.Good, e.Theme.Signs.Yes) + " " + outcomeWord(o)
	case o.Bad():
		return e.Theme.S(theme.Danger, e.Theme.Signs.No) + " " + outcomeWord(o)
	}
	return e.Theme.S(theme.Muted, e.Theme.Signs.Open+" "+outcomeWord(o))
}

// Render draws the lists one below the other and the detail under them, or beside them from 120 cells on.
func (p *agentPage) Render(w, h int) *ui.Block {
	p.gather()
	for i := range p.tops {
		p.tops[i], p.rows[i] = -1, 0
	}
	p.left = -1
	if len(p.turns) > 0 {
		p.e.Tick()
	}
	b := ui.NewBlock(p.e.Theme, w)
	p.search.row(p.e, b)
	if p.zoomed {
		return p.pane(b, p.focus, h-b.Height()).Fit(h)
	}
	lw, rw, two := ui.Split(w, 0.6, 72, 46)
	if w >= 120 && two {
		p.left = lw
		left := ui.NewBlock(p.e.Theme, lw)
		p.search.row(p.e, left)
		p.stack(left, h-left.Height())
		return ui.Beside(left.Fit(h), p.detail(ui.NewBlock(p.e.Theme, rw), h)).Fit(h)
	}
	under := 0
	if h >= 16 {
		under = max(4, h/4)
	} else if p.focus == panePast {
		under = h / 2
	}
	p.stack(b, h-b.Height()-under)
	if under > 0 {
		p.detail(b, h-b.Height())
	}
	return b.Fit(h)
}

// stack draws agents, turns and what stands still in h rows.
func (p *agentPage) stack(b *ui.Block, h int) {
	if h < 9 { // room for one: that with the focus
		pane := p.focus
		if pane == panePast {
			pane = paneAgents
		}
		p.pane(b, pane, h)
		return
	}
	stopped := 0
	if n := len(p.stopped); n > 0 {
		stopped = 1 + min(n, max(h/6, 2))
	}
	agents := 2 + min(max(len(p.agents), 1), max((h-stopped)/3, 2))
	turns := h - stopped - agents
	if used := 2 + max(len(p.turns), 1); turns > used { // what is not needed goes to the others
		agents = min(2+max(len(p.agents), 1), agents+turns-used)
		turns = min(h-stopped-agents, used)
	}
	p.pane(b, paneAgents, agents)
	p.pane(b, paneTurns, turns)
	if stopped > 0 {
		p.pane(b, paneStopped, stopped)
	}
}

// pane draws the rule, the head and the rows of one list in h rows.
func (p *agentPage) pane(b *ui.Block, pane, h int) *ui.Block {
	e, end := p.e, b.Height()+h
	title, facts := "", ""
	switch pane {
	case paneAgents:
		title, facts = "Providers", e.spentToday()+e.mirrored()+e.onBus()
	case paneTurns:
		title = fmt.Sprintf("Turns %d", len(p.turns))
		if n := e.slots(); n > 0 {
			title += fmt.Sprintf(" of %d", n)
		}
		facts = fmt.Sprintf("heartbeat: minutes since the last write, limit %d", int(e.heartbeat().Minutes()))
	case paneStopped:
		title, facts = fmt.Sprintf("Stopped %d", len(p.stopped)), "proof"
	case panePast:
		title, facts = "Last turns", ""
		if a := p.agent(); a != nil {
			title += " of " + a.name
			facts = tallied(a.usage)
		}
	}
	at := b.Height()
	b.Rule(title, facts)
	if p.empty(pane) {
		return b.Say(theme.Muted, "  "+p.nothing(pane)).Blank(max(end-b.Height(), 0))
	}
	if h > 2 && pane != paneStopped {
		b.Add(p.columns(pane, b.Width()).Head())
	}
	p.tops[pane], p.rows[pane] = b.Height(), max(end-b.Height(), 0)
	return b.Append(p.lists[pane].Render(b.Width(), p.rows[pane])).RuleSeen(at, title, facts, p.lists[pane])
}

// nothing says why a pane is empty, and what to do.
func (p *agentPage) nothing(pane int) string {
	switch {
	case p.search.query != "":
		return "Nothing matches. esc clears the filter."
	case p.e.Conn.phase == connecting:
		return "The coordinator has not answered yet."
	case pane == paneAgents:
		return "No agent is configured. In a shell: arbiter init finds those that are here."
	case pane == paneTurns:
		return "No turn runs. 4 shows the plans that need you."
	case pane == panePast:
		return "No turn of it has ended yet."
	}
	return "Nothing stands still."
}

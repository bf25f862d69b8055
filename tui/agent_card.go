package tui

import (
	"fmt"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// tallied counts the turns that are kept of an agent: "last 10 turns: 8 ended well · 2 bad output".
func tallied(a *amp.AgentUsage) string {
	if a == nil || len(a.Last) == 0 {
		return ""
	}
	n := map[amp.TurnOutcome]int{}
	for i := range a.Last {
		n[a.Last[i].Outcome]++
	}
	var parts []string
	for _, o := range []amp.TurnOutcome{amp.TurnOK, amp.TurnFailed, amp.TurnInvalid, amp.TurnTimeout, amp.TurnKilled, amp.TurnLost} {
		if n[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[o], outcomeWord(o)))
		}
	}
	return strings.Join(parts, " · ")
}

// detail is what is known of the row under the cursor, in h rows.
func (p *agentPage) detail(b *ui.Block, h int) *ui.Block {
	end := b.Height() + h
	switch t := p.task(); {
	case p.focus == paneTurns && t != nil && t.Turn != nil:
		p.turnCard(b, t)
	case p.focus == paneStopped && t != nil:
		p.proofCard(b, t)
	default:
		p.agentCard(b, h)
		if rest := end - b.Height(); rest >= 3 && p.agent() != nil {
			p.pane(b, panePast, rest)
		}
	}
	return b.Fit(end)
}

// agentCard is what is known of an agent besides its turns. In few rows it leaves room for them.
func (p *agentPage) agentCard(b *ui.Block, h int) {
	e, a := p.e, p.agent()
	if a == nil {
		b.Rule("", "")
		return
	}
	b.Rule(a.name, "limits · today")
	if end := a.trouble(); end != nil {
		b.Spread("  "+e.outcome(end.Outcome)+" "+e.Age(end.At)+" ago  "+ui.Quote(e.Theme, end.Why), e.Theme.S(theme.Muted, string(end.TaskID))+" ")
	}
	f := a.facts
	if f == nil {
		b.Say(theme.Muted, "  not configured now; what it did is in the journal")
		return
	}
	if h < 10 && p.focus == panePast {
		return
	}
	if on := e.busAgent(a.name); on != nil {
		text := "on the bus as " + ui.Safe(on.AgentID) + ": " + ui.Safe(on.Health)
		if on.Queued > 0 {
			text += fmt.Sprintf(", %d wait", on.Queued)
		}
		b.Para(2, text)
	}
	if e.State.Bus != nil && e.State.Bus.Dead > 0 {
		b.Para(2, e.Theme.S(theme.Time, plural(e.State.Bus.Dead, "dead letter")+" on the bus")+", b shows them")
	}
	b.Para(2, strings.Join(p.abilities(a), "  "))
	var limits []string
	if f.SilenceSec > 0 {
		limits = append(limits, "silent at most "+span(f.SilenceSec))
	}
	if f.TotalSec > 0 {
		limits = append(limits, "a turn at most "+span(f.TotalSec))
	}
	if f.Vendor != "" {
		limits = append(limits, "vendor "+ui.Safe(f.Vendor))
	}
	if len(limits) > 0 && h >= 8 {
		b.Para(2, e.Theme.S(theme.Muted, strings.Join(limits, " · ")))
	}
	if d := a.today(e); d.Turns > 0 && h >= 10 {
		text := plural(d.Turns, "turn") + ", " + ui.Clock(d.Took()) + " of work"
		if d.CostUSD > 0 {
			text += ", " + dollars(d.CostUSD)
		}
		if d.Tokens > 0 {
			text += ", " + tokens(d.Tokens)
		}
		b.Add("  today " + text)
	}
}

// abilities are what the way to an agent promises, and what its turns show.
func (p *agentPage) abilities(a *agentState) []string {
	e, f := p.e, a.facts
	var out []string
	add := func(on bool, text string) {
		sign := e.Theme.S(theme.Muted, e.Theme.Signs.Open)
		if on {
			sign = e.Theme.S(theme.Good, e.Theme.Signs.Yes)
		}
		out = append(out, text+" "+sign)
	}
	if f.Acks != "" {
		out = append(out, "ACK by "+map[string]string{"agent": "itself", "auto": "arbiter"}[f.Acks])
	}
	switch f.Confined {
	case "":
	case "off", "none":
		out = append(out, e.Theme.S(theme.Danger, "cage "+f.Confined+" "+e.Theme.Signs.No))
	default:
		add(true, ui.Safe(f.Confined))
	}
	add(f.Resumes, "resume")
	add(f.Stops, "stop proven")
	reported := 0
	if a.usage != nil {
		for i := range a.usage.Last {
			if a.usage.Last[i].CostUSD > 0 || a.usage.Last[i].Tokens > 0 {
				reported++
			}
		}
	}
	switch {
	case a.usage != nil && len(a.usage.Last) > 0:
		out = append(out, fmt.Sprintf("cost in %d of %d turns", reported, len(a.usage.Last)))
	default:
		add(f.ReportsCost, "cost")
	}
	return out
}

// turnCard is a running turn.
func (p *agentPage) turnCard(b *ui.Block, t *amp.Task) {
	e, u := p.e, t.Turn
	b.Rule(string(t.ID)+"  "+titleOf(t), roleWord(u.Role)+" · epoch "+fmt.Sprint(u.Epoch))
	b.Add(fmt.Sprintf("  %s runs %s, silent %s", ui.Safe(u.Agent), e.clockOf(u.StartedAt), e.clockOf(u.LastAt)) + "  " + e.beat(t, 6))
	if u.Text != "" {
		b.Quote(2, u.Text, 2)
	}
	for i := range t.Questions {
		b.Add("  " + e.Theme.S(theme.Time, "? "+seqName(t.Questions[i].Seq)) + " " + ui.Quote(e.Theme, t.Questions[i].Request))
	}
	if u.PID != 0 {
		b.Field(8, "process", fmt.Sprint(u.PID))
	}
	if u.For != "" {
		b.Field(8, "answers", ui.Safe(u.For))
	}
	if u.Dir != "" {
		b.Field(8, "in", ui.Safe(u.Dir))
	}
	b.Field(8, "spent", e.spent(t))
	b.Add("  " + e.Theme.S(theme.Key, "l") + " log   " + e.Theme.S(theme.Key, "t") + " task")
}

// proofCard is why a task stands still, and what proves that it does.
func (p *agentPage) proofCard(b *ui.Block, t *amp.Task) {
	e := p.e
	b.Rule(string(t.ID)+"  "+titleOf(t), "since "+e.Age(t.Since))
	for _, s := range t.OpenEscalations() {
		b.Add("  " + e.Theme.Signs.Severity(string(s.Severity)) + " " + seqName(s.Seq) + " " + ui.Safe(string(s.Type)))
	}
	if c := p.proofs[t.Proof]; c != nil {
		for _, cl := range c.Claims {
			b.Add("  " + e.finding(cl.Finding) + " " + ui.Pad(ui.Safe(cl.Name), 10) + " " + ui.Safe(cl.Found))
		}
	} else if t.Proof == 0 {
		b.Para(2, e.Theme.S(theme.Danger, "Not proven yet that every process of the task is gone."))
	}
	b.Field(8, "spent", e.spent(t))
}

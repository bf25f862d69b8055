package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// minCard is what the item under the cursor keeps of the right pane; panels that find no room beside it are left out.
const minCard = 9

// panels are what stands under the item of the right pane of Now, in rows of w cells, as many as h rows hold.
func (p *nowPage) panels(w, h int) *ui.Block {
	e := p.e
	key := cardKey{version: e.Index.Version, w: w, h: h, second: e.Now.Unix(), absolute: e.Absolute, state: e.State, made: len(e.desk.pace.made)}
	if p.side == nil || p.sideKey != key { // the cursor moves without them
		before := e.wake
		e.wake = time.Time{}
		p.side, p.sideKey = p.drawPanels(w, h), key
		p.sideWake, e.wake = e.wake, before
	}
	if !p.sideWake.IsZero() {
		e.WakeAt(p.sideWake)
	}
	return p.side
}

func (p *nowPage) drawPanels(w, h int) *ui.Block {
	e := p.e
	out := p.agentsPanel(w, max(h/4, 3))
	for _, draw := range []func(*ui.Block){e.drawFatigue, e.drawToday, e.drawHours} {
		b := ui.NewBlock(e.Theme, w)
		draw(b)
		if out.Height()+b.Height() <= h-minCard {
			out.Append(b)
		}
	}
	return out
}

// agentsPanel is a row for each agent, at most rows of them.
func (p *nowPage) agentsPanel(w, rows int) *ui.Block {
	e := p.e
	b := ui.NewBlock(e.Theme, w).Rule("Agents", p.slots())
	all := e.agents()
	for i := range all {
		if i == rows {
			return b.Say(theme.Muted, fmt.Sprintf("  and %d more", len(all)-i))
		}
		a := &all[i]
		b.Spread("  "+ui.Pad(ui.Safe(a.name), 10)+" "+e.agentText(a), e.Theme.S(theme.Muted, cost(a.today(e).Usage))+" ")
	}
	if len(all) == 0 {
		b.Say(theme.Muted, "  no agent is at work")
	}
	return b
}

// drawToday is what this day used, and the tasks at work that come near a bound of theirs. Nothing bounds a day.
func (e *env) drawToday(b *ui.Block) {
	b.Rule("Today", strings.TrimPrefix(e.spentToday(), "today "))
	var all amp.Outcomes
	for i := range e.Board.Usage {
		all = all.Plus(e.Board.Usage[i].On(e.Now).Outcomes)
	}
	var ends []string
	for _, o := range []struct {
		n   int
		how amp.TurnOutcome
	}{{all.OK, amp.TurnOK}, {all.Failed, amp.TurnFailed}, {all.Invalid, amp.TurnInvalid}, {all.Timeout, amp.TurnTimeout}, {all.Killed, amp.TurnKilled}, {all.Lost, amp.TurnLost}} {
		if o.n > 0 {
			ends = append(ends, fmt.Sprintf("%d %s", o.n, outcomeWord(o.how)))
		}
	}
	if len(ends) > 0 {
		b.Add("  " + strings.Join(ends, " · "))
	}
	for _, n := range e.known().near {
		gauge := ui.Gauge(e.Theme, 8, min(n.share, 1))
		if n.share >= 0.8 {
			gauge = e.Theme.S(theme.Time, gauge)
		}
		b.Spread("  "+string(n.id)+"  "+n.words(), gauge+" ")
	}
}

// near is a bound of which a task has used much.
type near struct {
	id       amp.TaskID
	share    float64
	used, of int
	wall     bool // seconds of work, not turns
}

// nearBounds are at most two bounds of tasks at work of which half is used, the nearest first.
func (e *env) nearBounds(running []amp.TaskID) []near {
	var out []near
	for _, id := range running {
		t := e.Board.Task(id)
		l := e.bounds(t)
		for _, n := range [2]near{
			{id, part(t.Spent.Turns, l.Turns), t.Spent.Turns, l.Turns, false},
			{id, part(t.Spent.WallSec, l.WallSec), t.Spent.WallSec, l.WallSec, true},
		} {
			if n.share < 0.5 || len(out) == 2 && n.share <= out[1].share {
				continue
			}
			out = append(out, n)
			slices.SortStableFunc(out, func(a, b near) int { return cmp.Compare(b.share, a.share) })
			out = out[:min(len(out), 2)]
		}
	}
	return out
}

func (n near) words() string {
	if n.wall {
		return span(n.used) + " of " + span(n.of)
	}
	return fmt.Sprintf("%d of %d turns", n.used, n.of)
}

func part(used, of int) float64 {
	if of <= 0 {
		return 0
	}
	return float64(used) / float64(of)
}

// bounds are what a task may use: its own limits, else those of the configuration. Zero is no bound.
func (e *env) bounds(t *amp.Task) amp.Budget {
	if e.State == nil {
		return t.Limits
	}
	return t.Limits.Or(e.State.Budget)
}

// spent is what a task used of what it may, in words.
func (e *env) spent(t *amp.Task) string {
	l := e.bounds(t)
	text := plural(t.Spent.Turns, "turn")
	if l.Turns > 0 {
		text = fmt.Sprintf("%d of %d turns", t.Spent.Turns, l.Turns)
	}
	text += " · " + ui.Clock(time.Duration(t.Spent.WallSec)*time.Second)
	if l.WallSec > 0 {
		text += " of " + ui.Clock(time.Duration(l.WallSec)*time.Second)
	}
	if t.Usage.CostUSD > 0 || l.CostUSD > 0 {
		text += " · " + dollars(t.Usage.CostUSD)
	}
	if l.CostUSD > 0 {
		text += " of " + dollars(l.CostUSD)
	}
	if t.Usage.Tokens > 0 {
		text += " · " + tokens(t.Usage.Tokens)
	}
	return text
}

// drawHours is the flow of the last hours: verdicts, how many were rejections, and how much waited for the admin.
func (e *env) drawHours(b *ui.Block) {
	n := amp.UsageHours
	verdicts, rejects, waits := make([]float64, n), make([]float64, n), make([]float64, n)
	first := amp.HourOf(e.Now) - int64(n) + 1
	flow := e.Board.Hours
	most, any := 0, false
	waiting := 0
	for i := range n {
		for len(flow) > 0 && flow[0].Hour <= first+int64(i) {
			f := flow[0]
			flow, waiting = flow[1:], f.Waits
			if f.Hour < first+int64(i) {
				continue
			}
			verdicts[i] = float64(f.Verdicts)
			most = max(most, f.Verdicts)
			if f.Verdicts > 0 {
				rejects[i] = 100 * float64(f.Rejected) / float64(f.Verdicts)
			}
		}
		waits[i] = float64(waiting)
		any = any || verdicts[i] > 0 || waiting > 0
	}
	if !any {
		return
	}
	b.Rule(fmt.Sprintf("Last %d h", n), "")
	row := func(name string, values []float64, facts string) {
		b.Spread("  "+e.Theme.S(theme.Muted, ui.Pad(name, 11))+" "+ui.Spark(e.Theme, n, values)+"  "+facts, "")
	}
	row("verdicts/h", verdicts, fmt.Sprintf("max %d", most))
	row("rejects %", rejects, fmt.Sprintf("now %.0f", rejects[n-1]))
	row("waiting", waits, fmt.Sprintf("for you %d", e.Index.Inbox+e.Index.Plans))
	e.WakeAt(time.Unix((amp.HourOf(e.Now)+1)*3600, 0))
}

package tui

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// Render draws what is known of the turn and the visible lines.
func (p *turnPage) Render(w, h int) *ui.Block {
	e := p.e
	b := ui.NewBlock(e.Theme, w)
	p.head(b, h)
	if p.typing {
		b.Add(" " + e.Theme.S(theme.Accent, "/") + " " + p.find.Row(e.Theme, max(w-4, 1), true))
	}
	facts := size(len(p.text.raw))
	if len(p.text.raw) >= maxLogText {
		facts = "the last " + facts
	}
	if p.live() != nil {
		facts += map[bool]string{true: " · follow ●", false: " · follow off"}[p.follow]
	}
	if p.pager.Wrapped() {
		facts += " · wrapped"
	}
	b.Rule(map[bool]string{true: "Output, as written", false: "Output"}[p.raw], facts)
	if p.state != "" {
		return b.Say(theme.Muted, "  "+p.state).Fit(h)
	}
	rows := h - b.Height()
	return b.Append(p.pager.Render(w, rows)).Fit(h)
}

// head is who works, or worked, on what, and how it went.
func (p *turnPage) head(b *ui.Block, h int) {
	e := p.e
	u, live := p.start, p.live()
	if live != nil {
		u = &live.Turn
	} else if p.end != nil {
		u = p.end
	}
	if u == nil {
		b.Rule(p.Title(), "")
		return
	}
	var how []string
	switch {
	case live != nil:
		e.Tick()
		how = append(how, e.Theme.S(theme.Good, e.Theme.Signs.Live)+" runs "+e.clockOf(live.StartedAt), "silent "+e.clockOf(live.LastAt))
	case p.end != nil:
		how = append(how, e.outcome(p.end.Outcome)+" "+e.Clock(p.endAt), "took "+ui.Clock(time.Duration(p.end.TookMS)*time.Millisecond))
		if p.end.Exit != nil {
			how = append(how, fmt.Sprintf("exit %d", *p.end.Exit))
		}
		if c := cost(amp.Usage{Turns: 1, Tokens: p.end.Tokens, CostUSD: p.end.CostUSD}); c != "--" {
			how = append(how, c)
			if p.end.CostUSD > 0 && p.end.Tokens > 0 {
				how = append(how, tokens(p.end.Tokens))
			}
		}
	}
	pid := u.PID
	who := []string{ui.Safe(u.Agent) + " as " + roleWord(u.Role), fmt.Sprintf("epoch %d", u.Epoch)}
	if pid != 0 {
		who = append(who, fmt.Sprintf("pid %d", pid))
	}
	if p.start != nil && live == nil {
		who = append(who, "began "+e.Clock(p.startAt))
	}
	title := string(p.task)
	if t := e.Board.Task(p.task); t != nil {
		title += "  " + titleOf(t)
	}
	b.Rule(title, "turn "+u.TurnID)
	if h < 12 {
		b.Add(" " + strings.Join(append(how, who[0]), " · "))
		return
	}
	b.Add(" "+strings.Join(who, " · "), " "+strings.Join(how, " · "))
	if p.end != nil && p.end.Text != "" && p.end.Outcome != amp.TurnOK {
		b.Quote(1, p.end.Text, 3)
	}
	if live != nil {
		if t := e.Board.Task(p.task); len(t.Questions) > 0 || t.Obligation(u.For) != nil || e.Now.Sub(live.LastAt) >= watchAfter {
			b.Add(" " + e.beat(t, 6))
		}
	}
}

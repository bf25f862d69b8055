package tui

import (
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

func (p *escalationsPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		p.colsW = w
		p.cols = ui.NewColumns(p.e.Theme, w,
			ui.Column{Title: "AGE", Width: 4, Keep: 7, Right: true},
			ui.Column{Title: "", Width: 2, Keep: 6},
			ui.Column{Title: "ENTRY", Width: 7, Keep: 4},
			ui.Column{Title: "TASK", Width: 10, Keep: 9},
			ui.Column{Title: "TYPE", Width: 17, Flex: true, Keep: 10},
			ui.Column{Title: "AGENT", Width: 8, Keep: 3},
			ui.Column{Title: "DECISION", Width: 10, Keep: 8},
			ui.Column{Title: "BY", Width: 6, Keep: 2},
			ui.Column{Title: "TOOK", Width: 4, Keep: 5, Right: true})
	}
	return p.cols
}

func (p *escalationsPage) line(x *amp.PastEscalation, w int, selected bool) ui.Line {
	sign, role := p.e.Theme.Signs.Severity(string(x.Severity)), theme.Text
	word, wordRole := string(x.Resolution), theme.Good
	switch {
	case x.Open():
		word, wordRole, role = "open", theme.Time, theme.Time
		if x.Severity == amp.Critical {
			role = theme.Danger
		}
	case word == "":
		word, wordRole = "none", theme.Muted
	}
	took := "--"
	if d, _, ok := x.Took(); ok {
		took = ui.Age(d)
	}
	return p.columns(w).Row(selected,
		ui.Cell{Live: true}, ui.Cell{Text: sign, Role: role}, ui.Cell{Text: seqName(x.Seq)}, ui.Cell{Text: string(x.TaskID)},
		ui.Cell{Text: string(x.Type)}, ui.Cell{Text: concerns(x)}, ui.Cell{Text: word, Role: wordRole},
		ui.Cell{Text: x.ResolvedBy}, ui.Cell{Text: took, Role: theme.Muted})
}

// concerns is whom an escalation is about.
func concerns(x *amp.PastEscalation) string {
	switch {
	case x.Agent != "":
		return x.Agent
	case x.Role != "":
		return string(x.Role)
	}
	return "--"
}

// decisionOf is what became of an escalation, in words.
func decisionOf(x *amp.PastEscalation) string {
	switch {
	case x.Open():
		return "open"
	case x.Resolution == "":
		return "never decided: the task is " + statusWord(x.Status)
	case x.Next != "":
		return fmt.Sprintf("%s, then %s, by %s", x.Resolution, x.Next, x.ResolvedBy)
	}
	return fmt.Sprintf("%s by %s", x.Resolution, x.ResolvedBy)
}

// totalsText counts them by type.
func (p *escalationsPage) totalsText() string {
	var parts []string
	for _, typ := range amp.EscalationTypes {
		if n := p.totals.Types[typ]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", typ, textsafe.Thousands(n)))
		}
	}
	return strings.Join(parts, " · ")
}

// Render draws the list and the escalation under the cursor: below it, or beside it on a wide screen.
func (p *escalationsPage) Render(w, h int) *ui.Block {
	e := p.e
	p.left = -1
	x := p.current()
	if x != nil && x.Seq != p.shown {
		p.shown, p.view = x.Seq, scroller{lazy: true}
	}
	if p.zoomed && x != nil {
		p.listH = 0
		return p.drawCard(ui.NewBlock(e.Theme, w), x, h).Fit(h)
	}
	lw, rw, two := ui.Split(w, 0.52, 70, 48)
	if w < 120 || x == nil {
		lw, two = w, false
	}
	title := "Escalations  " + textsafe.Thousands(len(p.rows))
	if len(p.rows) != p.all {
		title += " of " + textsafe.Thousands(p.all)
	}
	facts := textsafe.Thousands(p.totals.Open) + " open"
	if p.totals.Median > 0 {
		facts += " · median to a decision " + ui.Clock(p.totals.Median)
	}
	if p.only != "" {
		facts = "only " + map[string]string{"open": "open ones", "closed": "decided ones"}[p.only] + ", esc shows all"
	}
	b := ui.NewBlock(e.Theme, lw).Rule(title, facts)
	p.search.row(e, b)
	if p.wrong != "" {
		b.Say(theme.Danger, "  "+strings.TrimPrefix(p.wrong, "search: "))
	}
	if x == nil {
		p.nothing(b)
		return b.Fit(h)
	}
	if text := p.totalsText(); h >= 12 {
		b.Say(theme.Muted, "  "+text)
	}
	b.Add(p.columns(lw).Head())
	p.listTop = b.Height()
	room := max(h-b.Height(), 0)
	if two {
		p.left, p.listH = lw, room
		b.Append(p.list.Render(lw, room)).RuleSeen(0, title, facts, p.list)
		right := p.drawCard(ui.NewBlock(e.Theme, rw), x, h)
		return ui.Beside(b.Fit(h), right.Fit(h)).Fit(h)
	}
	p.listH = min(len(p.rows), max(room*2/5, 3), room)
	b.Append(p.list.Render(lw, p.listH)).RuleSeen(0, title, facts, p.list)
	return p.drawCard(b, x, h-b.Height()).Fit(h)
}

// nothing says why the list is empty.
func (p *escalationsPage) nothing(b *ui.Block) {
	b.Blank(1)
	if p.all > 0 {
		b.Say(theme.Muted, "  Nothing matches. esc shows all "+textsafe.Thousands(p.all)+".")
		return
	}
	b.Para(2, p.e.Theme.S(theme.Muted, "No escalation was ever raised. What agents or the coordinator cannot resolve by themselves comes here."))
}

// drawCard appends one escalation in h rows, with its rule.
func (p *escalationsPage) drawCard(b *ui.Block, x *amp.PastEscalation, h int) *ui.Block {
	if h < 2 {
		return b
	}
	title := fmt.Sprintf("%s %s  %s", seqName(x.Seq), x.Type, x.TaskID)
	if p.onCard {
		title = "[" + title + "]"
	}
	state := "decided"
	switch {
	case x.Open():
		state = "open " + ui.Age(p.e.Now.Sub(x.At))
	case x.Resolution == "":
		state = "never decided"
	}
	b.Rule(title, string(x.Severity)+" · "+state)
	c := p.e.newColumn(b.Width())
	p.words(c.Block, x)
	return b.Append(p.view.show(c, h-1))
}

// words says what an escalation was about, what was decided on what evidence, and how long it took.
func (p *escalationsPage) words(b *ui.Block, x *amp.PastEscalation) {
	e := p.e
	field := func(label, text string) { b.Field(refusalLabel, label, ui.Safe(text)) }
	field("task", x.Title+" · "+statusWord(x.Status)+" now")
	raised := e.Clock(x.At) + " by " + string(x.TriggeredBy)
	if x.Agent != "" {
		raised += " · about " + x.Agent
		if x.Role != "" {
			raised += ", " + string(x.Role)
		}
	} else if x.Role != "" {
		raised += " · about the " + string(x.Role)
	}
	if x.Suspended {
		raised += " · the task was suspended"
	}
	field("raised", raised)
	b.Quote(2, x.Description, 6)
	known := p.proofs[x.Seq]
	p.decision(b, x, known)
	if known != nil && known.snapshot != nil {
		s := known.snapshot
		text := fmt.Sprintf("task_status %s · reject_count %d", s.TaskStatus, s.RejectCount)
		if s.LastSuccessfulMsgID != "" {
			text += " · last good " + s.LastSuccessfulMsgID
		}
		field("snapshot", text)
	}
	for i, m := range x.Affected {
		field(map[bool]string{true: "affects", false: ""}[i == 0], m)
	}
	if x.SeenBy != "" {
		field("seen by", x.SeenBy)
	}
	field("timeline", "t opens the task at "+seqName(x.Seq))
}

func (p *escalationsPage) decision(b *ui.Block, x *amp.PastEscalation, known *proof) {
	e := p.e
	field := func(label, text string) { b.Field(refusalLabel, label, ui.Safe(text)) }
	decided, carried, ok := x.Took()
	if !ok {
		if x.Open() {
			b.Field(refusalLabel, "decided", e.Theme.S(theme.Time, "not yet: "+e.Theme.Signs.Enter+" opens the decision"))
		} else {
			field("decided", decisionOf(x))
		}
		return
	}
	field("decided", fmt.Sprintf("%s · %s, after %s", decisionOf(x), e.Clock(x.DecidedAt), ui.Clock(decided)))
	if carried-decided >= time.Second {
		field("done", fmt.Sprintf("%s, after %s, entry %s", e.Clock(x.ResolvedAt), ui.Clock(carried), seqName(x.ResolvedSeq)))
	}
	switch {
	case known == nil || !known.ready:
		b.Field(refusalLabel, "evidence", e.Theme.S(theme.Muted, "reading …"))
		return
	case known.err != nil:
		b.Field(refusalLabel, "evidence", e.Theme.S(theme.Danger, ui.Safe(known.err.Error())))
		return
	}
	ev := known.evidence
	field("evidence", evidenceText(ev))
	if len(ev.Checks) > 0 {
		var parts []string
		for _, c := range ev.Checks {
			sign, role := e.Theme.Signs.Open, theme.Muted
			switch c.Finding {
			case amp.Confirmed:
				sign, role = e.Theme.Signs.Yes, theme.Good
			case amp.Refuted:
				sign, role = e.Theme.Signs.No, theme.Danger
			case amp.Inconclusive:
			}
			parts = append(parts, e.Theme.S(role, sign)+" "+ui.Safe(c.Name))
		}
		b.Field(refusalLabel, "checked", strings.Join(parts, "  "))
	}
	if ev.Note != "" {
		b.Field(refusalLabel, "note", ui.Quote(e.Theme, ev.Note))
	}
}

// evidenceText is the state that the admin named, what was on the screen and what was typed.
func evidenceText(ev *amp.Evidence) string {
	var parts []string
	if x := ev.Expects; x != nil {
		state := "on " + statusWord(x.Status)
		if x.Revision > 0 {
			state += fmt.Sprintf(" r%d", x.Revision)
		}
		if x.Hash != "" {
			state += " " + short(x.Hash)
		}
		parts = append(parts, state)
	}
	if ev.Read != "" {
		parts = append(parts, ev.Read)
	}
	if ev.Unread > 0 {
		parts = append(parts, textsafe.Thousands(ev.Unread)+" unread")
	}
	if ev.Digits != "" {
		parts = append(parts, "digits "+ev.Digits)
	}
	if len(parts) == 0 {
		parts = append(parts, "nothing was recorded with it")
	}
	return strings.Join(parts, " · ") + " · entry " + seqName(ev.Seq)
}

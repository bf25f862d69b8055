package tui

import (
	"fmt"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

func (p *inboxPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		p.colsW = w
		p.cols = ui.NewColumns(p.e.Theme, w,
			ui.Column{Title: "SEV", Width: 3, Keep: 9},
			ui.Column{Title: "ENTRY", Width: 7, Keep: 6},
			ui.Column{Title: "TASK", Width: 10, Keep: 8},
			ui.Column{Title: "WHAT", Width: 12, Flex: true, Keep: 10},
			ui.Column{Title: "ACK", Width: 5, Keep: 3},
			ui.Column{Title: "AGE", Width: 4, Keep: 7, Right: true})
	}
	return p.cols
}

func (p *inboxPage) line(n *need, w int, selected bool) ui.Line {
	sign, role := p.e.needSign(n)
	row := p.columns(w-p.gap).Row(selected,
		ui.Cell{Text: sign, Role: role}, ui.Cell{Text: seqName(n.Seq)}, ui.Cell{Text: string(n.TaskID)},
		ui.Cell{Text: n.What + ": " + n.Text}, ui.Cell{Text: p.seen(n), Role: theme.Muted}, ui.Cell{Live: true})
	row.Tail += strings.Repeat(" ", p.gap)
	return row
}

// setGap leaves a blank at the right end of the list, or none.
func (p *inboxPage) setGap(on bool) {
	gap := 0
	if on {
		gap = 1
	}
	if gap != p.gap {
		p.gap = gap
		p.list.Forget()
	}
}

// seen is the admin whose ACK says that an escalation was seen.
func (p *inboxPage) seen(n *need) string {
	if t := p.e.Board.Task(n.TaskID); t != nil && n.Kind == amp.NeedEscalation {
		if s := escalationOf(n, t); s != nil && s.SeenBy != "" {
			return s.SeenBy
		}
	}
	return "--"
}

// counts is what the list holds, by kind.
func (p *inboxPage) counts() string {
	if v := p.e.Index.Version; v != p.countedAt {
		p.countedAt, p.counted = v, p.count()
	}
	return p.counted
}

func (p *inboxPage) count() string {
	var parts []string
	for _, k := range []struct {
		kind amp.NeedKind
		word string
	}{{amp.NeedEscalation, "escalations"}, {amp.NeedQuestion, "questions"}, {amp.NeedHeld, "held"}, {amp.NeedFailed, "not done"}, {amp.NeedDelivery, "to deliver"}, {amp.NeedStopped, "stopped"}} {
		n := 0
		for i := range p.e.Index.Needs {
			if p.e.Index.Needs[i].Kind == k.kind {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", k.word, n))
		}
	}
	return strings.Join(parts, " · ")
}

// Render draws the list and the card: below it, or beside it on a wide screen.
func (p *inboxPage) Render(w, h int) *ui.Block {
	e := p.e
	p.left = -1
	n, t := p.card()
	if t != nil && n.Seq != p.shown {
		p.shown, p.view = n.Seq, scroller{lazy: true}
	}
	lw, rw, two := p.e.Split(w, 0.42, 54, 60)
	if w < 120 || p.zoomed || t == nil {
		lw, two = w, false
	}
	b := ui.NewBlock(e.Theme, lw)
	if p.zoomed && t != nil {
		p.listH = 0
		return p.drawCard(b, &n, t, h).Fit(h)
	}
	facts := "severity, age " + e.Theme.Signs.Sort
	if two {
		facts = ""
	}
	if p.kind != "" {
		facts = "only " + strings.ReplaceAll(string(p.kind), "_", " ")
		if !two {
			facts += ", esc shows all"
		}
	}
	title := strings.TrimRight("Inbox  "+p.counts(), " ")
	switch {
	case two && p.kind != "":
		title = "Inbox"
	case ui.Width(title) > lw-partCells:
		title = fmt.Sprintf("Inbox %d", e.Index.Inbox)
	}
	b.Rule(title, facts)
	p.search.row(e, b)
	if len(p.rows) == 0 {
		p.nothing(b)
		return b.Fit(h)
	}
	p.setGap(two)
	b.Add(p.columns(lw - p.gap).Head())
	p.listTop = b.Height()
	room := max(h-b.Height(), 0)
	if two {
		p.left, p.listH = lw, room
		b.Append(p.list.Render(lw, room)).RuleSeen(0, title, facts, p.list)
		right := p.drawCard(ui.NewBlock(e.Theme, rw), &n, t, h)
		return ui.Beside(b.Fit(h), right.Fit(h)).Fit(h)
	}
	p.listH = min(len(p.rows), max(room/4, 3), room) // the card has more to say
	b.Append(p.list.Render(lw, p.listH)).RuleSeen(0, title, facts, p.list)
	return p.drawCard(b, &n, t, h-b.Height()).Fit(h)
}

// partCells is the room of a rule line for which part of the list is on the screen.
const partCells = 20

// drawCard appends the card in h rows.
func (p *inboxPage) drawCard(b *ui.Block, n *need, t *amp.Task, h int) *ui.Block {
	if t == nil || h < 3 {
		return b
	}
	e := p.e
	title := seqName(n.Seq) + " " + string(n.Severity) + "  " + string(n.TaskID)
	if p.onCard {
		title = "[" + title + "]"
	}
	c := e.newColumn(b.Width())
	cursor := ""
	if p.onCard {
		cursor = p.view.id
	}
	e.drawCard(c, n, t, cursor, p.inside())
	status := e.statusText(t.Status, false) + rejects(t)
	if n.Kind == amp.NeedEscalation && escalationOf(n, t) != nil { // its first rule says what this one says
		c.behead()
		title += "  " + ui.Cut(ui.Safe(titleOf(t)), b.Width()-ui.Width(title)-ui.Width(status)-10)
	}
	b.RuleStyled(e.Theme.S(theme.Title, strings.TrimRight(ui.Safe(title), " ")), status)
	return b.Append(p.view.show(c, h-1))
}

// nothing says why the list is empty.
func (p *inboxPage) nothing(b *ui.Block) {
	b.Blank(1)
	switch {
	case p.search.query != "" || p.kind != "":
		b.Say(theme.Muted, "  Nothing matches. esc shows all.")
	default:
		b.Say(theme.Muted, "  Nothing here needs you. What is stuck comes here by itself.")
		if n := p.e.Index.Plans; n > 0 {
			b.Say(theme.Muted, "  "+plural(n, "plan")+" to decide: 4 opens them.")
		}
	}
}

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

// refusalLabel is the column of "at", "means", "did".
const refusalLabel = 8

func (p *refusalPage) columns(w int) *ui.Columns {
	if p.cols == nil || p.colsW != w {
		p.colsW = w
		p.cols = ui.NewColumns(p.e.Theme, w,
			ui.Column{Title: "", Width: 1, Keep: 6},
			ui.Column{Title: "LAST", Width: 8, Keep: 7},
			ui.Column{Title: "×", Width: 4, Keep: 5, Right: true},
			ui.Column{Title: "WHAT", Width: 14, Keep: 8},
			ui.Column{Title: "FROM", Width: 8, Keep: 4},
			ui.Column{Title: "RULE", Width: 8, Keep: 9},
			ui.Column{Title: "WHY", Width: 12, Flex: true, Keep: 10})
	}
	return p.cols
}

func (p *refusalPage) line(g *refusalGroup, w int, selected bool) ui.Line {
	it := &p.log.items[g.items[0]]
	fresh, times := "", ""
	if g.fresh > 0 {
		fresh = "!"
	}
	if p.together {
		times = "×" + count(len(g.items))
	}
	return p.columns(w).Row(selected,
		ui.Cell{Text: fresh, Role: theme.Time}, ui.Cell{Text: p.e.lastTime(it.At)}, ui.Cell{Text: times, Role: theme.Muted},
		ui.Cell{Text: it.What}, ui.Cell{Text: it.Actor}, ui.Cell{Text: it.rule()}, ui.Cell{Text: it.why()})
}

// count is a number in at most three cells.
func count(n int) string {
	if n > 999 {
		return fmt.Sprintf("%dk", min(n/1000, 99))
	}
	return fmt.Sprint(n)
}

// lastTime is when something was, in at most 8 cells: the time of today, the day of this year, or the month.
func (e *env) lastTime(at time.Time) string {
	at, now := at.In(e.Zone), e.Now.In(e.Zone)
	switch {
	case at.YearDay() == now.YearDay() && at.Year() == now.Year():
		return at.Format("15:04:05")
	case at.Year() == now.Year():
		return at.Format("Jan 02")
	}
	return at.Format("Jan 2006")
}

// counts is how many there are: new, of today, kept.
func (p *refusalPage) counts() string {
	today := textsafe.Thousands(p.today)
	if p.log.more && p.today == len(p.log.items) {
		today += "+"
	}
	return fmt.Sprintf("%s new · %s today · %s kept", textsafe.Thousands(p.e.newRefusals()), today, textsafe.Thousands(p.e.Board.Refusals))
}

func (p *refusalPage) facts(two bool) string {
	switch {
	case p.only != "":
		return "only " + p.only + ", esc shows all"
	case two:
		return ""
	case p.together:
		return "group: rule, sender " + p.e.Theme.Signs.Live
	}
	return "one by one"
}

// rawWidth is the width of the pane of the raw bytes, as Render will have it.
func (p *refusalPage) rawWidth() int {
	w := p.e.Width
	if _, right, two := p.split(w); two {
		w = right
	}
	return max(w-4, 1)
}

func (p *refusalPage) split(w int) (left, right int, two bool) {
	if w < 120 || p.zoomed || len(p.rows) == 0 {
		return w, 0, false
	}
	return p.e.Split(w, 0.5, 60, 58)
}

// Render draws the list and the refusal under the cursor: below it, or beside it on a wide screen.
func (p *refusalPage) Render(w, h int) *ui.Block {
	e := p.e
	p.left = -1
	it, g := p.current()
	if p.zoomed && it != nil {
		p.listH = 0
		b := ui.NewBlock(e.Theme, w)
		p.headline(b, it)
		return p.drawRaw(b, it, h-1).Fit(h)
	}
	lw, rw, two := p.split(w)
	title, facts := "Refusals  "+p.counts(), p.facts(two)
	b := ui.NewBlock(e.Theme, lw).Rule(title, facts)
	p.search.row(e, b)
	if it == nil {
		p.nothing(b)
		return b.Fit(h)
	}
	b.Add(p.columns(lw).Head())
	p.listTop = b.Height()
	room := max(h-b.Height(), 0)
	if two {
		p.left, p.listH = lw, room
		p.drawList(b, room)
		b.RuleSeen(0, title, facts, p.list)
		right := ui.NewBlock(e.Theme, rw)
		p.headline(right, it)
		p.drawWords(right, it, g)
		p.drawRaw(right, it, h-right.Height())
		return ui.Beside(b.Fit(h), right.Fit(h)).Fit(h)
	}
	p.listH = min(len(p.rows)+1, max(room*2/5, 3), room)
	p.drawList(b, p.listH)
	b.RuleSeen(0, title, facts, p.list)
	if room -= p.listH; room < 3 {
		return b.Fit(h)
	}
	p.headline(b, it)
	words := ui.NewBlock(e.Theme, w)
	p.drawWords(words, it, g)
	if keep := room - 1 - 4; words.Height() > keep && keep > 0 { // the raw bytes keep a rule and three rows
		words = words.Slice(0, keep)
	}
	b.Append(words)
	return p.drawRaw(b, it, h-b.Height()).Fit(h)
}

// drawList draws the rows, and how many older ones are not counted in them.
func (p *refusalPage) drawList(b *ui.Block, h int) {
	more := ""
	switch {
	case p.reading:
		more = "  reading older ones …"
	case p.log.more:
		more = fmt.Sprintf("  counted in the newest %s · at the end of the list older ones are read", textsafe.Thousands(len(p.log.items)))
	case len(p.log.items) >= refusalLimit:
		more = "  older ones: arbiter journal search --kind refusal"
	}
	if more == "" || h < 2 {
		b.Append(p.list.Render(b.Width(), h))
		return
	}
	rows := min(h-1, len(p.rows))
	b.Append(p.list.Render(b.Width(), rows))
	b.Say(theme.Muted, more).Blank(h - rows - 1)
}

// headline is the rule above a refusal.
func (p *refusalPage) headline(b *ui.Block, it *refusalItem) {
	b.Rule(fmt.Sprintf("%s %s  %s", seqName(it.Seq), it.What, it.TaskID), fmt.Sprintf("%s · %s B", it.rule(), textsafe.Thousands(it.RawLen)))
}

// drawWords says where the message is wrong, what that means, what was done, what to do.
func (p *refusalPage) drawWords(b *ui.Block, it *refusalItem, g *refusalGroup) {
	e := p.e
	for i, at := range problemLines(it) {
		label := ""
		if i == 0 {
			label = "at"
		}
		b.Field(refusalLabel, label, ui.Safe(at))
	}
	if p.ruleText {
		text := amp.RuleText(it.rule())
		if text == "" {
			text = "this version does not know the rule " + it.rule()
		}
		b.Field(refusalLabel, "rule", e.Theme.S(theme.Accent, ui.Safe(text)))
	}
	b.Field(refusalLabel, "means", ui.Safe(it.Means()))
	b.Field(refusalLabel, "did", ui.Safe(e.refusalDid(it)))
	b.Field(refusalLabel, "next", ui.Safe(e.refusalNext(it, len(g.items))))
	b.Field(refusalLabel, "source", ui.Safe(p.source(it, g)))
}

// maxProblems is how many problems of one message are spelled out.
const maxProblems = 6

func problemLines(it *refusalItem) []string {
	if len(it.Problems) == 0 {
		return []string{"no reason was kept with it"}
	}
	var out []string
	for i, pr := range it.Problems {
		if i == maxProblems {
			return append(out, fmt.Sprintf("and %d more", len(it.Problems)-i))
		}
		text := pr.Message
		if pr.Field != "" {
			text = pr.Field + ": " + text
		}
		if pr.Rule != it.rule() && pr.Rule != "" {
			text += " (" + pr.Rule + ")"
		}
		out = append(out, text)
	}
	return out
}

// refusalDid says what became of it.
func (e *env) refusalDid(it *refusalItem) string {
	parts := []string{"not acted on"}
	if it.rule() == amp.RuleEpoch {
		parts[0] = "kept, not acted on"
	}
	if t := e.Board.Task(it.TaskID); t != nil {
		parts = append(parts, fmt.Sprintf("%s is %s now", t.ID, statusWord(t.Status)))
	} else if it.TaskID != "" {
		parts = append(parts, "there is no task "+string(it.TaskID))
	}
	switch {
	case it.Turn != "" && it.rule() != amp.RuleEpoch:
		parts = append(parts, "the turn ended with it")
	case it.Turn == "" && it.Source != "ack" && !strings.HasPrefix(it.Source, "turn "):
		parts = append(parts, it.Actor+" was told why")
	}
	return strings.Join(parts, " · ")
}

// refusalNext says what to do about n refusals of one kind.
func (e *env) refusalNext(it *refusalItem, n int) string {
	t := e.Board.Task(it.TaskID)
	switch {
	case it.Role == amp.Admin:
		if t != nil {
			return "look at the task as it is now (t), then decide again"
		}
		return "mend what is named above, then decide again"
	case it.rule() == amp.RuleEpoch:
		return "nothing: after a stop, reports of the old run may still come"
	case t == nil:
		return "nothing waits; if it repeats, see to the program that sends it"
	case t.Status.Ended():
		return "nothing: the task is over"
	}
	for i := range e.Index.Needs {
		if e.Index.Needs[i].TaskID == t.ID {
			return "the task needs you: t opens it, 3 the Inbox"
		}
	}
	if n >= 3 {
		return "it repeats: t opens the task; terminate it, or state the criteria anew"
	}
	return "if it repeats: t opens the task, which can be terminated or given to another agent"
}

// source says where it came from, and how often.
func (p *refusalPage) source(it *refusalItem, g *refusalGroup) string {
	var parts []string
	who := it.Actor
	if it.Role != "" && string(it.Role) != it.Actor {
		who += ", " + string(it.Role)
	}
	if t := p.e.Board.Task(it.TaskID); t != nil && t.Turn != nil && it.Turn == t.Turn.TurnID && t.Turn.PID > 0 {
		who += fmt.Sprintf(", pid %d", t.Turn.PID)
	}
	if it.Epoch > 0 {
		who += fmt.Sprintf(", epoch %d", it.Epoch)
	}
	parts = append(parts, who)
	if it.Source != "" && it.Source != it.Actor && it.Source != "turn "+it.Turn {
		parts = append(parts, it.Source)
	}
	if n := len(g.items); n > 1 {
		first := &p.log.items[g.items[n-1]]
		parts = append(parts, fmt.Sprintf("%s of the same since %s", textsafe.Thousands(n), p.e.Clock(first.At)))
	}
	return strings.Join(parts, " · ")
}

// report is a refusal as text that can be pasted anywhere: nothing in it can move a cursor.
func (p *refusalPage) report(it *refusalItem, g *refusalGroup) string {
	var b strings.Builder
	line := func(label, text string) { fmt.Fprintf(&b, "%-7s %s\n", label, textsafe.Line(text)) }
	line("refusal", fmt.Sprintf("%s %s %s, %s", seqName(it.Seq), it.What, it.TaskID, amp.FormatTime(it.At)))
	for _, at := range problemLines(it) {
		line("at", at)
	}
	line("rule", it.rule()+" "+amp.RuleText(it.rule()))
	line("means", it.Means())
	line("did", p.e.refusalDid(it))
	line("source", p.source(it, g))
	fmt.Fprintf(&b, "raw     %d of %d bytes received\n\n%s\n", len(it.Raw), it.RawLen, visible(it.Raw))
	return b.String()
}

// nothing says why the list is empty.
func (p *refusalPage) nothing(b *ui.Block) {
	b.Blank(1)
	switch {
	case p.reading:
		b.Say(theme.Muted, "  reading …")
	case p.err != nil:
		b.Say(theme.Danger, "  "+p.err.Error())
		b.Say(theme.Muted, "  7 tries again.")
	case p.search.query != "" || p.only != "":
		b.Say(theme.Muted, "  Nothing matches. esc shows all.")
	default:
		b.Para(2, p.e.Theme.S(theme.Muted, "Nothing was refused. What breaks a rule of the protocol is kept here with its raw bytes."))
	}
	if n := len(p.e.errors); n > 0 {
		b.Say(theme.Muted, "  This program had "+plural(n, "error")+" of its own: p shows them.")
	} else {
		b.Say(theme.Muted, "  p shows errors of this program and its log.")
	}
}

package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

const journalRows = 8

// Render draws the lists, and from 120 cells on the preview, beside each other.
func (p *nowPage) Render(w, h int) *ui.Block {
	lw, rw, two := p.e.Split(w, 0.66, 72, 40)
	p.left = -1
	if w < 120 || !two {
		return p.lists(w, h, true).Fit(h)
	}
	if h >= 28 {
		top := ui.Beside(p.lists(lw, h-journalRows-1, false), p.preview(rw, h-journalRows-1))
		return top.Add(p.e.ruleUp(w, lw, "Journal")).Append(p.journal(w, journalRows)).Fit(h)
	}
	p.left = lw
	return ui.Beside(p.lists(lw, h, false), p.preview(rw, h)).Fit(h)
}

func (p *nowPage) lists(w, h int, agents bool) *ui.Block {
	e := p.e
	b := ui.NewBlock(e.Theme, w)
	p.setGap(!agents) // two panes: a blank before the line between them
	needs := e.Index.Needs
	agentRows := 0
	if agents && h >= 14 {
		agentRows = 2
	}
	room := h - agentRows - 3 // two rules and the head of the table
	p.needRows = min(max(len(needs), 1), max(room/2, 1))
	rows := p.needs.Render(w, p.needRows) // drawn before its rule, which says what is seen
	if len(needs) == 0 {
		rows = ui.NewBlock(e.Theme, w).Say(theme.Muted, p.nothing())
	}
	b.Rule(fmt.Sprintf("Needs you %d", len(needs)), p.oldest())
	p.needTop = b.Height()
	b.Append(rows)
	taskRows := max(room-p.needRows, 0)
	p.taskTop = b.Height() + 2
	rows = p.tasks.Render(w, taskRows) // the same
	b.Rule(fmt.Sprintf("Tasks %d", len(e.Board.Tasks)), p.tally(w))
	b.Add(p.taskColumns(w).Head())
	if len(e.Board.Tasks) == 0 {
		rows = ui.NewBlock(e.Theme, w).Say(theme.Muted, "  No task yet. n states a wish.").Fit(taskRows)
	}
	b.Append(rows)
	if agentRows > 0 {
		b.Rule("Agents", p.slots()).Add(p.agentsRow(w))
	}
	return b.Fit(h)
}

// nothing says why the list of needs is empty.
func (p *nowPage) nothing() string {
	if p.e.Conn.phase == connecting {
		return "  The coordinator has not answered yet."
	}
	if p.e.Index.Count(amp.Drafting, amp.Dispatched, amp.Executing, amp.Verifying, amp.Reviewing) > 0 {
		return "  Nothing needs you; the agents work."
	}
	return "  Nothing needs you."
}

func (p *nowPage) oldest() string {
	at := p.e.Index.Oldest
	if at.IsZero() {
		return ""
	}
	text := "oldest " + p.e.Age(at)
	if part := p.needs.Part(); part != "" {
		text = part + " · " + text
	}
	return text
}

// tally counts the tasks by what they do.
func (p *nowPage) tally(w int) string {
	x := p.e.Index
	first, last, n := p.tasks.Seen()
	key := tallyKey{x.Version, w, first, last, n}
	if p.tallied == key {
		return p.tallyText
	}
	var parts []string
	add := func(n int, word string) {
		if n > 0 {
			parts = append(parts, word+" "+strconv.Itoa(n))
		}
	}
	add(x.Count(amp.Dispatched, amp.Executing, amp.Verifying, amp.Reviewing), "working")
	add(x.Count(amp.AwaitingApproval), "awaiting")
	if w >= 90 {
		add(x.Count(amp.Drafting), "drafting")
	}
	add(x.Count(amp.Held, amp.Suspended, amp.Locked), "stopped")
	if w >= 72 {
		parts = append(parts, fmt.Sprintf("✓%d »%d ✗%d", x.Count(amp.StatusApproved), x.Count(amp.Delivered), x.Count(amp.Terminated)))
	}
	if part := p.tasks.Part(); w >= 72 && part != "" {
		parts = append(parts, part)
	}
	p.tallied, p.tallyText = key, strings.Join(parts, " · ")
	return p.tallyText
}

// tallyKey is what the tally depends on.
type tallyKey struct {
	version           uint64
	w, first, last, n int
}

func (p *nowPage) slots() string {
	used := ""
	if p.e.Width < 120 { // a wide screen has a panel of its own for it
		used = " · " + p.e.spentToday()
	}
	if n := p.e.slots(); n > 0 {
		return fmt.Sprintf("%d of %d turns", len(p.e.Index.Running), n) + used
	}
	return plural(len(p.e.Index.Running), "turn") + used
}

func (p *nowPage) agentsRow(w int) string {
	all := p.e.agents()
	if len(all) == 0 {
		return "  " + p.e.Theme.S(theme.Muted, "no agent is at work")
	}
	row := " "
	for i := range all {
		a := &all[i]
		next := " " + ui.Safe(a.name) + " " + p.e.agentText(a) + "  "
		if ui.Width(row)+ui.Width(next) > w-4 {
			return row + p.e.Theme.S(theme.Muted, fmt.Sprintf(" +%d", len(all)-i))
		}
		row += next
	}
	return row
}

// journal is the newest entries, the newest first.
func (p *nowPage) journal(w, rows int) *ui.Block {
	e := p.e
	key := journalKey{e.Board.Head.Seq, w, e.Now.In(e.Zone).YearDay()}
	if p.told != nil && p.toldKey == key {
		return p.told
	}
	b := ui.NewBlock(e.Theme, w)
	for i := len(e.Recent) - 1; i >= 0 && b.Height() < rows; i-- {
		entry := &e.Recent[i]
		l := describe(entry)
		left := "  " + e.Theme.S(theme.Muted, ui.Pad(e.Clock(entry.At), 8)) + "  " + ui.Pad(string(entry.TaskID), 11) + " " +
			e.styledSign(l) + " " + ui.Pad(ui.Safe(l.What), 18) + " " + e.Theme.S(theme.Muted, ui.Pad(ui.Safe(l.who()), 22)) + " " +
			e.lineText(l)
		b.Spread(left, e.Theme.S(theme.Muted, seqName(entry.Seq))+" ")
	}
	p.told, p.toldKey = b.Fit(rows), key
	return p.told
}

// journalKey is what the rows of the journal depend on.
type journalKey struct {
	head   uint64
	w, day int
}

// preview is the right pane: what is under the cursor, and the agents below it.
func (p *nowPage) preview(w, h int) *ui.Block {
	e := p.e
	key := cardKey{p.onTop, p.Subject(), 0, e.Index.Version, w, h, e.Now.Unix(), e.Absolute, e.State, len(e.desk.pace.made)}
	if n := p.need(); n != nil {
		key.need = n.Seq
	}
	if p.card == nil || p.cardKey != key {
		before := e.wake
		e.wake = time.Time{}
		p.card, p.cardKey = p.drawPreview(w, h), key
		p.cardWake, e.wake = e.wake, before
	}
	if !p.cardWake.IsZero() {
		e.WakeAt(p.cardWake)
	}
	return p.card
}

// cardKey is what the right pane depends on.
type cardKey struct {
	onTop    bool
	task     amp.TaskID
	need     uint64
	version  uint64
	w, h     int
	second   int64
	absolute bool
	state    *amp.CoordinatorState
	made     int // decisions of the last minutes that are known
}

func (p *nowPage) drawPreview(w, h int) *ui.Block {
	e := p.e
	panels := p.panels(w, h)
	top := ui.NewBlock(e.Theme, w)
	if n := p.need(); n != nil {
		e.needCard(top, n)
	} else if t := e.Board.Task(p.Subject()); t != nil {
		e.taskCard(top, t)
	}
	return top.Fit(max(h-panels.Height(), 0)).Append(panels).Fit(h)
}

// ruleUp is a titled rule line that closes two panes above it at column x.
func (e *env) ruleUp(w, x int, title string) string {
	return ui.RuleUpLine(e.Theme, w, x, title)
}

// wideCard is what a card needs for the whole word of each status beside its age.
const wideCard = 46

// needCard is a need in short: what it is, whose words, and what happens if nobody does anything.
func (e *env) needCard(b *ui.Block, n *need) {
	t := e.Board.Task(n.TaskID)
	facts := n.What
	if n.Severity != "" {
		facts = string(n.Severity)
	}
	b.Rule(seqName(n.Seq)+" "+string(n.TaskID), facts)
	if t != nil {
		b.Add("  " + ui.Safe(titleOf(t)))
		whole := b.Width() >= wideCard
		b.Spread("  "+e.statusText(t.Status, whole)+e.Theme.S(theme.Muted, fmt.Sprintf(" since %s", e.Age(t.Since))),
			fmt.Sprintf("%d/%d · %s ", t.RejectCount, t.LockAt(), riskOf(t)))
	}
	if n.Kind == amp.NeedHeld || n.Kind == amp.NeedFailed {
		b.Para(2, ui.Safe(n.Text))
	} else if n.Kind != amp.NeedPlan {
		b.Quote(2, n.Text, 6)
	} else if t != nil && t.Plan != nil {
		b.Add("  by " + ui.Safe(t.Plan.Author))
		for i, s := range t.Plan.Subtasks {
			if i == 6 {
				b.Say(theme.Muted, fmt.Sprintf("  and %d more", len(t.Plan.Subtasks)-i))
				break
			}
			b.Add("  " + ui.Safe(s.SubtaskID) + " " + ui.Safe(s.Description))
		}
	}
	b.Blank(1).Field(8, "if idle", ui.Safe(e.idle(n, t)))
	b.Add("  " + e.Theme.S(theme.Key, e.Theme.Signs.Enter) + " open and decide")
}

// taskCard is a task in short.
func (e *env) taskCard(b *ui.Block, t *amp.Task) {
	b.Rule(string(t.ID), fmt.Sprintf("%d/%d · %s", t.RejectCount, t.LockAt(), riskOf(t)))
	b.Add("  " + ui.Safe(titleOf(t)))
	b.Spread("  "+e.statusText(t.Status, true), "with "+ui.Safe(e.withWhom(t))+" ")
	if len(t.Open) > 0 || len(t.Waiting) > 0 {
		b.Field(8, "ack", e.ackText(t, 5))
	}
	if t.Turn != nil {
		b.Field(8, "silent", e.silence(t.Turn.LastAt, false))
		if t.Turn.Text != "" {
			b.Quote(2, t.Turn.Text, 2)
		}
	}
	if t.Plan != nil {
		b.Field(8, "branch", ui.Safe(t.Plan.Branch))
	}
	if t.Hold != nil {
		b.Field(8, "held", ui.Safe(t.Hold.Why))
	}
	b.Add("  " + e.Theme.S(theme.Key, e.Theme.Signs.Enter) + " timeline")
}

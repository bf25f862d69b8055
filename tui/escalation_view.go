package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// lastLines is how many entries a card shows of what happened.
const lastLines = 7

// drawCard draws an item of the Inbox: what happened, what holds, what happens if nobody decides, and the ways out. inside says
// that the numbers are the card's.
func (e *env) drawCard(c *column, n *need, t *amp.Task, cursor string, inside bool) {
	switch n.Kind {
	case amp.NeedEscalation:
		e.drawEscalation(c, n, t)
	case amp.NeedHeld:
		e.drawHold(c, t)
	case amp.NeedQuestion:
		e.drawQuestion(c, n, t)
	case amp.NeedFailed:
		e.drawFailed(c, n, t)
	case amp.NeedDelivery:
		e.drawDelivery(c, t)
	case amp.NeedStopped:
		c.Rule("Stands still  "+ui.Safe(titleOf(t)), string(t.Status))
		e.drawLines(c, t, n.Seq)
	case amp.NeedPlan:
		return
	}
	c.Field(9, "if idle", ui.Safe(e.idle(n, t)))
	e.drawOptions(c, n, t, cursor, inside)
}

func (e *env) drawEscalation(c *column, n *need, t *amp.Task) {
	s := escalationOf(n, t)
	if s == nil {
		return
	}
	c.Rule("What happened  "+ui.Safe(titleOf(t)), string(s.Severity))
	from := string(s.From)
	if s.TriggeredBy != s.From {
		from += ", triggered by " + string(s.TriggeredBy)
	}
	c.Field(9, "from", from+" · executor "+ui.Safe(e.agentOf(t, amp.Executor))+", reviewer "+ui.Safe(e.agentOf(t, amp.Reviewer)))
	c.Quote(2, s.Description, 6)
	f := e.desk.past(t.ID).facts(t)
	switch s.Type {
	case amp.HallucinationLock:
		e.drawRounds(c, t, f)
	case amp.CIFailure:
		e.drawCI(c, t, f)
		e.drawLines(c, t, s.Seq)
	case amp.Conflict:
		e.drawCriteria(c, t, f.lastRound())
	case amp.AckTimeoutEsc, amp.HeartbeatTimeout, amp.BranchViolation, amp.PermissionDenied, amp.UnknownEscalation:
		e.drawLines(c, t, s.Seq)
	}
	e.drawPastError(c, t)
	e.drawStopped(c, t, s)
	if snap, ok := f.snapshots[s.MsgID]; ok {
		last := snap.LastSuccessfulMsgID
		if seq := f.seqs[last]; seq != 0 {
			last = seqName(seq)
		} else if last == "" {
			last = "none"
		}
		c.Field(9, "snapshot", "task_status "+string(snap.TaskStatus)+" · reject_count "+strconv.Itoa(snap.RejectCount)+" · last good "+ui.Safe(last))
	}
	if t.Late > 0 {
		c.Field(9, "late", plural(t.Late, "report")+" of older epochs came: kept, not acted on")
	}
}

// drawStopped is the proof that a suspension holds.
func (e *env) drawStopped(c *column, t *amp.Task, s *amp.EscalationState) {
	th := e.Theme
	switch {
	case !s.Suspended:
		c.Field(9, "stopped", th.S(theme.Muted, "no: "+string(s.Severity)+" lets the task go on"))
	case t.Proof != 0:
		ok := th.S(theme.Good, th.Signs.Yes)
		c.Field(9, "stopped", ok+" processes gone  "+ok+" epoch "+strconv.Itoa(t.Epoch-1)+" fenced  "+ok+" timers frozen  "+seqName(t.Proof))
	default:
		c.Field(9, "stopped", th.S(theme.Time, "? not proven yet that every process is gone"))
	}
}

func (e *env) drawPastError(c *column, t *amp.Task) {
	p := e.desk.past(t.ID)
	switch {
	case p.err != nil:
		c.Say(theme.Danger, "  the entries could not be read: "+p.err.Error())
	case p.upTo == 0:
		c.Say(theme.Muted, "  the entries are being read")
	}
}

// drawRounds are the rejects by round, each with its findings by their stable ids.
func (e *env) drawRounds(c *column, t *amp.Task, f *pastFacts) {
	th := e.Theme
	shown := 0
	for i := range f.rounds {
		r := &f.rounds[i]
		if r.verdict == nil {
			continue
		}
		shown++
		sign := th.S(theme.Danger, th.Signs.No)
		if r.verdict.Decision != amp.Rejected {
			sign = th.S(theme.Good, th.Signs.Yes)
		}
		left := "  " + e.Clock(r.Judgement.At) + "  round " + strconv.Itoa(r.N) + "  " + sign + " " + ui.Safe(findingsOf(t, r.N))
		c.Spread(left, fmt.Sprintf("conf %.2f  %7s ", r.verdict.Confidence, seqName(r.Judgement.Seq)))
	}
	if shown == 0 {
		for _, fd := range t.Findings {
			c.Para(2, fmt.Sprintf("%s %s in rounds %s", ui.Safe(fd.ID), fd.Severity, ints(fd.Rounds)))
		}
	}
	for _, fd := range t.Findings {
		if len(fd.Rounds) > 1 {
			c.Add(fmt.Sprintf("  %s %s  %s:%d  recurs ×%d", th.S(theme.Strong, ui.Safe(fd.ID)), fd.Severity, ui.Safe(fd.File), fd.Line, len(fd.Rounds)))
			c.Quote(4, fd.Description, 2)
		}
	}
}

// findingsOf are the findings of a round: "F2 recurs, F3 major".
func findingsOf(t *amp.Task, n int) string {
	var out []string
	for _, f := range t.Findings {
		switch {
		case !slices.Contains(f.Rounds, n):
			if len(f.Rounds) > 0 && f.Rounds[len(f.Rounds)-1] == n-1 {
				out = append(out, f.ID+" fixed")
			}
		case f.Rounds[0] == n:
			out = append(out, f.ID+" "+string(f.Severity))
		default:
			out = append(out, f.ID+" recurs")
		}
	}
	if len(out) == 0 {
		return "no findings"
	}
	return strings.Join(out, ", ")
}

func ints(list []int) string {
	parts := make([]string, len(list))
	for i, n := range list {
		parts[i] = strconv.Itoa(n)
	}
	return strings.Join(parts, " ")
}

// drawLines are the last entries up to the one that the card is about, and what came after it: a proof, a late report.
func (e *env) drawLines(c *column, t *amp.Task, seq uint64) {
	p := e.desk.past(t.ID)
	entries, known := p.entries, p.facts(t)
	after, _ := slices.BinarySearchFunc(entries, seq+1, func(en amp.Entry, s uint64) int { return cmp.Compare(en.Seq, s) })
	var picked []int
	for i := after - 1; i >= 0 && len(picked) < lastLines-2; i-- {
		if !progress(known.line(&entries[i])) {
			picked = append(picked, i)
		}
	}
	slices.Reverse(picked)
	for i := after; i < len(entries) && len(picked) < lastLines; i++ {
		if !progress(known.line(&entries[i])) {
			picked = append(picked, i)
		}
	}
	for _, i := range picked {
		en := &entries[i]
		c.Spread(e.pastRow(known, en), seqName(en.Seq)+" ")
	}
}

// pastRow is an entry of a past as a card shows it, drawn once in a theme and on a day: the times of another day have a date.
func (e *env) pastRow(f *pastFacts, en *amp.Entry) string {
	if look := (rowLook{e.Theme.Epoch(), e.Now.In(e.Zone).YearDay()}); f.rows == nil || f.look != look {
		f.rows, f.look = map[uint64]string{}, look
	}
	row, ok := f.rows[en.Seq]
	if !ok {
		l := f.line(en)
		row = "  " + e.Clock(en.At) + "  " + e.styledSign(l) + " " + ui.Safe(l.What) + "  " + e.Theme.S(theme.Muted, ui.Safe(l.who())) +
			" " + e.lineText(l)
		f.rows[en.Seq] = row
	}
	return row
}

// progress reports whether an entry says only that a turn is at work.
func progress(l line) bool {
	u, ok := l.body.(*amp.Turn)
	return ok && u.Event == amp.TurnProgress
}

// drawCI are the failing gates with the end of their output.
func (e *env) drawCI(c *column, t *amp.Task, f *pastFacts) {
	ci := t.CI
	if len(ci) == 0 && f.ci != nil {
		ci = f.ci.CI
	}
	for _, k := range sortedKeys(ci) {
		sign := e.Theme.S(theme.Good, e.Theme.Signs.Yes)
		if ci[k] == "failed" {
			sign = e.Theme.S(theme.Danger, e.Theme.Signs.No)
		}
		c.Add("  " + sign + " " + ui.Safe(k) + "  " + ui.Safe(ci[k]))
	}
	if f.ci != nil {
		c.Quote(2, f.ci.Output, 8)
	}
}

// drawFailed is a decision whose time came when the task had moved on.
func (e *env) drawFailed(c *column, n *need, t *amp.Task) {
	i := slices.IndexFunc(t.Failed, func(f amp.NotCarriedOut) bool { return f.Seq == n.Seq })
	if i < 0 {
		return
	}
	f := &t.Failed[i]
	c.Rule("Not carried out  "+ui.Safe(titleOf(t)), string(f.Command))
	c.Field(9, "decided", fmt.Sprintf("%s by %s, %s", f.Command, ui.Safe(f.By), seqName(f.Seq)))
	c.Field(9, "why not", ui.Safe(f.Why))
	if cmd, ok := e.desk.past(t.ID).facts(t).commands[f.CommandID]; ok && cmd.Note != "" {
		c.Field(9, "note", ui.Safe(cmd.Note))
	}
	c.Field(9, "now", ui.Safe(fmt.Sprintf("the task is %s, revision %d", t.Status, t.Revision)))
}

// drawOptions are the numbered ways out, and own words last.
func (e *env) drawOptions(c *column, n *need, t *amp.Task, cursor string, inside bool) {
	th := e.Theme
	title := "Ways out"
	if s := escalationOf(n, t); n.Kind == amp.NeedEscalation && s != nil {
		title = "Suggested by the " + string(s.From)
	}
	if n.Kind == amp.NeedQuestion {
		title = "Answers"
	}
	facts, numbers := "nothing runs until you confirm", theme.Key
	if !inside {
		facts, numbers = "tab, then a number stages", theme.Muted
	}
	c.Rule(title, facts)
	all := e.options(n, t)
	for i, o := range all {
		id := "o" + strconv.Itoa(i+1)
		c.item(id, func() {
			text := ui.Safe(o.Text)
			if o.agent || n.Kind == amp.NeedQuestion && o.run == nil && o.prop.Command == amp.Answer {
				text = ui.Quote(th, o.Text)
			}
			key, note := th.S(numbers, strconv.Itoa(i+1)), th.S(theme.Muted, ui.Safe(o.note))
			if o.off != "" {
				key, text, note = th.S(theme.Disabled, strconv.Itoa(i+1)), th.S(theme.Disabled, ui.Safe(o.Text)), th.S(theme.Disabled, "off: "+ui.Safe(o.off))
			}
			c.Spread(ui.Gutter(th, cursor == id)+key+"  "+text, note+" ")
		})
	}
	own := "own words: any command of this task"
	if n.Kind == amp.NeedQuestion && e.ownAnswer(n, t) != nil {
		own = "own words: your answer"
	}
	c.Add("  " + th.S(theme.Key, "o") + "  " + own)
}

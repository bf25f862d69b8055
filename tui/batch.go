package tui

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
	"arbiter/tui/ui/bar"
)

// batch is an open bar over several approvals of one kind, all of low risk: one command, one entry and one expectation each. It is
// a [sheet]. A plan that moves while the bar is open falls out of it.
type batch struct {
	e      *env
	items  []*batchItem
	bar    *bar.Bar
	opened time.Time
	at     int // the item that is on its way, -1 for none
	done   func(approved []amp.TaskID)
}

// batchItem is one approval of a batch. why is what the coordinator answered, or how the task moved, when it is not approved.
type batchItem struct {
	prop   proposal
	bound  amp.Expects
	cmd    *amp.Command
	stored *amp.Entry
	why    string
}

// batchOff says why a plan cannot go into a batch with others, "" when it can.
func (e *env) batchOff(t *amp.Task, others []amp.TaskID) string {
	p := proposal{Command: amp.Approve, TaskID: t.ID}
	switch {
	case p.off(e) != "":
		return p.off(e)
	case t.Plan.RiskLevel != amp.Low:
		return fmt.Sprintf("%s risk: it is read and approved alone", t.Plan.RiskLevel)
	case len(others) >= bar.MaxBatch:
		return fmt.Sprintf("a batch is %d at most", bar.MaxBatch)
	}
	for _, id := range others {
		if o := e.Board.Task(id); o != nil && o.Plan != nil && startsWork(o) != startsWork(t) {
			return "a batch is of one kind: " + map[bool]string{
				true: "this approval starts work, the marked ones are first of two", false: "this approval is the first of two, the marked ones start work",
			}[startsWork(t)]
		}
	}
	return ""
}

// startsWork reports whether the next approval of a plan starts its work.
func startsWork(t *amp.Task) bool { return !t.Plan.TwoAdmins() || t.First != nil }

// decideBatch opens the bar over the approvals of these plans; done is told which were approved.
func (e *env) decideBatch(ids []amp.TaskID, done func(approved []amp.TaskID)) {
	b := &batch{e: e, opened: e.Now, at: -1, done: done}
	for _, id := range ids {
		p := proposal{Command: amp.Approve, TaskID: id}
		b.items = append(b.items, &batchItem{prop: p, bound: p.expects(e.Board.Task(id))})
	}
	b.bar = bar.Open(b.ask(), "", e.Now)
	e.OpenSheet(b)
}

// open are the items that can still be approved.
func (b *batch) open() []*batchItem {
	return slices.DeleteFunc(slices.Clone(b.items), func(it *batchItem) bool { return it.stored != nil || it.why != "" })
}

// ask is what the bar shows: each plan with what it starts, the sum, and what fell out.
func (b *batch) ask() bar.Ask {
	e := b.e
	open := b.open()
	a := bar.Ask{
		Title: fmt.Sprintf("Approve %s of low risk?", plural(len(open), "plan")), Confirm: "Approve", Count: len(open), Verb: "approve",
		After: "each runs " + seconds(e.undoTime()) + " after that, u takes them back one by one", Off: e.Off(),
	}
	lines, unread, starts := 0, 0, 0
	for _, it := range open {
		t := e.Board.Task(it.prop.TaskID)
		n, left := len(t.Plan.Subtasks), len(it.prop.unread(t, e.desk.reading(t.ID)))
		for _, s := range t.Plan.Subtasks {
			lines += s.EstimatedLines
		}
		unread += left
		if startsWork(t) {
			starts++
		}
		a.Rows = append(a.Rows, bar.Row{Label: "plan", Items: []string{
			fmt.Sprintf("%s %s %s", t.ID, rev(t), t.Title), e.agentOf(t, amp.Executor), fmt.Sprintf("read %d/%d", n-left, n),
			"content " + contractName(t.Plan.Hash),
		}})
	}
	will := []string{plural(len(open), "command") + ", one entry each", fmt.Sprintf("~%d lines in all", lines)}
	if starts > 0 {
		will = append(will, "send each its first subtask, "+e.ackWithin(amp.TaskDispatch))
	} else {
		will = append(will, "count as the first of two approvals")
	}
	if unread > 0 {
		will = append(will, plural(unread, "subtask")+" unread")
	}
	a.Rows = append(a.Rows, bar.Row{Label: "will", Items: will},
		bar.Row{Label: "will not", Items: []string{"merge", "push", "approve a plan that moved"}})
	a.Rows = append(a.Rows, b.results()...)
	switch {
	case b.at >= 0:
		a.Off, a.Note = "it is on its way", fmt.Sprintf("sending %d of %d", b.at+1, len(b.items))
	case len(open) == 0:
		a.Count, a.Off, a.Title = 0, "nothing is left to approve: esc closes", "Approved what could be"
	}
	return a
}

// results are what became of the items that are not open any more.
func (b *batch) results() []bar.Row {
	var out []bar.Row
	for _, it := range b.items {
		switch {
		case it.stored != nil:
			out = append(out, bar.Row{Label: "approved", Items: []string{string(it.prop.TaskID) + " is entry " + seqName(it.stored.Seq)}})
		case it.why != "":
			out = append(out, bar.Row{Label: "refused", Items: []string{string(it.prop.TaskID) + ": " + it.why}})
		}
	}
	return out
}

// refresh drops what moved and shows what is left; a change disarms the bar.
func (b *batch) refresh() {
	for i, it := range b.items {
		if it.stored != nil || it.why != "" || i == b.at {
			continue
		}
		switch t := b.e.Board.Task(it.prop.TaskID); {
		case t == nil || t.Plan == nil:
			it.why = "the task is gone"
		case it.cmd == nil && it.prop.expects(t) != it.bound:
			it.why = fmt.Sprintf("it moved: %s, %s", rev(t), statusWord(t.Status))
		case it.cmd == nil && b.e.Off() == "" && it.prop.off(b.e) != "":
			it.why = it.prop.off(b.e)
		}
	}
	b.bar.Update(b.ask(), b.e.Now)
}

// Key hands a key to the bar.
func (b *batch) Key(k tea.KeyMsg) tea.Cmd {
	if b.at >= 0 {
		if s := k.String(); (s == "esc" || s == "ctrl+c") && b.e.busy != nil {
			b.e.busy.cancel()
		}
		return nil
	}
	b.refresh()
	switch ev := b.bar.Key(k, b.e.Now); ev.Kind {
	case bar.Cancelled:
		b.e.CloseSheet()
	case bar.Confirmed:
		return b.next()
	case bar.NotArmed, bar.Changed, bar.Ignored, bar.Refused:
		if ev.Why != "" {
			b.e.Toast(theme.Time, ev.Why)
		}
	}
	return nil
}

// next sends the next open item, or ends the batch. An item that was sent before keeps its id: it is the same decision.
func (b *batch) next() tea.Cmd {
	e := b.e
	b.at = slices.IndexFunc(b.items, func(it *batchItem) bool { return it.stored == nil && it.why == "" })
	if b.at < 0 {
		return b.end(nil)
	}
	it := b.items[b.at]
	if it.cmd == nil {
		t, x := e.Board.Task(it.prop.TaskID), it.bound
		r := e.desk.reading(it.prop.TaskID)
		unread, parts := len(it.prop.unread(t, r)), len(t.Plan.Subtasks)
		it.cmd = &amp.Command{
			ID: e.newID(), Command: amp.Approve, By: e.Admin, TaskID: it.prop.TaskID, At: e.Now.UTC().Truncate(time.Millisecond), Expects: &x,
			Args: amp.Args{
				Undo: true, Read: r.said(parts, unread), Unread: unread, Parts: parts,
				TookMS: e.Now.Sub(b.opened).Milliseconds() / int64(len(b.items)),
			},
		}
	}
	cmd := e.Submit(*it.cmd, func(en amp.Entry, err error) tea.Cmd { return b.answered(it, en, err) })
	if cmd == nil { // said why
		b.at = -1
	}
	b.bar.Update(b.ask(), e.Now)
	return cmd
}

// answered takes the coordinator's answer to one item. A refusal is listed and the others go on; without a connection the rest
// waits in the bar.
func (b *batch) answered(it *batchItem, en amp.Entry, err error) tea.Cmd {
	refused, isRefusal := errors.AsType[*amp.RefusedError](err)
	switch {
	case err == nil:
		it.stored = &en
	case isRefusal:
		it.why = cmp.Or(problemsOf(refused), "refused")
	default:
		b.at = -1
		return b.end(err)
	}
	return b.next()
}

// end says what became of the batch; the bar stays while something of it is not approved.
func (b *batch) end(err error) tea.Cmd {
	e := b.e
	var approved []amp.TaskID
	refused := 0
	for _, it := range b.items {
		switch {
		case it.stored != nil:
			approved = append(approved, it.prop.TaskID)
			e.desk.last = waitingOf(*it.stored)
		case it.why != "":
			refused++
		}
	}
	b.done(approved)
	text := plural(len(approved), "approval")
	switch {
	case err != nil:
		e.Fail(err)
	case refused > 0:
		e.Toast(theme.Danger, fmt.Sprintf("%s stored, %d refused", text, refused))
	default:
		e.Toast(theme.Good, text+" stored: u takes them back one by one for "+seconds(e.undoTime()))
		if e.sheet == sheet(b) {
			e.CloseSheet()
		}
		return nil
	}
	b.bar.Update(b.ask(), e.Now)
	return nil
}

// Update takes a change of the board.
func (b *batch) Update(msg tea.Msg) tea.Cmd {
	if m, ok := msg.(changedMsg); ok && b.at < 0 {
		if m.All || slices.ContainsFunc(m.Entries, func(en amp.Entry) bool { return b.about(en.TaskID) }) {
			b.refresh()
		}
	}
	return nil
}

func (b *batch) about(id amp.TaskID) bool {
	return slices.ContainsFunc(b.items, func(it *batchItem) bool { return it.prop.TaskID == id })
}

// Height is what the bar needs.
func (b *batch) Height(w int) int { return b.bar.Height(b.e.Theme, w) }

// Render draws the bar, and again when it is armed.
func (b *batch) Render(w, h int) *ui.Block {
	if b.at < 0 {
		b.refresh()
	}
	if at := b.bar.ArmsAt(); b.e.Now.Before(at) {
		b.e.WakeAt(at)
	}
	return b.bar.Render(b.e.Theme, w, h, b.e.Now)
}

// Copy gives the tasks of the batch.
func (b *batch) Copy() (id, text string) {
	var ids []string
	for _, it := range b.items {
		ids = append(ids, string(it.prop.TaskID))
	}
	return strings.Join(ids, " "), strings.Join(ids, "\n")
}

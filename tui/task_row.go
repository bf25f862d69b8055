package tui

import (
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// statusText is the sign and the word of a status, in its role.
func (e *env) statusText(s amp.Status, full bool) string {
	word := statusWord(s)
	if full {
		word = string(s)
	}
	return e.Theme.S(statusRole(s), e.Theme.Signs.Status(string(s))+" "+word)
}

func statusRole(s amp.Status) theme.Role {
	switch s {
	case amp.Locked, amp.Terminated:
		return theme.Danger
	case amp.Suspended, amp.Held, amp.AwaitingApproval:
		return theme.Time
	case amp.StatusApproved, amp.Delivered:
		return theme.Good
	case amp.Drafting, amp.Dispatched, amp.Executing, amp.Verifying, amp.Reviewing:
	}
	return theme.Text
}

// rejectCell is "2/3": amber one before the lock, red at it.
func rejectCell(t *amp.Task) ui.Cell {
	c := ui.Cell{Text: fmt.Sprintf("%d/%d", t.RejectCount, t.LockAt())}
	switch {
	case t.Status == amp.Locked:
		c.Role = theme.Danger
	case t.RejectCount > 0 && t.RejectCount == t.LockAt()-1:
		c.Role = theme.Time
	case t.RejectCount == 0:
		c.Role = theme.Muted
	}
	return c
}

func riskCell(t *amp.Task) ui.Cell {
	c := ui.Cell{Text: riskOf(t)}
	if c.Text == string(amp.High) {
		c.Role = theme.Strong
	}
	return c
}

// dueFirst is the open obligation whose time is over first, nil for none.
func dueFirst(t *amp.Task) *amp.Obligation {
	var first *amp.Obligation
	for i := range t.Open {
		if o := &t.Open[i]; first == nil || o.Deadline().Before(first.Deadline()) {
			first = o
		}
	}
	return first
}

// ackText is the countdown of a task: of its ACK, or of the decision that waits. It asks for the next frame when it
// counts.
func (e *env) ackText(t *amp.Task, cells int) string {
	if len(t.Waiting) > 0 {
		if e.Board.Stopped != nil {
			return "frozen"
		}
		e.Tick()
		return e.Theme.S(theme.Time, "runs "+ui.Clock(t.Waiting[0].Due.Sub(e.Now)))
	}
	o := dueFirst(t)
	switch {
	case o == nil && t.Status == amp.Dispatched && t.Turn == nil: // its message goes out when an agent is free
		return e.muted("queued")
	case o == nil && t.Status.Working() && t.Status != amp.Drafting:
		return e.muted("acked")
	case o == nil:
		return e.muted("--")
	case e.Board.Stopped != nil, t.Status == amp.Suspended, t.Status == amp.Locked, t.Status.Ended():
		return e.muted("frozen")
	}
	e.Tick()
	c := ui.Countdown{Start: o.SentAt, Deadline: o.Deadline(), Redone: o.Redelivered, BarCells: cells}
	return c.Text(e.Theme, e.Now)
}

// muted is a fixed word of the cells that are asked for in every frame.
func (e *env) muted(word string) string {
	if e.words == nil || e.wordsEpoch != e.Theme.Epoch() {
		e.words, e.wordsEpoch = map[string]string{}, e.Theme.Epoch()
	}
	text, ok := e.words[word]
	if !ok {
		text = e.Theme.S(theme.Muted, word)
		e.words[word] = text
	}
	return text
}

// heartbeatLimit is how long a role with an open obligation may be silent (AMP-170).
const heartbeatLimit = 30 * time.Minute

// watchAfter is the silence from which on a turn is worth a look: a live one writes progress every 5 minutes.
const watchAfter = 10 * time.Minute

// silence is how long nothing was written since at, "4/30 min"; from 10 minutes on it says watch. Short leaves the words out.
func (e *env) silence(at time.Time, short bool) string {
	at = e.counted(at)
	d := max(e.Now.Sub(at), 0)
	e.WakeAt(at.Add(d.Truncate(time.Minute) + time.Minute))
	text := fmt.Sprintf("%d/%d", int(d.Minutes()), int(e.heartbeat().Minutes()))
	role, words := theme.Text, " min"
	if d >= watchAfter {
		role, words = theme.Time, " min watch"
	}
	if short {
		words = ""
	}
	return e.Theme.S(role, text+words)
}

// taskColumns is the table of tasks in w cells, with gap blanks at its end.
func taskColumns(th *theme.Theme, w, gap int) *ui.Columns {
	cells := 11
	if w >= 90 {
		cells = 13
	}
	return ui.NewColumns(th, w,
		ui.Column{Title: "TASK", Width: 10, Keep: 8},
		ui.Column{Title: "STATUS", Width: 12, Keep: 10},
		ui.Column{Title: "TITLE", Width: 12, Flex: true, Keep: 9},
		ui.Column{Title: "WITH", Width: 8, Keep: 2},
		ui.Column{Title: "ACK", Width: cells, Keep: 4},
		ui.Column{Title: "REJ", Width: 3, Keep: 3},
		ui.Column{Title: "RISK", Width: 6 + gap, Keep: 1})
}

// taskLine is one row of it.
func (e *env) taskLine(c *ui.Columns, t *amp.Task, selected bool) []ui.Line {
	return []ui.Line{c.Row(selected,
		ui.Cell{Text: string(t.ID)},
		ui.Cell{Styled: e.statusText(t.Status, false)},
		ui.Cell{Text: titleOf(t)},
		ui.Cell{Text: e.withWhom(t)},
		ui.Cell{Live: true},
		rejectCell(t),
		riskCell(t))}
}

// titleOf is the title of a task, or the beginning of its wish before there is one.
func titleOf(t *amp.Task) string {
	switch {
	case t.Title != "":
		return t.Title
	case t.Wish != nil && t.Wish.Text != "":
		return t.Wish.Text
	}
	return "(no title yet)"
}

package tui

import (
	"cmp"
	"fmt"
	"time"

	"arbiter/amp"
)

// undoTime is how long a decision can be taken back, as the coordinator says, else the protocol's ten seconds.
func (e *env) undoTime() time.Duration {
	if e.State != nil && e.State.UndoMS > 0 {
		return time.Duration(e.State.UndoMS) * time.Millisecond
	}
	return 10 * time.Second
}

// ackLimit is the time in which a message of a type must be acknowledged, as configured, else the protocol's.
func (e *env) ackLimit(typ amp.MessageType) time.Duration {
	if e.State != nil && e.State.AckSec[typ] > 0 {
		return time.Duration(e.State.AckSec[typ]) * time.Second
	}
	return typ.AckTimeout()
}

// ackWithin is "ACK in 300 s".
func (e *env) ackWithin(typ amp.MessageType) string {
	return fmt.Sprintf("ACK in %d s", int(e.ackLimit(typ)/time.Second))
}

// heartbeat is how long a role with an open obligation may be silent (AMP-170).
func (e *env) heartbeat() time.Duration {
	if e.State != nil && e.State.HeartbeatSec > 0 {
		return time.Duration(e.State.HeartbeatSec) * time.Second
	}
	return heartbeatLimit
}

// counted is from when a silence since at counts: not while nobody was awake to hear anything.
func (e *env) counted(at time.Time) time.Time {
	if e.State != nil && at.Before(e.State.AwakeSince) {
		return e.State.AwakeSince
	}
	return at
}

// seconds is a short time in words: "10 s", "1m 30s", "500 ms".
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return span(int(d / time.Second))
}

// idle says what happens when nobody decides on what waits, and when: from the state of the task and the clocks that run.
func (e *env) idle(n *need, t *amp.Task) string {
	if t == nil {
		return ""
	}
	text := e.stands(n, t)
	if next := e.itself(t); next != "" {
		return text + "; " + next
	}
	return text
}

// stands says how the task stands as long as nobody decides.
func (e *env) stands(n *need, t *amp.Task) string {
	switch n.Kind {
	case amp.NeedQuestion:
		if q := questionOf(n, t); q != nil {
			return e.lapses(q)
		}
		return ""
	case amp.NeedFailed:
		return "the decision stays undone; the task stays " + statusWord(t.Status)
	case amp.NeedEscalation:
		if t.Status.Working() {
			return "the task goes on as " + statusWord(t.Status)
		}
	case amp.NeedHeld, amp.NeedPlan, amp.NeedDelivery, amp.NeedStopped:
	}
	text := "stays " + statusWord(t.Status) + " until decided: no turn, cost, commit or merge"
	if t.Status == amp.AwaitingApproval && t.First != nil {
		text = "stays awaiting until a second admin decides: one approval alone starts nothing"
	}
	if t.Commit != "" {
		text = "stays " + statusWord(t.Status) + " until decided: no turn, cost, merge; branch at " + short(t.Commit)
	}
	return text
}

// itself is what the coordinator will do about a task by itself next, and when; "" when no clock of the task runs.
func (e *env) itself(t *amp.Task) string {
	if e.Board.Stopped != nil {
		return "everything is stopped: no clock runs until thaw"
	}
	var at time.Time
	what := ""
	earliest := func(due time.Time, text string) {
		if at.IsZero() || due.Before(at) {
			at, what = due, text
		}
	}
	for _, w := range t.Waiting {
		earliest(w.Due, fmt.Sprintf("%s by %s runs", w.Command.Command, cmp.Or(w.Command.By, "somebody")))
	}
	for i := range t.Pauses {
		if p := &t.Pauses[i]; p.Until != nil && p.Until.After(e.Now) {
			earliest(*p.Until, p.Agent+" is tried again")
		}
	}
	if t.Status != amp.Suspended && t.Status != amp.Locked && !t.Status.Ended() && len(t.Questions) == 0 { // else no clock of an agent runs
		for i := range t.Open {
			o := &t.Open[i]
			if !o.Redelivered {
				earliest(o.HalfTime(), fmt.Sprintf("%s is delivered again", o.Type))
			}
			earliest(o.Deadline(), "ack_timeout suspends the task")
		}
		if role, since := t.Duty(); role != "" {
			earliest(e.counted(since).Add(e.heartbeat()), "heartbeat_timeout suspends the task")
		}
	}
	if what == "" {
		return ""
	}
	return what + " at " + e.Clock(at)
}

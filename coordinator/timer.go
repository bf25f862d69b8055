package coordinator

import (
	"time"

	"arbiter/amp"
)

// idle is how long the loop sleeps when no deadline is known, look the longest sleep before a deadline: a machine that was
// suspended wakes with a timer that knows nothing of the time that passed.
const (
	idle = time.Hour
	look = 30 * time.Second
)

// schedule notes when the task must be derived again although nothing happens.
func (c *Coordinator) schedule(t *amp.Task, now time.Time) {
	due := c.due(t, now)
	if due.IsZero() {
		delete(c.deadlines, t.ID)
		return
	}
	if !due.After(now) { // what follows from it is under way, or written down and derived again: this is only in case it is not
		due = now.Add(retryStalled)
	}
	c.deadlines[t.ID] = due
	if c.soonest.IsZero() || due.Before(c.soonest) {
		c.soonest = due
	}
}

// due is the task's earliest deadline, zero when no clock of it runs. Deadlines are computed from the journal, so a restart
// computes the same ones (A19).
func (c *Coordinator) due(t *amp.Task, now time.Time) time.Time {
	if c.board.Stopped != nil || t.Status.Ended() {
		return time.Time{}
	}
	var due time.Time
	earliest := func(at time.Time) {
		if due.IsZero() || at.Before(due) {
			due = at
		}
	}
	for _, w := range t.Waiting {
		earliest(w.Due)
	}
	for i := range t.Questions {
		if q := &t.Questions[i]; q.Expires != nil {
			earliest(*q.Expires)
		}
	}
	for i := range t.Pauses {
		if until := t.Pauses[i].Until; until != nil && until.After(now) {
			earliest(*until)
		}
	}
	if t.Status == amp.Suspended || t.Status == amp.Locked {
		return due
	}
	if len(t.Questions) > 0 {
		return due
	}
	for _, o := range t.Open {
		if o.Redelivered {
			earliest(o.Deadline())
		} else {
			earliest(o.HalfTime())
		}
	}
	if at := t.MissingUntil(); !at.IsZero() {
		earliest(at)
	}
	if role, at := c.silence(t); role != "" {
		earliest(at)
	}
	return due
}

// standstill is how late the loop may look at the clocks before that counts as having been away.
const standstill = time.Minute

// looks notes that the loop looks at the clocks. When that is late, the machine slept, no coordinator ran, or the store did not answer.
func (c *Coordinator) looks(now time.Time) {
	if now.Sub(c.expected) > standstill {
		c.awake = now
	}
	c.expected = now
}

// lastWrote is when anything was written about a task: somebody was awake then.
func (c *Coordinator) lastWrote() (at time.Time) {
	for _, t := range c.board.Tasks {
		if t.LastAt.After(at) {
			at = t.LastAt
		}
	}
	return at
}

// silence is the role that owes work, and when it has written nothing for too long (AMP-170). What it could not write since nobody was awake here
// is no silence.
func (c *Coordinator) silence(t *amp.Task) (amp.Role, time.Time) {
	role, since := t.Duty()
	if since.Before(c.awake) {
		since = c.awake
	}
	return role, since.Add(c.cfg.Heartbeat)
}

// nextDeadline is how long the loop may sleep.
func (c *Coordinator) nextDeadline(now time.Time) time.Duration {
	wait := idle
	if len(c.deadlines) > 0 && !c.soonest.IsZero() {
		wait = min(wait, look, c.soonest.Sub(now))
	}
	if c.stalled.After(now) {
		wait = min(wait, c.stalled.Sub(now))
	}
	return max(0, wait)
}

// markDue derives again the tasks whose deadline has come.
func (c *Coordinator) markDue(now time.Time) {
	if !c.soonest.After(now) {
		c.soonest = time.Time{}
		for id, at := range c.deadlines {
			if !at.After(now) {
				c.dirty[id] = true
			} else if c.soonest.IsZero() || at.Before(c.soonest) {
				c.soonest = at
			}
		}
	}
	if !c.stalled.IsZero() && !now.Before(c.stalled) {
		c.markAll()
	}
}

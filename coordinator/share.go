package coordinator

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/ssot"
)

// now is the time of entries: the store's, when several machines write.
func (c *Coordinator) now() time.Time {
	if c.team == nil {
		return c.cfg.Now()
	}
	return c.cfg.Now().Add(c.team.skew())
}

// under is the lease on a task, nil when there is none, or when none is needed.
func (c *Coordinator) under(id amp.TaskID) *tenure {
	if c.team == nil {
		return nil
	}
	return c.team.tenure(id)
}

// base is the context of what is done for a task under a lease.
func (c *Coordinator) base(h *tenure) context.Context {
	if h == nil {
		return context.Background()
	}
	return h.ctx
}

// mine reports whether this coordinator acts on a task. One that is not, and needs somebody to act, is asked for.
func (c *Coordinator) mine(t *amp.Task) bool {
	if c.team == nil {
		return true
	}
	if c.team.tenure(t.ID) != nil {
		delete(c.wanted, t.ID)
		return true
	}
	c.disown(t.ID)
	if !c.needed(t) {
		delete(c.wanted, t.ID)
		return false
	}
	if _, asked := c.wanted[t.ID]; !asked {
		c.wanted[t.ID] = time.Now()
	}
	return false
}

// disown forgets what was kept for a task.
func (c *Coordinator) disown(id amp.TaskID) {
	c.freed = c.freed || c.reserved[id]
	delete(c.reserved, id)
	delete(c.queued, id)
	delete(c.deadlines, id)
}

// needed reports whether somebody must act on a task, now or when a clock runs out.
func (c *Coordinator) needed(t *amp.Task) bool {
	if t.Turn != nil || !c.due(t, c.now()).IsZero() || c.unpassed(t) {
		return true
	}
	switch {
	case t.Status.Ended():
		return !t.Released && t.Workspace().Repo != "" && t.Round > 0 || len(t.Waiting) > 0 && c.board.Stopped == nil
	case c.board.Stopped != nil:
		return false
	case t.Status == amp.Locked && !t.HasOpen(amp.HallucinationLock), t.Doing != nil:
		return true
	case t.Status == amp.Suspended || t.Status == amp.Locked:
		return t.Proof == 0
	case t.Behind != "":
		return true
	}
	return c.active(t)
}

// active reports whether the next step of a task is one of the loop, not of a person.
func (c *Coordinator) active(t *amp.Task) bool {
	if t.Blocked() != "" || c.board.Stopped != nil {
		return false
	}
	switch t.Status {
	case amp.Drafting:
		return t.Wish != nil
	case amp.Dispatched, amp.Executing:
		return t.Dispatch != nil || t.Next != "" && t.Approval != nil
	case amp.Verifying:
		return t.Result != nil
	case amp.Reviewing:
		return t.Request != nil && t.Verdict == nil
	case amp.AwaitingApproval, amp.Held, amp.Suspended, amp.Locked, amp.StatusApproved, amp.Delivered, amp.Terminated:
	}
	return false
}

// slotted reports whether a task has a turn, or waits for one.
func (c *Coordinator) slotted(t *amp.Task) bool {
	if t.Turn != nil {
		return true
	}
	checked := t.Status == amp.Verifying && t.CI == nil // git and the checks are at work on it
	return c.active(t) && !checked
}

// settleLeases gives tasks back on which nothing is to be done here.
func (c *Coordinator) settleLeases(ids []amp.TaskID) {
	for _, id := range ids {
		t := c.board.Task(id)
		if c.team.tenure(id) == nil || c.needed(t) || c.busy(t) {
			continue
		}
		c.disown(id)
		c.team.leave(id)
	}
	if len(c.wanted) > 0 {
		c.team.wake()
	}
}

// busy reports whether a work or a turn of the task runs in this process.
func (c *Coordinator) busy(t *amp.Task) bool {
	for _, l := range c.live {
		if l.TaskID == t.ID {
			return true
		}
	}
	for _, w := range c.works {
		if w.task == t.ID {
			return true
		}
	}
	return false
}

// enlist makes this coordinator one of its team: it shows itself, measures the clocks, follows the journal and takes tasks, until ctx
// ends. stop gives back what it holds.
func (c *Coordinator) enlist(ctx context.Context) (stop func()) {
	if c.team == nil {
		return func() {}
	}
	c.recallParcels(ctx)
	c.reapLeft(ctx)
	if err := c.reach(ctx, c.team.renew); err != nil {
		c.cfg.Logger.Error("the coordinator cannot take tasks yet", "err", err)
	}
	keeping, end := context.WithCancel(context.Background()) // also while turns are stopped
	var kept sync.WaitGroup
	kept.Go(func() { c.team.keep(keeping) })
	c.wg.Go(func() { c.recruit(ctx) })
	c.wg.Go(func() { c.tidy(ctx) })
	c.wg.Go(func() { c.followOthers(ctx) })
	return func() {
		end()
		kept.Wait()
		bounded, cancel := context.WithTimeout(context.Background(), c.team.ttl/6)
		defer cancel()
		if err := c.team.quit(bounded); err != nil {
			c.cfg.Logger.Warn("leases were not given back; they lapse", "err", err)
		}
	}
}

// reapLeft ends what the process before this one left of its turns. The journal asks for it when such a turn is still open; one that another
// coordinator ended meanwhile is known only by its log here, and what still runs of it would write to a worktree that is used again.
func (c *Coordinator) reapLeft(ctx context.Context) {
	finder, can := c.cfg.Reaper.(providers.Finder)
	if !can {
		return
	}
	ids, err := finder.Left()
	for _, id := range ids {
		if id != filepath.Base(id) {
			continue
		}
		if _, absent := os.Stat(c.logFile(id)); absent != nil {
			continue // another coordinator's
		}
		c.cfg.Logger.Warn("a turn of the process before this one still had processes", "turn", id)
		err = errors.Join(err, c.cfg.Reaper.Reap(ctx, id))
	}
	if err != nil {
		c.cfg.Logger.Error("what the process before this one left of its turns may still run", "err", err)
	}
}

// followOthers lets the loop read what other coordinators append.
func (c *Coordinator) followOthers(ctx context.Context) {
	for ctx.Err() == nil {
		err := c.team.log.Grown(ctx, c.hub.seen())
		if _, damaged := errors.AsType[*ssot.DamagedError](err); err == nil || damaged {
			_, err = c.call(ctx, fromWork, "", func(time.Time) ([]amp.Record, error) { return nil, cmp.Or(c.spoiled(err), c.catchUp(c.life)) })
		}
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(longestRetry):
			}
		}
	}
}

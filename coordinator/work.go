package coordinator

import (
	"cmp"
	"context"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// work is an effect that takes time: git, a check, a diff. It is derived from the board, runs at most once at a time under its
// key, and what it found is judged by the loop like anything else.
type work struct {
	task   amp.TaskID
	epoch  int
	slot   bool
	always bool
	cancel context.CancelFunc
}

// outcome is what a work brings back: run gives the records, after is called when they are stored.
type outcome struct {
	run   func(t *amp.Task, now time.Time) []amp.Record
	after func()
}

// job names a work. A slot is taken by works that lead to a turn; always takes the outcome in even when the task was fenced
// meanwhile.
type job struct {
	key    string
	slot   bool
	always bool
}

// start runs f in a goroutine, under the lease on the task, unless the same work is under way. When f is done, its outcome is taken in
// unless the task was fenced meanwhile. Nothing is started for a task whose lease ended just now: the loop looks at it again.
func (c *Coordinator) start(ctx context.Context, j job, t *amp.Task, f func(ctx context.Context, lease *tenure) outcome) {
	key := j.key
	lease := c.under(t.ID)
	if c.works[key] != nil || c.team != nil && lease == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if lease != nil {
		context.AfterFunc(lease.ctx, cancel)
	}
	w := &work{always: j.always, task: t.ID, epoch: t.Epoch, slot: j.slot, cancel: cancel}
	c.works[key] = w
	id := t.ID
	c.beside.spawn(func() {
		out := f(ctx, lease)
		aborted := ctx.Err() != nil
		cancel()
		r := request{task: id, lease: lease}
		stored := false
		r.run = func(now time.Time) ([]amp.Record, error) {
			delete(c.works, key)
			c.wake(id)
			stored = false
			t := c.board.Task(id)
			late := t.Epoch != w.epoch || c.board.Stopped != nil // it may have been done before it could be stopped
			if aborted || lease.lost() || late && !j.always || out.run == nil {
				return nil, nil
			}
			records := out.run(t, now)
			stored = len(records) > 0
			return records, nil
		}
		r.done = func(_ []ssot.Appended, err error) {
			if stored && err == nil && out.after != nil {
				out.after()
			}
		}
		c.report(r)
	})
}

// wake derives a task again, and with it the tasks that wait for a free slot.
func (c *Coordinator) wake(id amp.TaskID) {
	c.dirty[id] = true
	c.unqueue()
}

// unqueue derives the tasks again that wait for a free slot.
func (c *Coordinator) unqueue() {
	for q := range c.queued {
		c.dirty[q] = true
	}
	clear(c.queued)
}

// reserve keeps a slot for a task whose message is out and whose turn is still to start: its ACK timer runs already.
func (c *Coordinator) reserve(t *amp.Task) {
	owed := t.Turn == nil && t.Blocked() == "" && c.board.Stopped == nil && (t.Dispatch != nil && t.Result == nil &&
		(t.Status == amp.Dispatched || t.Status == amp.Executing) || t.Status == amp.Reviewing && t.Request != nil && t.Verdict == nil)
	if owed {
		c.reserved[t.ID] = true
	} else {
		delete(c.reserved, t.ID)
	}
}

// slotFree reports whether one more turn may start; when not, the task is derived again as soon as a slot is free.
func (c *Coordinator) slotFree(t *amp.Task) bool {
	if c.reserved[t.ID] {
		return true
	}
	used := len(c.live) + len(c.reserved)
	for _, w := range c.works {
		if w.slot && !c.reserved[w.task] {
			used++
		}
	}
	if used < c.cfg.Slots {
		return true
	}
	c.queued[t.ID] = true
	return false
}

// cancelWorks stops the works of a task that were started before it was fenced.
func (c *Coordinator) cancelWorks(t *amp.Task) (running bool) {
	for _, w := range c.works {
		if w.task == t.ID && !w.always && (w.epoch != t.Epoch || c.board.Stopped != nil) {
			w.cancel()
			running = true
		}
	}
	return running
}

func sortByKey(ids []amp.TaskID, b *amp.Board) {
	slices.SortFunc(ids, func(x, y amp.TaskID) int { return cmp.Compare(b.Task(x).Key, b.Task(y).Key) })
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// request is one thing for the loop to judge. run sees the board as every request before it left it, and returns the records
// to append; done is told the outcome from the loop's goroutine and must not block.
type request struct {
	// task is the only task whose state run reads or changes; empty means any.
	task amp.TaskID
	run  func(now time.Time) ([]amp.Record, error)
	done func(appended []ssot.Appended, err error)
}

// maxBatch is how many requests are judged before they are appended together.
const maxBatch = 512

// retryStalled is how long the loop waits before it tries again what the store did not take: a full disk, a refused record.
const retryStalled = time.Second

// Run is the loop. It returns when ctx ends, after every agent was stopped and that was written down, or with the error of a
// store that can no longer be trusted.
func (c *Coordinator) Run(ctx context.Context) error {
	c.started = time.Now()
	c.markAll()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var failed error
	for failed == nil && ctx.Err() == nil {
		if failed = c.settle(ctx); failed != nil {
			break
		}
		timer.Reset(c.nextDeadline(time.Now()))
		select {
		case <-ctx.Done():
		case <-timer.C:
			c.markDue(time.Now())
		case r := <-c.inbox:
			failed = c.take(ctx, r)
		}
	}
	c.shutdown(failed == nil)
	return failed
}

// take judges a request and those that wait behind it, and appends what they ask for at once. A request about a task that an
// earlier one of the batch touches waits for the append, so that it sees the board as that one leaves it.
func (c *Coordinator) take(ctx context.Context, r request) error {
	b := batch{c: c, touched: map[amp.TaskID]bool{}}
	for n := 0; ; n++ {
		if err := b.add(ctx, r); err != nil {
			return err
		}
		if n == maxBatch {
			return b.flush(ctx)
		}
		select {
		case r = <-c.inbox:
		default:
			return b.flush(ctx)
		}
	}
}

type batch struct {
	c       *Coordinator
	records []amp.Record
	replies []reply
	touched map[amp.TaskID]bool
}

type reply struct {
	n    int
	done func([]ssot.Appended, error)
}

func (b *batch) add(ctx context.Context, r request) error {
	if r.task == "" || b.touched[r.task] {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	records, err := r.run(time.Now())
	if err != nil && len(records) == 0 {
		if r.done != nil {
			r.done(nil, err)
		}
		return nil
	}
	b.records = append(b.records, records...)
	refused := err
	b.replies = append(b.replies, reply{n: len(records), done: func(a []ssot.Appended, err error) {
		if r.done == nil {
			return
		}
		if err == nil {
			err = refused
		}
		r.done(a, err)
	}})
	b.touched[r.task] = true
	if r.task == "" {
		return b.flush(ctx)
	}
	return nil
}

func (b *batch) flush(ctx context.Context) error {
	appended, err := b.c.commit(ctx, b.records)
	fatal := err
	if errors.Is(err, ssot.ErrFull) {
		fatal = nil
	}
	at := 0
	for _, r := range b.replies {
		if err != nil {
			r.done(nil, err)
			continue
		}
		r.done(appended[at:at+r.n], nil)
		at += r.n
	}
	b.records, b.replies = nil, nil
	clear(b.touched)
	return fatal
}

// commit appends records and folds what was fresh. Nothing has happened before it returns.
func (c *Coordinator) commit(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	if len(records) == 0 {
		return nil, nil
	}
	appended, err := c.cfg.Log.Append(context.WithoutCancel(ctx), records)
	if err != nil {
		if errors.Is(err, ssot.ErrFull) {
			c.cfg.Logger.Error("the journal's disk is full", "records", len(records))
			c.stalled = time.Now().Add(retryStalled)
		}
		return nil, fmt.Errorf("append to the journal: %w", err)
	}
	c.stalled = time.Time{}
	for _, a := range appended {
		if a.Err != nil {
			c.cfg.Logger.Error("a record was not stored", "id", a.Entry.ID, "err", a.Err)
			c.markAll()                              // what it was for is derived again,
			c.stalled = time.Now().Add(retryStalled) // but not as fast as the machine can
			continue
		}
		if !a.Fresh {
			continue
		}
		if err := c.board.Apply(a.Entry); err != nil {
			return nil, err
		}
		c.answered(&a.Entry)
		if a.Entry.TaskID != "" {
			c.dirty[a.Entry.TaskID] = true
		} else {
			c.markAll()
		}
	}
	c.hub.publish(c.board.Head.Seq)
	return appended, nil
}

// settle derives until nothing new follows from the board.
func (c *Coordinator) settle(ctx context.Context) error {
	for len(c.dirty) > 0 && !time.Now().Before(c.stalled) {
		now := time.Now()
		var records []amp.Record
		stopped := c.board.Stopped != nil
		ids := c.dirtyInOrder()
		for _, id := range ids {
			c.reserve(c.board.Task(id))
		}
		for _, id := range ids {
			records = append(records, c.derive(ctx, c.board.Task(id), now)...)
		}
		clear(c.dirty)
		if len(records) == 0 {
			return nil
		}
		if _, err := c.commit(ctx, records); err != nil {
			if errors.Is(err, ssot.ErrFull) {
				c.markAll()
				return nil
			}
			return err
		}
		if stopped != (c.board.Stopped != nil) {
			c.markAll()
		}
	}
	return nil
}

func (c *Coordinator) dirtyInOrder() []amp.TaskID {
	ids := make([]amp.TaskID, 0, len(c.dirty))
	if len(c.dirty) < 64 {
		for id := range c.dirty {
			if c.board.Task(id) != nil {
				ids = append(ids, id)
			}
		}
		sortByKey(ids, c.board)
		return ids
	}
	for _, id := range c.board.Order {
		if c.dirty[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

func (c *Coordinator) markAll() {
	for _, id := range c.board.Order {
		if t := c.board.Task(id); !t.Status.Ended() || t.Turn != nil || !t.Released {
			c.dirty[id] = true
		}
	}
}

// shutdown stops what runs and writes down how it ended. Turns end as lost: the next coordinator starts them again.
func (c *Coordinator) shutdown(write bool) {
	for _, w := range c.works {
		w.cancel()
	}
	for _, l := range c.live {
		l.stop("the coordinator was stopped")
	}
	gone := make(chan struct{})
	go func() { c.wg.Wait(); close(gone) }()
	ctx := context.Background()
	for {
		select {
		case r := <-c.inbox:
			if !write {
				if r.done != nil {
					r.done(nil, ErrNotRunning)
				}
				continue
			}
			if err := c.take(ctx, r); err != nil {
				c.cfg.Logger.Error("stop", "err", err)
				write = false
			}
		case <-gone:
			close(c.closed)
			return
		}
	}
}

// ask hands a request to the loop.
func (c *Coordinator) ask(ctx context.Context, r request) error {
	select {
	case c.inbox <- r:
		return nil
	case <-c.closed:
		return ErrNotRunning
	case <-ctx.Done():
		return ctx.Err()
	}
}

// call hands a request to the loop and waits for what became of it.
func (c *Coordinator) call(ctx context.Context, task amp.TaskID, run func(now time.Time) ([]amp.Record, error)) ([]ssot.Appended, error) {
	type answer struct {
		appended []ssot.Appended
		err      error
	}
	ch := make(chan answer, 1)
	err := c.ask(ctx, request{task: task, run: run, done: func(a []ssot.Appended, err error) { ch <- answer{a, err} }})
	if err != nil {
		return nil, err
	}
	a := <-ch
	return a.appended, a.err
}

// view lets f read the board in the loop's goroutine. f must not keep what it sees.
func (c *Coordinator) view(ctx context.Context, f func(*amp.Board)) error {
	_, err := c.call(ctx, "", func(time.Time) ([]amp.Record, error) { f(c.board); return nil, nil })
	return err
}

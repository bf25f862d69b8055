package coordinator

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// retryStalled is how long the loop waits before it tries again what the store did not take: a full disk, a refused record.
const retryStalled = time.Second

// Run is the loop. It returns when ctx ends, after every agent was stopped and that was written down, or with the error of a
// store that can no longer be trusted.
func (c *Coordinator) Run(ctx context.Context) error {
	c.started = time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.life = ctx
	c.expected = c.lastWrote()
	stop := c.enlist(ctx)
	defer stop()
	c.markAll()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var failed error
	for failed == nil && ctx.Err() == nil {
		c.looks(c.now())
		if failed = c.settle(ctx); failed != nil {
			break
		}
		if r, waits := c.unpark(); waits {
			failed = c.take(ctx, r)
			continue
		}
		wait := c.nextDeadline(c.now())
		c.expected = c.now().Add(wait)
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
			c.markDue(c.now())
		case r := <-c.inbox:
			failed = c.take(ctx, r)
		}
	}
	write := failed == nil
	if ctx.Err() != nil && errors.Is(failed, ssot.ErrUnreachable) { // nothing is lost: what was under way is derived again by whoever goes on
		c.cfg.Logger.Error("the coordinator ends while the journal's store does not answer", "err", failed)
		failed = nil
	}
	cancel()
	c.shutdown(write)
	return failed
}

// unpark is the next request that was put off while the store did not answer.
func (c *Coordinator) unpark() (r request, waits bool) {
	if len(c.parked) == 0 {
		return r, false
	}
	r = c.parked[0]
	c.parked = c.parked[1:]
	return r, true
}

// commit appends records and folds what was fresh. Nothing has happened before it returns.
func (c *Coordinator) commit(ctx context.Context, records []amp.Record, under []*tenure) ([]ssot.Appended, error) {
	if len(records) == 0 {
		return nil, nil
	}
	begin := time.Now()
	appended, err := c.store(ctx, records, under)
	c.observe(begin, appended, err)
	if err != nil {
		if errors.Is(err, ssot.ErrFull) {
			c.cfg.Logger.Error("the journal's disk is full", "records", len(records))
			c.stalled = c.now().Add(retryStalled)
		}
		return nil, fmt.Errorf("append to the journal: %w", err)
	}
	c.stalled = time.Time{}
	for _, a := range appended {
		if a.Err != nil {
			c.cfg.Logger.Error("a record was not stored", "id", a.Entry.ID, "err", a.Err)
			c.markAll()                           // what it was for is derived again,
			c.stalled = c.now().Add(retryStalled) // but not as fast as the machine can
			continue
		}
		if a.Entry.Seq <= c.board.Head.Seq {
			continue // it was stored before
		}
		if err := c.catchUpTo(ctx, a.Entry.Seq, c.reach); err != nil {
			return nil, err
		}
		if a.Entry.Seq == c.board.Head.Seq+1 {
			if err := c.fold(a.Entry); err != nil {
				return nil, err
			}
		}
	}
	c.hub.publish(c.board.Head.Seq)
	return appended, nil
}

// where names the journal for a person.
func (c *Coordinator) where() string {
	if log, ok := c.cfg.Log.(interface{ Name() string }); ok {
		return log.Name()
	}
	return filepath.Join(c.cfg.Home, "journal.db")
}

// spoiled notes that the journal is not the one that was folded: the loop ends with that, whoever found it out.
func (c *Coordinator) spoiled(err error) error {
	if x, damaged := errors.AsType[*ssot.DamagedError](err); damaged && c.damaged == nil {
		c.damaged = x
	}
	return err
}

// fold takes an entry of the journal into the board, and notes what may follow from it.
func (c *Coordinator) fold(e amp.Entry) error {
	stopped := c.board.Stopped != nil
	if before := c.board.Head; e.PrevHash != before.Hash {
		return c.spoiled(&ssot.DamagedError{Path: c.where(), Seq: e.Seq, Why: fmt.Sprintf("the entry does not follow entry %d as it was read before", before.Seq)})
	}
	if err := c.board.Apply(e); err != nil {
		return err
	}
	c.recent.keep(e)
	c.answered(&e)
	if e.TaskID == "" && e.Kind != amp.KindBus || stopped != (c.board.Stopped != nil) {
		c.markAll()
	}
	if e.TaskID != "" {
		c.dirty[e.TaskID] = true
	}
	return nil
}

// settle derives until nothing new follows from the board.
func (c *Coordinator) settle(ctx context.Context) error {
	if c.damaged != nil {
		return c.damaged
	}
	for len(c.dirty) > 0 && !c.now().Before(c.stalled) {
		now := c.now()
		var records []amp.Record
		var under []*tenure
		ids := c.dirtyInOrder()
		if c.team != nil {
			ids = slices.DeleteFunc(ids, func(id amp.TaskID) bool { return !c.mine(c.board.Task(id)) })
		}
		for _, id := range ids {
			c.reserve(c.board.Task(id))
		}
		for _, id := range ids {
			h := c.under(id)
			if c.team != nil && h == nil { // the lease ended just now
				continue
			}
			if r := c.derive(ctx, c.board.Task(id), now); len(r) > 0 {
				records, under = append(records, r...), append(under, h)
			}
			c.passOn(ctx, c.board.Task(id))
		}
		clear(c.dirty)
		if len(records) == 0 && c.team != nil {
			c.settleLeases(ids)
		}
		if c.freed { // a slot that was kept for a task of somebody else
			c.freed = false
			c.unqueue()
		}
		if len(records) == 0 {
			continue
		}
		if _, err := c.commit(ctx, records, under); err != nil {
			if errors.Is(err, ssot.ErrFull) {
				c.markAll()
				return nil
			}
			for _, id := range ids {
				c.dirty[id] = true
			}
			if !c.rejudged(ctx, err) {
				return err
			}
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
		if t := c.board.Task(id); !t.Status.Ended() || t.Turn != nil || !t.Released || len(t.Waiting) > 0 {
			c.dirty[id] = true
		}
	}
}

// halt tells what runs here to stop, and lets no turn begin any more.
func (c *Coordinator) halt() {
	c.halted = true
	for _, w := range c.works {
		w.cancel()
	}
	for _, l := range c.live {
		l.interrupt("the coordinator was stopped")
	}
}

// shutdown stops what runs and writes down how it ended. Turns end as lost: the next coordinator starts them again.
func (c *Coordinator) shutdown(write bool) {
	c.halt()
	gone := make(chan struct{})
	go func() { c.wg.Wait(); close(gone) }()
	ctx := context.Background()
	if c.team != nil { // a store that does not answer must not keep it from ending
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.team.ttl/2)
		defer cancel()
	}
	c.life = ctx
	last := func(r request) {
		if !write {
			r.tell(nil, ErrNotRunning)
			return
		}
		if err := c.take(ctx, r); err != nil {
			c.cfg.Logger.Error("stop", "err", err)
			write = false
		}
	}
	for {
		for r, waits := c.unpark(); waits; r, waits = c.unpark() {
			last(r)
		}
		select {
		case r := <-c.inbox:
			last(r)
		case <-gone:
			close(c.closed)
			return
		}
	}
}

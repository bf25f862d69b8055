package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// The waits between calls to a store that does not answer.
const (
	firstRetry   = 100 * time.Millisecond
	longestRetry = 2 * time.Second
)

// reach calls the store until it says what became of the call. Meanwhile clients are told that it is out of reach, and what agents and
// git have to say waits: leases end by themselves, see [team].
func (c *Coordinator) reach(ctx context.Context, call func(context.Context) error) error {
	wait := firstRetry
	for {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.team.ttl/3)
		err := call(bounded)
		cancel()
		if settled(err) {
			c.team.answers(nil)
			return err
		}
		if c.team.answers(err) {
			c.cfg.Logger.Error("the journal's store does not answer; it is tried again", "err", err)
		}
		if c.breathe(ctx, wait) != nil {
			return unreachable(err)
		}
		wait = min(2*wait, longestRetry)
	}
}

// unreachable is the error of a store that did not say what became of a call.
func unreachable(err error) error {
	if errors.Is(err, ssot.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w: %w", ssot.ErrUnreachable, err)
}

// breathe waits, and answers what can be answered without the store.
func (c *Coordinator) breathe(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case r := <-c.inbox:
			switch r.from {
			case fromView:
				_, err := r.run(c.now())
				r.done(nil, err)
			case fromClient:
				r.done(nil, ssot.ErrUnreachable)
			default:
				c.parked = append(c.parked, r)
			}
		}
	}
}

// store appends records that were judged on the board of now, see [ssot.Shared].
func (c *Coordinator) store(ctx context.Context, records []amp.Record, under []*tenure) ([]ssot.Appended, error) {
	if c.team == nil {
		return c.cfg.Log.Append(context.WithoutCancel(ctx), records)
	}
	judged := ssot.Judged{Seq: c.board.Head.Seq, Hash: c.board.Head.Hash, Epochs: map[amp.TaskID]uint64{}}
	for _, h := range under {
		if h != nil {
			judged.Epochs[h.Task] = h.Epoch
		}
	}
	var appended []ssot.Appended
	err := c.reach(ctx, func(ctx context.Context) (err error) {
		appended, err = c.team.log.AppendJudged(ctx, judged, records)
		return err
	})
	return appended, err
}

// rejudged reports whether records that were refused are to be judged again, after the board was brought up to date.
func (c *Coordinator) rejudged(ctx context.Context, err error) bool {
	switch {
	case errors.Is(err, ssot.ErrFenced):
		if err := c.reach(ctx, c.team.renew); err != nil {
			return false
		}
	case errors.Is(err, ssot.ErrStale):
	default:
		return false
	}
	return c.catchUp(ctx) == nil
}

// refresh brings the board up to date for what a client sends, who may have seen more of the journal than this coordinator.
func (c *Coordinator) refresh(ctx context.Context) error {
	if c.team == nil {
		return nil
	}
	_, err := c.call(ctx, fromClient, "", func(time.Time) ([]amp.Record, error) { return nil, c.catchUpTo(c.life, 0, c.reachOnce) })
	return err
}

// catchUp folds what others have appended.
func (c *Coordinator) catchUp(ctx context.Context) error { return c.catchUpTo(ctx, 0, c.reach) }

// reacher is a way to call the store.
type reacher func(ctx context.Context, call func(context.Context) error) error

// reachOnce calls the store for a person who waits.
func (c *Coordinator) reachOnce(ctx context.Context, call func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(ctx, c.team.ttl/10)
	defer cancel()
	err := call(bounded)
	if !settled(err) {
		return unreachable(err)
	}
	return err
}

// catchUpTo folds what is in the journal before an entry, all of it for 0.
func (c *Coordinator) catchUpTo(ctx context.Context, before uint64, reach reacher) error {
	if c.team == nil {
		return nil
	}
	for before == 0 || c.board.Head.Seq+1 < before {
		var page []amp.Entry
		err := reach(ctx, func(ctx context.Context) (err error) {
			page, err = c.cfg.Log.Read(ctx, amp.Filter{After: c.board.Head.Seq, Before: before, Limit: ssot.MaxPage})
			return err
		})
		if err != nil {
			return c.spoiled(err)
		}
		for i := range page {
			if err := c.fold(page[i]); err != nil {
				return err
			}
		}
		c.hub.publish(c.board.Head.Seq)
		if len(page) < ssot.MaxPage {
			return nil
		}
	}
	return nil
}

// read reads the journal for a judgement; in the loop.
func (c *Coordinator) read(f amp.Filter) (entries []amp.Entry, err error) {
	if c.team == nil {
		return c.cfg.Log.Read(context.Background(), f)
	}
	err = c.reach(c.life, func(ctx context.Context) (err error) {
		entries, err = c.cfg.Log.Read(ctx, f)
		return err
	})
	return entries, err
}

// lookUp reads the journal for a work outside of the loop. A store that does not answer is no fault of the task: the work waits, until
// its lease ends.
func (c *Coordinator) lookUp(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	for {
		entries, err := c.cfg.Log.Read(ctx, f)
		if c.team == nil || settled(err) || ctx.Err() != nil {
			return entries, err
		}
		select {
		case <-time.After(longestRetry):
		case <-ctx.Done():
		}
	}
}

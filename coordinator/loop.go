package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// request is one thing for the loop to judge. run sees the board as every request before it left it, and returns the records
// to append; it is called again when the board has changed before they were stored. done is told the outcome from the loop's
// goroutine and must not block.
type request struct {
	// task is the only task whose state run reads or changes; empty means any.
	task amp.TaskID
	run  func(now time.Time) ([]amp.Record, error)
	done func(appended []ssot.Appended, err error)
	// lease is what the records depend on, nil when they depend on none.
	lease *tenure
	from  origin
}

// origin is who has a request: that decides whether it can wait for a store that does not answer.
type origin int

const (
	fromWork origin = iota // a turn or a work: it waits
	fromClient
	fromView // it only reads the board
)

// maxBatch is how many requests are judged before they are appended together.
const maxBatch = 512

// retryStalled is how long the loop waits before it tries again what the store did not take: a full disk, a refused record.
const retryStalled = time.Second

// maxRejudged is how often records are judged again because others write about the same task all the time.
const maxRejudged = 20

// Run is the loop. It returns when ctx ends, after every agent was stopped and that was written down, or with the error of a
// store that can no longer be trusted.
func (c *Coordinator) Run(ctx context.Context) error {
	c.started = time.Now()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.life = ctx
	stop := c.enlist(ctx)
	defer stop()
	c.markAll()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var failed error
	for failed == nil && ctx.Err() == nil {
		if failed = c.settle(ctx); failed != nil {
			break
		}
		if r, waits := c.unpark(); waits {
			failed = c.take(ctx, r)
			continue
		}
		timer.Reset(c.nextDeadline(c.now()))
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
	items   []judged
	touched map[amp.TaskID]bool
}

// judged is a request and what was made of it.
type judged struct {
	request
	records []amp.Record
	refused error
}

func (b *batch) add(ctx context.Context, r request) error {
	if r.task == "" || b.touched[r.task] {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	j := judged{request: r}
	j.records, j.refused = r.run(b.c.now())
	if j.refused != nil && len(j.records) == 0 {
		j.tell(nil, j.refused)
		return nil
	}
	b.items = append(b.items, j)
	b.touched[r.task] = true
	if r.task == "" {
		return b.flush(ctx)
	}
	return nil
}

func (j *judged) tell(a []ssot.Appended, err error) {
	if j.done != nil {
		j.done(a, err)
	}
}

func (b *batch) flush(ctx context.Context) error {
	appended, err := b.commit(ctx)
	for range maxRejudged {
		if err == nil || !b.c.rejudged(ctx, err) {
			break
		}
		for i := range b.items {
			j := &b.items[i]
			j.records, j.refused = j.run(b.c.now())
		}
		appended, err = b.commit(ctx)
	}
	fatal := err
	if errors.Is(err, ssot.ErrFull) || errors.Is(err, ssot.ErrStale) || errors.Is(err, ssot.ErrFenced) {
		fatal = nil
	}
	at := 0
	for i := range b.items {
		j := &b.items[i]
		if err != nil {
			if j.task != "" {
				b.c.dirty[j.task] = true
			}
			j.tell(nil, err)
			continue
		}
		n := len(j.records)
		j.tell(appended[at:at+n], j.refused)
		at += n
	}
	b.items = nil
	clear(b.touched)
	return fatal
}

func (b *batch) commit(ctx context.Context) ([]ssot.Appended, error) {
	var records []amp.Record
	var under []*tenure
	for i := range b.items {
		j := &b.items[i]
		records = append(records, j.records...)
		if len(j.records) > 0 && j.lease != nil && !j.lease.lost() {
			under = append(under, j.lease)
		}
	}
	return b.c.commit(ctx, records, under)
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

// fold takes an entry of the journal into the board, and notes what may follow from it.
func (c *Coordinator) fold(e amp.Entry) error {
	stopped := c.board.Stopped != nil
	if err := c.board.Apply(e); err != nil {
		return err
	}
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
	if c.team != nil { // a store that does not answer must not keep it from ending
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.team.ttl/2)
		defer cancel()
	}
	c.life = ctx
	last := func(r request) {
		if !write {
			if r.done != nil {
				r.done(nil, ErrNotRunning)
			}
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
func (c *Coordinator) call(
	ctx context.Context, from origin, task amp.TaskID, run func(now time.Time) ([]amp.Record, error),
) ([]ssot.Appended, error) {
	type answer struct {
		appended []ssot.Appended
		err      error
	}
	ch := make(chan answer, 1)
	err := c.ask(ctx, request{from: from, task: task, run: run, done: func(a []ssot.Appended, err error) { ch <- answer{a, err} }})
	if err != nil {
		return nil, err
	}
	a := <-ch
	return a.appended, a.err
}

// view lets f read the board in the loop's goroutine. f must not keep what it sees.
func (c *Coordinator) view(ctx context.Context, f func(*amp.Board)) error {
	_, err := c.call(ctx, fromView, "", func(time.Time) ([]amp.Record, error) { f(c.board); return nil, nil })
	return err
}

package coordinator

import (
	"context"
	"sync"
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

func (r *request) tell(a []ssot.Appended, err error) {
	if r.done != nil {
		r.done(a, err)
	}
}

// origin is who has a request: that decides whether it can wait for a store that does not answer.
type origin int

const (
	fromWork origin = iota // a turn or a work: it waits
	fromClient
	fromView // it only reads the board
)

// edge is where the loop meets what runs beside it: works, turns and clients. They are [goroutines]; in a simulation one of them
// goes on at a time, in an order that repeats.
type edge interface {
	// spawn runs f beside the loop.
	spawn(f func())
	// hand gives the loop a request to judge. It fails when the loop has ended, or ctx.
	hand(ctx context.Context, r request) error
	// pause waits for a time, or for the end of ctx.
	pause(ctx context.Context, d time.Duration)
}

// goroutines run beside the loop at the same time as it and each other, and reach it through its inbox.
type goroutines struct {
	inbox  chan request
	closed chan struct{} // when the loop has ended
	wg     sync.WaitGroup
}

func newGoroutines() *goroutines {
	return &goroutines{inbox: make(chan request), closed: make(chan struct{})}
}

func (g *goroutines) spawn(f func()) { g.wg.Go(f) }

func (g *goroutines) hand(ctx context.Context, r request) error {
	select {
	case g.inbox <- r:
		return nil
	case <-g.closed:
		return ErrNotRunning
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *goroutines) pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// report hands the loop what a work or a turn came to: it takes requests until every one of them is done.
func (c *Coordinator) report(r request) {
	_ = c.beside.hand(context.Background(), r) // an error says that nobody is left to be told
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
	err := c.beside.hand(ctx, request{from: from, task: task, run: run, done: func(a []ssot.Appended, err error) { ch <- answer{a, err} }})
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

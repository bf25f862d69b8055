package coordinator

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"
)

// errGone unwinds a fiber whose process has died.
var errGone = errors.New("the process is gone")

// fiber is something that runs beside a loop: it goes on when the world lets it, until it hands in a request or waits.
type fiber struct {
	s    *sim
	node *simNode // with whose death it ends, nil for clients
	name string
	next func() (struct{}, bool)
	stop func()
	// yield gives the turn back to the world.
	yield func(struct{}) bool
	// request waits for the loop of to.
	request *request
	to      *simEdge
	lost    bool
	// due is until when it waits, unless ctx ends.
	due  time.Time
	ctx  context.Context //nolint:containedctx // it waits for its end
	done bool
	// chore goes on for as long as its node lives; when is what it waits for besides.
	chore bool
	when  func() bool
}

// spawn makes a fiber that can go on at once.
func (s *sim) spawn(n *simNode, name string, body func()) *fiber {
	f := &fiber{s: s, node: n, name: name}
	f.next, f.stop = iter.Pull(func(yield func(struct{}) bool) {
		f.yield = yield
		defer func() {
			gone := recover()
			if err, is := gone.(error); gone != nil && !(is && errors.Is(err, errGone)) {
				panic(gone)
			}
		}()
		body()
	})
	s.fibers = append(s.fibers, f)
	return f
}

func (f *fiber) ready() bool {
	switch {
	case f.request != nil:
		return f.lost || f.to.n.runs()
	case f.node != nil && f.node.paused, f.when != nil && !f.when():
		return false
	case f.ctx != nil && f.ctx.Err() != nil:
		return true
	}
	return !f.due.After(time.Now())
}

// resume lets the fiber run until it gives the turn back.
func (f *fiber) resume() {
	f.due, f.ctx = time.Time{}, nil
	before := f.s.running
	f.s.running = f
	_, more := f.next()
	f.s.running = before
	if !more {
		f.end()
	}
}

func (f *fiber) end() {
	if f.done {
		return
	}
	f.done = true
	f.stop()
	f.s.fibers = slices.DeleteFunc(f.s.fibers, func(o *fiber) bool { return o == f })
}

// block gives the turn back until the world resumes it.
func (f *fiber) block() {
	if !f.yield(struct{}{}) {
		panic(errGone)
	}
}

// rest lets the running fiber wait.
func (s *sim) rest(ctx context.Context, d time.Duration) {
	f := s.running
	f.due, f.ctx = time.Now().Add(d), ctx
	f.block()
}

// simEdge is the edge of one life of a coordinator.
type simEdge struct{ n *simNode }

func (e *simEdge) spawn(f func()) { e.n.s.spawn(e.n, "beside "+e.n.name, f) }

func (e *simEdge) pause(ctx context.Context, d time.Duration) { e.n.s.rest(ctx, d) }

func (e *simEdge) hand(ctx context.Context, r request) error {
	f := e.n.s.running
	if e.over() {
		return ErrNotRunning
	}
	f.request, f.to, f.lost = &r, e, false
	f.block()
	f.request = nil
	if f.lost {
		return ErrNotRunning
	}
	return ctx.Err()
}

func (e *simEdge) over() bool { return e.n.down || e.n.c.beside != edge(e) }

// Package group is the queue in front of the one writer of a store: appends that wait together are stored together, in one
// transaction and with one sync of the disk.
package group

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

const (
	// Len is how many appends wait at most.
	Len = 4096
	// Batch is how many records are stored together, unless one append alone has more.
	Batch = 512
	// BusyAfter is how long an append waits for a place in the queue.
	BusyAfter = 2 * time.Second
	// IdleAfter is how long nothing is queued before the writer does what it had put off.
	IdleAfter = time.Second
)

// The states of a request.
const (
	queued int32 = iota
	claimed
	abandoned
)

// Request is one append, or one task that needs the writer for itself.
type Request struct {
	Records []amp.Record
	// Facts, if not nil, are the records parsed: work that who appends does, so that the one writer need not.
	Facts []amp.Fact
	// Judged is what the judge of the records had seen, nil for records that were not judged.
	Judged *ssot.Judged
	// Leave lets a context that ends leave the request also when the writer has it, with [ssot.ErrUnreachable]. The writer goes on
	// reading Records and Judged then: the caller does not change them.
	Leave bool
	// Alone, if not nil, is run in place of an append.
	Alone func() error
	// Out and Err are the answer. The writer may set Err for this request alone.
	Out []ssot.Appended
	Err error

	state atomic.Int32
	done  chan struct{}
}

func (r *Request) claim() bool { return r.state.CompareAndSwap(queued, claimed) }

// Queue is what waits for the writer.
type Queue struct {
	// Between, if not nil, is called by Serve when a batch was answered, and with idle when nothing was queued for [IdleAfter] since: for
	// what no answer waits for. It is set before Serve.
	Between func(idle bool)

	c chan *Request

	// Of the goroutine that serves: the appends that it has, those that it serves next, and what needs the writer for itself after them.
	batch, ahead []*Request
	single       *Request
}

// NewQueue is an empty queue.
func NewQueue() *Queue { return &Queue{c: make(chan *Request, Len)} }

// Do queues a request and waits for its answer. It fails with [ssot.ErrBusy] when the queue stays full for [BusyAfter]. A context
// that ends while the request waits takes it back; once the writer has it, its fate is waited for, unless Leave says otherwise.
func (q *Queue) Do(ctx context.Context, r *Request) error {
	r.done = make(chan struct{})
	if err := q.put(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, abandoned) {
			return ctx.Err()
		}
		if r.Leave {
			return fmt.Errorf("%w: %w", ssot.ErrUnreachable, ctx.Err())
		}
		<-r.done
	}
	return r.Err
}

func (q *Queue) put(ctx context.Context, r *Request) error {
	select {
	case q.c <- r:
		return nil
	default:
	}
	full := time.NewTimer(BusyAfter)
	defer full.Stop()
	select {
	case q.c <- r:
		return nil
	case <-full.C:
		return fmt.Errorf("%w: %d appends wait for the disk", ssot.ErrBusy, Len)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends the queue: Serve returns after what waits. Nobody may queue any more.
func (q *Queue) Close() { close(q.c) }

// Serve hands out what waits until the queue is closed. store stores the appends of a batch and sets their Out, and with an error
// stored none of them; it may set the Err of single ones, and take more appends into its batch with [Queue.More].
func (q *Queue) Serve(store func(batch []*Request) error, alone func(f func() error) error) {
	q.batch = make([]*Request, 0, Batch)
	for r, open := q.next(false); open; r, open = q.next(true) {
		q.batch, q.single = q.batch[:0], nil
		q.take(r, &q.batch)
		for batch := q.More(); len(batch) > 0; batch = q.batch {
			q.answer(store(batch))
			q.batch, q.ahead = q.ahead, q.batch[:0]
		}
		if q.single != nil {
			q.single.Err = alone(q.single.Alone)
			close(q.single.done)
		}
		if q.Between != nil {
			q.Between(false)
		}
	}
}

// next waits for a request; it reports false when the queue is closed and empty. served says that there was one before.
func (q *Queue) next(served bool) (r *Request, open bool) {
	if q.Between != nil && served {
		select {
		case r, open = <-q.c:
			return r, open
		default:
		}
		idle := time.NewTimer(IdleAfter)
		defer idle.Stop()
		select {
		case r, open = <-q.c:
			return r, open
		case <-idle.C:
			q.Between(true)
		}
	}
	r, open = <-q.c
	return r, open
}

// More takes what has come meanwhile into the batch that is served, without waiting, and returns all of the batch. Only store calls it.
func (q *Queue) More() []*Request {
	q.more(&q.batch)
	return q.batch
}

// Ahead waits for what comes until the channel is closed, takes it into the batch that is served after this one, and returns what it took. It
// returns none once the channel is closed. Only store calls it.
func (q *Queue) Ahead(until <-chan struct{}) []*Request {
	for q.single == nil && records(q.ahead) < Batch {
		select {
		case r, open := <-q.c:
			if !open {
				<-until
				return nil
			}
			n := len(q.ahead)
			q.take(r, &q.ahead)
			if q.more(&q.ahead); len(q.ahead) > n {
				return q.ahead[n:]
			}
		case <-until:
			return nil
		}
	}
	<-until
	return nil
}

// more takes what has come into a batch that has room.
func (q *Queue) more(batch *[]*Request) {
	for n := records(*batch); q.single == nil && n < Batch; {
		select {
		case r, open := <-q.c:
			if !open {
				return
			}
			n += q.take(r, batch)
		default:
			return
		}
	}
}

func records(batch []*Request) (n int) {
	for _, r := range batch {
		n += len(r.Records)
	}
	return n
}

// take claims a request, and says how many records it adds to the batch.
func (q *Queue) take(r *Request, batch *[]*Request) int {
	switch {
	case !r.claim():
		return 0
	case r.Alone != nil:
		q.single = r
		return 0
	}
	*batch = append(*batch, r)
	return len(r.Records)
}

func (q *Queue) answer(err error) {
	for _, r := range q.batch {
		if err != nil {
			r.Err = err
		}
		if r.Err != nil {
			r.Out = nil
		}
		close(r.done)
	}
}

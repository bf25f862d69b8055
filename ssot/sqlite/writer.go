package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

const (
	queueLen  = 4096
	batchLen  = 512 // records in one transaction, unless one append alone has more
	busyAfter = 2 * time.Second
)

// The states of a request.
const (
	queued int32 = iota
	claimed
	abandoned
)

// request is one Append, or one task that needs the writer's connection for itself.
type request struct {
	records []amp.Record
	alone   func(*writer) error
	state   atomic.Int32
	// out and err are written before done is closed.
	out  []ssot.Appended
	err  error
	done chan struct{}
}

func (r *request) claim() bool { return r.state.CompareAndSwap(queued, claimed) }

// writer owns the one connection that writes, and everything below it. Only its goroutine touches them.
type writer struct {
	*file
	queue chan *request
	ended chan struct{}

	db   *sql.DB
	conn *sql.Conn
	stmt statements
	*projection
	// failed is why nothing is acknowledged any more.
	failed error
	closed error // what closing the connection said, readable when ended is closed
}

// startWriter opens the file for writing and starts the goroutine, which stop ends.
func startWriter(ctx context.Context, f *file) (_ *writer, err error) {
	have, know, err := f.inspect(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{file: f, queue: make(chan *request, queueLen), ended: make(chan struct{})}
	if w.db, err = openWriter(f.path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(f.fault(err), w.release())
		}
	}()
	if have < know {
		if err := migrate(ctx, w.db); err != nil {
			return nil, err
		}
	}
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return nil, err
	}
	if err := checkPragmas(ctx, w.conn); err != nil {
		return nil, err
	}
	if err := w.stmt.prepare(ctx, w.conn); err != nil {
		return nil, err
	}
	head, err := f.checkTail(ctx, w.conn)
	if err != nil {
		return nil, err
	}
	w.projection = newProjection(&w.stmt)
	if err := w.open(head); err != nil {
		return nil, err
	}
	go w.run()
	return w, nil
}

// do queues a request and waits for its answer.
func (w *writer) do(ctx context.Context, r *request) error {
	r.done = make(chan struct{})
	if err := w.put(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(queued, abandoned) {
			return ctx.Err()
		}
		<-r.done
	}
	return r.err
}

func (w *writer) put(ctx context.Context, r *request) error {
	select {
	case w.queue <- r:
		return nil
	default:
	}
	full := time.NewTimer(busyAfter)
	defer full.Stop()
	select {
	case w.queue <- r:
		return nil
	case <-full.C:
		return fmt.Errorf("%w: %d appends wait for the disk", ssot.ErrBusy, queueLen)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends the goroutine after what is queued. Nobody may queue any more.
func (w *writer) stop() error {
	close(w.queue)
	<-w.ended
	return w.closed
}

func (w *writer) run() {
	defer close(w.ended)
	defer func() { w.closed = w.release() }()
	batch := make([]*request, 0, batchLen)
	for r := range w.queue {
		batch, n := batch[:0], 0
		var alone *request
		for more := true; more; {
			switch {
			case !r.claim():
			case r.alone != nil:
				alone = r
			default:
				batch, n = append(batch, r), n+len(r.records)
			}
			if more = alone == nil && n < batchLen; more {
				select {
				case r, more = <-w.queue:
				default:
					more = false
				}
			}
		}
		w.serve(batch)
		if alone != nil {
			w.serveAlone(alone)
		}
	}
}

// serve stores a batch and answers each of its requests.
func (w *writer) serve(batch []*request) {
	if len(batch) == 0 {
		return
	}
	err := w.failed
	if err == nil {
		if err = w.store(batch); err != nil {
			err = w.settle(err)
		}
	}
	for _, r := range batch {
		if err != nil {
			r.out, r.err = nil, err
		}
		close(r.done)
	}
}

func (w *writer) serveAlone(r *request) {
	if r.err = w.failed; r.err == nil {
		if err := r.alone(w); err != nil {
			r.err = w.settle(err)
		}
	}
	close(r.done)
}

// settle translates an error and decides whether the writer goes on. After an error of the disk it does not: the kernel may have
// dropped the pages, and only the file, opened again, knows what was stored.
func (w *writer) settle(err error) error {
	ours := w.fault(err)
	if !passing(ours) {
		if !errors.Is(ours, ssot.ErrFailed) {
			ours = fmt.Errorf("%w: %w", ssot.ErrFailed, ours)
		}
		w.failed = ours
	}
	return ours
}

// release closes the statements, the connection and the file.
func (w *writer) release() error {
	err := w.stmt.close()
	if w.conn != nil {
		err = errors.Join(err, w.conn.Close())
	}
	return errors.Join(err, w.db.Close())
}

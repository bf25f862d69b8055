package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arbiter/ssot"
	"arbiter/ssot/group"
)

// writer owns the one connection that writes, and everything below it. Only its goroutine touches them.
type writer struct {
	*file
	queue *group.Queue
	ended chan struct{}

	db   *sql.DB
	conn *sql.Conn
	stmt statements
	*tables
	recent recent
	// rows are the entries of the batch that are not written yet.
	rows []entryRow
	// full is with how many entries in the tail the tables are written.
	full int
	// failed is why nothing is acknowledged any more.
	failed error
	closed error // what closing the connection said, readable when ended is closed
}

// startWriter opens the file for writing and starts the goroutine, which stop ends.
func startWriter(ctx context.Context, f *file, full int) (_ *writer, err error) {
	have, know, err := f.inspect(ctx)
	if err != nil {
		return nil, err
	}
	w := &writer{file: f, full: full, queue: group.NewQueue(), ended: make(chan struct{})}
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
	w.tables = newTables(&w.stmt)
	if err := w.open(head); err != nil {
		return nil, err
	}
	w.recent.add(w.tail.rows)
	go w.run()
	return w, nil
}

// alone runs f in the writer's goroutine, between transactions, and waits for it.
func (w *writer) alone(ctx context.Context, f func(*writer) error) error {
	return w.queue.Do(ctx, &group.Request{Alone: func() error { return f(w) }})
}

// stop ends the goroutine after what is queued. Nobody may queue any more.
func (w *writer) stop() error {
	w.queue.Close()
	<-w.ended
	return w.closed
}

func (w *writer) run() {
	defer close(w.ended)
	defer func() { w.closed = errors.Join(w.last(), w.release()) }()
	w.queue.Between = w.tend
	w.queue.Serve(func(batch []*group.Request) error {
		return w.serve(func() error { return w.store(batch) })
	}, w.serve)
}

// last writes the tables before the file is closed. For want of room the next open folds what they lack.
func (w *writer) last() error {
	if w.failed != nil {
		return nil // who appended was told
	}
	if err := w.serve(w.flush); err != nil && !passing(err) {
		return err
	}
	return nil
}

// serve runs f unless the writer has failed before.
func (w *writer) serve(f func() error) error {
	if w.failed != nil {
		return w.failed
	}
	if err := f(); err != nil {
		return w.settle(err)
	}
	return nil
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

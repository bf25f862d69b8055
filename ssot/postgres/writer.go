package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
)

// writer owns the one connection that writes, and everything below it. Only its goroutine touches them.
type writer struct {
	*place
	queue   *group.Queue
	ended   chan struct{}
	closing context.Context //nolint:containedctx // ends when nothing is to be waited for any more
	hurry   context.CancelFunc
	// stored is told the head after each transaction.
	stored func(head amp.Head)
	// notify is false on a database that has no NOTIFY.
	notify bool

	conn *pgx.Conn
	*cache
	// opened is the head when the journal was opened; proven is the last entry that records were judged on which the journal was seen to hold.
	opened, proven amp.Head
	// batch is what is being stored.
	batch []*group.Request
	// calm counts the transactions since another writer was last noticed.
	calm int
	// sent is the head of a transaction whose COMMIT was sent and not answered.
	sent *amp.Head
	// failed is why nothing is acknowledged any more.
	failed error
}

// startWriter connects, brings the projections to the head and starts the goroutine, which stop ends.
func startWriter(ctx context.Context, p *place, stored func(amp.Head)) (_ *writer, err error) {
	w := &writer{
		place: p, queue: group.NewQueue(), ended: make(chan struct{}), stored: stored, cache: newCache(),
	}
	w.closing, w.hurry = context.WithCancel(context.Background())
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(p.fault(err), w.drop())
	}
	go w.run()
	return w, nil
}

func (w *writer) run() {
	defer close(w.ended)
	w.queue.Serve(func(batch []*group.Request) error {
		w.batch = batch
		return w.serve(w.store)
	}, func(f func() error) error {
		return w.serve(func(context.Context) error { return f() })
	})
	_ = w.drop() // nothing is under way
}

// alone runs f in the writer's goroutine, between transactions, and waits for it.
func (w *writer) alone(ctx context.Context, f func(*writer) error) error {
	return w.queue.Do(ctx, &group.Request{Alone: func() error { return f(w) }})
}

// stop ends the goroutine after what is queued, which is no longer retried. Nobody may queue any more.
func (w *writer) stop() {
	w.hurry()
	w.queue.Close()
	<-w.ended
}

// serve runs a transaction until it passes, the connection stays away for too long, or it fails for good.
func (w *writer) serve(f func(context.Context) error) error {
	if w.failed != nil {
		return w.failed
	}
	began := time.Now()
	for n := 0; ; n++ {
		err := w.try(f)
		switch {
		case err == nil:
			w.sent = nil
			return nil
		case again(err) && n < 100, code(err) == lockNotAvailable && time.Since(began) < w.patience && w.closing.Err() == nil:
			continue
		case lost(err):
			_ = w.drop() // it is broken
			if time.Since(began) < w.patience && w.pause(n) {
				continue
			}
			unknown := w.sent != nil
			w.sent = nil
			if unknown {
				return w.unreachable(err)
			}
			return fmt.Errorf("%w: nothing was stored: %w", ssot.ErrBusy, w.unreachable(err))
		}
		w.sent = nil
		return w.settle(err)
	}
}

// pause waits before the nth try to connect again, and reports whether there is to be one.
func (w *writer) pause(n int) bool {
	t := time.NewTimer(min(10*time.Millisecond<<min(n, 10), time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-w.closing.Done():
		return false
	}
}

// try runs f on a connection that is there, and leaves none in the middle of a transaction.
func (w *writer) try(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), tryTimeout)
	defer cancel()
	if err := w.connect(ctx); err != nil {
		return err
	}
	err := broken(w.conn, f(ctx))
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && !final(e) {
		w.sent = nil // an answer: it was not committed
	}
	w.revert()
	if w.conn != nil && !w.conn.IsClosed() && w.conn.PgConn().TxStatus() != 'I' {
		if _, rerr := w.conn.Exec(ctx, "ROLLBACK"); rerr != nil {
			_ = w.drop() // the server rolls it back
		}
	}
	return err
}

func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn != nil && !w.conn.IsClosed() {
		return nil
	}
	w.conn, err = pgx.ConnectConfig(ctx, w.cfg)
	if err != nil {
		w.conn = nil
		return err
	}
	quickArrays(w.conn)
	// What is acknowledged is on the disk of the server; what it asks of standbys beyond that stays as it is set.
	var commit string
	if err := w.conn.QueryRow(ctx, "SHOW synchronous_commit").Scan(&commit); err != nil {
		return broken(w.conn, err)
	}
	if commit == "off" {
		if _, err := w.conn.Exec(ctx, "SET synchronous_commit = on"); err != nil {
			return broken(w.conn, err)
		}
	}
	_, err = w.conn.Exec(ctx, quickCompression)
	return broken(w.conn, err)
}

// quickCompression has bodies and states compressed in a fraction of the time where the database can: its usual way takes a quarter of what an
// append does there.
const quickCompression = `SELECT set_config(name, 'lz4', false) FROM pg_settings WHERE name = 'default_toast_compression' AND 'lz4' = ANY (enumvals)`

func (w *writer) drop() error {
	if w.conn == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := w.conn.Close(ctx)
	w.conn = nil
	return err
}

// settle translates an error and decides whether the writer goes on.
func (w *writer) settle(err error) error {
	ours := w.fault(err)
	if errors.Is(ours, context.Canceled) || errors.Is(ours, context.DeadlineExceeded) {
		return ours
	}
	if !passing(ours) {
		if !errors.Is(ours, ssot.ErrFailed) {
			ours = fmt.Errorf("%w: %w", ssot.ErrFailed, ours)
		}
		w.failed = ours
	}
	return ours
}

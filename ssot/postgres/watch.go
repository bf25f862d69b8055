package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"arbiter/amp"
	"arbiter/ssot"
)

// pollEvery is how often the head is looked at without a hint.
const pollEvery = time.Second

// watcher knows how far the journal is. Its goroutine starts with the first who waits, and listens on a connection of its own.
type watcher struct {
	*place
	mu   sync.Mutex
	head amp.Head
	// damaged is why the journal is not the one that had the head.
	damaged error
	moved   chan struct{} // closed when head moves, or damaged is set
	started bool
	ctx     context.Context //nolint:containedctx // of the goroutine, which stop ends
	cancel  context.CancelFunc
	ended   chan struct{}
}

func newWatcher(p *place) *watcher {
	w := &watcher{place: p, moved: make(chan struct{}), ended: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// stored notes a head that was seen.
func (w *watcher) stored(head amp.Head) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if head.Seq > w.head.Seq {
		w.head = head
		w.wake()
	}
}

// lost notes that the journal does not hold any more what it held.
func (w *watcher) lost(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.damaged = err
	w.wake()
}

func (w *watcher) wake() {
	close(w.moved)
	w.moved = make(chan struct{})
}

func (w *watcher) stop() {
	w.cancel()
	w.mu.Lock()
	started := w.started
	w.started = true
	w.mu.Unlock()
	if started {
		<-w.ended
	} else {
		close(w.ended)
	}
}

// Grown returns when the head is beyond after, as [ssot.Shared] says.
func (l *Log) Grown(ctx context.Context, after uint64) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	return l.watcher.wait(ctx, after)
}

func (w *watcher) wait(ctx context.Context, after uint64) error {
	for {
		w.mu.Lock()
		head, damaged, moved := w.head.Seq, w.damaged, w.moved
		if !w.started {
			w.started = true
			go w.run()
		}
		w.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case damaged != nil:
			return damaged
		case head > after:
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.ctx.Done():
			return ssot.ErrClosed
		}
	}
}

// run watches until it is stopped. A connection that broke is opened again within pollEvery.
func (w *watcher) run() {
	defer close(w.ended)
	for w.ctx.Err() == nil {
		_ = w.listen() // what is wrong with the database, those who write and read are told
		select {
		case <-time.After(pollEvery / 2):
		case <-w.ctx.Done():
		}
	}
}

// listen looks at the head after each announcement, and every pollEvery, until the connection breaks.
func (w *watcher) listen() error {
	cfg := w.cfg.Copy()
	heard := false
	cfg.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { heard = true }
	conn, err := pgx.ConnectConfig(w.ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx) // it only listened
	}()
	_, _ = conn.Exec(w.ctx, "LISTEN "+channel(w.schema)) // without it, the head is polled
	for {
		heard = false
		if err := w.within(2*pollEvery, func(ctx context.Context) error { return w.look(ctx, conn) }); err != nil {
			return err
		}
		if heard { // while the head was read
			continue
		}
		err := w.within(pollEvery, conn.PgConn().WaitForNotification)
		if err != nil && (w.ctx.Err() != nil || conn.IsClosed()) {
			return err
		}
	}
}

// look reads the head, and whether the journal still has the one before: not of a standby, which is behind for a moment and gets it yet.
func (w *watcher) look(ctx context.Context, conn *pgx.Conn) error {
	w.mu.Lock()
	before := w.head
	w.mu.Unlock()
	var seq int64
	var hash, there []byte
	err := conn.QueryRow(ctx, `SELECT seq, hash, CASE WHEN seq > $1 THEN (SELECT e.hash FROM entry e WHERE e.seq = $1) END FROM head WHERE one = 1`,
		int64(before.Seq)).Scan(&seq, &hash, &there)
	if err != nil {
		return err
	}
	head := amp.Head{Seq: uint64(seq)}
	copy(head.Hash[:], hash)
	if head.Seq == before.Seq {
		there = hash
	}
	why := goneBack(before, head.Seq, there)
	if why == "" {
		w.stored(head)
		return nil
	}
	var standby bool
	if err := conn.QueryRow(ctx, "SELECT pg_is_in_recovery()").Scan(&standby); err != nil || standby {
		return err
	}
	w.lost(&ssot.DamagedError{Path: w.name, Seq: min(head.Seq+1, before.Seq), Why: why})
	return nil
}

func (w *watcher) within(d time.Duration, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(w.ctx, d)
	defer cancel()
	return f(ctx)
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
)

var (
	_ ssot.Shared  = (*Log)(nil)
	_ ssot.Boarder = (*Log)(nil)
)

// readers is how many connections read at once.
const readers = 4

// Log is a journal in a PostgreSQL database. It is safe for concurrent use, also of other processes.
type Log struct {
	*place
	gate
	pool    *pgxpool.Pool
	writer  *writer // nil when opened for reading
	watcher *watcher

	// indexed is the last entry in the index of searches; indexer ends when nobody adds to it here any more.
	indexed  atomic.Uint64
	indexer  sync.WaitGroup
	unfollow context.CancelFunc
}

// Open opens a journal for writing, and makes schema and tables when there are none and the role may. It checks the chain of the last
// 1,000 entries; [Log.Verify] checks all of it. The errors to tell apart are *[UnreachableError], *[RightsError], *[ssot.DamagedError]
// and *[ssot.NewerError]. The caller closes the log.
func Open(ctx context.Context, opts Options) (_ *Log, err error) {
	l, have, know, err := newLog(ctx, opts)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.release()
		}
	}()
	if have < know {
		if err := l.migrate(ctx); err != nil {
			return nil, fmt.Errorf("prepare the journal: %w", l.fault(err))
		}
	}
	if l.writer, err = startWriter(ctx, l.place, l.watcher.stored); err != nil {
		return nil, err
	}
	if opts.Index {
		var follow context.Context
		follow, l.unfollow = context.WithCancel(context.WithoutCancel(ctx))
		l.indexer.Go(func() { l.follow(follow) })
	}
	return l, nil
}

// OpenReadOnly opens a journal for reading, which needs no more rights than that. The caller closes the log.
func OpenReadOnly(ctx context.Context, opts Options) (*Log, error) {
	l, have, know, err := newLog(ctx, opts)
	if err != nil {
		return nil, err
	}
	switch {
	case have == 0:
		err = &NotThereError{Store: l.name}
	case have < know:
		err = &ssot.OlderError{Path: l.name, Have: have, Know: know}
	}
	if err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// NotThereError says that there is no journal in a database, or none that the role may see.
type NotThereError struct{ Store string }

// Error names the database.
func (e *NotThereError) Error() string { return "there is no journal in " + e.Store }

func newLog(ctx context.Context, opts Options) (_ *Log, have, know int64, err error) {
	p, err := locate(opts)
	if err != nil {
		return nil, 0, 0, err
	}
	cfg, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, 0, 0, errors.New("the variables of the environment for PostgreSQL cannot be read")
	}
	cfg.ConnConfig, cfg.MaxConns = p.cfg, readers
	l := &Log{place: p, watcher: newWatcher(p)}
	if l.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, 0, 0, p.fault(err)
	}
	if have, know, err = p.inspect(ctx, l.pool); err != nil {
		l.release()
		return nil, 0, 0, p.fault(err)
	}
	return l, have, know, nil
}

// Name says where the journal is, without a password.
func (l *Log) Name() string { return l.name }

// Append stores the records as [ssot.Log] says. When the queue stays full for 2 seconds, or the database stays away and nothing was
// sent, it fails with [ssot.ErrBusy]; when records were sent and the answer stays away, with [ssot.ErrUnreachable], also when ctx ends
// meanwhile. The records are not changed even then, since they may still be on their way.
func (l *Log) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	return l.append(ctx, &group.Request{Records: records})
}

// AppendJudged stores the records as [ssot.Shared] says, and fails as Append does.
func (l *Log) AppendJudged(ctx context.Context, j ssot.Judged, records []amp.Record) ([]ssot.Appended, error) {
	return l.append(ctx, &group.Request{Records: records, Judged: &j})
}

func (l *Log) append(ctx context.Context, r *group.Request) ([]ssot.Appended, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if l.writer == nil {
		return nil, ssot.ErrReadOnly
	}
	if err := ctx.Err(); err != nil || len(r.Records) == 0 {
		return nil, err
	}
	r.Leave, r.Facts = true, make([]amp.Fact, len(r.Records))
	for i := range r.Records {
		r.Facts[i] = amp.Parse(&r.Records[i])
	}
	if err := l.writer.queue.Do(ctx, r); err != nil {
		return nil, err
	}
	return r.Out, nil
}

// Close waits for the appends and reads under way, then closes the connections.
func (l *Log) Close() error {
	if !l.shut(l.hurry) {
		return ssot.ErrClosed
	}
	l.release()
	return nil
}

// hurry ends what waits for the database or for others.
func (l *Log) hurry() {
	l.watcher.stop()
	if l.writer != nil {
		l.writer.hurry()
	}
}

func (l *Log) release() {
	if l.unfollow != nil {
		l.unfollow()
	}
	l.watcher.stop()
	l.indexer.Wait()
	if l.writer != nil {
		l.writer.stop()
	}
	if l.pool != nil {
		l.pool.Close()
	}
}

// gate counts who is inside, and closes when all have left.
type gate struct {
	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup
}

func (g *gate) enter() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ssot.ErrClosed
	}
	g.inside.Add(1)
	return nil
}

func (g *gate) leave() { g.inside.Done() }

// shut lets nobody in any more, hurries those inside and waits for them. It reports false when that was done before.
func (g *gate) shut(hurry func()) bool {
	g.mu.Lock()
	closed := g.closed
	g.closed = true
	g.mu.Unlock()
	if closed {
		return false
	}
	hurry()
	g.inside.Wait()
	return true
}

// Package memory is a journal that lives in memory: for tests, and for what need not outlive the process. It passes the same
// conformance suite as the durable stores and works inside a testing/synctest bubble.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

var (
	_ ssot.Shared  = (*Log)(nil)
	_ ssot.Boarder = (*Log)(nil)
)

// Log is a journal in memory, which several coordinators of one process may share. It is safe for concurrent use; New makes one.
type Log struct {
	mu      sync.RWMutex
	closed  bool
	entries []amp.Entry
	byID    map[string]int
	board   *amp.Board
	now     func() time.Time
	// lastOf is the last entry of each task, lastAll the last one that concerns every task.
	lastOf  map[amp.TaskID]uint64
	lastAll uint64
	// grown is closed when the log grows or is closed.
	grown  chan struct{}
	leases map[amp.TaskID]ssot.Lease
	epoch  uint64 // the last one that was given out
}

// New is an empty journal. Its leases go by the clock of the process, which in a testing/synctest bubble is the bubble's.
func New() *Log { return NewAt(time.Now) }

// NewAt is an empty journal whose leases go by a clock of the caller's.
func NewAt(now func() time.Time) *Log {
	return &Log{
		byID: map[string]int{}, board: amp.NewBoard(), now: now, lastOf: map[amp.TaskID]uint64{}, grown: make(chan struct{}),
		leases: map[amp.TaskID]ssot.Lease{},
	}
}

// Append stores the records as [ssot.Log] says.
func (l *Log) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	return l.appendAll(records), nil
}

func (l *Log) appendAll(records []amp.Record) []ssot.Appended {
	before := len(l.entries)
	out := make([]ssot.Appended, len(records))
	for i := range records {
		out[i] = l.append(&records[i])
	}
	if len(l.entries) > before {
		close(l.grown)
		l.grown = make(chan struct{})
	}
	return out
}

func (l *Log) append(r *amp.Record) ssot.Appended {
	if k, known := l.byID[r.ID]; known {
		stored := &l.entries[k]
		if !ssot.Same(stored, r) {
			return ssot.Appended{Entry: own(stored), Err: fmt.Errorf("record %s: %w", r.ID, ssot.ErrConflict)}
		}
		return ssot.Appended{Entry: own(stored)}
	}
	if err := ssot.CheckRecord(r); err != nil {
		return ssot.Appended{Err: err}
	}
	rec := *r
	rec.Body = bytes.Clone(r.Body)
	e := l.board.Head.Chain(rec)
	if err := l.fold(e); err != nil {
		return ssot.Appended{Err: fmt.Errorf("%w: %w", ssot.ErrInvalid, err)}
	}
	return ssot.Appended{Entry: own(&e), Fresh: true}
}

func (l *Log) fold(e amp.Entry) error {
	stopped := l.board.Stopped
	if err := l.board.Apply(e); err != nil {
		return err
	}
	l.byID[e.ID] = len(l.entries)
	l.entries = append(l.entries, e)
	if e.TaskID != "" {
		l.lastOf[e.TaskID] = e.Seq
	}
	if l.board.Stopped != stopped || e.Kind == amp.KindCommand && e.TaskID == "" {
		l.lastAll = e.Seq
	}
	return nil
}

// Read returns the entries that the filter selects.
func (l *Log) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	n := uint64(len(l.entries))
	from, to := min(f.After, n), n
	if f.Before != 0 && f.Before <= n {
		to = f.Before - 1
	}
	if f.ID != "" {
		i, known := l.byID[f.ID]
		from, to = max(from, uint64(i)), min(to, uint64(i)+1)
		if !known {
			to = from
		}
	}
	var out []amp.Entry
	limit := ssot.Limit(&f)
	for k := range max(to, from) - from {
		i := from + k
		if f.Newest {
			i = to - 1 - k
		}
		if e := &l.entries[i]; ssot.Match(&f, e) {
			if out = append(out, own(e)); len(out) == limit {
				break
			}
		}
	}
	return out, nil
}

// Head is the last entry's seq and hash.
func (l *Log) Head(ctx context.Context) (amp.Head, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.ready(ctx); err != nil {
		return amp.Head{}, err
	}
	return l.board.Head, nil
}

// Board is the fold of all entries. The caller owns it.
func (l *Log) Board(ctx context.Context) (*amp.Board, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	b, err := amp.DecodeBody[amp.Board](&amp.Entry{Record: amp.Record{Body: amp.EncodeBody(l.board)}})
	if err != nil {
		return nil, fmt.Errorf("copy the board: %w", err)
	}
	return &b, nil
}

// Close ends the log; what it held stays readable through [Log.Reopen] only.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ssot.ErrClosed
	}
	l.closed = true
	close(l.grown)
	return nil
}

// Reopen is a new log with the same entries and clock, as after a restart; leases are lost. Entries appended to one are not seen by
// the other.
func (l *Log) Reopen() (*Log, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n := NewAt(l.now)
	n.epoch = l.epoch
	for _, e := range l.entries {
		if err := n.fold(e); err != nil {
			return nil, err
		}
	}
	n.entries = slices.Clip(n.entries)
	return n, nil
}

func (l *Log) ready(ctx context.Context) error {
	if l.closed {
		return ssot.ErrClosed
	}
	return ctx.Err()
}

// own is a copy whose body the caller may change.
func own(e *amp.Entry) amp.Entry {
	c := *e
	c.Body = bytes.Clone(e.Body)
	return c
}

// Package memory is a journal that lives in memory: for tests, and for what need not outlive the process. It passes the same
// conformance suite as the durable stores and works inside a testing/synctest bubble.
package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"arbiter/amp"
	"arbiter/ssot"
)

var (
	_ ssot.Log     = (*Log)(nil)
	_ ssot.Boarder = (*Log)(nil)
)

// Log is a journal in memory. It is safe for concurrent use; New makes one.
type Log struct {
	mu      sync.RWMutex
	closed  bool
	entries []amp.Entry
	byID    map[string]int
	board   *amp.Board
}

// New is an empty journal.
func New() *Log {
	return &Log{byID: map[string]int{}, board: amp.NewBoard()}
}

// Append stores the records as [ssot.Log] says.
func (l *Log) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	out := make([]ssot.Appended, len(records))
	for i := range records {
		out[i] = l.append(&records[i])
	}
	return out, nil
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
	if err := l.board.Apply(e); err != nil {
		return ssot.Appended{Err: fmt.Errorf("%w: %w", ssot.ErrInvalid, err)}
	}
	l.byID[e.ID] = len(l.entries)
	l.entries = append(l.entries, e)
	return ssot.Appended{Entry: own(&e), Fresh: true}
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
	return nil
}

// Reopen is a new log with the same entries, as after a restart. Entries appended to one are not seen by the other.
func (l *Log) Reopen() (*Log, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	n := New()
	for _, e := range l.entries {
		if err := n.board.Apply(e); err != nil {
			return nil, err
		}
		n.byID[e.ID] = len(n.entries)
		n.entries = append(n.entries, e)
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

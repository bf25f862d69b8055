package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/search"
)

// Read returns the entries that the filter selects. Positions, tasks and ids are found by index, kinds, roles and times by the
// database entry by entry; words and texts are found by the index of searches as far as it reaches, and looked for here.
func (l *Log) Read(ctx context.Context, f amp.Filter) (out []amp.Entry, err error) {
	err = l.reading(ctx, func(ctx context.Context) error {
		if f.Text == "" && f.Search.Empty() {
			out, err = l.selected(ctx, &f, ssot.Limit(&f))
			return err
		}
		found, err := l.find(ctx, &f, false)
		out = found.Entries
		return err
	})
	return out, err
}

// selected are the entries of a filter that the database can compare.
func (l *Log) selected(ctx context.Context, f *amp.Filter, n int) ([]amp.Entry, error) {
	q := selecting(selectEntry, f)
	q.add("ORDER BY e.seq" + q.order + " LIMIT " + q.arg(n))
	rows, err := l.pool.Query(ctx, q.String(), q.args...)
	if err != nil {
		return nil, err
	}
	return entriesIf(rows, -1, every)
}

// reading runs a read that may be repeated, until the database stays away for too long.
func (l *Log) reading(ctx context.Context, f func(context.Context) error) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	began := time.Now()
	for n := 0; ; n++ {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if gone(err) && time.Since(began) < l.patience && l.watcher.pause(ctx, n) {
			continue
		}
		if gone(err) {
			return fmt.Errorf("read the journal: %w", l.unreachable(err))
		}
		return fmt.Errorf("read the journal: %w", l.fault(err))
	}
}

// gone reports whether a read failed for want of a connection: of its errors, all that neither the database nor we gave.
func gone(err error) bool {
	_, damaged := errors.AsType[*ssot.DamagedError](err)
	_, rights := errors.AsType[*RightsError](err)
	_, form := errors.AsType[pgx.ScanArgError](err)
	return !damaged && !rights && !form && (lost(err) || code(err) == "" && !errors.Is(err, pgx.ErrNoRows))
}

// pause waits before the nth try, and reports whether there is to be one.
func (w *watcher) pause(ctx context.Context, n int) bool {
	t := time.NewTimer(min(10*time.Millisecond<<min(n, 10), time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-w.ctx.Done():
	}
	return false
}

// sentence is a statement under way.
type sentence struct {
	strings.Builder
	args  []any
	order string
}

func (q *sentence) add(text string) { q.WriteString(" " + text) }

func (q *sentence) arg(v any) string {
	q.args = append(q.args, v)
	return fmt.Sprintf("$%d", len(q.args))
}

// selecting is a statement that selects what the database can compare of a filter: never less than the filter.
func selecting(what string, f *amp.Filter) *sentence {
	q := &sentence{}
	q.WriteString(what + "WHERE true")
	if f.After != 0 {
		q.add("AND e.seq > " + q.arg(int64(f.After)))
	}
	if f.Before != 0 {
		q.add("AND e.seq < " + q.arg(int64(f.Before)))
	}
	if f.TaskID != "" {
		q.add("AND e.task = (SELECT key FROM task_key WHERE task_id = " + q.arg([]byte(f.TaskID)) + ")")
	}
	if f.ID != "" {
		q.add("AND e.id = " + q.arg([]byte(f.ID)))
	}
	q.kinds(f.Kinds)
	if s := f.Search; s != nil {
		q.kinds(s.Kinds)
		if len(s.Roles) > 0 {
			q.add("AND e.role = ANY (" + q.arg(texts(s.Roles)) + ")")
		}
		if len(s.Tasks) > 0 {
			q.add("AND e.task IN (SELECT key FROM task_key WHERE task_id = ANY (" + q.arg(texts(s.Tasks)) + "))")
		}
		if from, to := search.Times(s); from != math.MinInt64 || to != math.MaxInt64 {
			q.add("AND e.at >= " + q.arg(from) + " AND e.at < " + q.arg(to))
		}
	}
	if f.Newest {
		q.order = " DESC"
	}
	return q
}

func (q *sentence) kinds(kinds []amp.Kind) {
	if len(kinds) == 0 {
		return
	}
	all := make([]string, 0, len(kinds))
	for _, k := range kinds {
		if !strings.Contains(string(k), "\x00") { // which a text of the database cannot have
			all = append(all, strings.ToValidUTF8(string(k), "?"))
		}
	}
	q.add("AND e.kind = ANY (" + q.arg(all) + ")")
}

// Head is the last entry's seq and hash.
func (l *Log) Head(ctx context.Context) (h amp.Head, err error) {
	err = l.reading(ctx, func(ctx context.Context) error {
		var seq int64
		var hash []byte
		err := l.pool.QueryRow(ctx, "SELECT seq, hash FROM head WHERE one = 1").Scan(&seq, &hash)
		h.Seq = uint64(seq)
		copy(h.Hash[:], hash)
		return err
	})
	return h, err
}

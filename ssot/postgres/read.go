package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
)

const (
	// scanWindow is how many entries one statement brings to be looked through here.
	scanWindow = 1000
	// countWindow is how many entries are looked through at most to count what is not shown.
	countWindow = 50_000
)

// Read returns the entries that the filter selects. Positions, tasks and ids are found by index, kinds, roles and times by the
// database entry by entry; texts are looked for here, and so is what the index
// of searches leaves as candidates.
func (l *Log) Read(ctx context.Context, f amp.Filter) (out []amp.Entry, err error) {
	s := scan{limit: ssot.Limit(&f)}
	err = l.reading(ctx, func(ctx context.Context) error {
		s.found, s.count = nil, 0
		return l.scan(ctx, &f, &s)
	})
	return s.found, err
}

// Find reads as Read does and counts. Behind the page it looks through 50,000 entries at most.
func (l *Log) Find(ctx context.Context, f amp.Filter) (ssot.Found, error) {
	s := scan{limit: ssot.Limit(&f), most: ssot.MaxCount + 1}
	err := l.reading(ctx, func(ctx context.Context) error {
		s.found, s.count, s.behind, s.capped = nil, 0, 0, false
		return l.scan(ctx, &f, &s)
	})
	out := ssot.Found{Entries: s.found, More: s.count > len(s.found), Count: s.count, Capped: s.capped || s.count > ssot.MaxCount}
	out.Count = min(out.Count, ssot.MaxCount)
	return out, err
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

// scan is one walk through the journal.
type scan struct {
	limit int // of found
	most  int // of count, 0: the walk ends with the page

	found  []amp.Entry
	count  int
	behind int // entries that were looked through after the page was full
	capped bool
}

// take takes an entry and reports whether the walk goes on.
func (s *scan) take(e *amp.Entry) bool {
	s.count++
	if len(s.found) < s.limit {
		s.found = append(s.found, *e)
	}
	return !s.full()
}

func (s *scan) full() bool { return s.count >= max(s.limit, s.most) }

func (l *Log) scan(ctx context.Context, f *amp.Filter, s *scan) error {
	here := f.Text != "" || !f.Search.Empty()
	if !here && s.most == 0 {
		q := selecting(f)
		q.add("ORDER BY e.seq" + q.order + " LIMIT " + q.arg(s.limit))
		rows, err := l.pool.Query(ctx, q.String(), q.args...)
		if err != nil {
			return err
		}
		s.found, err = entriesIf(rows, -1, every)
		return err
	}
	ask, reach := asked(f), uint64(0)
	if ask != "" {
		var err error
		if reach, err = l.reach(ctx); err != nil {
			return err
		}
	}
	for _, p := range stretches(f, reach, l.near) {
		if err := l.walk(ctx, f, &p, ask, s); err != nil || s.full() || s.capped {
			return err
		}
	}
	return nil
}

// walk looks through a stretch.
func (l *Log) walk(ctx context.Context, f *amp.Filter, p *stretch, ask string, s *scan) error {
	for {
		last, n, err := l.window(ctx, f, p, ask, s)
		if err != nil || n < scanWindow || s.full() {
			return err
		}
		if len(s.found) == s.limit {
			if s.behind += n; s.behind > countWindow {
				s.capped = true
				return nil
			}
		}
		if f.Newest {
			p.before = last
		} else {
			p.after = last
		}
	}
}

// window looks through the next entries, or candidates, and says which was the last, and how many there were.
func (l *Log) window(ctx context.Context, f *amp.Filter, p *stretch, ask string, s *scan) (last uint64, n int, err error) {
	part := *f
	part.After, part.Before = p.after, p.before
	q := selecting(&part)
	if p.how != "" {
		seqs, err := l.candidates(ctx, p, ask, f.Newest)
		if err != nil || len(seqs) == 0 {
			return 0, 0, err
		}
		q.add("AND e.seq = ANY (" + q.arg(seqs) + ")")
		last, n = uint64(seqs[len(seqs)-1]), len(seqs)
	}
	q.add("ORDER BY e.seq" + q.order + " LIMIT " + q.arg(scanWindow))
	rows, err := l.pool.Query(ctx, q.String(), q.args...)
	if err != nil {
		return 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return 0, 0, err
		}
		if p.how == "" {
			last, n = e.Seq, n+1
		}
		if !ssot.Match(f, &e) {
			continue
		}
		if !s.take(&e) {
			break
		}
	}
	rows.Close()
	return last, n, rows.Err()
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

// selecting selects what the database can compare of a filter: never less than the filter.
func selecting(f *amp.Filter) *sentence {
	q := &sentence{}
	q.WriteString(selectEntry + "WHERE true")
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
		if !s.Since.IsZero() {
			q.add("AND e.at >= " + q.arg(s.Since.UnixMilli()))
		}
		if !s.Until.IsZero() { // which may lie within a millisecond
			q.add("AND e.at <= " + q.arg(s.Until.UnixMilli()))
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

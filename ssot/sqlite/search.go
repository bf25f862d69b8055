package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/search"
)

var (
	_ ssot.Finder  = (*Log)(nil)
	_ ssot.Indexer = (*Log)(nil)
)

// Find reads as Read does and counts what the filter selects, as [ssot.Finder] says.
func (l *Log) Find(ctx context.Context, f amp.Filter) (ssot.Found, error) {
	if err := l.enter(); err != nil {
		return ssot.Found{}, err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return ssot.Found{}, err
	}
	found, err := l.find(ctx, &f, true)
	if err != nil {
		return ssot.Found{}, l.readFault(ctx, err)
	}
	return found, nil
}

// Indexed is the last entry in the index of searches, 0 when the log was opened for reading.
func (l *Log) Indexed() uint64 { return l.index.seq.Load() }

// Index waits until what is stored now is in the index of searches. Of a log that does not write it, it is [ErrReadOnly].
func (l *Log) Index(ctx context.Context) error {
	if err := l.enter(); err != nil {
		return err
	}
	defer l.leave()
	if l.index.ended == nil {
		return ErrReadOnly
	}
	last, err := l.lastSeq(ctx)
	if err != nil {
		return l.readFault(ctx, err)
	}
	return l.index.wait(ctx, last)
}

func (l *Log) find(ctx context.Context, f *amp.Filter, count bool) (_ ssot.Found, err error) {
	if f.ID != "" {
		found, err := l.page(ctx, &amp.Filter{ID: f.ID}, 1)
		if err != nil || len(found) == 0 || !ssot.Match(f, &found[0]) {
			return ssot.Found{}, err
		}
		return ssot.Found{Entries: found, Count: 1}, nil
	}
	last, err := l.lastSeq(ctx)
	if err != nil {
		return ssot.Found{}, err
	}
	without := &search.Search{Journal: journal{l}, Filter: f, Last: last, Count: count}
	v := l.index.view(ctx)
	if v == nil {
		return without.Find(ctx)
	}
	defer func() { err = errors.Join(err, v.close()) }()
	with := *without
	with.Store, with.Reach = v, v.seq
	found, err := with.Find(ctx)
	broken := err != nil && ctx.Err() == nil && ruined(err)
	if broken || with.Wrong() {
		l.index.renew()
	}
	if broken { // the journal itself has the answer
		return without.Find(ctx)
	}
	return found, err
}

// journal is what searches read.
type journal struct{ *Log }

var _ search.Journal = journal{}

// Headers look through the journal in many short statements.
func (j journal) Headers(ctx context.Context, f *amp.Filter, after, before uint64, n int) (all []uint64, err error) {
	from, to := search.Times(f.Search)
	q, more := "SELECT seq FROM entry WHERE at >= ? AND at < ?", []any{from, to}
	if len(f.Kinds) > 0 {
		q += " AND kind IN (?" + strings.Repeat(", ?", len(f.Kinds)-1) + ")"
		for _, k := range f.Kinds {
			more = append(more, string(k))
		}
	}
	for after+1 < before && len(all) < n {
		low, high := after, before
		if f.Newest {
			low = max(low, high-min(high, scanWindow+1))
			before = low + 1
		} else {
			high = min(high, low+scanWindow+1)
			after = high - 1
		}
		seqs, err := seqsOf(ctx, j.reader, q+" AND seq > ? AND seq < ?", append(more[:len(more):len(more)], int64(low), int64(high)), f.Newest, n-len(all))
		if err != nil {
			return nil, err
		}
		all = append(all, seqs...)
	}
	return all, nil
}

// Within asks for all entries in one statement.
func (j journal) Within(ctx context.Context, seqs []uint64, from, to int64) ([]uint64, error) {
	return seqsOf(ctx, j.reader, "SELECT seq FROM entry WHERE seq IN (SELECT value FROM json_each(?)) AND at >= ? AND at < ?",
		[]any{list(seqs), from, to}, false, -1)
}

// Entries reads all of them in one statement.
func (j journal) Entries(ctx context.Context, seqs []uint64, newest bool) ([]amp.Entry, error) {
	return j.these(ctx, seqs, newest)
}

// these are the entries with these seqs, ascending or, newest first, descending.
func (l *Log) these(ctx context.Context, seqs []uint64, newest bool) ([]amp.Entry, error) {
	q := "SELECT " + entryColumns + ` FROM entry e LEFT JOIN task_key k ON k.key = e.task
		WHERE e.seq IN (SELECT value FROM json_each(?)) ORDER BY e.seq`
	if newest {
		q += " DESC"
	}
	return entries(l.reader.ask(ctx, q, list(seqs)))
}

func seqsOf(ctx context.Context, q querier, text string, args []any, newest bool, n int) ([]uint64, error) {
	text += " ORDER BY seq"
	if newest {
		text += " DESC"
	}
	rows, err := q.QueryContext(ctx, text+" LIMIT ?", append(args, n)...)
	return scanSeqs(rows, err)
}

func scanSeqs(rows *sql.Rows, err error) ([]uint64, error) {
	return collect(rows, err, func(row scanner) (uint64, error) {
		var seq int64
		err := row.Scan(&seq)
		return uint64(seq), err
	})
}

// collect reads all rows of a query and closes them.
func collect[T any](rows *sql.Rows, failed error, read func(scanner) (T, error)) (all []T, err error) {
	if failed != nil {
		return nil, failed
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		v, err := read(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// list is a JSON array for json_each.
func list(seqs []uint64) string {
	b := []byte{'['}
	for i, s := range seqs {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, s, 10)
	}
	return string(append(b, ']'))
}

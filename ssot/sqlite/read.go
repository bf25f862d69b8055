package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	driver "modernc.org/sqlite"

	"arbiter/amp"
	"arbiter/ssot"
)

// scanWindow is how many entries one statement looks through one by one. It keeps a statement short: a reader that takes long keeps the
// write-ahead log from being reused.
const scanWindow = 5000

// Read returns the entries that the filter selects. Positions, tasks and ids are found by index, kinds and searches by the index of
// searches as far as it reaches; texts without a task are looked for entry by entry, in many short statements.
func (l *Log) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if !f.Search.Empty() || f.TaskID == "" && len(f.Kinds) > 0 && f.Text == "" {
		found, err := l.find(ctx, &f, false)
		if err != nil {
			return nil, l.readFault(ctx, err)
		}
		return found.Entries, nil
	}
	out, err := l.read(ctx, &f)
	if err != nil {
		return nil, l.readFault(ctx, err)
	}
	return out, nil
}

func (l *Log) read(ctx context.Context, f *amp.Filter) ([]amp.Entry, error) {
	limit := ssot.Limit(f)
	switch {
	case f.ID != "":
		found, err := l.page(ctx, &amp.Filter{ID: f.ID}, 1)
		if err != nil || len(found) == 0 || !ssot.Match(f, &found[0]) {
			return nil, err
		}
		return found, nil
	case f.TaskID != "":
		return l.readTask(ctx, f)
	case len(f.Kinds) == 0 && f.Text == "" && f.Search.Empty():
		return l.page(ctx, f, limit)
	}
	last, err := l.lastSeq(ctx)
	if err != nil {
		return nil, err
	}
	low, high := f.After, last+1 // both exclusive
	if f.Before != 0 {
		high = min(high, f.Before)
	}
	var out []amp.Entry
	for low+1 < high && len(out) < limit {
		part := *f
		if part.After, part.Before = low, min(high, low+scanWindow+1); f.Newest {
			part.After, part.Before = max(low, high-min(high, scanWindow+1)), high
		}
		found, err := l.page(ctx, &part, limit-len(out))
		if err != nil {
			return nil, err
		}
		if out = append(out, found...); f.Newest {
			high = part.After + 1
		} else {
			low = part.Before - 1
		}
	}
	return out, nil
}

// ofID selects the entry with an id.
const ofID = `e.seq IN (SELECT seq FROM entry_id WHERE id = ?1
	UNION ALL SELECT seq FROM entry WHERE seq > (SELECT seq FROM indexed) AND id = ?1)`

// page runs one statement for a filter without a task. What SQL cannot compare, a text beyond ASCII and a search, is compared here.
func (l *Log) page(ctx context.Context, f *amp.Filter, limit int) ([]amp.Entry, error) {
	q := &strings.Builder{}
	args := []any{}
	and := func(term string, arg ...any) {
		q.WriteString(" AND " + term)
		args = append(args, arg...)
	}
	q.WriteString("SELECT " + entryColumns + " FROM entry e LEFT JOIN task_key k ON k.key = e.task WHERE 1")
	switch {
	case f.After != 0 && f.Before != 0:
		and("e.seq > ? AND e.seq < ?", int64(f.After), int64(f.Before))
	case f.After != 0:
		and("e.seq > ?", int64(f.After))
	case f.Before != 0:
		and("e.seq < ?", int64(f.Before))
	}
	if f.ID != "" {
		and(ofID, f.ID)
	}
	if len(f.Kinds) > 0 {
		kinds := make([]any, len(f.Kinds))
		for i, k := range f.Kinds {
			kinds[i] = string(k)
		}
		and("e.kind IN (?"+strings.Repeat(", ?", len(kinds)-1)+")", kinds...)
	}
	here := f.Text != "" && !amp.ASCII(f.Text) || !f.Search.Empty()
	if f.Text != "" && amp.ASCII(f.Text) {
		and("instr(lower(e.body), ?) > 0", strings.ToLower(f.Text))
	}
	q.WriteString(" ORDER BY e.seq")
	if f.Newest {
		q.WriteString(" DESC")
	}
	rows, err := l.reader.ask(ctx, q.String(), args...)
	if err != nil {
		return nil, err
	}
	return entriesIf(rows, limit, func(e *amp.Entry) bool { return !here || ssot.Match(f, e) })
}

func (l *Log) lastSeq(ctx context.Context) (uint64, error) {
	var last int64
	err := l.reader.QueryRowContext(ctx, "SELECT coalesce(max(seq), 0) FROM entry").Scan(&last)
	return uint64(last), err
}

// Head is the last entry's seq and hash.
func (l *Log) Head(ctx context.Context) (amp.Head, error) {
	if err := l.enter(); err != nil {
		return amp.Head{}, err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return amp.Head{}, err
	}
	h, err := head(ctx, l.reader)
	if err != nil {
		return amp.Head{}, l.readFault(ctx, err)
	}
	return h, nil
}

// querier is a pool, a connection or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func head(ctx context.Context, q querier) (h amp.Head, err error) {
	var seq int64
	var hash []byte
	err = q.QueryRowContext(ctx, "SELECT seq, hash FROM entry ORDER BY seq DESC LIMIT 1").Scan(&seq, &hash)
	if errors.Is(err, sql.ErrNoRows) {
		return h, nil
	}
	h.Seq = uint64(seq)
	copy(h.Hash[:], hash)
	return h, err
}

// readFault is the context's error when that ended the read, which the driver reports in words of its own.
func (l *Log) readFault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("read the journal: %w", l.fault(err))
}

// scanner is a row.
type scanner interface{ Scan(...any) error }

func scanEntry(row scanner) (e amp.Entry, err error) {
	var seq, at int64
	var prev, hash []byte
	err = row.Scan(&seq, &e.Kind, &e.TaskID, &e.Role, &e.Actor, &at, &e.ID, &e.Body, &prev, &hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		if _, ok := errors.AsType[*driver.Error](err); !ok {
			err = &rowError{err}
		}
	}
	e.Seq, e.At = uint64(seq), time.UnixMilli(at).UTC()
	copy(e.PrevHash[:], prev)
	copy(e.Hash[:], hash)
	return e, err
}

// entries reads all rows of a query.
func entries(rows *sql.Rows, err error) ([]amp.Entry, error) {
	if err != nil {
		return nil, err
	}
	return entriesIf(rows, -1, func(*amp.Entry) bool { return true })
}

// entriesIf reads the rows that pass, up to a limit, and closes them.
func entriesIf(rows *sql.Rows, limit int, pass func(*amp.Entry) bool) (out []amp.Entry, err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for len(out) != limit && rows.Next() {
		e, err := scanEntry(rows)
		if err != nil {
			return nil, err
		}
		if pass(&e) {
			out = append(out, e)
		}
	}
	return out, rows.Err()
}

package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"

	"arbiter/amp"
	"arbiter/ssot/search"
)

// searchWriter changes the file in a transaction.
type searchWriter struct{ *sql.Tx }

var _ search.Writer = searchWriter{}

// add puts the entries that come next into the index in one transaction.
func (x *index) add(db *sql.DB, page []amp.Entry) (err error) {
	ctx := context.Background() // one that can end would be watched by the driver at every step
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	if err := search.Add(ctx, searchWriter{tx}, page); err != nil {
		return err
	}
	last := &page[len(page)-1]
	if _, err := tx.ExecContext(ctx, "UPDATE reach SET seq = ?, hash = ?", int64(last.Seq), last.Hash[:]); err != nil {
		return err
	}
	return tx.Commit()
}

// Chunks are those of the file.
func (w searchWriter) Chunks(ctx context.Context, after, before uint64, limit int) ([]search.Chunk, error) {
	return chunks(ctx, w.Tx, after, before, limit)
}

// Times are those of the file.
func (w searchWriter) Times(ctx context.Context, first uint64) ([]byte, error) {
	return timesOf(ctx, w.Tx, first)
}

// Take removes the rows of a chunk.
func (w searchWriter) Take(ctx context.Context, first uint64) (times []byte, sheets [][]byte, err error) {
	if err := w.QueryRowContext(ctx, "DELETE FROM chunk WHERE first = ? RETURNING times", int64(first)).Scan(&times); err != nil {
		return nil, nil, err
	}
	rows, err := w.QueryContext(ctx, "SELECT data FROM sheet WHERE chunk = ? ORDER BY first", int64(first))
	sheets, err = collect(rows, err, func(row scanner) (data []byte, err error) {
		err = row.Scan(&data)
		return data, err
	})
	if err != nil {
		return nil, nil, err
	}
	_, err = w.ExecContext(ctx, "DELETE FROM sheet WHERE chunk = ?", int64(first))
	return times, sheets, err
}

// Put writes the rows of a chunk.
func (w searchWriter) Put(ctx context.Context, c *search.Chunk, times []byte, sheets []search.Sheet) (err error) {
	if _, err := w.ExecContext(ctx, "INSERT INTO chunk (first, last, early, late, times) VALUES (?, ?, ?, ?, ?)", int64(c.First),
		int64(c.Last), c.Early, c.Late, times); err != nil {
		return err
	}
	insert, err := w.PrepareContext(ctx, "INSERT INTO sheet (chunk, first, data) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for _, s := range sheets {
		if _, err := insert.ExecContext(ctx, int64(c.First), s.First, s.Data); err != nil {
			return err
		}
	}
	return nil
}

// timesOf is the list of times of a chunk.
func timesOf(ctx context.Context, q querier, first uint64) (data []byte, err error) {
	err = q.QueryRowContext(ctx, "SELECT times FROM chunk WHERE first = ?", int64(first)).Scan(&data)
	return data, err
}

// chunks are those that have entries between two, both apart, newest first.
func chunks(ctx context.Context, q querier, after, before uint64, limit int) ([]search.Chunk, error) {
	rows, err := q.QueryContext(ctx, "SELECT first, last, early, late FROM chunk WHERE last > ? AND first < ? ORDER BY first DESC LIMIT ?", int64(after),
		int64(before), cmp.Or(limit, -1))
	return collect(rows, err, func(row scanner) (c search.Chunk, err error) {
		var first, last int64
		err = row.Scan(&first, &last, &c.Early, &c.Late)
		c.First, c.Last = uint64(first), uint64(last)
		return c, err
	})
}

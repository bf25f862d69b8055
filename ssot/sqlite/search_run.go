package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
)

// chunk is a run of entries whose terms are kept together; the moment has all of their times.
type chunk struct {
	first, last uint64
	moment
}

func (c *chunk) size() int { return int(c.last-c.first) + 1 }

func chunksOf(rows *sql.Rows, err error) (all []chunk, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var c chunk
		var first, last int64
		if err := rows.Scan(&first, &last, &c.early, &c.late); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		if c.first, c.last = uint64(first), uint64(last); first < 1 || last < first || c.size() > maxChunk {
			return nil, errors.Join(errSheet, rows.Close())
		}
		all = append(all, c)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// take reads a chunk and removes it.
func (c *chunk) take(ctx context.Context, tx *sql.Tx) (all []posting, times []moment, err error) {
	var data []byte
	if err := tx.QueryRowContext(ctx, "SELECT times FROM chunk WHERE first = ?", int64(c.first)).Scan(&data); err != nil {
		return nil, nil, err
	}
	if times, err = c.readMoments(data); err != nil {
		return nil, nil, err
	}
	if all, err = c.read(tx.QueryContext(ctx, "SELECT data FROM sheet WHERE chunk = ? ORDER BY first", int64(c.first))); err != nil {
		return nil, nil, err
	}
	for _, q := range []string{"DELETE FROM sheet WHERE chunk = ?", "DELETE FROM chunk WHERE first = ?"} {
		if _, err := tx.ExecContext(ctx, q, int64(c.first)); err != nil {
			return nil, nil, err
		}
	}
	return all, times, nil
}

// read reads the sheets of a chunk and closes the rows.
func (c *chunk) read(rows *sql.Rows, failed error) (all []posting, err error) {
	if failed != nil {
		return nil, failed
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	set := newBitset(c.size())
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			return nil, err
		}
		var bad error
		err := eachTerm(data, func(term, list []byte, bitmap bool) bool {
			clear(set)
			bad = set.add(list, bitmap, c.size())
			all = append(all, posting{slices.Clone(term), set.places()})
			return bad == nil
		})
		if err := errors.Join(err, bad); err != nil {
			return nil, err
		}
	}
	return all, rows.Err()
}

func (c *chunk) put(ctx context.Context, tx *sql.Tx, all []posting, times []moment) (err error) {
	if _, err := tx.ExecContext(ctx, "INSERT INTO chunk (first, last, early, late, times) VALUES (?, ?, ?, ?, ?)", int64(c.first),
		int64(c.last), c.early, c.late, c.writeMoments(times)); err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, "INSERT INTO sheet (chunk, first, data) VALUES (?, ?, ?)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for _, s := range sheets(all, c.size()) {
		if _, err := insert.ExecContext(ctx, int64(c.first), s.first, s.data); err != nil {
			return err
		}
	}
	return nil
}

package postgres

import (
	"cmp"
	"context"
	"math"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"arbiter/ssot/search"
)

// view is the index in a transaction.
type view struct{ tx pgx.Tx }

var (
	_ search.Store  = view{}
	_ search.Writer = view{}
)

// Chunks are those of the table.
func (v view) Chunks(ctx context.Context, after, before uint64, limit int) ([]search.Chunk, error) {
	rows, err := v.tx.Query(ctx, "SELECT first, last, early, late FROM search_chunk WHERE last > $1 AND first < $2 ORDER BY first DESC LIMIT $3",
		int64(after), int64(before), cmp.Or(limit, math.MaxInt32))
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (c search.Chunk, err error) {
		var first, last int64
		err = row.Scan(&first, &last, &c.Early, &c.Late)
		c.First, c.Last = uint64(first), uint64(last)
		return c, err
	})
}

// Times are those of the table.
func (v view) Times(ctx context.Context, first uint64) (data []byte, err error) {
	err = v.tx.QueryRow(ctx, "SELECT times FROM search_chunk WHERE first = $1", int64(first)).Scan(&data)
	return data, err
}

// findSheets selects those sheets of some chunks that may have a term from one to before another.
const findSheets = `SELECT c.place, s.data FROM unnest($1::bigint[]) WITH ORDINALITY c(first, place), LATERAL (
	SELECT data FROM search_sheet WHERE chunk = c.first AND first < $3::bytea AND first >= coalesce(
		(SELECT m.first FROM search_sheet m WHERE m.chunk = c.first AND m.first <= $2::bytea ORDER BY m.first DESC LIMIT 1), '')) s`

// Sheets asks for all chunks in one statement.
func (v view) Sheets(ctx context.Context, firsts []uint64, low, high []byte, f func(chunk int, data []byte) error) error {
	rows, err := v.tx.Query(ctx, findSheets, signed(firsts), low, high)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var place int64
		var data pgtype.DriverBytes
		if err := rows.Scan(&place, &data); err != nil {
			return err
		}
		if err := f(int(place)-1, data); err != nil {
			return err
		}
	}
	rows.Close()
	return rows.Err()
}

// Take removes the rows of a chunk.
func (v view) Take(ctx context.Context, first uint64) (times []byte, sheets [][]byte, err error) {
	if err := v.tx.QueryRow(ctx, "DELETE FROM search_chunk WHERE first = $1 RETURNING times", int64(first)).Scan(&times); err != nil {
		return nil, nil, err
	}
	rows, err := v.tx.Query(ctx, `WITH gone AS (DELETE FROM search_sheet WHERE chunk = $1 RETURNING first, data)
		SELECT data FROM gone ORDER BY first`, int64(first))
	if err != nil {
		return nil, nil, err
	}
	sheets, err = pgx.CollectRows(rows, pgx.RowTo[[]byte])
	return times, sheets, err
}

// Put writes the rows of a chunk.
func (v view) Put(ctx context.Context, c *search.Chunk, times []byte, sheets []search.Sheet) error {
	firsts, data := make([][]byte, len(sheets)), make([][]byte, len(sheets))
	for i, s := range sheets {
		firsts[i], data[i] = s.First, s.Data
	}
	b := &pgx.Batch{}
	b.Queue("INSERT INTO search_chunk (first, last, early, late, times) VALUES ($1, $2, $3, $4, $5)", int64(c.First), int64(c.Last), c.Early, c.Late,
		times)
	b.Queue("INSERT INTO search_sheet (chunk, first, data) SELECT $1, s.first, s.data FROM unnest($2::bytea[], $3::bytea[]) s(first, data)",
		int64(c.First), firsts, data)
	return v.tx.SendBatch(ctx, b).Close()
}

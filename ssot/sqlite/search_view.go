package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"arbiter/ssot/search"
)

var _ search.Store = (*view)(nil)

// view is the index as of one moment.
type view struct {
	index *index
	tx    *sql.Tx
	// seq is the last entry in it.
	seq uint64
	// ask is prepared when the index is first asked.
	ask *sql.Stmt
}

// view opens the index for one search, nil when there is none that can be used.
func (x *index) view(ctx context.Context) *view {
	x.mu.RLock()
	v := &view{index: x}
	ok := false
	defer func() {
		if !ok {
			if v.tx != nil {
				_ = v.tx.Rollback()
			}
			x.mu.RUnlock()
		}
	}()
	db := x.db()
	if db == nil || x.again.Load() {
		return nil
	}
	var err error
	if v.tx, err = db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true}); err != nil {
		return nil
	}
	if v.seq, err = x.reach(ctx, v.tx); err != nil {
		if ruined(err) && x.ended != nil {
			x.renew()
		}
		return nil
	}
	ok = v.seq > 0
	if !ok {
		return nil
	}
	return v
}

func (v *view) close() (err error) {
	defer v.index.mu.RUnlock()
	if v.ask != nil {
		err = v.ask.Close()
	}
	return errors.Join(err, v.tx.Rollback())
}

// Chunks are those of the file.
func (v *view) Chunks(ctx context.Context, after, before uint64, limit int) ([]search.Chunk, error) {
	return chunks(ctx, v.tx, after, before, limit)
}

// Times are those of the file.
func (v *view) Times(ctx context.Context, first uint64) ([]byte, error) {
	return timesOf(ctx, v.tx, first)
}

// findSheets selects those sheets of some chunks that may have a term from one to before another.
const findSheets = `SELECT c.key, s.data FROM json_each(?1) c CROSS JOIN sheet s ON s.chunk = c.value AND s.first < ?3
	AND s.first >= coalesce((SELECT max(first) FROM sheet WHERE chunk = c.value AND first <= ?2), x'')`

// Sheets asks for all chunks in one statement, prepared once.
func (v *view) Sheets(_ context.Context, firsts []uint64, low, high []byte, f func(chunk int, data []byte) error) (err error) {
	if v.ask == nil {
		ask, err := v.tx.PrepareContext(context.Background(), findSheets)
		if err != nil {
			return err
		}
		v.ask = ask
	}
	// A context that can end would be watched by the driver at every step; this takes a fraction of a millisecond.
	rows, err := v.ask.QueryContext(context.Background(), list(firsts), low, high)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var k int
		var data sql.RawBytes
		if err := rows.Scan(&k, &data); err != nil {
			return err
		}
		if err := f(k, data); err != nil {
			return err
		}
	}
	return rows.Err()
}

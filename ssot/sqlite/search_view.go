package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"

	"arbiter/amp"
)

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

// chunks are those that have entries of a part, in the order of the answer.
func (v *view) chunks(ctx context.Context, p part, newest bool) ([]chunk, error) {
	q := "SELECT first, last, early, late FROM chunk WHERE last > ? AND first < ? ORDER BY first"
	if newest {
		q += " DESC"
	}
	return chunksOf(v.tx.QueryContext(ctx, q, int64(p.low), int64(p.high)))
}

// seqs are the entries of a chunk that have one term of every clause and none of without, ascending.
func (v *view) seqs(ctx context.Context, c *chunk, clauses [][]amp.Term, without []amp.Term) (all []uint64, err error) {
	var found bitset
	for _, terms := range clauses {
		some, err := v.either(ctx, c, terms)
		if err != nil {
			return nil, err
		}
		if found == nil {
			found = some
		} else {
			found.and(some)
		}
		if found.empty() {
			return nil, nil
		}
	}
	if len(without) > 0 {
		some, err := v.either(ctx, c, without)
		if err != nil {
			return nil, err
		}
		found.andNot(some)
	}
	for _, k := range found.places() {
		all = append(all, c.first+uint64(k))
	}
	return all, nil
}

// either are the entries of a chunk that have one of the terms.
func (v *view) either(ctx context.Context, c *chunk, terms []amp.Term) (bitset, error) {
	found := newBitset(c.size())
	for _, t := range terms {
		if err := v.find(ctx, c, t, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// findSheets selects those sheets of a chunk that may have a term from one to before another.
const findSheets = `SELECT data FROM sheet WHERE chunk = ?1 AND first < ?3
	AND first >= coalesce((SELECT max(first) FROM sheet WHERE chunk = ?1 AND first <= ?2), x'') ORDER BY first`

// find adds the entries of a chunk that have a term.
func (v *view) find(ctx context.Context, c *chunk, t amp.Term, found bitset) (err error) {
	if v.ask == nil {
		ask, err := v.tx.PrepareContext(context.Background(), findSheets)
		if err != nil {
			return err
		}
		v.ask = ask
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	low, high := []byte(t.Text), []byte(t.Text+"\x00")
	if t.Prefix {
		high = []byte(t.Text + "\xff") // behind every term that goes on
	}
	// A context that can end would be watched by the driver at every step; this takes a fraction of a millisecond.
	rows, err := v.ask.QueryContext(context.Background(), int64(c.first), low, high)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var data sql.RawBytes
		if err := rows.Scan(&data); err != nil {
			return err
		}
		var bad error
		err := eachTerm(data, func(term, list []byte, bitmap bool) bool {
			if bytes.Compare(term, low) < 0 {
				return true
			}
			if bytes.Compare(term, high) >= 0 {
				return false
			}
			bad = found.add(list, bitmap, c.size())
			return bad == nil
		})
		if err := errors.Join(err, bad); err != nil {
			return err
		}
	}
	return rows.Err()
}

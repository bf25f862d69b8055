package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"slices"

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

// moments are the times of the entries of a chunk.
func (v *view) moments(ctx context.Context, c *chunk) ([]moment, error) {
	var data []byte
	if err := v.tx.QueryRowContext(ctx, "SELECT times FROM chunk WHERE first = ?", int64(c.first)).Scan(&data); err != nil {
		return nil, err
	}
	return c.readMoments(data)
}

// narrow leaves of each chunk the entries that have one term of every clause and none of without, and drops chunks that have none.
func (v *view) narrow(ctx context.Context, chunks []chunk, clauses []clause, without []amp.Term) (left []selected, err error) {
	for i := range chunks {
		left = append(left, selected{chunk: &chunks[i]})
	}
	for i := range clauses {
		clauses[i].asked += len(left)
		if err := v.either(ctx, left, clauses[i].terms); err != nil {
			return nil, err
		}
		for k := range left {
			s := &left[k]
			clauses[i].found += s.some.count()
			if s.places == nil {
				s.places, s.some = s.some, nil
			} else {
				s.places.and(s.some)
			}
		}
		if left = slices.DeleteFunc(left, func(s selected) bool { return s.places.empty() }); len(left) == 0 {
			return nil, nil
		}
	}
	if len(without) > 0 {
		if err := v.either(ctx, left, without); err != nil {
			return nil, err
		}
		for k := range left {
			left[k].places.andNot(left[k].some)
		}
	}
	return left, nil
}

// clause is what an entry must have one term of.
type clause struct {
	terms []amp.Term
	// found is how many entries of the chunks that it was asked of have one.
	found, asked int
}

// selected are entries of a chunk.
type selected struct {
	*chunk
	places bitset
	some   bitset // those with one of the terms that are asked for
}

// seqs are the entries, ascending.
func (s *selected) seqs() []uint64 {
	places := s.places.places()
	all := make([]uint64, len(places))
	for i, k := range places {
		all[i] = s.first + uint64(k)
	}
	return all
}

// either puts the entries that have one of the terms into some.
func (v *view) either(ctx context.Context, left []selected, terms []amp.Term) error {
	for i := range left {
		if s := &left[i]; s.some == nil {
			s.some = newBitset(s.size())
		} else {
			clear(s.some)
		}
	}
	for _, t := range terms {
		if err := v.find(ctx, left, t); err != nil {
			return err
		}
	}
	return nil
}

// findSheets selects those sheets of some chunks that may have a term from one to before another.
const findSheets = `SELECT c.key, s.data FROM json_each(?1) c CROSS JOIN sheet s ON s.chunk = c.value AND s.first < ?3
	AND s.first >= coalesce((SELECT max(first) FROM sheet WHERE chunk = c.value AND first <= ?2), x'')`

// find adds the entries that have a term to some.
func (v *view) find(ctx context.Context, left []selected, t amp.Term) (err error) {
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
	firsts := make([]uint64, len(left))
	for i := range left {
		firsts[i] = left[i].first
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
		s := &left[k]
		var bad error
		err := eachTerm(data, func(term, list []byte, bitmap bool) bool {
			if bytes.Compare(term, low) < 0 {
				return true
			}
			if bytes.Compare(term, high) >= 0 {
				return false
			}
			bad = s.some.add(list, bitmap, s.size())
			return bad == nil
		})
		if err := errors.Join(err, bad); err != nil {
			return err
		}
	}
	return rows.Err()
}

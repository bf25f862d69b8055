package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

// Verify reads the whole journal: every hash is computed again, every body is decoded and folded, and the projections are compared
// with the fold. It finds any changed byte, removed entry or swapped pair. What it cannot know is a whole journal that was written
// anew: compare Report.Head with a head that was noted elsewhere.
//
// It reads in short statements of at most 1,000 entries and may run beside coordinators; entries that are appended meanwhile are
// verified too. progress, if not nil, is called after each page with the seq reached and the last seq.
func (l *Log) Verify(ctx context.Context, progress func(done, total uint64)) (ssot.Report, error) {
	v := &verifier{log: l, board: amp.NewBoard(), keys: map[amp.TaskID]uint64{}}
	for more := true; more; {
		err := l.reading(ctx, func(ctx context.Context) (err error) {
			more, err = v.page(ctx, l.pool)
			return err
		})
		if err != nil {
			return v.report, err
		}
		if progress != nil {
			head, err := l.Head(ctx)
			if err != nil {
				return v.report, err
			}
			progress(v.head.Seq, max(head.Seq, v.head.Seq))
		}
	}
	err := l.reading(ctx, func(ctx context.Context) error { return v.moment(ctx) })
	v.report.Head = v.head
	return v.report, err
}

// verifier is one verification under way.
type verifier struct {
	log    *Log
	report ssot.Report
	head   amp.Head // of the entries read so far
	board  *amp.Board
	// everything and usage are what head and usage have to say.
	everything uint64
	// keys are the keys of the tasks: the seq of the first entry that names each.
	keys map[amp.TaskID]uint64
}

// asker is a pool or a transaction.
type asker interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

const verifyPage = "SELECT " + entryColumns + ", e.task" + entryTables + "WHERE e.seq > $1 ORDER BY e.seq LIMIT $2"

// page verifies the next entries and reports whether there may be more.
func (v *verifier) page(ctx context.Context, q asker) (more bool, err error) {
	rows, err := q.Query(ctx, verifyPage, int64(v.head.Seq), ssot.MaxPage)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var key int64
		e, err := scanEntry(withKey{rows, &key})
		if err != nil {
			return false, err
		}
		v.entry(&e, uint64(key))
	}
	rows.Close()
	return n == ssot.MaxPage, rows.Err()
}

// withKey scans one more column.
type withKey struct {
	row pgx.Row
	key *int64
}

func (w withKey) Scan(to ...any) error { return w.row.Scan(append(to, w.key)...) }

// entry verifies one entry against the one before it.
func (v *verifier) entry(e *amp.Entry, key uint64) {
	if e.Seq != v.head.Seq+1 {
		v.report.Damaged(v.head.Seq+1, fmt.Sprintf("it is missing: entry %d comes after %d", e.Seq, v.head.Seq))
	}
	e.PrevHash = v.head.Hash
	if e.Seq == v.head.Seq+1 && e.Hash != e.Sum() {
		v.report.Damaged(e.Seq, "its content does not have its hash: it was changed, or does not belong after the entry before it")
	}
	v.head = amp.Head{Seq: e.Seq, Hash: e.Hash}
	v.report.Entries++
	if _, known := v.keys[e.TaskID]; !known && e.TaskID != "" {
		v.keys[e.TaskID] = e.Seq
	}
	if v.keys[e.TaskID] != key {
		v.report.Damaged(e.Seq, fmt.Sprintf("the key of task %s is %d, its first entry is %d", e.TaskID, key, v.keys[e.TaskID]))
	}
	if len(v.report.Damage) > 0 {
		return
	}
	stopped := v.board.Stopped
	if err := v.board.Apply(*e); err != nil {
		v.report.Damaged(e.Seq, err.Error())
	}
	if v.board.Stopped != stopped || e.Kind == amp.KindCommand && e.TaskID == "" {
		v.everything = e.Seq
	}
}

// moment reads what came meanwhile and compares the projections with the fold, at one moment.
func (v *verifier) moment(ctx context.Context) error {
	return pgx.BeginTxFunc(ctx, v.log.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		for more := true; more; {
			var err error
			if more, err = v.page(ctx, tx); err != nil {
				return err
			}
		}
		if err := v.compareHead(ctx, tx); err != nil || len(v.report.Damage)+len(v.report.Projections) > 0 {
			return err
		}
		return v.compareTasks(ctx, tx)
	})
}

func (v *verifier) compareHead(ctx context.Context, tx pgx.Tx) error {
	var seq, everything, fold int64
	var hash, state, usage []byte
	err := tx.QueryRow(ctx, "SELECT h.seq, h.hash, h.everything, h.fold, h.state, u.state FROM head h LEFT JOIN usage u ON u.one = 1 WHERE h.one = 1").
		Scan(&seq, &hash, &everything, &fold, &state, &usage)
	head := amp.Head{Seq: uint64(seq)}
	copy(head.Hash[:], hash)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		v.report.Damaged(0, "the row of its head is missing")
	case err != nil:
		return err
	case head.Seq > v.head.Seq:
		v.report.Damaged(v.head.Seq+1, fmt.Sprintf("it is missing: the head is entry %d", head.Seq))
	case head.Seq < v.head.Seq:
		v.report.Damaged(head.Seq+1, fmt.Sprintf("it was not appended: the head is entry %d", head.Seq))
	case head != v.head:
		v.report.Damaged(head.Seq, "it is not the entry that the head names")
	case len(v.report.Damage) > 0:
	case fold != projection.Version():
		v.report.Stale(0, "another version of the program made the projections")
	case string(state) != projection.Board(v.board):
		v.report.Stale(head.Seq, "the board is not the fold of the entries")
	case string(usage) != projection.Usage(v.board):
		v.report.Stale(head.Seq, "the usage of the agents is not the fold of the entries")
	case uint64(everything) != v.everything:
		v.report.Stale(head.Seq, "the last entry that concerns every task is %d, the head says %d", v.everything, everything)
	}
	return nil
}

func (v *verifier) compareTasks(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, "SELECT key, task_id, status, last_seq, epoch, state FROM task ORDER BY key")
	if err != nil {
		return err
	}
	defer rows.Close()
	seen := map[amp.TaskID]bool{}
	for rows.Next() {
		var r taskRow
		var id, state []byte
		if err := rows.Scan(&r.key, &id, &r.status, &r.lastSeq, &r.epoch, &state); err != nil {
			return err
		}
		r.id, r.state = string(id), string(state)
		t := v.board.Tasks[amp.TaskID(id)]
		switch {
		case t == nil:
			v.report.Stale(uint64(r.lastSeq), "the projected task %s is in no entry", id)
		case rowOf(t) != r:
			v.report.Stale(t.LastSeq, "the projected task %s is not the fold of its entries", id)
		}
		seen[amp.TaskID(id)] = true
	}
	for id, t := range v.board.Tasks {
		if !seen[id] {
			v.report.Stale(t.LastSeq, "task %s is not projected", id)
		}
	}
	return rows.Err()
}

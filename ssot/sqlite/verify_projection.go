package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

// taskRow is a row of the task table.
type taskRow struct {
	key, lastSeq      int64
	id, status, title string
	state             string
}

func rowOf(t *amp.Task) taskRow {
	return taskRow{
		key: int64(t.Key), lastSeq: int64(t.LastSeq), id: string(t.ID), status: string(t.Status), title: t.Title,
		state: projection.Task(t),
	}
}

// ackRow is a row of the table of open ACKs.
type ackRow struct {
	n, due            int64
	msgID, typ, waits string
}

// projections compares the tables with the fold. Most tasks are compared page by page; those that differ, because they moved on
// meanwhile or because they are wrong, once more and all at one moment.
func (v *verifier) projections(ctx context.Context) error {
	suspects := map[amp.TaskID]bool{}
	seen := 0
	last := int64(-1)
	err := v.keyset(ctx, func() (*sql.Rows, error) {
		return v.log.reader.QueryContext(ctx, `SELECT key, last_seq, task_id, status, title, state FROM task
			WHERE key > ? ORDER BY key LIMIT ?`, last, ssot.MaxPage)
	}, func(rows *sql.Rows) error {
		var r taskRow
		if err := rows.Scan(&r.key, &r.lastSeq, &r.id, &r.status, &r.title, &r.state); err != nil {
			return err
		}
		last = r.key
		t := v.board.Tasks[amp.TaskID(r.id)]
		if t == nil || rowOf(t) != r {
			suspects[amp.TaskID(r.id)] = true
			return nil
		}
		seen++
		return nil
	})
	if err != nil {
		return err
	}
	if seen+len(suspects) < len(v.board.Tasks) {
		for id := range v.board.Tasks { // some have no row, or one that cannot be reached in order
			suspects[id] = true
		}
	}
	return v.moment(ctx, suspects)
}

// moment compares the board's row, the suspects and the open ACKs with the fold at one moment.
func (v *verifier) moment(ctx context.Context, suspects map[amp.TaskID]bool) (err error) {
	tx, err := v.log.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	for {
		more, err := v.page(ctx, tx, false)
		if err != nil || len(v.report.Damage) > 0 {
			return err
		}
		if !more {
			break
		}
	}
	at, err := v.tables(ctx, tx)
	if err != nil {
		return err
	}
	v.settle(at)
	var seq, fold, indexed int64
	var state string
	const moment = "SELECT seq, fold, state, coalesce((SELECT seq FROM indexed), -1) FROM board"
	switch err := tx.QueryRowContext(ctx, moment).Scan(&seq, &fold, &state, &indexed); {
	case errors.Is(err, sql.ErrNoRows):
		v.stale(0, "there are no projections")
		return nil
	case err != nil:
		return err
	case fold != projection.Version():
		v.stale(0, "another version of the program made the projections")
		return nil
	case uint64(seq) > v.head.Seq:
		v.damage(v.head.Seq+1, fmt.Sprintf("it is missing: the projections were made from %d entries, %d are there", seq, v.head.Seq))
		return nil
	case indexed != seq:
		v.stale(uint64(seq), "the tables of ids and tasks stand at entry %d, the projections at %d", indexed, seq)
		return nil
	case state != projection.Board(v.board):
		v.stale(v.folded, "the board is not the fold of the entries")
	}
	var usage string
	if err := tx.QueryRowContext(ctx, selectUsage).Scan(&usage); err != nil {
		return err
	}
	if usage != projection.Usage(v.board) {
		v.stale(v.folded, "the usage of the agents is not the fold of the entries")
	}
	for id := range suspects {
		if err := v.task(ctx, tx, id); err != nil {
			return err
		}
	}
	var tasks int
	if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM task").Scan(&tasks); err != nil {
		return err
	}
	if tasks != len(v.board.Tasks) {
		v.stale(0, "there are %d projected tasks, the entries tell of %d", tasks, len(v.board.Tasks))
	}
	return v.acks(ctx, tx)
}

// task compares one projected task, found by its id.
func (v *verifier) task(ctx context.Context, tx *sql.Tx, id amp.TaskID) error {
	var r taskRow
	err := tx.QueryRowContext(ctx, "SELECT key, last_seq, task_id, status, title, state FROM task WHERE task_id = ?", string(id)).
		Scan(&r.key, &r.lastSeq, &r.id, &r.status, &r.title, &r.state)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	t := v.board.Tasks[id]
	switch {
	case err == nil && t == nil:
		v.stale(uint64(r.lastSeq), "the projected task %s is in no entry", id)
	case err != nil && t != nil:
		v.stale(t.LastSeq, "task %s is not projected", id)
	case t != nil && rowOf(t) != r:
		v.stale(t.LastSeq, "the projected task %s is not the fold of its entries", id)
	}
	return nil
}

func (v *verifier) acks(ctx context.Context, tx *sql.Tx) (err error) {
	have := map[int64][]ackRow{}
	rows, err := tx.QueryContext(ctx, "SELECT task, n, due, msg_id, type, waits FROM open_ack ORDER BY task, n")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var task int64
		var a ackRow
		if err := rows.Scan(&task, &a.n, &a.due, &a.msgID, &a.typ, &a.waits); err != nil {
			return err
		}
		have[task] = append(have[task], a)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	for _, t := range v.board.Tasks {
		var want []ackRow
		for n, o := range t.Open {
			want = append(want, ackRow{n: int64(n), due: o.Deadline().UnixMilli(), msgID: o.MsgID, typ: string(o.Type), waits: string(o.To)})
		}
		if !slices.Equal(want, have[int64(t.Key)]) {
			v.stale(t.LastSeq, "the open ACKs of task %s are not those of its entries", t.ID)
		}
		delete(have, int64(t.Key))
	}
	if len(have) > 0 {
		v.stale(0, "there are open ACKs of %d tasks that are in no entry", len(have))
	}
	return nil
}

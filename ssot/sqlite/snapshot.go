package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
)

var _ ssot.Snapshotter = (*Log)(nil)

// noTasks stands where the tasks of a board are left out.
const noTasks = `"tasks":{},"order":[]`

// Snapshot is the JSON form of the board, put together from the rows of the projections: a board of many tasks takes a fraction of the
// time and the memory that decoding and encoding it does.
func (l *Log) Snapshot(ctx context.Context) (*ssot.Snapshot, error) {
	if err := l.enter(); err != nil {
		return nil, err
	}
	defer l.leave()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := l.snapshot(ctx)
	if err != nil {
		return nil, l.readFault(ctx, err)
	}
	return s, nil
}

func (l *Log) snapshot(ctx context.Context) (s *ssot.Snapshot, err error) {
	tx, err := l.reader.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	b, err := l.boardRow(ctx, tx)
	if err != nil || b == nil {
		return nil, err
	}
	last, err := head(ctx, tx)
	if err != nil || last != b.Head {
		return nil, err // the tables of a file that another version wrote are behind
	}
	b.Tasks, b.Order = nil, nil
	before, after, ok := strings.Cut(string(amp.EncodeBody(b)), noTasks)
	if !ok {
		return nil, nil
	}
	s = &ssot.Snapshot{Head: b.Head}
	put := func(text string) { _, _ = s.Write([]byte(text)) } // it takes everything
	put(before + `"tasks":{`)
	order, err := l.eachState(ctx, tx, func(id string, state []byte, first bool) {
		if !first {
			put(",")
		}
		put(id + ":")
		_, _ = s.Write(state)
	})
	if err != nil {
		return nil, err
	}
	put(`},"order":` + string(amp.EncodeBody(order)) + after)
	return s, nil
}

// eachState calls f with the id, as JSON, and the state of each projected task by their ids, and returns them by their first entries.
func (l *Log) eachState(ctx context.Context, q querier, f func(id string, state []byte, first bool)) (order []amp.TaskID, err error) {
	type task struct {
		id  amp.TaskID
		key int64
	}
	var all []task
	rows, err := q.QueryContext(ctx, "SELECT task_id, key, state FROM task ORDER BY task_id")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var t task
		var state sql.RawBytes
		if err := rows.Scan(&t.id, &t.key, &state); err != nil {
			return nil, err
		}
		id := string(amp.EncodeBody(t.id))
		if !bytes.HasPrefix(state, []byte(`{"task_id":`+id+",")) || state[len(state)-1] != '}' {
			return nil, &DamagedError{Path: l.path, Why: fmt.Sprintf("task %s: a projection cannot be read, a rebuild puts it right", t.id)}
		}
		f(id, state, len(all) == 0)
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b task) int { return cmp.Compare(a.key, b.key) })
	order = make([]amp.TaskID, len(all))
	for i := range all {
		order[i] = all[i].id
	}
	return order, rows.Err()
}

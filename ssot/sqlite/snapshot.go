package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
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
	if s == nil && err == nil && l.writer != nil { // a stop, or its end, that the tables do not have yet
		if err := l.writer.alone(ctx, (*writer).flush); err != nil {
			return nil, err
		}
		s, err = l.snapshot(ctx)
	}
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
	later, ok, err := l.later(ctx, tx, b)
	if err != nil || !ok {
		return nil, err
	}
	b.Tasks, b.Order = nil, nil
	var before, after string
	before, after, ok = strings.Cut(string(amp.EncodeBody(b)), noTasks)
	if !ok {
		return nil, nil
	}
	s = &ssot.Snapshot{Head: b.Head}
	put := func(text string) { _, _ = s.Write([]byte(text)) } // it takes everything
	put(before + `"tasks":{`)
	order, err := l.eachState(ctx, tx, later, func(id string, state []byte, first bool) {
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

// later folds the entries behind the tables into the board and returns the tasks that they changed. ok is false when they changed all
// tasks, or when there are too many: the tables of a file that another version wrote are behind.
func (l *Log) later(ctx context.Context, q querier, b *amp.Board) (tasks map[amp.TaskID]*amp.Task, ok bool, err error) {
	page, err := entries(q.QueryContext(ctx, "SELECT "+entryColumns+` FROM entry e LEFT JOIN task_key k ON k.key = e.task
		WHERE e.seq > ? ORDER BY e.seq LIMIT ?`, int64(b.Head.Seq), tailOver+1))
	if err != nil || len(page) > tailOver {
		return nil, false, err
	}
	for i := range page {
		id := page[i].TaskID
		if id != "" && b.Tasks[id] == nil {
			var state []byte
			err := q.QueryRowContext(ctx, "SELECT state FROM task WHERE task_id = ?", string(id)).Scan(&state)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return nil, false, err
			}
			if err == nil {
				if b.Tasks[id], err = projection.DecodeTask(state); err != nil {
					return nil, false, &DamagedError{Path: l.path, Why: err.Error()}
				}
			}
		}
		stopped := b.Stopped
		if err := b.Apply(page[i]); err != nil {
			return nil, false, &DamagedError{Path: l.path, Seq: page[i].Seq, Why: err.Error()}
		}
		if b.Stopped != stopped {
			return nil, false, nil
		}
	}
	return b.Tasks, true, nil
}

// eachState calls f with the id, as JSON, and the state of each projected task by their ids, and returns them by their first entries.
// The tasks in later take the places of their rows.
func (l *Log) eachState(ctx context.Context, q querier, later map[amp.TaskID]*amp.Task, f func(id string, state []byte, first bool),
) (order []amp.TaskID, err error) {
	type task struct {
		id  amp.TaskID
		key int64
	}
	var all []task
	ids := slices.Sorted(maps.Keys(later))
	// until writes the later tasks up to an id, "" for all.
	until := func(id amp.TaskID) (is bool) {
		for len(ids) > 0 && (id == "" || ids[0] <= id) && !is {
			t := later[ids[0]]
			is = t.ID == id
			f(string(amp.EncodeBody(t.ID)), []byte(projection.Task(t)), len(all) == 0)
			all = append(all, task{t.ID, int64(t.Key)})
			ids = ids[1:]
		}
		return is
	}
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
		if until(t.id) {
			continue
		}
		id := string(amp.EncodeBody(t.id))
		if !bytes.HasPrefix(state, []byte(`{"task_id":`+id+",")) || state[len(state)-1] != '}' {
			return nil, &DamagedError{Path: l.path, Why: fmt.Sprintf("task %s: a projection cannot be read, a rebuild puts it right", t.id)}
		}
		f(id, state, len(all) == 0)
		all = append(all, t)
	}
	until("")
	slices.SortFunc(all, func(a, b task) int { return cmp.Compare(a.key, b.key) })
	order = make([]amp.TaskID, len(all))
	for i := range all {
		order[i] = all[i].id
	}
	return order, rows.Err()
}

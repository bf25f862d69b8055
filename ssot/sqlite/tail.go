package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
)

const (
	// tailFull is how many entries the tables are behind at most before they are written, unless that fails. Each page of theirs is then
	// written once for many entries. A reader folds that many, and an open after a crash.
	tailFull = 1024
	// tailOver is with how many entries nothing more is stored before the tables are written.
	tailOver = 8 * tailFull
)

// tailRow is an entry that is not in the tables of ids and tasks yet.
type tailRow struct {
	seq, task uint64
	id        string
}

// tail are the entries behind those in the tables.
type tail struct {
	rows []tailRow
	ids  map[string]uint64
}

func (t *tail) add(r tailRow) {
	t.rows = append(t.rows, r)
	t.ids[r.id] = r.seq
}

// cut forgets what was added behind the first n.
func (t *tail) cut(n int) {
	for _, r := range t.rows[n:] {
		delete(t.ids, r.id)
	}
	t.rows = t.rows[:n]
}

// read takes the entries behind seq from the journal.
func (t *tail) read(s *statements, seq int64) (err error) {
	t.cut(0)
	rows, err := s.tail.QueryContext(context.Background(), seq)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var seq, task int64
		var id string
		if err := rows.Scan(&seq, &task, &id); err != nil {
			return err
		}
		t.add(tailRow{uint64(seq), uint64(task), id})
	}
	return rows.Err()
}

// write puts the entries into the tables of ids and tasks, in the order of these.
func (t *tail) write(s *statements) error {
	if len(t.rows) == 0 {
		return nil
	}
	last := t.rows[len(t.rows)-1].seq
	rows := slices.Clone(t.rows)
	slices.SortFunc(rows, func(a, b tailRow) int { return cmp.Compare(a.id, b.id) })
	for _, r := range rows {
		if err := step(s.insertID, r.id, int64(r.seq)); err != nil {
			return err
		}
	}
	slices.SortFunc(rows, func(a, b tailRow) int {
		return cmp.Or(cmp.Compare(a.seq>>bucketBits, b.seq>>bucketBits), cmp.Compare(a.task, b.task), cmp.Compare(a.seq, b.seq))
	})
	for _, r := range rows {
		if err := step(s.insertOfTask, int64(r.seq>>bucketBits), int64(r.task), int64(r.seq)); err != nil {
			return err
		}
	}
	return step(s.updateIndexed, int64(last))
}

// find is the seq of the entry with an id, 0 when there is none.
func (t *tail) find(s *statements, id string) (uint64, error) {
	if seq, ok := t.ids[id]; ok {
		return seq, nil
	}
	var seq int64
	err := s.seqByID.QueryRowContext(context.Background(), id).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(seq), err
}

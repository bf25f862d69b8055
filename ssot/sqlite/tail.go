package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

const (
	// tailFull is how many entries the tables are behind at most before they are written, unless that fails. Each page of theirs is then
	// written once for many entries. A reader folds that many, and an open after a crash.
	tailFull = 1024
	// tailOver is with how many entries nothing more is stored before the tables are written.
	tailOver = 8 * tailFull
	// mostTops is how many beginnings of ids are remembered.
	mostTops = 4096
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
	// tops have for beginnings of ids an id that none in the table is above. Ids end with a time or a number, so that a new one is above
	// those before it, and need not be looked up.
	tops map[string]string
}

func newTail() tail { return tail{ids: map[string]uint64{}, tops: map[string]string{}} }

func (t *tail) add(r tailRow) {
	t.rows = append(t.rows, r)
	t.ids[r.id] = r.seq
	b := beginning(r.id)
	if top, known := t.tops[b]; known && top < r.id {
		t.tops[b] = r.id
	}
}

// beginning is an id without its last part.
func beginning(id string) string { return id[:strings.LastIndexByte(id, '-')+1] }

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
	err := s.insertIDs.each(rows, func(args []any, r tailRow) []any { return append(args, r.id, int64(r.seq)) })
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b tailRow) int {
		return cmp.Or(cmp.Compare(a.seq>>bucketBits, b.seq>>bucketBits), cmp.Compare(a.task, b.task), cmp.Compare(a.seq, b.seq))
	})
	err = s.insertOfTasks.each(rows, func(args []any, r tailRow) []any {
		return append(args, int64(r.seq>>bucketBits), int64(r.task), int64(r.seq))
	})
	if err != nil {
		return err
	}
	return step(s.updateIndexed, int64(last))
}

// rowsAtOnce is how many rows one statement inserts: each call of a statement costs about as much as a row.
const rowsAtOnce = 16

// inserts are the statements that insert one row and rowsAtOnce of them.
type inserts struct{ one, many *sql.Stmt }

// each inserts rows, whose values add appends.
func (s *inserts) each(rows []tailRow, add func(args []any, r tailRow) []any) error {
	var args []any
	for len(rows) > 0 {
		n, stmt := 1, s.one
		if len(rows) >= rowsAtOnce {
			n, stmt = rowsAtOnce, s.many
		}
		args = args[:0]
		for _, r := range rows[:n] {
			args = add(args, r)
		}
		if err := step(stmt, args...); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// find is the seq of the entry with an id, 0 when there is none.
func (t *tail) find(s *statements, id string) (uint64, error) {
	if seq, ok := t.ids[id]; ok {
		return seq, nil
	}
	b := beginning(id)
	top, known := t.tops[b]
	if !known && b != "" {
		err := s.topID.QueryRowContext(context.Background(), b, b[:len(b)-1]+".").Scan(&top) // "." comes next to "-"
		if err != nil {
			return 0, err
		}
		if len(t.tops) >= mostTops {
			clear(t.tops)
		}
		t.tops[b], known = top, true
	}
	if known && id > top {
		return 0, nil
	}
	var seq int64
	err := s.seqByID.QueryRowContext(context.Background(), id).Scan(&seq)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return uint64(seq), err
}

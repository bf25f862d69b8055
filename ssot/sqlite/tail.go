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
	// tailFull is about how many entries the tables are behind at most before they are written, unless that fails. Each page of theirs is then
	// written once for many entries. A reader folds that many, and an open after a crash.
	tailFull = 2048
	// tailOver is with how many entries nothing more is stored before the tables are written.
	tailOver = 4 * tailFull
	// tailStep is how many rows go into each table with one transaction once the tail is full.
	tailStep = 64
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
	// When the tail is full, its first spread rows go into their tables a few with each transaction, in the order of these: the pages
	// are still written once for many entries, and no append waits for all of them. byID and byTask are those that are left. Until the
	// tables stand at them, nobody misses or minds them there.
	spread       int
	byID, byTask []tailRow
	lists        taskLists
}

func newTail() tail {
	return tail{ids: map[string]uint64{}, tops: map[string]string{}}
}

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
	t.spread, t.byID, t.byTask = 0, nil, nil
}

// begin lets the rows that are there be written ahead.
func (t *tail) begin() {
	t.spread = len(t.rows)
	t.byID, t.byTask = slices.Clone(t.rows), slices.Clone(t.rows)
	t.order()
}

// order puts what is left to be written into the order of the tables.
func (t *tail) order() {
	slices.SortFunc(t.byID, func(a, b tailRow) int { return cmp.Compare(a.id, b.id) })
	slices.SortFunc(t.byTask, func(a, b tailRow) int {
		return cmp.Or(cmp.Compare(bucketOf(a.seq), bucketOf(b.seq)), cmp.Compare(a.task, b.task), cmp.Compare(a.seq, b.seq))
	})
}

// ready reports whether all that was to be written ahead is.
func (t *tail) ready() bool { return t.spread > 0 && len(t.byID)+len(t.byTask) == 0 }

// ahead writes at most n of the rows into each table.
func (t *tail) ahead(s *statements, n int) error {
	ids, tasks := min(n, len(t.byID)), min(n, len(t.byTask))
	if err := t.put(s, t.byID[:ids], t.byTask[:tasks]); err != nil {
		return err
	}
	t.byID, t.byTask = t.byID[ids:], t.byTask[tasks:]
	return nil
}

func (t *tail) put(s *statements, byID, byTask []tailRow) error {
	err := insertRows(&s.insertIDs, byID, func(args []any, r tailRow) []any { return append(args, r.id, int64(r.seq)) })
	if err != nil {
		return err
	}
	return t.lists.add(s, byTask)
}

// read takes the entries behind seq from the journal.
func (t *tail) read(s *statements, seq int64) (err error) {
	t.cut(0)
	t.lists.forget() // a transaction that failed may have added to it
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

// write puts the entries that are not there yet into the tables of ids and tasks, which stand at the last one then.
func (t *tail) write(s *statements) error {
	if len(t.rows) == 0 {
		return nil
	}
	rest := t.rows[t.spread:]
	t.byID, t.byTask = append(t.byID, rest...), append(t.byTask, rest...)
	t.order()
	if err := t.put(s, t.byID, t.byTask); err != nil {
		return err
	}
	return step(s.updateIndexed, int64(t.rows[len(t.rows)-1].seq))
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

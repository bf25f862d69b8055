package sqlite

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
)

const (
	// bucketBits are those of a bucket in the table of tasks; the schema has the same number.
	bucketBits = 12
	// spanBits are those of the buckets that a row of task_span tells of, as many as an integer has bits.
	spanBits = 6
	// placeLen are the bytes of a place, which is where an entry stands in its bucket.
	placeLen = 2
)

func bucketOf(seq uint64) uint64 { return seq >> bucketBits }

// placed appends the entry of a bucket to its list, ascending. A list has each entry once: some may have been written ahead.
func placed(list []byte, seq uint64) []byte {
	place := uint16(seq & (1<<bucketBits - 1))
	at := len(list)
	for at > 0 && binary.BigEndian.Uint16(list[at-placeLen:]) > place {
		at -= placeLen
	}
	if at > 0 && binary.BigEndian.Uint16(list[at-placeLen:]) == place {
		return list
	}
	list = slices.Insert(list, at, 0, 0)
	binary.BigEndian.PutUint16(list[at:], place)
	return list
}

// eachOf calls f with the entries of a list, and reports whether it is one: whole and ascending.
func eachOf(bucket uint64, list []byte, f func(seq uint64)) bool {
	last := -1
	for ; len(list) >= placeLen; list = list[placeLen:] {
		place := int(binary.BigEndian.Uint16(list))
		if place <= last || place >= 1<<bucketBits {
			return false
		}
		last = place
		f(bucket<<bucketBits | uint64(place))
	}
	return len(list) == 0
}

// taskLists are those of one bucket, as the table of tasks has them, so that the writer need not read them for each entry.
type taskLists struct {
	bucket uint64
	known  bool
	of     map[uint64]*taskList
}

// taskList is where a task has entries in a bucket. marked is set when the table of spans tells of it for certain.
type taskList struct {
	task   uint64
	seqs   []byte
	marked bool
}

// forget lets the next use read the table anew.
func (t *taskLists) forget() { t.known = false }

// load brings the lists of a bucket into memory.
func (t *taskLists) load(s *statements, n uint64) (err error) {
	if t.known && t.bucket == n {
		return nil
	}
	t.bucket, t.known, t.of = n, false, map[uint64]*taskList{}
	rows, err := s.bucket.QueryContext(context.Background(), int64(n))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var task int64
		var seqs []byte
		if err := rows.Scan(&task, &seqs); err != nil {
			return err
		}
		t.of[uint64(task)] = &taskList{task: uint64(task), seqs: seqs}
	}
	t.known = rows.Err() == nil
	return rows.Err()
}

// add puts entries, ordered by their bucket and their task, into the tables of tasks and spans.
func (t *taskLists) add(s *statements, rows []tailRow) error {
	for len(rows) > 0 {
		n := bucketOf(rows[0].seq)
		if err := t.load(s, n); err != nil {
			return err
		}
		var changed, unmarked []*taskList
		for len(rows) > 0 && bucketOf(rows[0].seq) == n {
			l := t.of[rows[0].task]
			if l == nil {
				l = &taskList{task: rows[0].task}
				t.of[l.task] = l
			}
			for ; len(rows) > 0 && rows[0].task == l.task && bucketOf(rows[0].seq) == n; rows = rows[1:] {
				l.seqs = placed(l.seqs, rows[0].seq)
			}
			changed = append(changed, l)
			if !l.marked {
				l.marked = true
				unmarked = append(unmarked, l)
			}
		}
		err := insertRows(&s.upsertBuckets, changed, func(args []any, l *taskList) []any { return append(args, int64(n), int64(l.task), l.seqs) })
		if err != nil {
			return err
		}
		err = insertRows(&s.insertSpans, unmarked, func(args []any, l *taskList) []any {
			return append(args, int64(n>>spanBits), int64(l.task), int64(1)<<(n&(1<<spanBits-1)))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

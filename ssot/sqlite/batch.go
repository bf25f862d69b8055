package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
)

// errAllTasks is the reason to run a batch again: only its first run finds out. It is rare, so the ordinary run pays nothing for it.
var errAllTasks = errors.New("an entry touches every task")

// store puts a batch into the journal in one transaction. It returns after COMMIT, or with nothing stored. The tables beside the journal
// are written later, see tend.
func (w *writer) store(batch []*group.Request) error {
	if len(w.tail.rows) >= tailOver {
		if err := w.flush(); err != nil {
			return err
		}
	}
	if w.walSize() > walLimit {
		time.Sleep(walPause)
		batch = w.queue.More()
	}
	again := false
	for {
		err := w.transaction(func() error {
			for n := 0; n < len(batch); batch = w.queue.More() { // what has come meanwhile goes along
				if err := w.insert(batch[n:], again); err != nil {
					return err
				}
				n = len(batch)
			}
			return w.tail.ahead(w.tables.stmt, max(tailStep, 2*len(batch)))
		})
		if err == nil {
			w.recent.add(w.tail.rows)
		}
		if !errors.Is(err, errAllTasks) || again {
			return err
		}
		if err := w.recover(); err != nil {
			return err
		}
		if err := w.loadAll(); err != nil {
			return err
		}
		again = true
	}
}

// transaction runs f in one transaction. When it fails, nothing is stored, and what the writer has in memory is read anew before the next.
func (w *writer) transaction(f func() error) error {
	if err := w.recover(); err != nil {
		return err
	}
	if err := step(w.stmt.begin); err != nil {
		return err
	}
	err := f()
	if err == nil {
		err = step(w.stmt.commit)
	}
	if err != nil {
		// A full disk has rolled back already, and then this fails. Should it fail for another reason, the next BEGIN will say so.
		_ = step(w.stmt.rollback)
		w.spoiled = true
	}
	return err
}

// flush brings the tables beside the journal to its head.
func (w *writer) flush() error {
	if !w.behind() {
		return nil
	}
	if err := w.transaction(w.write); err != nil {
		return err
	}
	w.wrote()
	return nil
}

// tend writes the tables when there is enough to write, or nothing else to do. What cannot be written now is written later: it is in the
// journal.
func (w *writer) tend(idle bool) {
	n := len(w.tail.rows)
	switch {
	case idle || w.tail.ready() || n >= 2*w.full || len(w.dirty) >= tailOver:
		_ = w.serve(w.flush)
	case n >= w.full && w.tail.spread == 0:
		w.tail.begin()
	}
}

// insert stores the records of a batch. Facts are folded once: a second run parses them anew.
func (w *writer) insert(batch []*group.Request, again bool) error {
	w.rows = w.rows[:0] // a transaction that failed may have left some
	for _, r := range batch {
		r.Out = make([]ssot.Appended, len(r.Records))
		for i := range r.Records {
			var fact amp.Fact
			if again {
				fact = amp.Parse(&r.Records[i])
			} else {
				fact = r.Facts[i]
			}
			var err error
			if r.Out[i], err = w.one(&r.Records[i], fact); err != nil {
				return err
			}
		}
	}
	return w.put()
}

// one stores a record. An error is about the whole batch; what concerns the record alone is in the answer.
func (w *writer) one(r *amp.Record, fact amp.Fact) (out ssot.Appended, err error) {
	if err := ssot.CheckRecord(r); err != nil {
		return ssot.Appended{Err: err}, nil
	}
	switch seq, err := w.tail.find(w.tables.stmt, r.ID); {
	case err != nil:
		return out, err
	case seq != 0:
		return w.known(r, seq)
	case fact.Err() != nil:
		return ssot.Appended{Err: fmt.Errorf("%w: fold %s %s: %w", ssot.ErrInvalid, r.Kind, r.ID, fact.Err())}, nil
	}
	key, err := w.key(r.TaskID)
	if err != nil {
		return out, err
	}
	if key != 0 {
		if err := w.load(r.TaskID); err != nil {
			return out, err
		}
	}
	e := w.board.Head.Chain(*r)
	if r.TaskID != "" && key == 0 {
		key = e.Seq
		if err := w.addKey(r.TaskID, key); err != nil {
			return out, err
		}
	}
	w.rows = append(w.rows, entryRow{e, key})
	w.tail.add(tailRow{e.Seq, key, e.ID})
	return ssot.Appended{Entry: e, Fresh: true}, w.apply(e, fact)
}

// entryRow is an entry with the key of its task.
type entryRow struct {
	amp.Entry
	task uint64
}

// put writes the entries of a batch, many with one statement.
func (w *writer) put() error {
	err := insertRows(&w.stmt.insertEntries, w.rows, func(args []any, e entryRow) []any {
		body := e.Body
		if body == nil {
			body = []byte{} // nil would be NULL
		}
		return append(args, int64(e.Seq), int64(e.task), e.At.UnixMilli(), e.ID, string(e.Kind), string(e.Role), e.Actor, e.Hash[:], body)
	})
	clear(w.rows) // lets go of the bodies
	w.rows = w.rows[:0]
	return err
}

// known answers for a record whose id an entry has.
func (w *writer) known(r *amp.Record, seq uint64) (ssot.Appended, error) {
	if err := w.put(); err != nil { // it may be one of them
		return ssot.Appended{}, err
	}
	e, err := scanEntry(w.stmt.entryBySeq.QueryRowContext(context.Background(), int64(seq)))
	if err != nil {
		return ssot.Appended{}, err
	}
	if !ssot.Same(&e, r) {
		return ssot.Appended{Entry: e, Err: fmt.Errorf("record %s: %w", r.ID, ssot.ErrConflict)}, nil
	}
	return ssot.Appended{Entry: e}, nil
}

// key is the key of a task, 0 when it has none yet or when the id is empty.
func (w *writer) key(id amp.TaskID) (uint64, error) {
	if id == "" {
		return 0, nil
	}
	if k, ok := w.keys[id]; ok {
		return k, nil
	}
	var k int64
	err := w.stmt.keyByTask.QueryRowContext(context.Background(), string(id)).Scan(&k)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	w.keys[id] = uint64(k)
	return uint64(k), nil
}

func (w *writer) addKey(id amp.TaskID, key uint64) error {
	if err := step(w.stmt.insertKey, int64(key), string(id)); err != nil {
		return err
	}
	w.keys[id] = key
	return nil
}

package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
)

// The reasons to run a batch again, which the first run only finds out on the way. Both are rare, so the ordinary run pays
// nothing for them.
var (
	errCareful  = errors.New("a record does not fold")
	errAllTasks = errors.New("an entry touches every task")
)

// store puts a batch into the journal in one transaction, with the projections of the tasks that it touches. It returns after
// COMMIT, or with nothing stored.
func (w *writer) store(batch []*group.Request) error {
	careful := false
	for {
		err := w.transaction(func() error { return w.insert(batch, careful) })
		switch {
		case errors.Is(err, errCareful) && !careful:
			careful = true
		case errors.Is(err, errAllTasks):
			if err := w.loadAll(); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// transaction runs f and the writing of the projections in one transaction. When it fails, nothing is stored and the board is
// the one from before.
func (w *writer) transaction(f func() error) error {
	if err := step(w.stmt.begin); err != nil {
		return err
	}
	w.begin()
	err := f()
	if err == nil {
		err = w.flush()
	}
	if err == nil {
		err = step(w.stmt.commit)
	}
	if err != nil {
		// A full disk has rolled back already, and then this fails. Should it fail for another reason, the next BEGIN will say so.
		_ = step(w.stmt.rollback)
		w.revert()
		return err
	}
	w.commit()
	return nil
}

func (w *writer) insert(batch []*group.Request, careful bool) error {
	for _, r := range batch {
		r.Out = make([]ssot.Appended, len(r.Records))
		for i := range r.Records {
			var err error
			if r.Out[i], err = w.one(&r.Records[i], careful); err != nil {
				return err
			}
		}
	}
	return nil
}

// one stores a record. An error is about the whole batch; what concerns the record alone is in the answer.
func (w *writer) one(r *amp.Record, careful bool) (out ssot.Appended, err error) {
	if err := ssot.CheckRecord(r); err != nil {
		return ssot.Appended{Err: err}, nil
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
	first := r.TaskID != "" && key == 0
	if first {
		key = e.Seq
	}
	if careful {
		if err := step(w.stmt.mark); err != nil {
			return out, err
		}
	}
	fresh, err := w.insertEntry(&e, key)
	switch {
	case err != nil:
		return out, err
	case !fresh:
		out, err = w.known(r)
	default:
		if first {
			err = w.addKey(r.TaskID, key)
		}
		if err == nil {
			err = w.apply(e)
		}
		out = ssot.Appended{Entry: e, Fresh: true}
	}
	if errors.Is(err, ssot.ErrInvalid) {
		if !careful {
			return out, errCareful
		}
		out, err = ssot.Appended{Err: err}, step(w.stmt.back)
		if first {
			delete(w.keys, r.TaskID)
		}
	}
	if careful && err == nil {
		err = step(w.stmt.unmark)
	}
	return out, err
}

// insertEntry reports whether the entry is new; it is not when its id is known.
func (w *writer) insertEntry(e *amp.Entry, key uint64) (bool, error) {
	body := e.Body
	if body == nil {
		body = []byte{} // nil would be NULL
	}
	res, err := w.stmt.insertEntry.ExecContext(context.Background(), int64(e.Seq), int64(key), e.At.UnixMilli(), e.ID, string(e.Kind),
		string(e.Role), e.Actor, e.Hash[:], body)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// known answers for a record whose id is stored.
func (w *writer) known(r *amp.Record) (ssot.Appended, error) {
	e, err := scanEntry(w.stmt.entryByID.QueryRowContext(context.Background(), r.ID))
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
	w.newKeys = append(w.newKeys, id)
	return nil
}

package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/group"
)

// store puts the batch into the journal in one transaction, with the projections of the tasks that it touches. It returns after
// COMMIT, or with nothing stored.
func (w *writer) store(ctx context.Context) error {
	if stored, err := w.storeAtOnce(ctx); stored || err != nil {
		return err
	}
	err := w.transaction(ctx, false)
	if code(err) != uniqueViolation {
		return err
	}
	// An id is stored already, which the first run does not look for.
	w.revert()
	w.sent = nil
	if _, err := w.conn.Exec(ctx, "ROLLBACK"); err != nil {
		return err
	}
	return w.transaction(ctx, true)
}

// transaction locks the head, folds the batch and stores it. With ids it first asks which of the records are stored.
func (w *writer) transaction(ctx context.Context, ids bool) error {
	q, err := w.ask(ctx, ids)
	if err != nil {
		w.forget() // some of it may be of another head than the rest
		return err
	}
	w.begin()
	if !q.done {
		if err := w.foldBatch(ctx, q, w.batch); err != nil {
			return err
		}
	}
	if len(w.entries) > 0 {
		return w.write(ctx, &pgx.Batch{}, nil)
	}
	w.end()
	_, err = w.conn.Exec(ctx, "ROLLBACK")
	return err
}

// calmEnough is after how many transactions without another writer the next one is made without asking first.
const calmEnough = 4

// storeAtOnce stores the batch in one round trip, for what the cache holds to be true: while there is no other writer, all tasks are
// known or new, nothing is refused and nothing was sent before. What comes while the batch is folded goes along. The transaction itself checks
// the head and the leases. It reports false, with nothing stored, when any of that is not so.
func (w *writer) storeAtOnce(ctx context.Context) (stored bool, err error) {
	if w.calm < calmEnough || w.sent != nil {
		w.revert()
		return false, nil
	}
	if w.next == nil {
		w.beginPlain()
	}
	q, n := w.next, w.folded
	w.next, w.folded = nil, 0
	for w.batch = w.queue.More(); n < len(w.batch); w.batch = w.queue.More() {
		more := w.batch[n:]
		n = len(w.batch)
		plain, err := w.foldPlain(q, more)
		if err != nil || !plain {
			w.revert()
			return false, err
		}
	}
	if len(w.entries) == 0 {
		w.revert()
		return false, nil
	}
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	err = w.write(ctx, b, func() {
		if len(q.held) > 0 {
			tasks := slices.Sorted(maps.Keys(q.held)) // leases are locked in one order
			epochs := make([]int64, len(tasks))
			for i, task := range tasks {
				epochs[i] = int64(q.held[task])
			}
			b.Queue(wantLeases, texts(tasks), epochs, len(epochs))
		}
	})
	if c := code(err); c != divisionByZero && c != uniqueViolation {
		return err == nil, err
	}
	w.calm, w.sent = 0, nil
	w.revert()
	_, err = w.conn.Exec(ctx, "ROLLBACK")
	return false, err
}

// foldAhead folds what comes until the channel is closed, for the transaction that comes next.
func (w *writer) foldAhead(until <-chan struct{}) {
	if len(w.tasks) > cacheLen {
		return // they are let go of first
	}
	for came := w.queue.Ahead(until); len(came) > 0; came = w.queue.Ahead(until) {
		if w.next == nil {
			w.beginPlain()
		}
		if plain, err := w.foldPlain(w.next, came); err != nil || !plain {
			w.revertAhead() // it is folded again when it is its turn, and what is wrong with it is found again
			return
		}
		w.folded += len(came)
	}
}

// foldPlain folds requests for which nothing needs to be asked, with the leases that they name in q. It reports false when one of them is not
// such a one.
func (w *writer) foldPlain(q *question, more []*group.Request) (bool, error) {
	for _, r := range more {
		for i := range r.Records {
			task := r.Records[i].TaskID
			if k, there := w.tasks[task]; task != "" && (there && k.round != w.round || !there && !w.isNew(task)) {
				return false, nil
			}
		}
		if r.Judged == nil {
			continue
		}
		if !w.knows(r.Judged) {
			return false, nil
		}
		for task, epoch := range r.Judged.Epochs {
			if other, twice := q.held[task]; twice && other != epoch {
				return false, nil
			}
			q.held[task] = epoch
		}
	}
	refused, err := w.foldAll(q, more)
	if errors.Is(err, errAllTasks) {
		return false, nil
	}
	return len(refused) == 0, err
}

// foldBatch folds the records of the batch into the cache, and answers for them as they will be stored.
func (w *writer) foldBatch(ctx context.Context, q *question, batch []*group.Request) error {
	refused, err := w.foldAll(q, batch)
	if errors.Is(err, errAllTasks) {
		if err := w.loadAll(ctx); err != nil {
			return err
		}
		refused, err = w.foldAll(q, batch)
	}
	if err != nil || len(refused) == 0 {
		return err
	}
	// What is stored already is no matter of a judgement.
	if len(q.ids) == 0 {
		rows, err := w.conn.Query(ctx, entriesByID, texts(questionOf(refused, true).ids))
		if err != nil {
			return err
		}
		if err := q.readStored(rows); err != nil {
			return err
		}
	}
	for _, r := range refused {
		w.repeat(q, r)
	}
	return nil
}

func (w *writer) foldAll(q *question, batch []*group.Request) (refused []*group.Request, err error) {
	for _, r := range batch {
		r.Out, r.Err = make([]ssot.Appended, len(r.Records)), nil
		if r.Judged != nil {
			if r.Err = w.judge(q, r); r.Err != nil {
				refused = append(refused, r)
				continue
			}
		}
		facts := r.Facts
		r.Facts = nil // they are folded once
		for i := range r.Records {
			var fact amp.Fact
			if facts != nil {
				fact = facts[i]
			} else {
				fact = amp.Parse(&r.Records[i])
			}
			if r.Out[i], err = w.one(q, &r.Records[i], fact); err != nil {
				return nil, err
			}
		}
	}
	return refused, nil
}

// judge says why what the judge had seen does not hold any more.
func (w *writer) judge(q *question, r *group.Request) error {
	j := r.Judged
	if head := w.board.Head.Seq; j.Seq > head {
		return &ssot.DamagedError{Path: w.name, Seq: head + 1, Why: fmt.Sprintf("%d entries are missing at its end", j.Seq-head)}
	}
	if err := w.holds(q, j); err != nil {
		return err
	}
	for task, epoch := range j.Epochs {
		if q.held[task] != epoch {
			return fmt.Errorf("task %s, epoch %d: %w", task, epoch, ssot.ErrFenced)
		}
	}
	if w.everything > j.Seq {
		return fmt.Errorf("entry %d concerns every task: %w", w.everything, ssot.ErrStale)
	}
	for i := range r.Records {
		task := r.Records[i].TaskID
		if last := w.tasks[task].last; task != "" && last > j.Seq {
			return fmt.Errorf("entry %d is about task %s: %w", last, task, ssot.ErrStale)
		}
	}
	return nil
}

// holds wants the entry that records were judged on to be in the journal.
func (w *writer) holds(q *question, j *ssot.Judged) error {
	if w.knows(j) {
		return nil
	}
	judged := amp.Head{Seq: j.Seq, Hash: j.Hash}
	h := q.hashes[j.Seq]
	if why := goneBack(judged, j.Seq, h[:]); why != "" {
		return &ssot.DamagedError{Path: w.name, Seq: j.Seq, Why: why}
	}
	if j.Seq > w.proven.Seq {
		w.proven = judged
	}
	return nil
}

// knows reports whether the journal holds what records were judged on, as far as nothing has to be asked: the judge of this process goes from
// entry to entry.
func (w *writer) knows(j *ssot.Judged) bool {
	return j.Hash == amp.Hash{} || w.proven.Seq > 0 && j.Seq > w.proven.Seq || j.Seq == w.proven.Seq && j.Hash == w.proven.Hash
}

// one folds a record. An error is about the whole batch; what concerns the record alone is in the answer.
func (w *writer) one(q *question, r *amp.Record, fact amp.Fact) (ssot.Appended, error) {
	if out, stored := w.repeated(q, r); stored {
		return out, nil
	}
	if err := ssot.CheckRecord(r); err != nil {
		return ssot.Appended{Err: err}, nil
	}
	e, err := w.fold(r, fact)
	if errors.Is(err, ssot.ErrInvalid) {
		return ssot.Appended{Err: err}, nil
	}
	return ssot.Appended{Entry: e, Fresh: true}, err
}

// repeated answers for a record that is stored, also in this transaction.
func (w *writer) repeated(q *question, r *amp.Record) (ssot.Appended, bool) {
	e, stored := q.stored[r.ID]
	if i, now := w.pending[r.ID]; now {
		e, stored = w.entries[i], true
	}
	switch {
	case !stored:
		return ssot.Appended{}, false
	case !ssot.Same(&e, r):
		return ssot.Appended{Entry: e, Err: fmt.Errorf("record %s: %w", r.ID, ssot.ErrConflict)}, true
	}
	return ssot.Appended{Entry: e}, true
}

// repeat answers for records that were refused, if all of them are stored.
func (w *writer) repeat(q *question, r *group.Request) {
	for i := range r.Records {
		out, stored := w.repeated(q, &r.Records[i])
		if !stored {
			return
		}
		r.Out[i] = out
	}
	r.Err = nil
}

// loadAll begins the fold of the batch anew, with every task in memory.
func (w *writer) loadAll(ctx context.Context) error {
	w.revert()
	w.forget()
	rows, err := w.conn.Query(ctx, everyTask)
	if err != nil {
		return err
	}
	if err := w.readTasks(rows); err != nil {
		return err
	}
	w.complete = true
	w.begin()
	return nil
}

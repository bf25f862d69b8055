package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"slices"
	"sync"

	driver "modernc.org/sqlite"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

type (
	// Problem is one thing that is wrong, in the form of every store.
	Problem = ssot.Problem
	// Report is what a verification found, in the form of every store.
	Report = ssot.Report
)

// Verify reads the whole journal: every hash is computed again, every body is decoded and folded, the tables of ids and tasks are
// compared with the entries and the projections with the fold, as of the entry that they stand at. It finds any changed byte, removed entry or swapped pair. What it cannot know is
// an end that was cut off together with its projections, or a whole journal that was written anew: compare Report.Head with a
// head that was noted elsewhere.
//
// It reads in short statements of at most 1,000 entries and may run beside a coordinator; entries that are appended meanwhile are
// verified too. progress, if not nil, is called after each page with the seq reached and the last seq.
func (l *Log) Verify(ctx context.Context, progress func(done, total uint64)) (Report, error) {
	if err := l.enter(); err != nil {
		return Report{}, err
	}
	defer l.leave()
	v := &verifier{log: l, board: amp.NewBoard(), seed: maphash.MakeSeed(), keys: map[amp.TaskID]int64{}}
	err := v.run(ctx, progress)
	v.report.Head, v.report.Entries = v.head, v.count
	if ctx.Err() != nil {
		return v.report, ctx.Err()
	}
	if _, ok := errors.AsType[*driver.Error](err); err != nil && !ok {
		err = &rowError{err} // nothing but a row of another form can be wrong above the driver
	}
	err = l.fault(err)
	if d, ok := errors.AsType[*DamagedError](err); ok {
		v.damage(d.Seq, d.Why)
		err = nil
	}
	return v.report, err
}

// verifier is one verification under way.
type verifier struct {
	log    *Log
	report Report
	head   amp.Head // of the entries read so far, as they are stored
	count  uint64
	board  *amp.Board
	seed   maphash.Seed
	// folded is the last entry that is in the board and in the sums. It never passes the entry that the tables stand at: those behind
	// it are late.
	folded uint64
	late   []lateEntry
	// byID and byTask sum up (id, seq) and (task, seq), whatever their order: what a table must sum up to.
	byID, byTask uint64
	// keys are the keys of the tasks: the seq of the first entry that names each.
	keys map[amp.TaskID]int64
	// next was read ahead.
	next *verifyRead
}

// lateEntry is an entry that the tables do not have yet.
type lateEntry struct {
	keyedEntry
	fact amp.Fact
}

// mostLate is how many entries wait for the tables at most: these are at fault when they are so far behind.
const mostLate = 4 * tailOver

func (v *verifier) damage(seq uint64, what string) { v.report.Damaged(seq, what) }

func (v *verifier) stale(seq uint64, format string, args ...any) {
	v.report.Stale(seq, format, args...)
}

func (v *verifier) run(ctx context.Context, progress func(done, total uint64)) error {
	var early int
	if err := v.log.reader.QueryRowContext(ctx, "SELECT count(*) FROM entry WHERE seq < 1").Scan(&early); err != nil {
		return err
	}
	if early > 0 {
		v.damage(0, "there is an entry before the first")
	}
	for {
		at, err := v.tables(ctx, v.log.reader)
		if err != nil {
			return err
		}
		more, err := v.page(ctx, v.log.reader, true)
		if err != nil {
			return err
		}
		v.settle(at)
		if progress != nil {
			last, err := v.log.lastSeq(ctx)
			if err != nil {
				return err
			}
			progress(v.head.Seq, last)
		}
		if !more {
			break
		}
	}
	if err := v.indexes(ctx); err != nil {
		return err
	}
	if len(v.report.Damage) > 0 {
		return nil
	}
	return v.projections(ctx)
}

// tables is the entry that the tables stand at, the last of all when there are none that could be compared.
func (v *verifier) tables(ctx context.Context, q querier) (uint64, error) {
	var at int64
	err := q.QueryRowContext(ctx, `SELECT min(b.seq, i.seq) FROM board b, indexed i WHERE b.fold = ?`, projection.Version()).Scan(&at)
	if errors.Is(err, sql.ErrNoRows) {
		return math.MaxInt64, nil
	}
	return uint64(at), err
}

// settle folds the late entries up to one.
func (v *verifier) settle(at uint64) {
	if len(v.late) > mostLate {
		at = math.MaxInt64
	}
	n := 0
	for n < len(v.late) && v.late[n].Seq <= at {
		e := &v.late[n]
		if len(v.report.Damage) == 0 {
			if err := v.board.ApplyFact(e.Entry, e.fact); err != nil {
				v.damage(e.Seq, err.Error())
			}
		}
		v.folded = e.Seq
		v.byID += v.sum(e.ID, int64(e.Seq))
		v.byTask += v.sum("", e.key, int64(e.Seq))
		n++
	}
	v.late = slices.Delete(v.late, 0, n)
}

const verifyPage = "SELECT " + entryColumns + `, e.task
	FROM entry e LEFT JOIN task_key k ON k.key = e.task WHERE e.seq > ? ORDER BY e.seq LIMIT ?`

// keyedEntry is an entry with the key of its task.
type keyedEntry struct {
	amp.Entry
	key int64
}

// verifyRead is what was read behind an entry, up to the error.
type verifyRead struct {
	after uint64
	rows  []keyedEntry
	err   error
}

// page verifies the next entries and reports whether there may be more; with ahead it reads those behind them meanwhile. What lies
// behind an entry that cannot be read is reached when the one after it can be found.
func (v *verifier) page(ctx context.Context, q querier, ahead bool) (more bool, err error) {
	n, err := v.rows(ctx, q, ssot.MaxPage, ahead)
	if err == nil {
		return n == ssot.MaxPage, nil
	}
	if !v.damaged(ctx, err) {
		return false, err
	}
	if !v.found(ctx, q) {
		v.damage(v.head.Seq, notFound)
	}
	v.damage(v.head.Seq+1, "it cannot be read: "+err.Error())
	n, err = v.rows(ctx, q, 1, false)
	if err != nil && v.damaged(ctx, err) {
		return false, nil
	}
	return n == 1, err
}

func (v *verifier) rows(ctx context.Context, q querier, limit int, ahead bool) (n int, err error) {
	r := v.next
	v.next = nil
	if r == nil || r.after != v.head.Seq {
		r = v.read(ctx, q, v.head.Seq, limit)
	}
	if ahead && r.err == nil && len(r.rows) == limit {
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() { v.next = v.read(ctx, q, r.rows[limit-1].Seq, limit) })
	}
	for i := range r.rows {
		e := &r.rows[i]
		if e.Seq <= v.head.Seq {
			return n, &DamagedError{Path: v.log.path, Why: fmt.Sprintf("entry %d comes after %d", e.Seq, v.head.Seq)}
		}
		v.entry(e)
		n++
	}
	return n, r.err
}

func (v *verifier) read(ctx context.Context, q querier, after uint64, limit int) *verifyRead {
	r := &verifyRead{after: after}
	rows, err := q.QueryContext(ctx, verifyPage, int64(after), limit)
	if err != nil {
		r.err = err
		return r
	}
	defer func() { r.err = errors.Join(r.err, rows.Close()) }()
	for rows.Next() {
		var e keyedEntry
		if e.Entry, r.err = scanEntry(withKey{rows, &e.key}); r.err != nil {
			return r
		}
		r.rows = append(r.rows, e)
	}
	r.err = rows.Err()
	return r
}

// damaged reports whether an error says that the file is, and not only that it cannot be read now.
func (v *verifier) damaged(ctx context.Context, err error) bool {
	_, is := errors.AsType[*DamagedError](v.log.fault(err))
	return is && ctx.Err() == nil
}

const notFound = "it is not found by its seq, although it is there"

// found reports whether the last entry that was read is found by its seq.
func (v *verifier) found(ctx context.Context, q querier) bool {
	var n int
	err := q.QueryRowContext(ctx, "SELECT length(hash) FROM entry WHERE seq = ?", int64(v.head.Seq)).Scan(&n)
	return v.head.Seq == 0 || err == nil || ctx.Err() != nil
}

// withKey scans one more column.
type withKey struct {
	row scanner
	key *int64
}

func (w withKey) Scan(to ...any) error { return w.row.Scan(append(to, w.key)...) }

// entry verifies one entry against the one before it.
func (v *verifier) entry(k *keyedEntry) {
	e, key := &k.Entry, k.key
	if e.Seq > v.head.Seq+1 {
		v.damage(v.head.Seq+1, fmt.Sprintf("it is missing: entry %d comes after %d", e.Seq, v.head.Seq))
	}
	if e.Seq == v.head.Seq+1 && e.PrevHash != v.head.Hash { // what the row before holds was read by its seq
		v.damage(v.head.Seq, notFound)
	}
	e.PrevHash = v.head.Hash
	if e.Hash != e.Sum() && e.Seq == v.head.Seq+1 {
		v.damage(e.Seq, "its content does not have its hash: it was changed, or does not belong after the entry before it")
	}
	late := lateEntry{keyedEntry: *k}
	if len(v.report.Damage) == 0 {
		late.fact = amp.Parse(&e.Record)
		if err := late.fact.Err(); err != nil {
			v.damage(e.Seq, err.Error())
		}
	}
	late.Body = nil
	v.late = append(v.late, late)
	v.head = amp.Head{Seq: e.Seq, Hash: e.Hash}
	v.count++
	if e.TaskID == "" {
		return
	}
	if _, known := v.keys[e.TaskID]; !known {
		v.keys[e.TaskID] = int64(e.Seq)
	}
	if v.keys[e.TaskID] != key {
		v.damage(e.Seq, fmt.Sprintf("the key of task %s is %d, its first entry is %d", e.TaskID, key, v.keys[e.TaskID]))
	}
}

func (v *verifier) sum(s string, n ...int64) uint64 {
	var h maphash.Hash
	h.SetSeed(v.seed)
	h.WriteString(s)
	for _, x := range n {
		maphash.WriteComparable(&h, x)
	}
	return h.Sum64()
}

// keyset runs a query page by page until one is short.
func (v *verifier) keyset(ctx context.Context, query func() (*sql.Rows, error), each func(*sql.Rows) error) error {
	for {
		rows, err := query()
		if err != nil {
			return err
		}
		n := 0
		for rows.Next() {
			n++
			if err := each(rows); err != nil {
				return errors.Join(err, rows.Close()) //nolint:sqlclosecheck // once in each round of the loop
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return err
		}
		if n < ssot.MaxPage {
			return ctx.Err()
		}
	}
}

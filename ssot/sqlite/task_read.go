package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
)

const (
	// mostBuckets is how many buckets are read together at most.
	mostBuckets = 64
	// sifted is how many entries of a task are looked at together when not all of them are wanted.
	sifted = 1024
	// entriesPage is how many entries are read in one statement.
	entriesPage = 128
)

// taskRead is one read of the entries of a task.
type taskRead struct {
	log   *Log
	f     *amp.Filter
	limit int
	// key is the task's, indexed the last entry in the tables of tasks.
	key, indexed uint64
	low, high    uint64 // both exclusive
	out          []amp.Entry
}

// readTask reads entries of a task. Which these are is said by the tables of tasks, and for what these do not have by the journal.
func (l *Log) readTask(ctx context.Context, f *amp.Filter) ([]amp.Entry, error) {
	r := &taskRead{log: l, f: f, limit: ssot.Limit(f)}
	if err := r.begin(ctx); err != nil || r.key == 0 {
		return nil, err
	}
	parts := []func(context.Context) error{r.listed, r.late}
	if f.Newest {
		slices.Reverse(parts)
	}
	for _, part := range parts {
		if err := part(ctx); err != nil {
			return nil, err
		}
	}
	return r.out, nil
}

// begin finds the task, as of one moment. What is appended later is not read.
func (r *taskRead) begin(ctx context.Context) (err error) {
	rows, err := r.log.reader.ask(ctx, `SELECT key, coalesce((SELECT seq FROM indexed), 0), (SELECT max(seq) FROM entry)
		FROM task_key WHERE task_id = ?`, string(r.f.TaskID))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if !rows.Next() {
		return rows.Err()
	}
	var key, indexed, last int64
	if err := rows.Scan(&key, &indexed, &last); err != nil {
		return err
	}
	r.key, r.indexed = uint64(key), uint64(indexed)
	r.low, r.high = max(r.f.After, r.key-1), uint64(last)+1
	if r.f.Before != 0 {
		r.high = min(r.high, r.f.Before)
	}
	return nil
}

func (r *taskRead) done() bool { return len(r.out) == r.limit }

// listed reads what is in the tables of tasks.
func (r *taskRead) listed(ctx context.Context) error {
	high := min(r.high, r.indexed+1)
	if r.done() || r.low+1 >= high {
		return nil
	}
	buckets, err := r.buckets(ctx, bucketOf(r.low+1), bucketOf(high-1))
	if err != nil {
		return err
	}
	for n := 1; len(buckets) > 0 && !r.done(); n = min(4*n, mostBuckets) { // the first ones often have enough
		some := buckets[:min(n, len(buckets))]
		buckets = buckets[len(some):]
		seqs, err := r.within(ctx, some, high)
		if err != nil {
			return err
		}
		if err := r.take(ctx, seqs); err != nil {
			return err
		}
	}
	return nil
}

// within are the entries of the task in some buckets that lie before high, ascending.
func (r *taskRead) within(ctx context.Context, buckets []uint64, high uint64) (seqs []uint64, err error) {
	rows, err := r.log.reader.ask(ctx, `SELECT t.bucket, t.seqs FROM json_each(?1) b CROSS JOIN task_bucket t
		ON t.bucket = b.value AND t.task = ?2`, list(buckets), int64(r.key))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var bucket int64
		var places []byte
		if err := rows.Scan(&bucket, &places); err != nil {
			return nil, err
		}
		whole := eachOf(uint64(bucket), places, func(seq uint64) {
			if seq > r.low && seq < high {
				seqs = append(seqs, seq)
			}
		})
		if !whole {
			return nil, &DamagedError{Path: r.log.path, Why: fmt.Sprintf("the list of the entries of task %s is none", r.f.TaskID)}
		}
	}
	slices.Sort(seqs)
	return seqs, rows.Err()
}

// buckets are those from one to another that have entries of the task, in the order of the answer.
func (r *taskRead) buckets(ctx context.Context, from, to uint64) (all []uint64, err error) {
	rows, err := r.log.reader.ask(ctx, `WITH RECURSIVE span (n) AS (VALUES (?1) UNION ALL SELECT n + 1 FROM span WHERE n < ?2)
		SELECT n, buckets FROM span CROSS JOIN task_span s ON s.span = n AND s.task = ?3`,
		int64(from>>spanBits), int64(to>>spanBits), int64(r.key))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var span, buckets int64
		if err := rows.Scan(&span, &buckets); err != nil {
			return nil, err
		}
		for n := range uint64(1 << spanBits) {
			if b := uint64(span)<<spanBits + n; uint64(buckets)>>n&1 != 0 && b >= from && b <= to {
				all = append(all, b)
			}
		}
	}
	slices.Sort(all)
	if r.f.Newest {
		slices.Reverse(all)
	}
	return all, rows.Err()
}

// late reads what the tables do not have yet.
func (r *taskRead) late(ctx context.Context) error {
	low, high := max(r.low, r.indexed), r.high
	if r.done() || low+1 >= high {
		return nil
	}
	if w := r.log.writer; w != nil {
		if seqs, ok := w.recent.of(r.key, low, high); ok {
			return r.take(ctx, seqs)
		}
	}
	for low+1 < high && !r.done() {
		from, to := low, min(high, low+scanWindow+1)
		if r.f.Newest {
			from, to = max(low, high-min(high, scanWindow+1)), high
		}
		rows, err := r.log.reader.ask(ctx, "SELECT seq FROM entry WHERE seq > ? AND seq < ? AND task = ?", int64(from), int64(to), int64(r.key))
		seqs, err := scanSeqs(rows, err)
		if err != nil {
			return err
		}
		if err := r.take(ctx, seqs); err != nil {
			return err
		}
		if r.f.Newest {
			high = from + 1
		} else {
			low = to - 1
		}
	}
	return nil
}

// take reads those entries, given ascending, that the filter selects.
func (r *taskRead) take(ctx context.Context, seqs []uint64) (err error) {
	if r.f.Newest {
		slices.Reverse(seqs)
	}
	all := len(r.f.Kinds) == 0 && r.f.Text == ""
	for len(seqs) > 0 && !r.done() {
		n := min(len(seqs), sifted)
		if all {
			n = min(n, r.limit-len(r.out))
		}
		some := seqs[:n]
		seqs = seqs[n:]
		if some, err = r.ofKinds(ctx, some); err != nil {
			return err
		}
		for page := range slices.Chunk(some, entriesPage) {
			found, err := r.log.these(ctx, page, r.f.Newest)
			if err != nil {
				return err
			}
			for i := range found {
				if !r.done() && ssot.Match(r.f, &found[i]) {
					r.out = append(r.out, found[i])
				}
			}
		}
	}
	return nil
}

// ofKinds are those of the kinds that are asked for: most of a body is not read for that.
func (r *taskRead) ofKinds(ctx context.Context, seqs []uint64) ([]uint64, error) {
	if len(r.f.Kinds) == 0 {
		return seqs, nil
	}
	args := []any{list(seqs)}
	for _, k := range r.f.Kinds {
		args = append(args, string(k))
	}
	return seqsOf(ctx, r.log.reader, "SELECT seq FROM entry WHERE seq IN (SELECT value FROM json_each(?)) AND kind IN (?"+
		strings.Repeat(", ?", len(r.f.Kinds)-1)+")", args, r.f.Newest, -1)
}

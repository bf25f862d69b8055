package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"arbiter/ssot"
)

// indexes compares what the tables of ids and tasks say with the entries: lookups rest on them.
func (v *verifier) indexes(ctx context.Context) error {
	idsOrdered, err := v.ids(ctx)
	if err != nil {
		return err
	}
	if !v.found(ctx, v.log.reader) {
		v.damage(v.head.Seq, notFound)
	}
	tasksOrdered, err := v.tasks(ctx)
	if err != nil {
		return err
	}
	if !idsOrdered || !tasksOrdered {
		v.damage(0, "the tables of ids and tasks are out of order")
	}
	return v.taskKeys(ctx)
}

// ids compares the table of ids, and reports whether it is in order: what is out of order is read, and not found.
func (v *verifier) ids(ctx context.Context) (ordered bool, err error) {
	var sum uint64
	last := ""
	ordered = true
	err = v.keyset(ctx, func() (*sql.Rows, error) {
		return v.log.reader.QueryContext(ctx, "SELECT id, typeof(id) = 'text', seq FROM entry_id WHERE id > ? ORDER BY id LIMIT ?", last, ssot.MaxPage)
	}, func(rows *sql.Rows) error {
		var seq int64
		var text bool // the same bytes of another type are not found by their id
		before := last
		err := rows.Scan(&last, &text, &seq)
		ordered = ordered && last >= before
		if text && uint64(seq) <= v.folded {
			sum += v.sum(last, seq)
		}
		return err
	})
	if err == nil && sum != v.byID {
		v.damage(0, "the table of ids does not agree with the entries")
	}
	return ordered, err
}

// tasks compares the lists of the entries of tasks, and which spans tell of them, and reports whether the lists are in order.
func (v *verifier) tasks(ctx context.Context) (ordered bool, err error) {
	var sum uint64
	spans, marked := map[int64]uint64{}, true
	ordered = true
	for n := range bucketOf(v.folded) + 1 {
		whole, err := v.bucket(ctx, n, func(task int64, seq uint64) {
			sum += v.sum("", task, int64(seq))
			spans[task] |= 1 << (n & (1<<spanBits - 1))
		})
		if err != nil {
			return false, err
		}
		ordered = ordered && whole
		if n == bucketOf(v.folded) || (n+1)&(1<<spanBits-1) == 0 {
			same, err := v.span(ctx, n>>spanBits, spans)
			if err != nil {
				return false, err
			}
			marked = marked && same
			clear(spans)
		}
	}
	if sum != v.byTask {
		v.damage(0, "the table of tasks does not agree with the entries")
	}
	if !marked {
		v.damage(0, "the table of spans does not agree with the table of tasks")
	}
	return ordered, nil
}

// bucket calls f with what the lists of a bucket have of the entries that are folded, and reports whether they are in order.
func (v *verifier) bucket(ctx context.Context, n uint64, f func(task int64, seq uint64)) (ordered bool, err error) {
	rows, err := v.log.reader.ask(ctx, "SELECT task, seqs FROM task_bucket WHERE bucket = ?", int64(n))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	ordered = true
	for last := int64(-1); rows.Next(); {
		var task int64
		var list []byte
		if err := rows.Scan(&task, &list); err != nil {
			return false, err
		}
		whole := eachOf(n, list, func(seq uint64) {
			if seq <= v.folded {
				f(task, seq)
			}
		})
		ordered = ordered && whole && task > last
		last = task
	}
	return ordered, rows.Err()
}

// span reports whether the table of spans says of one what it has to: every bucket in which the table of tasks has entries of a task, and
// no other one. In the last bucket, and behind it, may be tasks whose entries came later.
func (v *verifier) span(ctx context.Context, span uint64, want map[int64]uint64) (same bool, err error) {
	rows, err := v.log.reader.ask(ctx, "SELECT task, buckets FROM task_span WHERE span = ?", int64(span))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	later := ^uint64(0)
	if last := bucketOf(v.folded); last>>spanBits == span {
		later <<= last & (1<<spanBits - 1)
	} else {
		later = 0
	}
	same = true
	for lastTask := int64(-1); rows.Next(); {
		var task, buckets int64
		if err := rows.Scan(&task, &buckets); err != nil {
			return false, err
		}
		same = same && task > lastTask && (uint64(buckets)^want[task])&^later == 0 && want[task]&^uint64(buckets) == 0
		lastTask = task
		delete(want, task)
	}
	return same && len(want) == 0, rows.Err()
}

// taskKeys compares the keys by which tasks are found.
func (v *verifier) taskKeys(ctx context.Context) error {
	for id, want := range v.keys {
		var key int64
		err := v.log.reader.QueryRowContext(ctx, "SELECT key FROM task_key WHERE task_id = ?", string(id)).Scan(&key)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if key != want {
			v.damage(0, fmt.Sprintf("task %s is not found by its id", id))
		}
	}
	return nil
}

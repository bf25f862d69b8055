package postgres

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
)

const (
	// readLeases tells of tasks in their order who holds them.
	readLeases = `SELECT w.task_id, l.task_id IS NOT NULL, l.owner = $2 AND l.until > clock_timestamp(), coalesce(l.until > clock_timestamp(), false)
		FROM unnest($1::bytea[]) WITH ORDINALITY AS w (task_id, n) LEFT JOIN lease l ON l.task_id = w.task_id ORDER BY w.n`

	// addLeases makes the rows of tasks that nobody has held yet, as leases that lapsed long ago.
	addLeases = `INSERT INTO lease (task_id, owner, epoch, until) SELECT w, '', 0, to_timestamp(0) FROM unnest($1::bytea[]) AS w ORDER BY w
		ON CONFLICT (task_id) DO NOTHING`

	// Rows of leases are locked in the order of their tasks, always.
	lockLeases = `SELECT task_id FROM lease WHERE task_id = ANY ($1) ORDER BY task_id FOR UPDATE`

	// nextEpoch is above every epoch that was given out, and above those that the journal tells of for the tasks.
	nextEpoch = `UPDATE lease_epoch SET last = greatest(last, (SELECT coalesce(max(epoch), 0) FROM task WHERE task_id = ANY ($1))) + 1
		WHERE one = 1 RETURNING last`

	takeLeases = `UPDATE lease SET owner = $2, epoch = CASE WHEN owner = $2 AND until > clock_timestamp() THEN epoch ELSE $3 END,
		until = clock_timestamp() + $4::bigint * interval '1 microsecond'
		WHERE task_id = ANY ($1) AND (until <= clock_timestamp() OR owner = $2) RETURNING task_id, owner, epoch, until`

	renewLeases = `UPDATE lease l SET until = clock_timestamp() + $4::bigint * interval '1 microsecond'
		FROM unnest($1::bytea[], $2::text[], $3::bigint[]) AS w (task_id, owner, epoch)
		WHERE l.task_id = w.task_id AND l.owner = w.owner AND l.epoch = w.epoch AND l.until > clock_timestamp()
		RETURNING l.task_id, l.owner, l.epoch, l.until`

	dropLeases = `DELETE FROM lease l USING unnest($1::bytea[], $2::text[], $3::bigint[]) AS w (task_id, owner, epoch)
		WHERE l.task_id = w.task_id AND l.owner = w.owner AND l.epoch = w.epoch`

	liveLeases = `SELECT task_id, owner, epoch, until FROM lease WHERE until > clock_timestamp() ORDER BY task_id`
)

// Take gives leases out as [ssot.Leases] says.
func (l *Log) Take(ctx context.Context, owner string, ttl time.Duration, limit int, tasks []amp.TaskID) (got []ssot.Lease, err error) {
	if len(tasks) == 0 || limit <= 0 {
		return nil, l.reading(ctx, func(context.Context) error { return nil })
	}
	err = l.leasing(ctx, func(tx pgx.Tx) error {
		got = nil
		chosen, missing, err := choose(ctx, tx, owner, limit, tasks)
		if err != nil || len(chosen) == 0 {
			return err
		}
		if len(missing) > 0 {
			if _, err := tx.Exec(ctx, addLeases, texts(missing)); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, lockLeases, texts(chosen)); err != nil {
			return err
		}
		var epoch int64
		if err := tx.QueryRow(ctx, nextEpoch, texts(chosen)).Scan(&epoch); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, takeLeases, texts(chosen), owner, epoch, ttl.Microseconds())
		if err != nil {
			return err
		}
		got, err = leases(rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	inOrder(got, tasks)
	return got, nil
}

// choose picks the tasks that can be had, in their order, and says which of them nobody has held yet.
func choose(ctx context.Context, tx pgx.Tx, owner string, limit int, tasks []amp.TaskID) (chosen, missing []amp.TaskID, err error) {
	rows, err := tx.Query(ctx, readLeases, texts(tasks), owner)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id []byte
		var there, live bool
		var ours *bool
		if err := rows.Scan(&id, &there, &ours, &live); err != nil {
			return nil, nil, err
		}
		task := amp.TaskID(id)
		if live && (ours == nil || !*ours) || len(chosen) == limit || slices.Contains(chosen, task) {
			continue
		}
		if chosen = append(chosen, task); !there {
			missing = append(missing, task)
		}
	}
	return chosen, missing, rows.Err()
}

// Renew prolongs leases as [ssot.Leases] says.
func (l *Log) Renew(ctx context.Context, ttl time.Duration, held []ssot.Lease) (kept []ssot.Lease, err error) {
	ids, owners, epochs := columns(held)
	err = l.leasing(ctx, func(tx pgx.Tx) error {
		kept = nil
		if len(held) == 0 {
			return nil
		}
		if _, err := tx.Exec(ctx, lockLeases, ids); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, renewLeases, ids, owners, epochs, ttl.Microseconds())
		if err != nil {
			return err
		}
		kept, err = leases(rows)
		return err
	})
	if err != nil {
		return nil, err
	}
	order := make([]amp.TaskID, len(held))
	for i := range held {
		order[i] = held[i].Task
	}
	inOrder(kept, order)
	return kept, nil
}

// Release gives leases back.
func (l *Log) Release(ctx context.Context, held []ssot.Lease) error {
	ids, owners, epochs := columns(held)
	return l.leasing(ctx, func(tx pgx.Tx) error {
		if len(held) == 0 {
			return nil
		}
		if _, err := tx.Exec(ctx, lockLeases, ids); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, dropLeases, ids, owners, epochs)
		return err
	})
}

// Owners returns the leases that have not lapsed.
func (l *Log) Owners(ctx context.Context) (live []ssot.Lease, err error) {
	err = l.reading(ctx, func(ctx context.Context) error {
		rows, err := l.pool.Query(ctx, liveLeases)
		if err != nil {
			return err
		}
		live, err = leases(rows)
		return err
	})
	return live, err
}

// leasing runs f in a transaction that may be repeated: taking or renewing twice gives the same leases.
func (l *Log) leasing(ctx context.Context, f func(pgx.Tx) error) error {
	if l.writer == nil {
		return ssot.ErrReadOnly
	}
	return l.reading(ctx, func(ctx context.Context) error {
		for n := 0; ; n++ {
			err := pgx.BeginFunc(ctx, l.pool, f)
			if again(err) && n < 100 {
				continue
			}
			return err
		}
	})
}

func leases(rows pgx.Rows) (all []ssot.Lease, err error) {
	defer rows.Close()
	for rows.Next() {
		var id []byte
		var epoch int64
		var h ssot.Lease
		if err := rows.Scan(&id, &h.Owner, &epoch, &h.Until); err != nil {
			return nil, err
		}
		h.Task, h.Epoch, h.Until = amp.TaskID(id), uint64(epoch), h.Until.UTC()
		all = append(all, h)
	}
	return all, rows.Err()
}

func columns(held []ssot.Lease) (ids [][]byte, owners []string, epochs []int64) {
	for _, h := range held {
		ids, owners, epochs = append(ids, []byte(h.Task)), append(owners, h.Owner), append(epochs, int64(h.Epoch))
	}
	return ids, owners, epochs
}

// inOrder sorts leases as the tasks stand.
func inOrder(all []ssot.Lease, tasks []amp.TaskID) {
	place := make(map[amp.TaskID]int, len(tasks))
	for i, task := range slices.Backward(tasks) {
		place[task] = i
	}
	slices.SortFunc(all, func(a, b ssot.Lease) int { return place[a.Task] - place[b.Task] })
}

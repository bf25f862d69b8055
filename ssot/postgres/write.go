package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/projection"
)

const (
	insertEntries = `INSERT INTO entry (seq, task, at, id, kind, role, actor, hash, body)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[], $5::text[], $6::bytea[], $7::bytea[], $8::bytea[], $9::bytea[])`

	insertKeys = `INSERT INTO task_key (key, task_id) SELECT * FROM unnest($1::bigint[], $2::bytea[])`

	upsertTasks = `INSERT INTO task (key, task_id, status, last_seq, epoch, state)
		SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::text[], $4::bigint[], $5::bigint[], $6::bytea[])
		ON CONFLICT (key) DO UPDATE SET status = excluded.status, last_seq = excluded.last_seq, epoch = excluded.epoch, state = excluded.state`

	updateUsage = `UPDATE usage SET seq = $1, state = $2 WHERE one = 1`

	// updateHead fails with a division by zero unless the head is the one that the transaction was made for.
	updateHead = `WITH moved AS (UPDATE head SET seq = $1, hash = $2, everything = $3, state = $4
		WHERE one = 1 AND fold = $5 AND seq = $6 AND hash = $7 RETURNING 1) SELECT 1 / count(*) FROM moved`

	// wantLeases fails with a division by zero unless all of the leases are held, and keeps them from being given to others.
	wantLeases = `WITH held AS (SELECT l.until FROM unnest($1::bytea[], $2::bigint[]) AS w (task_id, epoch)
			CROSS JOIN LATERAL (SELECT until FROM lease WHERE task_id = w.task_id AND epoch = w.epoch FOR SHARE) l),
		live AS (SELECT 1 FROM held WHERE until > clock_timestamp())
		SELECT 1 / CASE WHEN count(*) = $3::bigint THEN 1 ELSE 0 END FROM live`

	// statementSize is how many bytes of bodies go with one statement, far below what the protocol can carry.
	statementSize = 32 << 20
)

// write stores what the cache holds since the transaction began, and commits: one round trip, that begins with what is in b. more, if
// not nil, adds to it once the head is locked.
func (w *writer) write(ctx context.Context, b *pgx.Batch, more func()) error {
	head := w.board.Head
	w.queueHead(b)
	if more != nil {
		more()
	}
	w.queueEntries(b)
	w.queueProjections(b)
	if w.notify {
		b.Queue("SELECT pg_notify($1, '')", channel(w.schema))
	}
	b.Queue("COMMIT")
	w.sent = &head
	w.fly()
	if err := w.send(ctx, b); err != nil {
		return err
	}
	w.sent = nil
	w.commit()
	w.stored(head)
	return nil
}

// send sends a transaction. What comes until it is answered is folded meanwhile, as long as that is plain: neither the database nor this
// program then waits for the other. If the transaction is not stored, what was folded behind it is folded again.
func (w *writer) send(ctx context.Context, b *pgx.Batch) (err error) {
	if w.calm < calmEnough {
		return w.conn.SendBatch(ctx, b).Close()
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		err = w.conn.SendBatch(ctx, b).Close()
	}()
	w.foldAhead(answered)
	<-answered
	return err
}

func (w *writer) queueHead(b *pgx.Batch) {
	h, old := w.board.Head, w.before.board.Head
	b.Queue(updateHead, int64(h.Seq), h.Hash[:], int64(w.everything), []byte(projection.Board(w.board)), projection.Version(), int64(old.Seq), old.Hash[:])
}

func (w *writer) queueEntries(b *pgx.Batch) {
	for rest := w.entries; len(rest) > 0; {
		n, size := 0, 0
		for n < len(rest) && (n == 0 || size+len(rest[n].Body) <= statementSize) {
			size += len(rest[n].Body)
			n++
		}
		w.queueInsert(b, rest[:n])
		rest = rest[n:]
	}
	if len(w.newKeys) == 0 {
		return
	}
	keys := make([]int64, len(w.newKeys))
	for i, id := range w.newKeys {
		keys[i] = int64(w.tasks[id].key)
	}
	b.Queue(insertKeys, keys, texts(w.newKeys))
}

func (w *writer) queueInsert(b *pgx.Batch, entries []amp.Entry) {
	n := len(entries)
	seqs, tasks, ats, kinds := make([]int64, n), make([]int64, n), make([]int64, n), make([]string, n)
	ids, roles, actors, hashes, bodies := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	for i := range entries {
		e := &entries[i]
		seqs[i], ats[i], kinds[i] = int64(e.Seq), e.At.UnixMilli(), string(e.Kind)
		if e.TaskID != "" {
			tasks[i] = int64(w.tasks[e.TaskID].key)
		}
		ids[i], roles[i], actors[i], hashes[i], bodies[i] = []byte(e.ID), []byte(e.Role), []byte(e.Actor), e.Hash[:], e.Body
		if e.Body == nil {
			bodies[i] = []byte{} // nil would be NULL
		}
	}
	b.Queue(insertEntries, seqs, tasks, ats, ids, kinds, roles, actors, hashes, bodies)
}

// queueProjections writes each task that changed, and the usage.
func (w *writer) queueProjections(b *pgx.Batch) {
	changed := make([]*amp.Task, 0, len(w.dirty))
	for id := range w.dirty {
		changed = append(changed, w.board.Tasks[id])
	}
	queueTasks(b, changed)
	if w.usage != w.before.usage {
		b.Queue(updateUsage, int64(w.usage), []byte(projection.Usage(w.board)))
	}
}

// taskBatch is how many tasks go with one statement.
const taskBatch = 1000

func queueTasks(b *pgx.Batch, all []*amp.Task) {
	slices.SortFunc(all, func(x, y *amp.Task) int { return int(int64(x.Key) - int64(y.Key)) })
	for part := range slices.Chunk(all, taskBatch) {
		n := len(part)
		keys, ids, statuses, lasts, epochs, states := make([]int64, n), make([][]byte, n), make([]string, n), make([]int64, n), make([]int64, n), make([][]byte, n)
		for i, t := range part {
			r := rowOf(t)
			keys[i], ids[i], statuses[i], lasts[i], epochs[i], states[i] = r.key, []byte(r.id), r.status, r.lastSeq, r.epoch, []byte(r.state)
		}
		b.Queue(upsertTasks, keys, ids, statuses, lasts, epochs, states)
	}
}

// taskRow is a row of the table of tasks.
type taskRow struct {
	key, lastSeq, epoch int64
	id, status, state   string
}

func rowOf(t *amp.Task) taskRow {
	return taskRow{
		key: int64(t.Key), lastSeq: int64(t.LastSeq), epoch: int64(ssot.LastEpoch(t)), id: string(t.ID), status: string(t.Status),
		state: projection.Task(t),
	}
}

// channel is where appends to a journal are announced.
func channel(schema string) string { return "arbiter_" + schema }

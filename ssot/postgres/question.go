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
	"arbiter/ssot/projection"
)

const (
	lockHead = `SELECT seq, hash, everything, fold, CASE WHEN seq <> $1 THEN state END,
			CASE WHEN seq > $2 THEN (SELECT e.hash FROM entry e WHERE e.seq = $2) END
		FROM head WHERE one = 1 FOR UPDATE`

	usageSince = `SELECT seq, state FROM usage WHERE seq > $1`

	// tasksSince tells of each task whose last known entry is given what has changed: its last entry, and its state then. Without a
	// writer in between, only the tasks that are not known for sure are looked up.
	tasksSince = `SELECT k.task_id, k.key, l.seq, CASE WHEN l.seq > w.last THEN t.state END
		FROM unnest($1::bytea[], $2::bigint[], $3::boolean[]) AS w (task_id, last, sure)
		JOIN task_key k ON k.task_id = w.task_id
		CROSS JOIN LATERAL (SELECT e.seq FROM entry e WHERE e.task = k.key ORDER BY e.seq DESC LIMIT 1) l
		LEFT JOIN task t ON t.task_id = w.task_id
		WHERE NOT w.sure OR (SELECT h.seq FROM head h) <> $4`

	everyTask = `SELECT k.task_id, k.key, l.seq, t.state
		FROM task_key k
		CROSS JOIN LATERAL (SELECT e.seq FROM entry e WHERE e.task = k.key ORDER BY e.seq DESC LIMIT 1) l
		LEFT JOIN task t ON t.task_id = k.task_id`

	// holdLeases keeps the leases from being given to others until the transaction ends.
	holdLeases = `WITH held AS (SELECT task_id, epoch, until FROM lease WHERE task_id = ANY ($1) ORDER BY task_id FOR SHARE)
		SELECT task_id, epoch, until > clock_timestamp() FROM held`

	hashesOf = `SELECT seq, hash FROM entry WHERE seq = ANY ($1)`

	entriesByID = selectEntry + `WHERE e.id = ANY ($1)`
)

// question is what a transaction asks when it begins, and the answer as far as it is not kept in the cache.
type question struct {
	tasks  []amp.TaskID
	leases []amp.TaskID
	ids    []string
	// judged are entries that records were judged on, of which it is to be seen that the journal holds them.
	judged []int64

	// held are the epochs of the leases that have not lapsed, stored the entries that are known by the ids.
	held   map[amp.TaskID]uint64
	stored map[string]amp.Entry
	// hashes are those of the entries that were asked for.
	hashes map[uint64]amp.Hash
	// done says that the transaction that was sent before is committed.
	done bool
}

// questionOf is what the records of a batch need. With ids it also asks which of them are stored.
func questionOf(batch []*group.Request, ids bool) *question {
	q := &question{held: map[amp.TaskID]uint64{}, stored: map[string]amp.Entry{}, hashes: map[uint64]amp.Hash{}}
	tasks := map[amp.TaskID]struct{}{}
	for _, r := range batch {
		for i := range r.Records {
			if task := r.Records[i].TaskID; task != "" {
				tasks[task] = struct{}{}
			}
			if ids {
				q.ids = append(q.ids, r.Records[i].ID)
			}
		}
		if r.Judged != nil {
			for task := range r.Judged.Epochs {
				q.leases = append(q.leases, task)
			}
		}
	}
	for task := range tasks {
		q.tasks = append(q.tasks, task)
	}
	slices.Sort(q.leases)
	q.leases = slices.Compact(q.leases)
	return q
}

// ask begins a transaction, locks the head and brings the cache up to it, in one round trip: in two while there are other writers,
// so that what came while they had the head goes with what waited for it. With ids it also asks which of the records are stored.
func (w *writer) ask(ctx context.Context, ids bool) (*question, error) {
	before := w.board.Head.Seq
	b := &pgx.Batch{}
	b.Queue("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	b.Queue(lockHead, int64(before), int64(w.seen().Seq)).QueryRow(w.readHead)
	if w.calm == 0 && w.sent == nil {
		if err := w.conn.SendBatch(ctx, b).Close(); err != nil {
			return nil, err
		}
		b, w.batch = &pgx.Batch{}, w.queue.More()
	}
	q := questionOf(w.batch, ids)
	for _, r := range w.batch {
		if r.Judged != nil && !w.knows(r.Judged) {
			q.judged = append(q.judged, int64(r.Judged.Seq))
		}
	}
	return q, w.catchUp(ctx, b, q, before)
}

// catchUp sends what is in b and asks for what has changed since the entry before.
func (w *writer) catchUp(ctx context.Context, b *pgx.Batch, q *question, before uint64) error {
	last, sure := make([]int64, len(q.tasks)), make([]bool, len(q.tasks))
	for i, id := range q.tasks {
		k, there := w.tasks[id]
		last[i], sure[i] = int64(k.last), there && k.round == w.round
	}
	b.Queue(usageSince, int64(w.usage)).Query(w.readUsage)
	if len(q.tasks) > 0 {
		b.Queue(tasksSince, texts(q.tasks), last, sure, int64(before)).Query(w.readTasks)
	}
	if len(q.leases) > 0 {
		b.Queue(holdLeases, texts(q.leases)).Query(q.readLeases)
	}
	if len(q.judged) > 0 {
		b.Queue(hashesOf, q.judged).Query(q.readHashes)
	}
	if len(q.ids) > 0 {
		b.Queue(entriesByID, texts(q.ids)).Query(q.readStored)
	}
	if w.sent != nil {
		b.Queue("SELECT hash FROM entry WHERE seq = $1", int64(w.sent.Seq)).Query(func(rows pgx.Rows) error {
			hash, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
			q.done = len(hash) == 1 && string(hash[0]) == string(w.sent.Hash[:])
			return err
		})
	}
	if err := w.conn.SendBatch(ctx, b).Close(); err != nil {
		return err
	}
	if w.everything > before { // every task that is in memory has changed
		w.forget()
		rows, err := w.conn.Query(ctx, tasksSince, texts(q.tasks), make([]int64, len(q.tasks)), make([]bool, len(q.tasks)), int64(before))
		if err != nil {
			return err
		}
		return w.readTasks(rows)
	}
	return nil
}

func (w *writer) readHead(row pgx.Row) error {
	var seq, everything, fold int64
	var hash, state, there []byte
	if err := row.Scan(&seq, &hash, &everything, &fold, &state, &there); err != nil {
		return err
	}
	have := w.board.Head
	head := amp.Head{Seq: uint64(seq)}
	copy(head.Hash[:], hash)
	if head.Seq == w.seen().Seq {
		there = hash
	}
	if why := goneBack(w.seen(), head.Seq, there); why != "" {
		return &ssot.DamagedError{Path: w.name, Seq: min(head.Seq+1, w.seen().Seq), Why: why}
	}
	switch {
	case fold != projection.Version():
		return errOtherFold
	case head == have:
		w.calm++
		return nil
	}
	w.calm = 0
	b, err := projection.DecodeBoard(state, []byte(projection.NoUsage))
	if err != nil {
		return &ssot.DamagedError{Path: w.name, Why: err.Error()}
	}
	b.Tasks, b.Usage = w.board.Tasks, w.board.Usage
	*w.board = *b
	w.everything = uint64(everything)
	w.complete, w.since = false, maps.Clone(b.Numbers)
	w.round++
	return nil
}

// seen is the last head that this writer knows the journal to have had.
func (w *writer) seen() amp.Head {
	if w.board.Head.Seq > w.opened.Seq {
		return w.board.Head
	}
	return w.opened
}

// goneBack says why a journal up to an entry is not the one that had a head before; there is the hash that it has in its place. That of a
// server that was restored from an older copy is so, or of a standby that never got the last entries.
func goneBack(before amp.Head, seq uint64, there []byte) string {
	switch {
	case seq < before.Seq:
		return fmt.Sprintf("%d entries are missing at its end, which were there before", before.Seq-seq)
	case before.Seq > 0 && string(there) != string(before.Hash[:]):
		return fmt.Sprintf("entry %d is not the one that was there before: entries were lost, and others written since", before.Seq)
	}
	return ""
}

// errOtherFold says that a program of another version has made the projections anew.
var errOtherFold = errors.New("another version of Arbiter folded the journal: run one version on all machines, and start this one again")

func (w *writer) readUsage(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var state []byte
		if err := rows.Scan(&seq, &state); err != nil {
			return err
		}
		usage, err := projection.DecodeUsage(state)
		if err != nil {
			return &ssot.DamagedError{Path: w.name, Why: err.Error()}
		}
		w.board.Usage, w.usage = usage, uint64(seq)
	}
	return rows.Err()
}

func (w *writer) readTasks(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var id, state []byte
		var key, last int64
		if err := rows.Scan(&id, &key, &last, &state); err != nil {
			return err
		}
		task := amp.TaskID(id)
		w.tasks[task] = known{key: uint64(key), last: uint64(last), round: w.round}
		if state == nil {
			continue
		}
		t, err := projection.DecodeTask(state)
		if err != nil {
			return &ssot.DamagedError{Path: w.name, Why: err.Error()}
		}
		w.board.Tasks[task] = t
	}
	return rows.Err()
}

func (q *question) readLeases(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var id []byte
		var epoch int64
		var live bool
		if err := rows.Scan(&id, &epoch, &live); err != nil {
			return err
		}
		if live {
			q.held[amp.TaskID(id)] = uint64(epoch)
		}
	}
	return rows.Err()
}

func (q *question) readHashes(rows pgx.Rows) error {
	defer rows.Close()
	for rows.Next() {
		var seq int64
		var hash []byte
		if err := rows.Scan(&seq, &hash); err != nil {
			return err
		}
		var h amp.Hash
		copy(h[:], hash)
		q.hashes[uint64(seq)] = h
	}
	return rows.Err()
}

func (q *question) readStored(rows pgx.Rows) error {
	found, err := entriesIf(rows, -1, every)
	for i := range found {
		q.stored[found[i].ID] = found[i]
	}
	return err
}

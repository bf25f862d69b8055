package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// statements are the writer's, prepared once on its connection: preparing anew halves the rate of appends. The writer's own
// context never ends, which also keeps the driver from watching it.
type statements struct {
	begin, commit, rollback        *sql.Stmt
	insertEntries                  inserts
	entryBySeq                     *sql.Stmt
	entriesAfter, tail             *sql.Stmt
	insertKey, keyByTask           *sql.Stmt
	insertIDs                      inserts
	upsertBuckets, insertSpans     inserts
	bucket                         *sql.Stmt
	seqByID, topID                 *sql.Stmt
	updateIndexed, indexed         *sql.Stmt
	upsertTask, taskByID, eachTask *sql.Stmt
	upsertBoard, board             *sql.Stmt
	upsertUsage, usage             *sql.Stmt
	deleteAcks, insertAck          *sql.Stmt
}

// What was written ahead, before the program ended, is left as it is. An id that stands there for another entry is an error: its entry would not be
// found.
const (
	inItsPlace   = " ON CONFLICT DO UPDATE SET seqs = excluded.seqs"
	unlessMarked = " ON CONFLICT DO UPDATE SET buckets = buckets | excluded.buckets WHERE buckets <> buckets | excluded.buckets"
	unlessOther  = " ON CONFLICT (id) DO UPDATE SET seq = iif(seq = excluded.seq, seq, NULL)"
)

// selectUsage reads the usage of the agents, "{}" before a turn has ended.
const selectUsage = "SELECT coalesce(max(state), '{}') FROM usage"

const insertEntry = "INSERT INTO entry (seq, task, at, id, kind, role, actor, hash, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"

const entryColumns = `e.seq, e.kind, coalesce(k.task_id, ''), e.role, e.actor, e.at, e.id, e.body,
	coalesce((SELECT p.hash FROM entry p WHERE p.seq = e.seq - 1), zeroblob(32)), e.hash`

// all are the statements with their texts.
func (s *statements) all() []statement {
	return []statement{
		{&s.begin, "BEGIN IMMEDIATE"},
		{&s.commit, "COMMIT"},
		{&s.rollback, "ROLLBACK"},
		{&s.insertEntries.one, insertEntry},
		{&s.insertEntries.many, insertEntry + strings.Repeat(", (?, ?, ?, ?, ?, ?, ?, ?, ?)", rowsAtOnce-1)},
		{&s.entryBySeq, "SELECT " + entryColumns + " FROM entry e LEFT JOIN task_key k ON k.key = e.task WHERE e.seq = ?"},
		{&s.entriesAfter, "SELECT " + entryColumns + ` FROM entry e LEFT JOIN task_key k ON k.key = e.task
			WHERE e.seq > ? ORDER BY e.seq LIMIT ?`},
		{&s.tail, "SELECT seq, task, id FROM entry WHERE seq > ? ORDER BY seq"},
		{&s.insertKey, "INSERT INTO task_key (key, task_id) VALUES (?, ?)"},
		{&s.keyByTask, "SELECT key FROM task_key WHERE task_id = ?"},
		{&s.insertIDs.one, "INSERT INTO entry_id (id, seq) VALUES (?, ?)" + unlessOther},
		{&s.insertIDs.many, "INSERT INTO entry_id (id, seq) VALUES (?, ?)" + strings.Repeat(", (?, ?)", rowsAtOnce-1) + unlessOther},
		{&s.topID, "SELECT coalesce(max(id), '') FROM entry_id WHERE id >= ? AND id < ?"},
		{&s.seqByID, "SELECT seq FROM entry_id WHERE id = ?"},
		{&s.bucket, "SELECT task, seqs FROM task_bucket WHERE bucket = ?"},
		{&s.upsertBuckets.one, "INSERT INTO task_bucket (bucket, task, seqs) VALUES (?, ?, ?)" + inItsPlace},
		{&s.upsertBuckets.many, "INSERT INTO task_bucket (bucket, task, seqs) VALUES (?, ?, ?)" + strings.Repeat(", (?, ?, ?)", rowsAtOnce-1) + inItsPlace},
		{&s.insertSpans.one, "INSERT INTO task_span (span, task, buckets) VALUES (?, ?, ?)" + unlessMarked},
		{&s.insertSpans.many, "INSERT INTO task_span (span, task, buckets) VALUES (?, ?, ?)" + strings.Repeat(", (?, ?, ?)", rowsAtOnce-1) + unlessMarked},
		{&s.updateIndexed, "UPDATE indexed SET seq = ?"},
		{&s.indexed, "SELECT seq FROM indexed"},
		{&s.upsertTask, `INSERT INTO task (key, task_id, status, title, last_seq, state) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET status = excluded.status, title = excluded.title, last_seq = excluded.last_seq,
			state = excluded.state`},
		{&s.taskByID, "SELECT state FROM task WHERE task_id = ?"},
		{&s.eachTask, "SELECT task_id, state FROM task"},
		{&s.upsertBoard, `INSERT INTO board (one, seq, fold, state) VALUES (1, ?, ?, ?)
			ON CONFLICT (one) DO UPDATE SET seq = excluded.seq, fold = excluded.fold, state = excluded.state`},
		{&s.board, "SELECT fold, state FROM board"},
		{&s.upsertUsage, "INSERT INTO usage (one, state) VALUES (1, ?) ON CONFLICT (one) DO UPDATE SET state = excluded.state"},
		{&s.usage, selectUsage},
		{&s.deleteAcks, "DELETE FROM open_ack WHERE task = ?"},
		{&s.insertAck, "INSERT INTO open_ack (task, n, due, msg_id, type, waits) VALUES (?, ?, ?, ?, ?, ?)"},
	}
}

type statement struct {
	to   **sql.Stmt
	text string
}

func (s *statements) prepare(ctx context.Context, c *sql.Conn) error {
	for _, p := range s.all() {
		var err error
		if *p.to, err = c.PrepareContext(ctx, p.text); err != nil { //nolint:sqlclosecheck // statements.close does
			return fmt.Errorf("prepare %q: %w", p.text, err)
		}
	}
	return nil
}

func (s *statements) close() (err error) {
	for _, p := range s.all() {
		if *p.to != nil {
			err = errors.Join(err, (*p.to).Close())
		}
	}
	return err
}

// step runs a prepared statement to its end.
func step(s *sql.Stmt, args ...any) error {
	_, err := s.ExecContext(context.Background(), args...)
	return err
}

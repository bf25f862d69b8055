package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// backup is a copy of a journal under way: a database of its own, to which the journal is attached as "src". Entries never change, nor do their
// rows in the table of ids and the lists of full buckets, so they are copied a few at a time, each time in a read of its own: one read of all of
// them would keep the write-ahead log from being begun anew for as long as it takes. What may change is read as of one moment, with the entries behind those.
type backup struct {
	conn *sql.Conn
	// last is the last entry that was copied, indexed the one where the tables of ids and tasks stood when it began.
	last, indexed int64
	// between is called after each read.
	between func() error
}

const (
	// backupPage is how many entries, and backupIDs how many ids one statement copies.
	backupPage = 500
	backupIDs  = 5000

	nextEntries = "INSERT INTO entry SELECT * FROM src.entry WHERE seq > ? ORDER BY seq"
	nextIDs     = "INSERT INTO entry_id SELECT * FROM src.entry_id WHERE id > (SELECT coalesce(max(id), '') FROM main.entry_id) ORDER BY id LIMIT ?"
	nextBucket  = "INSERT INTO task_bucket SELECT * FROM src.task_bucket WHERE bucket = ?"
	lastBuckets = "INSERT INTO task_bucket SELECT * FROM src.task_bucket WHERE bucket >= ?"
)

// copyMoment is what is read as of one moment behind the entries.
var copyMoment = []string{
	"INSERT INTO task_key SELECT * FROM src.task_key", "INSERT INTO task SELECT * FROM src.task", "INSERT INTO board SELECT * FROM src.board",
	"INSERT INTO usage SELECT * FROM src.usage", "INSERT INTO open_ack SELECT * FROM src.open_ack",
	"INSERT INTO task_span SELECT * FROM src.task_span", "DELETE FROM main.indexed", "INSERT INTO indexed SELECT * FROM src.indexed", "COMMIT",
}

// copyLate puts what came into the table of ids while it was copied there, too.
const copyLate = "INSERT INTO entry_id SELECT id, seq FROM main.entry WHERE seq > ? ON CONFLICT DO NOTHING"

// writeBackup writes a copy of the journal to a new file. between is called after each read of the journal but the last.
func (l *Log) writeBackup(ctx context.Context, path string, between func() error) (err error) {
	made := &file{path: path}
	if err := made.create(ctx); err != nil {
		return err
	}
	// The copy is thrown away unless it is whole, so nothing of it is to outlast a crash before the end.
	db, err := sql.Open("sqlite", dsn(path, "_busy_timeout=5000&_pragma=cache_size(-65536)&_journal_mode=OFF&_synchronous=OFF"))
	if err != nil {
		return err
	}
	defer func() {
		if db != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	b := &backup{last: -1 << 63, between: between}
	if b.conn, err = db.Conn(ctx); err != nil {
		return err
	}
	if _, err := b.conn.ExecContext(ctx, "ATTACH ? AS src", dsn(l.path, "mode=ro"+l.index.more)); err != nil {
		return errors.Join(err, b.conn.Close())
	}
	if err := errors.Join(b.write(ctx), b.conn.Close()); err != nil {
		return err
	}
	err = db.Close()
	if db = nil; err != nil {
		return err
	}
	return syncPath(path)
}

func (b *backup) write(ctx context.Context) (err error) {
	const there = "SELECT (SELECT coalesce(max(seq), 0) FROM src.entry), coalesce((SELECT seq FROM src.indexed), 0)"
	var first int64
	if err := b.conn.QueryRowContext(ctx, there).Scan(&first, &b.indexed); err != nil {
		return err
	}
	if err := b.entries(ctx, 2*first); err != nil {
		return err
	}
	for n := int64(backupIDs); n == backupIDs && err == nil; {
		n, err = b.read(ctx, nextIDs, backupIDs)
	}
	for bucket := int64(0); bucket < b.indexed>>bucketBits && err == nil; bucket++ {
		_, err = b.read(ctx, nextBucket, bucket)
	}
	if err == nil {
		err = b.entries(ctx, 3*b.last)
	}
	if err == nil {
		err = b.moment(ctx)
	}
	if err == nil {
		_, err = b.conn.ExecContext(ctx, copyLate, b.indexed)
	}
	if err == nil {
		_, err = b.conn.ExecContext(ctx, "DETACH src")
	}
	if err != nil {
		return err
	}
	var mode string
	if err := b.conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("the copy is in journal mode %s", mode)
	}
	return nil
}

// entries copies entries until there are no more, or until one far ahead: what is appended faster than it is copied has an end, too.
func (b *backup) entries(ctx context.Context, until int64) error {
	for n := int64(backupPage); n == backupPage && b.last <= until; {
		var err error
		if n, err = b.read(ctx, nextEntries+" LIMIT "+strconv.Itoa(backupPage), b.last); err == nil {
			err = b.reached(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *backup) reached(ctx context.Context) error {
	return b.conn.QueryRowContext(ctx, "SELECT coalesce(max(seq), ?) FROM main.entry", b.last).Scan(&b.last)
}

// read copies rows, and says how many.
func (b *backup) read(ctx context.Context, text string, arg int64) (int64, error) {
	r, err := b.conn.ExecContext(ctx, text, arg)
	if err != nil {
		return 0, err
	}
	n, err := r.RowsAffected()
	return n, errors.Join(err, b.between())
}

// moment copies what may change, and the entries that are left, as of one moment.
func (b *backup) moment(ctx context.Context) error {
	if _, err := b.conn.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	if _, err := b.conn.ExecContext(ctx, nextEntries, b.last); err != nil {
		return err
	}
	if _, err := b.conn.ExecContext(ctx, lastBuckets, b.indexed>>bucketBits); err != nil {
		return err
	}
	for _, text := range copyMoment {
		if _, err := b.conn.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

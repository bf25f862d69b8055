package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"arbiter/ssot/search"
)

const (
	searchName         = "search.db"
	searchWriterParams = "_txlock=immediate&_busy_timeout=5000&_pragma=page_size(8192)&_journal_mode=WAL&_synchronous=NORMAL"
	searchReaderParams = "mode=ro&_busy_timeout=1000&_query_only=1"
)

// searchSchema has chunks, each the terms of the entries from first to last with their earliest and latest time, and up to where they
// reach: the hash tells whether the journal is still the one that was indexed.
var searchSchema = []string{
	`CREATE TABLE chunk (first INTEGER PRIMARY KEY, last INTEGER NOT NULL, early INTEGER NOT NULL, late INTEGER NOT NULL,
		times BLOB NOT NULL) STRICT`,
	`CREATE TABLE sheet (chunk INTEGER NOT NULL, first BLOB NOT NULL, data BLOB NOT NULL, PRIMARY KEY (chunk, first)) STRICT, WITHOUT ROWID`,
	`CREATE TABLE reach (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT`,
	fmt.Sprintf("INSERT INTO reach (one, version, seq, hash) VALUES (1, %d, 0, zeroblob(32))", search.Version),
}

// index is what searches are narrowed down by, a file beside the journal. It follows the journal in a goroutine of its own and can
// be removed at any time: what it does not have is looked for in the journal.
type index struct {
	path string
	log  *Log
	// more is appended to the connection string of readers.
	more string

	wake  chan struct{}
	stop  context.CancelFunc
	ended chan struct{} // nil when the log was opened for reading
	// seq is the last entry in the index, as far as this process wrote it.
	seq atomic.Uint64
	// head is the last entry that this process appended, waiting how many wait for the index.
	head    atomic.Uint64
	waiting atomic.Int32
	// again asks for an index made anew.
	again atomic.Bool

	// mu is held for reading by searches, and for writing while the file is taken away.
	mu      sync.RWMutex
	opening sync.Mutex
	reader  *sql.DB
	// moved is closed and replaced when seq moves.
	moving sync.Mutex
	moved  chan struct{}
}

// openSearch opens the file for writing and makes it when there is none, or when it is not that of this journal. It returns the
// last entry in it.
func (x *index) openSearch(ctx context.Context) (_ *sql.DB, seq uint64, err error) {
	if _, err := os.Stat(x.path); errors.Is(err, fs.ErrNotExist) {
		made, err := os.OpenFile(x.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, 0, err
		}
		if err := made.Close(); err != nil {
			return nil, 0, err
		}
	}
	db, err := sql.Open("sqlite", dsn(x.path, searchWriterParams))
	if err != nil {
		return nil, 0, err
	}
	db.SetMaxOpenConns(1)
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if seq, err = x.reach(ctx, db); err == nil {
		return db, seq, nil
	}
	if !errors.Is(err, errOtherIndex) {
		return nil, 0, err
	}
	return db, 0, x.makeTables(ctx, db)
}

func (x *index) makeTables(ctx context.Context, db *sql.DB) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for _, q := range slices.Concat(dropSearch, searchSchema) {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}

var dropSearch = []string{
	"DROP TABLE IF EXISTS chunk", "DROP TABLE IF EXISTS sheet", "DROP TABLE IF EXISTS reach", "DROP TABLE IF EXISTS word", "DROP TABLE IF EXISTS span",
}

// errOtherIndex says that the index is empty, or of another version or journal.
var errOtherIndex = errors.New("the index of searches is not that of the journal")

// reach is the last entry in the index.
func (x *index) reach(ctx context.Context, q querier) (uint64, error) {
	var tables int
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('chunk', 'sheet', 'reach')").Scan(&tables); err != nil {
		return 0, err
	}
	if tables != 3 {
		return 0, errOtherIndex
	}
	var version, seq int64
	var indexed, stored []byte
	if err := q.QueryRowContext(ctx, "SELECT version, seq, hash FROM reach").Scan(&version, &seq, &indexed); err != nil {
		return 0, err
	}
	if version != search.Version {
		return 0, errOtherIndex
	}
	if seq == 0 {
		return 0, nil
	}
	err := x.log.reader.QueryRowContext(ctx, "SELECT hash FROM entry WHERE seq = ?", seq).Scan(&stored)
	if errors.Is(err, sql.ErrNoRows) || err == nil && string(stored) != string(indexed) {
		return 0, errOtherIndex
	}
	return uint64(seq), err
}

// close ends the goroutine and the connections.
func (x *index) close() error {
	if x.stop != nil {
		x.stop()
		<-x.ended
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shutReader()
}

// shutReader closes the pool of readers. mu is held for writing.
func (x *index) shutReader() error {
	if x.reader == nil {
		return nil
	}
	err := x.reader.Close()
	x.reader = nil
	return err
}

// db is the pool of readers, nil when it cannot be opened. mu is held for reading.
func (x *index) db() *sql.DB {
	x.opening.Lock()
	defer x.opening.Unlock()
	if x.reader == nil {
		if _, err := os.Stat(x.path); err != nil {
			return nil
		}
		if _, err := os.Stat(x.path + "-wal"); err == nil && x.more != "" {
			return nil // what is in the write-ahead log cannot be read
		}
		db, err := sql.Open("sqlite", dsn(x.path, searchReaderParams+x.more))
		if err != nil {
			return nil
		}
		db.SetMaxOpenConns(mostReaders)
		db.SetMaxIdleConns(mostReaders)
		x.reader = db
	}
	return x.reader
}

// renew asks for an index made anew.
func (x *index) renew() {
	x.again.Store(true)
	x.nudge()
}

// ruined reports whether an error says that the file is no index, or a broken one.
func ruined(err error) bool {
	if errors.Is(err, errRenew) || errors.Is(err, search.ErrBroken) {
		return true
	}
	d, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return false
	}
	switch d.Code() & 0xff {
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB, codes.SQLITE_ERROR, codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH:
		return true
	}
	return false
}

// remove takes the file away. Searches look through the journal meanwhile.
func (x *index) remove() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.shutReader() // or a search could go on in the file that is taken away
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if e := os.Remove(x.path + suffix); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	x.move(0)
	return err
}

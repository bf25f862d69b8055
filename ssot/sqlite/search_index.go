package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"arbiter/amp"
)

const (
	searchName = "search.db"
	// searchVersion is raised when the terms of entries change, see [amp.Terms], or the tables below.
	searchVersion = 1
	// blockBits are those of a block of the index. Every term begins with the number of its block: what a prefix selects is
	// gathered before the first row is there, so that without blocks a common one would cost as much as the journal is long.
	blockBits = 14
	// spanBits are those of a span of entries whose earliest and latest time are kept.
	spanBits = 10

	searchWriterParams = "_txlock=immediate&_busy_timeout=5000&_pragma=page_size(8192)&_journal_mode=WAL&_synchronous=NORMAL"
	searchReaderParams = "mode=ro&_busy_timeout=1000&_query_only=1"
)

// searchSchema has the terms of entries by seq, without the entries themselves, and up to where they reach: the hash tells whether
// the journal is still the one that was indexed.
var searchSchema = []string{
	"CREATE VIRTUAL TABLE word USING fts5(terms, content='', detail=none, columnsize=0, tokenize=\"ascii tokenchars '" +
		amp.TermCharacters + "'\")",
	"CREATE TABLE span (span INTEGER PRIMARY KEY, low INTEGER NOT NULL, high INTEGER NOT NULL) STRICT",
	"CREATE TABLE reach (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL) STRICT",
	fmt.Sprintf("INSERT INTO reach (one, version, seq, hash) VALUES (1, %d, 0, zeroblob(32))", searchVersion),
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
	for _, q := range append([]string{"DROP TABLE IF EXISTS word", "DROP TABLE IF EXISTS span", "DROP TABLE IF EXISTS reach"}, searchSchema...) {
		if _, err := tx.ExecContext(ctx, q); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// errOtherIndex says that the index is empty, or of another version or journal.
var errOtherIndex = errors.New("the index of searches is not that of the journal")

// reach is the last entry in the index.
func (x *index) reach(ctx context.Context, q querier) (uint64, error) {
	var tables int
	if err := q.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema WHERE name IN ('word', 'span', 'reach')").Scan(&tables); err != nil {
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
	if version != searchVersion {
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

// add puts a page of entries into the index in one transaction.
func (x *index) add(db *sql.DB, page []amp.Entry) (err error) {
	type span struct{ low, high int64 }
	spans := map[uint64]span{}
	rows := make([]string, len(page))
	for i := range page {
		e := &page[i]
		rows[i] = row(e)
		at, k := e.At.UnixMilli(), e.Seq>>spanBits
		s, known := spans[k]
		if !known {
			s = span{at, at}
		}
		spans[k] = span{min(s.low, at), max(s.high, at)}
	}
	ctx := context.Background() // one that can end would be watched by the driver at every step
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	insert, err := tx.PrepareContext(ctx, "INSERT INTO word (rowid, terms) VALUES (?, ?)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, insert.Close()) }()
	for i, r := range rows {
		if _, err := insert.ExecContext(ctx, int64(page[i].Seq), r); err != nil {
			return err
		}
	}
	for k, s := range spans {
		if _, err := tx.ExecContext(ctx, `INSERT INTO span (span, low, high) VALUES (?, ?, ?) ON CONFLICT (span) DO UPDATE
			SET low = min(low, excluded.low), high = max(high, excluded.high)`, int64(k), s.low, s.high); err != nil {
			return err
		}
	}
	last := &page[len(page)-1]
	if _, err := tx.ExecContext(ctx, "UPDATE reach SET seq = ?, hash = ?", int64(last.Seq), last.Hash[:]); err != nil {
		return err
	}
	return tx.Commit()
}

// row are the terms of an entry as the index keeps them.
func row(e *amp.Entry) string {
	var b strings.Builder
	block := blockName(e.Seq >> blockBits)
	for _, t := range amp.Terms(e) {
		b.WriteString(block)
		b.WriteString(t)
		b.WriteByte(' ')
	}
	return b.String()
}

func blockName(block uint64) string { return fmt.Sprintf("%05x", block) }

// start follows the journal until close.
func (x *index) start() {
	ctx, stop := context.WithCancel(context.Background())
	x.stop, x.ended = stop, make(chan struct{})
	go func() {
		defer close(x.ended)
		x.run(ctx)
	}()
}

// close ends the goroutine and the connections.
func (x *index) close() error {
	if x.stop != nil {
		x.stop()
		<-x.ended
	}
	return x.shutReader()
}

func (x *index) shutReader() error {
	x.mu.Lock()
	defer x.mu.Unlock()
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
		db.SetMaxOpenConns(readers)
		db.SetMaxIdleConns(readers)
		x.reader = db
	}
	return x.reader
}

// grown says that the journal has new entries.
func (x *index) grown() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// renew asks for an index made anew.
func (x *index) renew() {
	x.again.Store(true)
	x.grown()
}

// patience are the times between two attempts to write the index.
const (
	leastPatience = time.Second
	mostPatience  = time.Minute
)

func (x *index) run(ctx context.Context) {
	patience := leastPatience
	for {
		before := x.seq.Load()
		err := x.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if ruined(err) {
			_ = x.remove() // what is still there, the next attempt finds
		}
		if errors.Is(err, errRenew) {
			continue
		}
		if x.seq.Load() > before {
			patience = leastPatience
		}
		wait := time.NewTimer(patience)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		patience = min(2*patience, mostPatience)
	}
}

var errRenew = errors.New("the index of searches is to be made anew")

// ruined reports whether an error says that the file is no index, or a broken one.
func ruined(err error) bool {
	if errors.Is(err, errRenew) {
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
	err := x.shutReader()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if e := os.Remove(x.path + suffix); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	x.move(0)
	return err
}

const (
	// indexPage is how many entries are indexed in one transaction.
	indexPage = 500
	// indexPause gathers what is appended one by one.
	indexPause = 20 * time.Millisecond
)

// follow brings the index to the head of the journal and keeps it there, until ctx ends or something fails.
func (x *index) follow(ctx context.Context) (err error) {
	db, seq, err := x.openSearch(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	x.move(seq)
	for {
		if x.again.Load() {
			x.move(0)
			x.again.Store(false)
			return errRenew
		}
		page, err := x.log.page(ctx, &amp.Filter{After: seq}, 0, indexPage)
		if err != nil {
			return fmt.Errorf("read the journal: %v", err) // what is wrong with it is not the index's to mend
		}
		if len(page) > 0 {
			if err := x.add(db, page); err != nil {
				return err
			}
			seq = page[len(page)-1].Seq
			x.move(seq)
		}
		if len(page) == indexPage {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-x.wake:
		}
		pause := time.NewTimer(indexPause)
		select {
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		case <-pause.C:
		}
	}
}

func (x *index) move(seq uint64) {
	x.moving.Lock()
	defer x.moving.Unlock()
	x.seq.Store(seq)
	close(x.moved)
	x.moved = make(chan struct{})
}

// wait returns when the index has the entry.
func (x *index) wait(ctx context.Context, seq uint64) error {
	for {
		x.moving.Lock()
		moved := x.moved
		x.moving.Unlock()
		if x.seq.Load() >= seq && !x.again.Load() {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"

	"arbiter/ssot"
)

const (
	fileName = "journal.db"
	// applicationID marks a SQLite file as an Arbiter journal: "ARBT".
	applicationID = 0x41524254
	pageSize      = 8192
	// minVersion is the first SQLite without the WAL-reset bug.
	minVersion = "3.51.3"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// file is a journal's database file. Its path is known to this package alone: no other code may open it.
type file struct{ path string }

// LogSize is how many bytes the write-ahead log of the journal has, see [LargeLog].
func (l *Log) LogSize() int64 { return l.walSize() }

// walSize is how many bytes the write-ahead log has.
func (f *file) walSize() int64 {
	st, err := os.Stat(f.path + "-wal")
	if err != nil {
		return 0 // there is none
	}
	return st.Size()
}

// dsn is a connection string for the path. Pragmas in _pragma run in lexicographic order and before the shorthand keys, and
// page_size has no effect once WAL is on; so journal_mode must be a shorthand.
func dsn(path string, params string) string {
	return (&url.URL{Scheme: "file", Path: path, RawQuery: params}).String()
}

const (
	// walLimit is to how many bytes the write-ahead log is cut when it begins anew, after a reader that took long let it grow.
	walLimit = 32 << 20
	// walPause is how long appends gather while it is larger: each transaction writes whole pages, so that few large ones let it grow by
	// a fraction.
	walPause = 5 * time.Millisecond
)

// LargeLog is the size from which on the write-ahead log is worth a look: something has read one moment of the journal for long, and still
// does. Reads of ours do not.
const LargeLog = 128 << 20

const (
	writerParams = "_txlock=immediate&_busy_timeout=5000&_pragma=page_size(8192)&_pragma=wal_autocheckpoint(1000)" +
		"&_pragma=journal_size_limit(33554432)&_journal_mode=WAL&_synchronous=FULL&_foreign_keys=on"
)

func openWriter(path string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(path, writerParams))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// ofd switches the process to open file description locks, which a stray close of the file does not drop.
func ofd() error {
	driver.StrictPragmas(true)
	if _, err := driver.OFDLocking(true); err != nil && !errors.Is(err, driver.ErrOFDLockingUnavailable) {
		return fmt.Errorf("switch to open file description locks: %w", err)
	}
	return nil
}

// checkOFD is called after the first lock was taken: a file system that refuses such locks is only found out then.
func checkOFD(dir string) error {
	if runtime.GOOS == "linux" && !driver.OFDLockingEnabled() {
		return fmt.Errorf("the file system of %s has no open file description locks; a journal is not safe there", dir)
	}
	return nil
}

// exists reports whether there is a journal. A write-ahead log or an empty file without a journal is one that was damaged.
func (f *file) exists() (bool, error) {
	st, err := os.Stat(f.path)
	switch {
	case err == nil && !st.Mode().IsRegular():
		return false, &DamagedError{Path: f.path, Why: "it is not a regular file"}
	case err == nil && st.Size() < pageSize: // SQLite would take a very short file for a new database
		return false, &DamagedError{Path: f.path, Why: fmt.Sprintf("the file has only %d bytes", st.Size())}
	case err == nil:
		return true, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	}
	if st, err := os.Stat(f.path + "-wal"); err == nil && st.Size() > 0 {
		return false, &DamagedError{Path: f.path, Why: "the file is gone, but its write-ahead log is there"}
	}
	return false, nil
}

// create makes an empty journal under another name and renames it, so that a crash leaves either none or a whole one.
func (f *file) create(ctx context.Context) (err error) {
	draft := f.path + ".new"
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(draft + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	// The file is made here and not by SQLite: what is in a journal is the admin's alone, and the mode of -wal and -shm follows.
	made, err := os.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	if err := prepare(ctx, draft); err != nil {
		return f.fault(err)
	}
	if err := syncPath(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, f.path); err != nil {
		return err
	}
	return syncPath(filepath.Dir(f.path))
}

func prepare(ctx context.Context, path string) (err error) {
	db, err := openWriter(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.ExecContext(ctx, "PRAGMA application_id = "+strconv.Itoa(applicationID)); err != nil {
		return err
	}
	if err := migrate(ctx, db); err != nil {
		return err
	}
	// Closing folds the write-ahead log in too, but does not say when the disk was full: the file would be renamed without it.
	var busy, pages, folded int
	if err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &folded); err != nil {
		return err
	}
	if busy != 0 || pages != folded {
		return fmt.Errorf("%w: %s", ssot.ErrFull, path)
	}
	return nil
}

// makeDir makes a directory and those above it, and lets them outlast a power cut as the journal in them does.
func makeDir(dir string) error {
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := makeDir(parent); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return &os.PathError{Op: "open", Path: dir, Err: syscall.ENOTDIR}
	}
	if err := syncPath(parent); err != nil && !errors.Is(err, fs.ErrPermission) { // one may write to a directory and not read it
		return err
	}
	return nil
}

func syncPath(path string) (err error) {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	return d.Sync()
}

// migrate brings the schema to the newest version. It needs the only connection of the pool, so it runs before the writer takes it.
func migrate(ctx context.Context, db *sql.DB) error {
	p, err := provider(db)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate the journal: %w", err)
	}
	return nil
}

func provider(db *sql.DB) (*goose.Provider, error) {
	dir, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectSQLite3, db, dir)
}

// newest is the newest schema version that this program knows.
func newest() (int64, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return 0, err
	}
	var top int64
	for _, n := range names {
		v, err := goose.NumericComponent(n)
		if err != nil {
			return 0, err
		}
		top = max(top, v)
	}
	return top, nil
}

// inspect is schema over a connection of its own, which changes nothing in a file that is none of ours.
func (f *file) inspect(ctx context.Context) (have, know int64, err error) {
	db, err := openReaders(f.path, "")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return f.schema(ctx, db)
}

// schema says which version the file has, after making sure that the file is a journal at all.
func (f *file) schema(ctx context.Context, db querier) (have, know int64, err error) {
	var app int64
	if err := db.QueryRowContext(ctx, "PRAGMA application_id").Scan(&app); err != nil {
		return 0, 0, f.fault(err)
	}
	if app != applicationID {
		return 0, 0, &DamagedError{Path: f.path, Why: "it is a database of another program"}
	}
	const sql = "SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied"
	if err := db.QueryRowContext(ctx, sql).Scan(&have); err != nil {
		return 0, 0, f.fault(err)
	}
	if know, err = newest(); err != nil {
		return 0, 0, err
	}
	if have == 0 { // a journal gets its name when its schema is complete
		return 0, know, &DamagedError{Path: f.path, Why: "the version of its schema is gone"}
	}
	if have > know {
		return have, know, &NewerError{Path: f.path, Have: have, Know: know}
	}
	return have, know, nil
}

// checkPragmas reads back what the connection string asked for: durability must not rest on a typo.
func checkPragmas(ctx context.Context, c *sql.Conn) error {
	for _, p := range []struct{ name, want string }{
		{"page_size", strconv.Itoa(pageSize)},
		{"journal_mode", "wal"},
		{"synchronous", "2"},
		{"wal_autocheckpoint", "1000"},
		{"journal_size_limit", strconv.Itoa(walLimit)},
	} {
		var got string
		if err := c.QueryRowContext(ctx, "PRAGMA "+p.name).Scan(&got); err != nil {
			return err
		}
		if got != p.want {
			return fmt.Errorf("the journal's %s is %s, it must be %s", p.name, got, p.want)
		}
	}
	var version string
	if err := c.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return err
	}
	if olderVersion(version, minVersion) {
		return fmt.Errorf("SQLite %s can corrupt a journal, at least %s is needed", version, minVersion)
	}
	return nil
}

func olderVersion(a, b string) bool {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(x), len(y)) {
		m, err1 := strconv.Atoi(x[i])
		n, err2 := strconv.Atoi(y[i])
		if err1 != nil || err2 != nil {
			return true
		}
		if m != n {
			return m < n
		}
	}
	return len(x) < len(y)
}

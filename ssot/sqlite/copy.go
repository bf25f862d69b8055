package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"arbiter/amp"
	"arbiter/ssot"
)

// Export writes the entries that the filter selects as JSON Lines; see [ssot.Export].
func (l *Log) Export(ctx context.Context, w io.Writer, f amp.Filter) (n int, err error) {
	return ssot.Export(ctx, l, w, f)
}

// Import appends an exported journal to an empty one; see [ssot.Import].
func (l *Log) Import(ctx context.Context, r io.Reader) (n int, err error) {
	return ssot.Import(ctx, l, r)
}

// Backup writes a whole copy of the journal as of one moment to a new file, readable by its owner only, and returns the copy's
// head. To restore it, put it as journal.db into an empty data directory. It is one long read: appends go on meanwhile, but the
// write-ahead log grows until it is done.
func (l *Log) Backup(ctx context.Context, path string) (h amp.Head, err error) {
	if err := l.enter(); err != nil {
		return h, err
	}
	defer l.leave()
	if path, err = filepath.Abs(path); err != nil {
		return h, err
	}
	made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return h, fmt.Errorf("back up the journal: %w", err)
	}
	if err := made.Close(); err != nil {
		return h, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("back up the journal: %w", l.fault(err)), os.Remove(path))
		}
	}()
	if err := l.vacuumInto(ctx, path); err != nil {
		return h, err
	}
	if err := syncPath(path); err != nil {
		return h, err
	}
	copied, err := openReaders(path, "")
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	if h, err = head(ctx, copied); err != nil {
		return h, err
	}
	return h, syncPath(filepath.Dir(path))
}

// vacuumInto needs a connection that may write, if only the new file.
func (l *Log) vacuumInto(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", dsn(l.path, "mode=ro&_busy_timeout=2000"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	return err
}

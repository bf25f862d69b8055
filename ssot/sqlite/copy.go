package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite"

	"arbiter/amp"
	"arbiter/ssot"
)

// Backup writes a whole copy of the journal as of one moment to a new file, readable by its owner only, verifies it as [Log.Verify]
// does, and returns its head. The file has its name only when it was found whole; one that is there is never replaced. To restore it,
// put it as journal.db into an empty data directory. It is one long read: appends go on meanwhile, but the write-ahead log grows until
// it is done. progress, if not nil, is called during the verification as there.
func (l *Log) Backup(ctx context.Context, path string, progress func(done, total uint64)) (h amp.Head, err error) {
	if err := l.enter(); err != nil {
		return h, err
	}
	defer l.leave()
	if path, err = filepath.Abs(path); err != nil {
		return h, err
	}
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return h, fmt.Errorf("back up the journal: %s: %w", path, cmp.Or(err, fs.ErrExist))
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".backup-*")
	if err != nil {
		return h, fmt.Errorf("back up the journal: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	made := filepath.Join(dir, fileName)
	if err := l.writeBackup(ctx, made); err != nil {
		ours := l.fault(err)
		if errors.Is(ours, ssot.ErrFull) || errors.Is(ours, ssot.ErrFailed) { // what is read does not fill a disk
			ours = (&file{path: path}).fault(err)
		}
		return h, fmt.Errorf("back up the journal: %w", ours)
	}
	if h, err = verifyCopy(ctx, dir, progress); err != nil {
		return h, fmt.Errorf("verify the backup: %w", err)
	}
	err = os.Link(made, path) // unlike a rename it replaces nothing
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		err = os.Rename(made, path) // a file system without links
	}
	if err != nil {
		return h, fmt.Errorf("back up the journal: %w", err)
	}
	return h, syncPath(filepath.Dir(path))
}

func (l *Log) writeBackup(ctx context.Context, path string) error {
	made, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := made.Close(); err != nil {
		return err
	}
	if err := l.copyPages(ctx, path); err != nil {
		return err
	}
	return syncPath(path)
}

// verifyCopy verifies the journal in a folder, and returns its head.
func verifyCopy(ctx context.Context, dir string, progress func(done, total uint64)) (h amp.Head, err error) {
	copied, err := OpenReadOnly(ctx, dir)
	if err != nil {
		return h, err
	}
	defer func() { err = errors.Join(err, copied.Close()) }()
	r, err := copied.Verify(ctx, progress)
	if err != nil {
		return h, err
	}
	return r.Head, r.Err(copied.path)
}

// backupPages is how many pages one step copies, 8 MB: between steps a backup can be given up.
const backupPages = 1024

// copyPages copies the file page by page in one read transaction, which no append waits for and which none makes begin anew. It is cheaper
// than VACUUM INTO: a page is copied as it is.
func (l *Log) copyPages(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", dsn(l.path, "mode=ro&_busy_timeout=2000"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return err
	}
	if _, err := head(ctx, c); err != nil { // the first read fixes the moment
		return err
	}
	err = c.Raw(func(raw any) error {
		b, err := raw.(interface {
			NewBackup(to string) (*driver.Backup, error)
		}).NewBackup(dsn(path, ""))
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if more, err = b.Step(backupPages); err == nil {
				err = ctx.Err()
			}
		}
		return errors.Join(err, b.Finish())
	})
	if err != nil {
		return err
	}
	_, err = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	return err
}

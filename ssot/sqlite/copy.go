package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"arbiter/amp"
	"arbiter/ssot"
)

// Backup writes a whole copy of the journal as of one moment to a new file, readable by its owner only, verifies it as [Log.Verify]
// does, and returns its head. The file has its name only when it was found whole; one that is there is never replaced. To restore it,
// put it as journal.db into an empty data directory. It reads in short statements, and appends go on meanwhile; only the projections and what
// was appended last are read as of one moment. progress, if not nil, is called during the verification as there.
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
	if err := l.writeBackup(ctx, made, ctx.Err); err != nil {
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

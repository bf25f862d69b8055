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
	"arbiter/scratch"
	"arbiter/ssot"
)

// TargetError says that a copy cannot be written where it was to be. The journal is as it was.
type TargetError struct {
	Path string
	Err  error
}

// Error names the file and the reason.
func (e *TargetError) Error() string {
	return "back up the journal to " + e.Path + ": " + e.Err.Error()
}

// Unwrap is the reason.
func (e *TargetError) Unwrap() error { return e.Err }

// target is the error of a file that is written for a copy, without the name that it has meanwhile.
func target(path string, err error) error {
	if x, ok := errors.AsType[*fs.PathError](err); ok {
		err = x.Err
	}
	if x, ok := errors.AsType[*os.LinkError](err); ok {
		err = x.Err
	}
	for _, known := range []error{ssot.ErrFull, ssot.ErrFailed} {
		if errors.Is(err, known) {
			err = known
		}
	}
	return &TargetError{path, err}
}

// draftName is how the folders begin in which backups are written.
const draftName = ".backup"

// Backup writes a whole copy of the journal as of one moment to a new file, readable by its owner only, verifies it as [Log.Verify]
// does, and returns its head. The file has its name only when it was found whole; one that is there is never replaced, and what a backup that was
// killed left in the same folder is removed. To restore it, put it as journal.db into an empty data directory. It reads in short statements, and
// appends go on meanwhile; only the projections and what was appended last are read as of one moment. What is wrong with the file is a
// *[TargetError]. progress, if not nil, is called during the verification as there.
func (l *Log) Backup(ctx context.Context, path string, progress func(done, total uint64)) (h amp.Head, err error) {
	if err := l.enter(); err != nil {
		return h, err
	}
	defer l.leave()
	name := path
	if path, err = filepath.Abs(path); err != nil {
		return h, err
	}
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return h, target(name, cmp.Or(err, fs.ErrExist))
	}
	dir, done, err := scratch.Draft(filepath.Dir(path), draftName)
	if err != nil {
		return h, target(name, err)
	}
	defer func() { err = errors.Join(err, done()) }()
	made := filepath.Join(dir, fileName)
	if err := l.writeBackup(ctx, made, ctx.Err); err != nil {
		ours := l.fault(err)
		if errors.Is(ours, ssot.ErrFull) || errors.Is(ours, ssot.ErrFailed) { // what is read does not fill a disk
			return h, target(name, ours)
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
		return h, target(name, err)
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

package sqlite

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"arbiter/ssot"
)

type (
	// DamagedError is the error of every durable store that says so.
	DamagedError = ssot.DamagedError
	// NewerError is the error of every durable store that a newer version wrote.
	NewerError = ssot.NewerError
)

// ErrReadOnly says that the log was opened for reading.
var ErrReadOnly = ssot.ErrReadOnly

// HeldError says that another process has the data directory open for writing.
type HeldError struct {
	Dir string
	// PID is 0 when the holder has not said who it is yet.
	PID     int
	Host    string
	Started time.Time
	Version string
	// Work is what it does there, empty when it has not said.
	Work string
}

// Error says who holds the directory, for what, and since when.
func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("data directory %s is held by another process", e.Dir)
	}
	does := ""
	if e.Work != "" {
		does = " (" + e.Work + ")"
	}
	return fmt.Sprintf("data directory %s is held by process %d%s on %s since %s", e.Dir, e.PID, does, e.Host, e.Started.Local().Format(time.DateTime))
}

// NetworkError says that the data directory is on a network file system, where the write-ahead log is not safe.
type NetworkError struct{ Dir, FS string }

// Error names the directory and the kind of file system.
func (e *NetworkError) Error() string {
	return fmt.Sprintf("data directory %s is on a network file system (%s), where a journal can be lost", e.Dir, e.FS)
}

// rowError is a row that does not have the form that the schema gives it.
type rowError struct{ error }

// fault says in our words what the driver said.
func (f *file) fault(err error) error {
	if r, ok := errors.AsType[*rowError](err); ok {
		return &DamagedError{Path: f.path, Why: r.Error()}
	}
	d, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return err
	}
	switch d.Code() & 0xff {
	case codes.SQLITE_FULL:
		return fmt.Errorf("%w: %s", ssot.ErrFull, f.path)
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB, codes.SQLITE_ERROR:
		// Our statements are constants: one that does not fit the schema says that the schema was changed.
		return &DamagedError{Path: f.path, Why: d.Error()}
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return fmt.Errorf("%w: another process keeps %s locked", ssot.ErrBusy, f.path)
	case codes.SQLITE_IOERR:
		if d.Code() == codes.SQLITE_IOERR_SHMSIZE { // the index of the write-ahead log could not grow
			return fmt.Errorf("%w: %s-shm", ssot.ErrFull, f.path)
		}
		if d.Code() == codes.SQLITE_IOERR_WRITE && f.crowded() {
			return fmt.Errorf("%w: %s: the quota is used up", ssot.ErrFull, f.path)
		}
		return fmt.Errorf("%w: %s: %v", ssot.ErrFailed, f.path, d)
	case codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	return err
}

// crowded reports whether nothing can be written beside the file for want of room. A quota that is used up is to SQLite a write that
// failed, like any other: it tells nothing else from a full disk.
func (f *file) crowded() bool {
	probe, err := os.CreateTemp(filepath.Dir(f.path), roomForm)
	if err != nil {
		return noRoom(err)
	}
	_ = os.Remove(probe.Name()) // at once, so that no process that is killed meanwhile leaves it
	data := make([]byte, 8*pageSize)
	_, _ = rand.Read(data) // it never fails; a file system may store zeros without room
	_, err = probe.WriteAt(data, 0)
	return noRoom(errors.Join(err, probe.Close()))
}

// roomForm is how the files are called with which room is sought.
const roomForm = ".room-*"

// sweepRoom removes what processes that were killed while they sought room left in a data directory.
func sweepRoom(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours, _ := filepath.Match(roomForm, e.Name()) // the pattern is good
		if !ours || !e.Type().IsRegular() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func noRoom(err error) bool { return errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.ENOSPC) }

// passing reports whether the writer can go on after an error once the transaction was rolled back.
func passing(err error) bool {
	if errors.Is(err, ssot.ErrFull) || errors.Is(err, ssot.ErrBusy) {
		return true
	}
	d, ok := errors.AsType[*driver.Error](err)
	if !ok {
		return false
	}
	switch d.Code() & 0xff {
	case codes.SQLITE_NOMEM, codes.SQLITE_TOOBIG, codes.SQLITE_INTERRUPT:
		return true
	}
	return false
}

package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// draftLock is in the folder of a draft, and held for as long as that is written.
const draftLock = "arbiter-draft.lock"

// Draft creates a folder in a folder that a person named, for what gets its name there when it is whole. Its name begins with name and a dash;
// folders of that name that dead processes left there are removed first. remove takes it away with all that is in it; it is called once. Unlike
// [Make] it works where the file system has no locks, too: what a killed process leaves there, a person removes.
func Draft(in, name string) (dir string, remove func() error, err error) {
	entries, _ := os.ReadDir(in) // what is wrong with the folder is said by making one in it
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), name+"-") {
			if err := removeDraft(filepath.Join(in, e.Name())); err != nil {
				return "", nil, err
			}
		}
	}
	if dir, err = os.MkdirTemp(in, name+"-*"); err != nil {
		return "", nil, err
	}
	held, err := holdDraft(dir)
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() error {
		err := os.RemoveAll(dir)
		if held != nil {
			err = errors.Join(err, release(held))
		}
		return err
	}, nil
}

// holdDraft makes the lock of a draft. It gets its name when it is held, so that nobody ever finds it free; nil where there are no locks.
func holdDraft(dir string) (*os.File, error) {
	made := filepath.Join(dir, "lock")
	f, err := os.OpenFile(made, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil, errors.Join(f.Close(), os.Remove(made))
	}
	if err := os.Rename(made, filepath.Join(dir, draftLock)); err != nil {
		return nil, errors.Join(err, release(f))
	}
	return f, nil
}

// removeDraft removes a folder of a draft, unless that goes on or it is none.
func removeDraft(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, draftLock), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil //nolint:nilerr // it is somebody else's
	}
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return f.Close()
	}
	return errors.Join(os.RemoveAll(dir), release(f))
}

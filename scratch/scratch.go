// Package scratch makes temporary folders that are known as left behind once the process that made them is dead, however it died.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Make creates a folder in a folder, "" for that of the system, and keeps it from [Sweep] as long as this process lives. Its name begins with
// name and a dash. remove takes it away with all that is in it; it is called once.
func Make(in, name string) (dir string, remove func() error, err error) {
	for range 100 {
		if dir, err = os.MkdirTemp(in, name+"-*"); err != nil {
			return "", nil, err
		}
		held, err := hold(dir)
		if err != nil {
			return "", nil, errors.Join(err, os.RemoveAll(dir))
		}
		if held != nil {
			return dir, func() error { return errors.Join(os.RemoveAll(dir), release(held)) }, nil
		}
	}
	return "", nil, fmt.Errorf("create a temporary folder in %s: another process removes each at once", in)
}

// Sweep removes the folders of these names that dead processes left in a folder, "" for that of the system. One that a living process made
// stays, whatever its age, and so does what is no folder. It may run beside any other Sweep and any [Make].
func Sweep(in string, names ...string) error {
	if in == "" {
		in = os.TempDir()
	}
	entries, err := os.ReadDir(in)
	if err != nil {
		return err
	}
	var failed error
	for _, e := range entries {
		if !e.IsDir() || !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(e.Name(), n+"-") }) {
			continue
		}
		dir := filepath.Join(in, e.Name())
		held, err := hold(dir)
		if held != nil {
			err = errors.Join(os.RemoveAll(dir), release(held))
		}
		if !errors.Is(err, fs.ErrPermission) { // in the folder of the system it is another user's
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// hold locks a folder; nil when another process has it, or removed it.
func hold(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, f.Close()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	was, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, release(f))
	}
	if is, err := os.Lstat(dir); err != nil || !os.SameFile(was, is) {
		return nil, release(f) // it was removed before it could be locked
	}
	return f, nil
}

// release frees the lock at once: closed alone it would stay until a process that is being started just now has closed its copy too.
func release(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

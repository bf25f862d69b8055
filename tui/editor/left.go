package editor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// oldest is how long a text is kept that nobody took, once it was told.
const oldest = 30 * 24 * time.Hour

// Left returns where texts are that were typed below in and not taken, as when the program was killed while the editor was open. Each is
// told once. A text is removed when nobody changed it, or 30 days after it was told; one that is open in an editor is left alone.
func Left(in string, now time.Time) ([]string, error) {
	entries, err := os.ReadDir(in)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for texts of editors: %w", err)
	}
	all, err := lock(filepath.Join(in, lockName), syscall.LOCK_EX)
	if err != nil {
		return nil, fmt.Errorf("look for texts of editors: %w", err)
	}
	defer unlock(all) //nolint:errcheck // closing it frees it too
	var left []string
	var failed error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		where, err := leftIn(filepath.Join(in, e.Name()), now)
		failed = errors.Join(failed, err)
		if where != "" {
			left = append(left, where)
		}
	}
	return left, failed
}

// leftIn is where the text of one folder is, when it is to be told.
func leftIn(dir string, now time.Time) (string, error) {
	own, err := lock(filepath.Join(dir, lockName), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		return "", nil // somebody has it, or it has just gone
	}
	defer unlock(own) //nolint:errcheck // closing it frees it too
	sum, _, _ := strings.Cut(filepath.Base(dir), "-")
	where := typed(dir, sum)
	if where == "" {
		return "", os.RemoveAll(dir)
	}
	told := filepath.Join(dir, toldName)
	if _, err := os.Lstat(told); err != nil {
		return where, os.WriteFile(told, nil, 0o600)
	}
	last, err := newest(dir)
	if err == nil && now.Sub(last) > oldest {
		err = os.RemoveAll(dir)
	}
	return "", err
}

// newest is when something in a folder was changed last.
func newest(dir string) (last time.Time, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return last, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return last, err
		}
		if at := info.ModTime(); at.After(last) {
			last = at
		}
	}
	return last, nil
}

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// LinkError says that the file of a journal has another name. Its lock and its write-ahead log are beside it by name: two who open it by two
// names would both write to it, and lose what the other wrote.
type LinkError struct {
	Path string
	// Target is the file behind a symbolic link; empty when there are other names of the same rank.
	Target string
}

// Error names the file, and what is behind it.
func (e *LinkError) Error() string {
	if e.Target == "" {
		return fmt.Sprintf("the journal %s has other names too (hard links), by which others could write to it", e.Path)
	}
	return fmt.Sprintf("the journal %s is a link to %s", e.Path, e.Target)
}

// oneName wants the file, if it is there, to be known by its name alone.
func (f *file) oneName() error {
	st, err := os.Lstat(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case st.Mode().Type() == fs.ModeSymlink:
		target, err := os.Readlink(f.path)
		if err != nil {
			return err
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(f.path), target)
		}
		return &LinkError{Path: f.path, Target: target}
	case st.Mode().IsRegular() && names(st) > 1:
		return &LinkError{Path: f.path}
	}
	return nil
}

package gitops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// remove makes git forget the worktree and removes its folder. The repository is held only while git forgets: removing the files of
// a large checkout takes seconds, in which other tasks go on.
func (wt *worktree) remove() error {
	if err := wt.forget(); err != nil {
		return err
	}
	gone := wt.dir + ".gone"
	if err := removeAll(gone); err != nil { // what a crash left of an earlier removal
		return fmt.Errorf("remove worktree %s: %w", wt.dir, err)
	}
	if err := os.Rename(wt.dir, gone); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove worktree %s: %w", wt.dir, err)
	}
	if err := removeAll(gone); err != nil {
		return fmt.Errorf("remove worktree %s: %w", wt.dir, err)
	}
	return nil
}

// forget removes git's folder of the worktree, whatever its state, as git itself does with one that it prunes.
func (wt *worktree) forget() error {
	if wt.admin == "" {
		return nil
	}
	wt.r.write.Lock()
	defer wt.r.write.Unlock()
	if err := os.RemoveAll(wt.admin); err != nil {
		return fmt.Errorf("forget worktree %s: %w", wt.dir, err)
	}
	wt.admin = ""
	return wt.dropIndex()
}

// removeAll is os.RemoveAll for folders that a tool made read-only, such as a module cache.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if errors.Is(err, os.ErrPermission) {
		makeWritable(dir)
		err = os.RemoveAll(dir)
	}
	return err
}

// makeWritable lets the owner change all folders below dir.
func makeWritable(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o755) // before its entries are read
		}
		return nil
	})
}

// aside moves a folder that is in the way but no worktree, or none any more, to a name of its own, which it returns.
func (wt *worktree) aside() (to string, err error) {
	if err := os.Remove(wt.dir); err == nil || errors.Is(err, os.ErrNotExist) {
		return "", nil // nothing there, or an empty folder
	}
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.aside-%d", wt.dir, n)
		if _, err := os.Lstat(to); err == nil {
			continue
		}
		if err := os.Rename(wt.dir, to); err != nil {
			return "", fmt.Errorf("move aside %s, which is no worktree: %w", wt.dir, err)
		}
		wt.g.log.Warn("folder moved aside, it was no worktree", "from", wt.dir, "to", to)
		return to, nil
	}
}

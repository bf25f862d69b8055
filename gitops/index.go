package gitops

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// An index tells git which files need no look, so one that an agent could write hides what it likes: entries can be marked as
// unchanged for ever. Changes are therefore measured with an index that is kept outside the worktree: the one of the last reset, which
// follows HEAD.

// keptIndex is where the index of a worktree is kept. Beside it, in a file that ends with ".of", stands what it was made of.
func (wt *worktree) keptIndex() string {
	name := wt.dir
	if rel, err := filepath.Rel(wt.g.home, wt.dir); err == nil {
		name = rel
	}
	return filepath.Join(wt.g.home, "indexes", fileName(filepath.ToSlash(name)))
}

// indexOf is what a kept index was made of: the commit of HEAD, and the worktree's own index at that time.
func (wt *worktree) indexOf(head string) string {
	b, err := os.ReadFile(filepath.Join(wt.admin, "index"))
	if err != nil {
		return head + " none"
	}
	return fmt.Sprintf("%s %x", head, sha256.Sum256(b))
}

// keepIndex keeps the worktree's index as a reset to head left it.
func (wt *worktree) keepIndex(head string) error {
	kept := wt.keptIndex()
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return fmt.Errorf("create the folder of indexes: %w", err)
	}
	err := os.Remove(kept + ".of") // so that a crash leaves an index that is made anew, not a wrong one
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = copyIndex(filepath.Join(wt.admin, "index"), kept)
	}
	if err == nil {
		err = renameio.WriteFile(kept+".of", []byte(wt.indexOf(head)), 0o600)
	}
	if err != nil {
		return fmt.Errorf("keep the index of worktree %s: %w", wt.dir, err)
	}
	return nil
}

// restoreIndex puts the kept index in the place of the one that an agent may have written. Without one the worktree has none
// afterwards, and git reads every file.
func (wt *worktree) restoreIndex() error {
	index := filepath.Join(wt.admin, "index")
	err := copyIndex(wt.keptIndex(), index)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.RemoveAll(index)
	}
	if err != nil {
		return fmt.Errorf("restore the index of worktree %s: %w", wt.dir, err)
	}
	return nil
}

// useKeptIndex gives a worktree that is clean at head the kept index.
func (wt *worktree) useKeptIndex(head string) error {
	wt.clearState()
	if err := wt.restoreIndex(); err != nil {
		return err
	}
	if err := renameio.WriteFile(wt.keptIndex()+".of", []byte(wt.indexOf(head)), 0o600); err != nil {
		return fmt.Errorf("keep the index of worktree %s: %w", wt.dir, err)
	}
	return nil
}

// dropIndex forgets the kept index of a worktree that is gone.
func (wt *worktree) dropIndex() error {
	for _, name := range []string{wt.keptIndex() + ".of", wt.keptIndex()} {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget the index of worktree %s: %w", wt.dir, err)
		}
	}
	return nil
}

// followHead makes the kept index hold HEAD and the ignored files that the agent added by force, and nothing else of the agent's index.
// It runs no git while neither HEAD nor the agent's index changed. A HEAD that cannot be checked out is an [*unfitError].
func (wt *worktree) followHead(ctx context.Context) error {
	head, err := wt.head(ctx)
	if err != nil {
		return err
	}
	kept := wt.keptIndex()
	of := wt.indexOf(head)
	was, err := os.ReadFile(kept + ".of")
	switch {
	case err == nil && string(was) == of && exists(kept):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("read the kept index of worktree %s: %w", wt.dir, err)
	}
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil {
		return fmt.Errorf("create the folder of indexes: %w", err)
	}
	if err := os.Remove(kept + ".of"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("make the kept index of worktree %s anew: %w", wt.dir, err)
	}
	c := wt.at()
	c.index, c.write = kept, true
	if err := wt.readHead(ctx, c, head); err != nil {
		return fmt.Errorf("make the kept index of worktree %s anew: %w", wt.dir, err)
	}
	if err := renameio.WriteFile(kept+".of", []byte(of), 0o600); err != nil {
		return fmt.Errorf("keep the index of worktree %s: %w", wt.dir, err)
	}
	return nil
}

// readHead brings the kept index to HEAD. What git knew of a file that is the same in both it still knows.
func (wt *worktree) readHead(ctx context.Context, c call, head string) error {
	_ = os.Remove(c.index + ".lock") // of a git that was killed; nobody else writes there
	tree := head
	if tree == "" {
		out, err := wt.r.git(ctx, "hash-object", "-t", "tree", os.DevNull) // its name is another one in each format
		if err != nil {
			return err
		}
		tree = strings.TrimSpace(out)
	}
	if _, err := wt.g.run(ctx, c, "read-tree", "--reset", tree); err != nil {
		return unfit(err) // a commit with a path such as .git/config can be made, and not be checked out
	}
	forced := wt.forced(ctx, tree)
	if len(forced) == 0 {
		return nil
	}
	c.stdin = strings.Join(forced, "\x00")
	_, err := wt.g.run(ctx, c, "--literal-pathspecs", "add", "--force", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// head is the commit of HEAD, "" when there is none yet.
func (wt *worktree) head(ctx context.Context) (string, error) {
	text, err := readSmall(filepath.Join(wt.admin, "HEAD"))
	if err != nil {
		return "", fmt.Errorf("read HEAD of worktree %s: %w", wt.dir, err)
	}
	if ref, ok := strings.CutPrefix(text, "ref: "); ok {
		return wt.r.tip(ctx, ref)
	}
	return text, nil
}

// forced are the ignored files that the agent's own index holds and HEAD does not: it added them by force. That index is believed in
// nothing else, and a damaged one names none.
func (wt *worktree) forced(ctx context.Context, head string) []string {
	if !exists(filepath.Join(wt.admin, "index")) {
		return nil
	}
	out, err := wt.git(ctx, "diff-index", "--cached", "--name-only", "--diff-filter=A", "--no-renames", "-z", head, "--")
	if err != nil || out == "" {
		return nil
	}
	c := wt.at()
	c.stdin = out
	if out, err = wt.g.run(ctx, c, "check-ignore", "--no-index", "--stdin", "-z"); err != nil {
		return nil // none of them is ignored
	}
	var names []string
	for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if exists(filepath.Join(wt.dir, filepath.FromSlash(name))) {
			names = append(names, name)
		}
	}
	return names
}

// copyIndex copies an index with its time: git compares the content of files that are not older than the index, and a younger copy
// would hide a change of the same size made in the same tick of the clock.
func copyIndex(from, to string) error {
	fi, err := os.Stat(from)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(to, b, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, fi.ModTime(), fi.ModTime())
}

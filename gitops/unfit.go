package gitops

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"arbiter/amp"
)

// unfitError says that a worktree holds what git cannot take into a commit, whatever is tried: a repository without a commit, a pipe in
// the place of a file, a name or an encoding that git refuses. It is the agent's to mend, and nothing else waits for it.
type unfitError struct{ why string }

// Error is what git said.
func (e *unfitError) Error() string { return "git cannot take in the files: " + e.why }

// troubles is what git says when it is the machine's fault.
var troubles = []string{
	"No space left", "Disk quota exceeded", "Input/output error", "Read-only file system", "Cannot allocate memory", "ut of memory", "Too many open files",
	"insufficient permission", "unable to create temporary file", "unable to write",
}

// unfit is the error of a git add as an [*unfitError], when it is for the files that git refuses, and not for want of room or rights.
func unfit(err error) error {
	e, ended := errors.AsType[*exitError](err)
	if !ended || e.code < 0 || slices.ContainsFunc(troubles, func(t string) bool { return strings.Contains(e.stderr, t) }) {
		return err
	}
	return &unfitError{why: e.stderr}
}

// untaken reports whether an error says that files were not taken in, for whatever reason: who only wants to keep them has another way.
func untaken(err error) bool {
	if e, ended := errors.AsType[*exitError](err); ended {
		return e.command == "add"
	}
	_, is := errors.AsType[*unfitError](err)
	return is
}

// lookOrAside is look for who only wants to keep what is there, at the branch's tip: a worktree into which git cannot look is moved aside, and
// is gone then.
func (wt *worktree) lookOrAside(ctx context.Context, tip string) (s state, aside string, err error) {
	s, err = wt.look(ctx)
	if _, is := errors.AsType[*unfitError](err); !is {
		return s, "", err
	}
	return wt.unseen(ctx, tip, err.Error())
}

// lookTrusted is lookOrAside, and no git looks into a worktree since whose last turn the configuration has another program for it: the
// folder is moved aside.
func (wt *worktree) lookTrusted(ctx context.Context, w amp.Workspace, tip string) (s state, aside string, err error) {
	config, stop, err := wt.g.configItem(wt, w)
	if err != nil {
		return s, "", err
	}
	if !stop {
		return wt.lookOrAside(ctx, tip)
	}
	return wt.unseen(ctx, tip, config.Found)
}

// unseen moves a worktree aside without a look into it.
func (wt *worktree) unseen(ctx context.Context, tip, why string) (s state, aside string, err error) {
	wt.g.log.Warn("a worktree is moved aside", "dir", wt.dir, "why", why)
	if s.head, err = wt.head(ctx); err != nil || s.head == "" {
		s.head = tip
	}
	if err = wt.forget(); err == nil {
		aside, err = wt.aside()
	}
	return s, aside, err
}

// unpackable is the error of a worktree that is to become a parcel.
func unpackable(err error) error {
	if bad, is := errors.AsType[*unfitError](err); is {
		return &amp.ParcelError{Why: bad.Error()}
	}
	return err
}

// leadingFiles are the files of a worktree that git reads before it looks at anything else. Their names are those in lower case.
var leadingFiles = map[string]bool{".gitattributes": true, ".gitignore": true, ".gitmodules": true}

// maxLeading is how large a file that git reads whole may be.
const maxLeading = 16 << 20

// maxIndex is how large the index of a worktree may be: git takes about 100 bytes for each file.
const maxIndex = 2 << 30

// unblock gives those of git's own files in the worktree another name that no git could read to the end: a pipe, on which it would wait
// for ever, a device, or one that is too large for memory. An index like that is removed.
func (wt *worktree) unblock() {
	index := filepath.Join(wt.admin, "index")
	if info, err := os.Lstat(index); err == nil && (!info.Mode().IsRegular() || info.Size() > maxIndex) {
		err = os.RemoveAll(index) // git makes it anew
		wt.g.log.Warn("an index that git cannot read is removed", "index", index, "err", err)
	}
	_ = filepath.WalkDir(wt.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !leadingFiles[strings.ToLower(d.Name())] {
			return nil // what cannot be read git cannot read either
		}
		if info, err := os.Stat(name); err != nil || info.Mode().IsRegular() && info.Size() <= maxLeading {
			return nil
		}
		to := name + ".unreadable"
		err = os.Rename(name, to)
		wt.g.log.Warn("a file that git cannot read is put aside", "from", name, "to", to, "err", err)
		return nil
	})
}

package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/ssot"
)

// Clone is a copy of a mirror on this machine: a repository, with or without a work tree, or a folder of files. Nothing in it is trusted.
// It is for one caller at a time.
type Clone struct {
	Dir string
	// Commit is the commit that is looked at; empty in a folder without git.
	Commit string
	// Shallow says that the beginning of the history is not there.
	Shallow bool
	repo    *repository
	// root is the tree of the commit.
	root  string
	files tree
	// given are entries that somebody supplied in the place of withheld ones.
	given map[uint64]amp.Entry
	walk  *walker
}

// ErrNoMirror says that a folder holds no mirror.
var ErrNoMirror = errors.New("no mirror of a journal is there")

// Open opens a clone. In a repository with a work tree the files are those on the disk, which [Compare] and [Clone.Missing] want to be those of
// the commit; in a bare one they are those of the branch, or of its HEAD when branch is empty. The history is git's in both.
func Open(ctx context.Context, dir, branch string) (c *Clone, err error) {
	c = &Clone{Dir: dir, given: map[uint64]amp.Entry{}}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, fmt.Errorf("%w: %s is no folder", ErrNoMirror, dir)
	}
	git, bare, err := gitDir(dir)
	if err != nil {
		return nil, err
	}
	if git != "" {
		if err := c.openGit(ctx, git, branch); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	if bare {
		c.files = &commitTree{c.repo.objects, c.root}
		return c, nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.files = &folder{root}
	return c, nil
}

func there(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

func (c *Clone) openGit(ctx context.Context, git, branch string) (err error) {
	if c.repo, err = openRepository(ctx, git); err != nil {
		return err
	}
	name := "HEAD"
	if branch != "" {
		name = "refs/heads/" + branch
	}
	if c.Commit, err = c.repo.resolve(ctx, name); err != nil {
		return fmt.Errorf("%w: the repository %s has no commit there: %v", ErrNoMirror, c.Dir, err)
	}
	head, err := c.repo.objects.commit(c.Commit)
	if err != nil {
		return fmt.Errorf("%w: the repository %s cannot be read: %v", ErrNoMirror, c.Dir, err)
	}
	c.root, c.Shallow = head.tree, len(c.repo.shallow) > 0
	return nil
}

// Close ends what reads the clone.
func (c *Clone) Close() error {
	var errs []error
	if c.files != nil {
		errs = append(errs, c.files.Close())
	}
	if c.repo != nil {
		errs = append(errs, c.repo.close())
	}
	return errors.Join(errs...)
}

// MirrorHead is what head.json says.
func (c *Clone) MirrorHead(ctx context.Context) (Head, error) {
	data, err := c.files.read(ctx, headFile, maxHead)
	if err != nil {
		return Head{}, err
	}
	if data == nil {
		return Head{}, fmt.Errorf("%w: %s has no %s", ErrNoMirror, c.Dir, headFile)
	}
	return decodeHead(data)
}

// Difference is the first thing that is wrong, and at which entry.
type Difference struct {
	Seq  uint64 `json:"seq,omitzero"`
	What string `json:"what"`
	// Where is the file or the commit.
	Where string `json:"where,omitzero"`
}

// Error says all of it.
func (d *Difference) Error() string {
	text := d.What
	if d.Seq > 0 {
		text = fmt.Sprintf("entry %d: %s", d.Seq, text)
	}
	if d.Where != "" {
		text += " (" + d.Where + ")"
	}
	return text
}

// maxSegment bounds a segment: one that is full and one entry more.
const maxSegment = segmentSize + maxLine

// walker goes through the entries of a clone in order.
type walker struct {
	c    *Clone
	head amp.Head
	// dirs are the files to come and the folders that were not listed yet, the next one last.
	dirs []string
	path string
	rest []byte
	row  int
}

func (c *Clone) walker(ctx context.Context) (*walker, error) {
	w := &walker{c: c}
	return w, w.push(ctx, entriesDir)
}

// push lists a folder, and puts what is in it before everything else.
func (w *walker) push(ctx context.Context, dir string) error {
	names, err := w.c.files.names(ctx, dir)
	if err != nil {
		w.path, w.row = dir, 0
		return w.wrong("the mirror cannot be read: %v", err)
	}
	slices.Sort(names)
	for _, n := range slices.Backward(names) {
		w.dirs = append(w.dirs, dir+"/"+n)
	}
	return nil
}

// wrong is a difference at the next entry.
func (w *walker) wrong(format string, args ...any) error {
	where := w.path
	if w.row > 0 {
		where = fmt.Sprintf("%s line %d", w.path, w.row)
	}
	return &Difference{Seq: w.head.Seq + 1, What: fmt.Sprintf(format, args...), Where: where}
}

// next is the next entry, nil at the end. What is wrong with it is a *[Difference].
func (w *walker) next(ctx context.Context) (*line, error) {
	for len(w.rest) == 0 {
		more, err := w.open(ctx)
		if err != nil || !more {
			return nil, err
		}
	}
	w.row++
	data, rest, ok := bytes.Cut(w.rest, []byte{'\n'})
	if !ok {
		return nil, w.wrong("the mirror's line was cut off")
	}
	w.rest = rest
	l, err := decodeLine(data)
	if _, sum := errors.AsType[*SumError](err); sum {
		return nil, w.wrong("the content in the mirror does not have its hash")
	}
	if err != nil {
		return nil, w.wrong("the mirror's line cannot be read: %v", err)
	}
	switch {
	case l.Seq != w.head.Seq+1:
		return nil, w.wrong("the mirror has entry %d in its place", l.Seq)
	case l.PrevHash != w.head.Hash:
		return nil, w.wrong("in the mirror it does not follow entry %d", w.head.Seq)
	}
	if l.rule != "" {
		if err := w.fill(ctx, &l); err != nil {
			return nil, err
		}
	}
	w.head = amp.Head{Seq: l.Seq, Hash: l.Hash}
	return &l, nil
}

// open reads the next segment, and reports whether there was one.
func (w *walker) open(ctx context.Context) (bool, error) {
	for len(w.dirs) > 0 {
		path := w.dirs[len(w.dirs)-1]
		w.dirs = w.dirs[:len(w.dirs)-1]
		w.path, w.row = path, 0
		if dir, ok := strings.CutSuffix(path, "/"); ok {
			if !seqFolder.MatchString(dir) {
				return false, w.wrong("the mirror has a folder that is none of its own")
			}
			if err := w.push(ctx, dir); err != nil {
				return false, err
			}
			continue
		}
		switch first := seqOf(path); {
		case first == 0:
			return false, w.wrong("the mirror has a file that is none of its own")
		case first > w.head.Seq+1:
			return false, w.wrong("the mirror misses entries %d to %d", w.head.Seq+1, first-1)
		case first <= w.head.Seq:
			return false, w.wrong("the mirror has entries from %d on twice", first)
		}
		data, err := w.c.files.read(ctx, path, maxSegment)
		if err != nil {
			return false, w.wrong("the mirror cannot be read: %v", err)
		}
		if w.rest = data; len(data) == 0 {
			return false, w.wrong("a file of the mirror is empty")
		}
		return true, nil
	}
	return false, nil
}

// fill puts the content of a withheld entry in its place, when it was released or is supplied.
func (w *walker) fill(ctx context.Context, l *line) error {
	if e, ok := w.c.given[l.Seq]; ok && e.Hash == l.Hash {
		*l = line{Entry: e, released: true}
		return nil
	}
	path := releasedPath(l.Seq)
	data, err := w.c.files.read(ctx, path, maxLine)
	if err != nil {
		return w.wrong("what was released of it cannot be read: %v", err)
	}
	if data == nil {
		return nil
	}
	full, err := decodeLine(bytes.TrimSuffix(data, []byte{'\n'}))
	if err != nil || full.rule != "" || full.Seq != l.Seq || full.Hash != l.Hash {
		w.path, w.row = path, 0
		return w.wrong("what was released of it is not the entry that was withheld")
	}
	*l, l.released = full, true
	return nil
}

var _ ssot.Log = (*Clone)(nil)

// ErrReadOnly says that a clone takes no entries.
var ErrReadOnly = errors.New("a clone of a mirror takes no entries")

// Append fails: a clone is read only.
func (c *Clone) Append(context.Context, []amp.Record) ([]ssot.Appended, error) {
	return nil, ErrReadOnly
}

// Head is the last entry of the mirror, as head.json says.
func (c *Clone) Head(ctx context.Context) (amp.Head, error) {
	h, err := c.MirrorHead(ctx)
	return h.Journal(), err
}

// Read returns entries after f.After and before f.Before, ascending; no other field of the filter is heeded but the limit. Reading on where
// the call before ended is cheap. An entry that was withheld is an error.
func (c *Clone) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	if c.walk == nil || c.walk.head.Seq > f.After {
		var err error
		if c.walk, err = c.walker(ctx); err != nil {
			return nil, err
		}
	}
	limit := f.Limit
	if limit <= 0 || limit > ssot.MaxPage {
		limit = ssot.MaxPage
	}
	var out []amp.Entry
	for size := 0; len(out) < limit && size < commitSize; {
		if f.Before > 0 && c.walk.head.Seq+1 >= f.Before {
			return out, nil
		}
		l, err := c.walk.next(ctx)
		if err != nil || l == nil {
			c.walk = nil
			return out, err
		}
		if l.Seq <= f.After {
			continue
		}
		if l.rule != "" {
			c.walk = nil
			return nil, &WithheldError{Seqs: []amp.WithheldEntry{{Seq: l.Seq, Rule: l.rule}}, Count: 1}
		}
		out, size = append(out, l.Entry), size+len(l.Body)
	}
	return out, nil
}

// WithheldError says that a journal cannot be made from a mirror, since the content of entries is not in it.
type WithheldError struct {
	// Seqs are the first of them, Count is how many there are.
	Seqs  []amp.WithheldEntry
	Count int
}

// Error names the entries.
func (e *WithheldError) Error() string {
	var all []string
	for _, w := range e.Seqs {
		all = append(all, fmt.Sprint(w.Seq))
	}
	text := strings.Join(all, ", ")
	if e.Count > len(e.Seqs) {
		text += fmt.Sprintf(" and %d more", e.Count-len(e.Seqs))
	}
	return "the content of these entries was withheld from the mirror: " + text
}

// maxNamed is how many entries an error or a report names.
const maxNamed = 50

// Supply gives the content of an entry that may have been withheld. It counts only where the mirror has the same hash for it.
func (c *Clone) Supply(e amp.Entry) {
	if e.Hash == e.Sum() {
		c.given[e.Seq] = e
	}
}

// Missing are the entries whose content is neither in the mirror nor supplied. Everything else about the entries of the clone was verified
// when it returns: each hash, their order, that they fold, and that they end where head.json says. What is wrong is a *[Difference].
func (c *Clone) Missing(ctx context.Context, progress func(done, total uint64)) (missing *WithheldError, err error) {
	head, err := c.MirrorHead(ctx)
	if err != nil {
		return nil, err
	}
	w, err := c.walker(ctx)
	if err != nil {
		return nil, err
	}
	board := amp.NewBoard()
	for {
		l, err := w.next(ctx)
		switch {
		case err != nil:
			return nil, err
		case l == nil:
			if w.head != head.Journal() {
				return nil, &Difference{Seq: w.head.Seq, What: fmt.Sprintf("the entries of the mirror end here, %s says %d", headFile, head.Seq), Where: headFile}
			}
			return missing, c.checkedOut(ctx)
		case l.rule != "":
			if missing == nil {
				missing = &WithheldError{}
			}
			if missing.Count++; len(missing.Seqs) < maxNamed {
				missing.Seqs = append(missing.Seqs, amp.WithheldEntry{Seq: l.Seq, Rule: l.rule})
			}
		case missing == nil:
			err := ssot.CheckRecord(&l.Record)
			if err == nil {
				err = board.Apply(l.Entry)
			}
			if err != nil {
				return nil, &Difference{Seq: l.Seq, What: "no journal takes it: " + err.Error(), Where: w.path}
			}
		}
		if progress != nil && w.head.Seq%ssot.MaxPage == 0 {
			progress(w.head.Seq, head.Seq)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
}

// Withheld are the entries whose content is not in the mirror.
func (c *Clone) Withheld(ctx context.Context) (map[uint64]bool, error) {
	w, err := c.walker(ctx)
	if err != nil {
		return nil, err
	}
	all := map[uint64]bool{}
	for {
		l, err := w.next(ctx)
		if err != nil || l == nil {
			return all, err
		}
		if l.rule != "" {
			all[l.Seq] = true
		}
	}
}

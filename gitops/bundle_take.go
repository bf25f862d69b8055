package gitops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"arbiter/amp"
	"arbiter/scratch"
)

// bounds are what a bundle may hold at most; a zero bounds nothing.
type bounds struct {
	objects  uint32
	unpacked int64
}

// parcelBounds are for what comes from another machine: more than honest work makes, and less than fills a disk.
var parcelBounds = bounds{objects: 500_000, unpacked: 4 << 30}

// maxObject is the most memory that git may ask for at once while it reads what comes from another machine.
const maxObject = "1g"

// Take brings the result of a turn that ran on another machine into the task's worktree, from a bundle: afterwards branch and files are as they
// were there, and [Git.Verify] judges them as it judges any result. The bundle is unpacked and checked apart from the repository: its form,
// its one ref, every object of it (git fsck), that it is complete, and that its commits descend from the one at which the turn began. What
// it holds otherwise is an [*amp.ParcelError], and nothing of it is then in the repository. No other ref is moved. A second call for the same
// parcel changes nothing. What a reviewer's turn changed goes into its disposable worktree alone, and moves no ref at all.
func (g *Git) Take(ctx context.Context, w amp.Workspace, turnID, file string, p amp.Parcel) error {
	r, wt, end, err := g.begin(w)
	if err != nil {
		return err
	}
	defer end()
	rec, err := g.load(w.TaskID, turnID)
	if err != nil {
		return err
	}
	if rec == nil || !rec.Review && !wt.there() {
		return fmt.Errorf("take the commits of turn %s of %s: nothing is recorded of its start; it has to be run again", turnID, w.TaskID)
	}
	if err := g.guard(ctx, r, w.Branch); err != nil {
		return err
	}
	for _, c := range []string{p.Tip, p.Head()} {
		if !isHex(c) || len(c) != len(rec.Tip) {
			return &amp.ParcelError{Why: fmt.Sprintf("%.80q is no commit name", c)}
		}
	}
	if rec.Review {
		return g.takeReview(ctx, r, rec, file, p)
	}
	if p.Head() != rec.Tip {
		if file == "" {
			return &amp.ParcelError{Why: fmt.Sprintf("it is to be at %s, but no bundle came with it", short(p.Head()))}
		}
		if err := r.unbundle(ctx, incoming{file: file, ref: resultRef, commit: p.Head(), most: g.parcels, from: rec.Tip, parcel: &p}); err != nil {
			return err
		}
	}
	branch := "refs/heads/" + w.Branch
	tip, err := r.tip(ctx, branch)
	if err != nil {
		return err
	}
	switch tip {
	case p.Tip:
	case rec.Tip:
		if err := r.setRef(ctx, branch, p.Tip, tip, "the result of turn "+turnID); err != nil {
			return err
		}
	default:
		return fmt.Errorf("take the commits of turn %s: %s is at %s by now, not at %s where the turn began", turnID, w.Branch, short(tip), short(rec.Tip))
	}
	if err := wt.reset(ctx, w.Branch, p.Tip); err != nil || p.Left == "" {
		return err
	}
	return wt.spread(ctx, p)
}

// spread puts the files of what was left into the worktree, uncommitted. The worktree is at the tip.
func (wt *worktree) spread(ctx context.Context, p amp.Parcel) error {
	dir, remove, err := scratch.Make(wt.g.home, "index")
	if err != nil {
		return fmt.Errorf("create a temporary index: %w", err)
	}
	defer func() { _ = remove() }() // temporary
	c := wt.at()
	c.index, c.write = filepath.Join(dir, "index"), true
	if err := copyIndex(filepath.Join(wt.admin, "index"), c.index); err != nil {
		return fmt.Errorf("copy the index of worktree %s: %w", wt.dir, err)
	}
	if _, err := wt.g.run(ctx, c, "read-tree", "-m", "-u", p.Tip, p.Left); err != nil {
		return fmt.Errorf("put what was left uncommitted into worktree %s: %w", wt.dir, err)
	}
	return nil
}

// incoming is a bundle that came from another machine, and what it has to be.
type incoming struct {
	file, ref, commit string
	most              bounds
	// from is where the work began that the bundle holds the result of, and parcel what it is said to hold; both are empty of an offer.
	from   string
	parcel *amp.Parcel
}

// unbundle brings the objects of a bundle into the repository. They are unpacked into a folder of their own first, as git does with a push, and
// come out of it when every check has passed.
func (r *repo) unbundle(ctx context.Context, in incoming) error {
	f, err := os.Open(in.file)
	if err != nil {
		return fmt.Errorf("open a bundle: %w", err)
	}
	defer f.Close()
	h, err := readHeader(f, in.ref)
	if err != nil {
		return err
	}
	if h.commit != in.commit {
		return &amp.ParcelError{Why: fmt.Sprintf("the bundle holds %s, announced was %s", short(h.commit), short(in.commit))}
	}
	if n := in.most.objects; n > 0 && h.objects > n {
		return &amp.ParcelError{Why: fmt.Sprintf("the bundle holds %d objects, more than the %d that are allowed", h.objects, n)}
	}
	if err := r.needed(ctx, h, in.from); err != nil {
		return err
	}
	objects := filepath.Join(r.common, "objects")
	quarantine, err := os.MkdirTemp(objects, "tmp_objdir-arbiter-") // git removes one that a crash left
	if err != nil {
		return fmt.Errorf("make a folder for what a bundle holds: %w", err)
	}
	defer func() { _ = os.RemoveAll(quarantine) }() // temporary
	c := r.at()
	c.write, c.apart = true, quarantine
	if err := r.unpack(ctx, c, f, h, in.most); err != nil {
		return err
	}
	if err := r.complete(ctx, c, h); err != nil {
		return err
	}
	if in.parcel != nil {
		if err := r.descends(ctx, c, *in.parcel, in.from); err != nil {
			return err
		}
	}
	return release(quarantine, objects)
}

// descends checks that a parcel's commits go on from where the turn began, and that what was left is one commit on top of them.
func (r *repo) descends(ctx context.Context, c call, p amp.Parcel, from string) error {
	_, err := r.g.run(ctx, c, "merge-base", "--is-ancestor", from, p.Tip)
	if _, ok := errors.AsType[*exitError](err); ok {
		return &amp.ParcelError{Why: fmt.Sprintf("%s does not descend from %s, where the turn began", short(p.Tip), short(from))}
	}
	if err != nil || p.Left == "" {
		return err
	}
	out, err := r.g.run(ctx, c, "rev-list", "--parents", "--max-count=1", p.Left)
	if err != nil {
		return err
	}
	if out = strings.TrimSpace(out); out != p.Left+" "+p.Tip {
		return &amp.ParcelError{Why: fmt.Sprintf("%s, which is said to hold what was left uncommitted, is no commit on top of %s alone", short(p.Left), short(p.Tip))}
	}
	return nil
}

// needed checks the prerequisites of a bundle. Those of a result lie on the way to where the turn began.
func (r *repo) needed(ctx context.Context, h *parcelHeader, from string) error {
	for _, need := range h.needs {
		full, err := r.commit(ctx, need)
		if err != nil {
			return err
		}
		if full == "" {
			return &amp.ParcelError{Why: fmt.Sprintf("the bundle builds on %s, which is not here", short(need))}
		}
		if from == "" {
			continue
		}
		if on, err := r.ancestor(ctx, need, from); err != nil {
			return err
		} else if !on {
			return &amp.ParcelError{Why: fmt.Sprintf("the bundle builds on %s, which is no part of %s", short(need), short(from))}
		}
	}
	return nil
}

// unpack checks every object of a bundle and writes them to the folder of the call.
func (r *repo) unpack(ctx context.Context, c call, f *os.File, h *parcelHeader, most bounds) error {
	if _, err := f.Seek(h.size, io.SeekStart); err != nil {
		return fmt.Errorf("read a bundle: %w", err)
	}
	c.from = f
	_, err := r.g.run(ctx, c, "-c", "transfer.fsckObjects=true", "-c", "core.bigFileThreshold=64m", "index-pack", "--stdin", "--fix-thin", "--strict")
	if e, ok := errors.AsType[*exitError](err); ok {
		return &amp.ParcelError{Why: "git refuses its objects: " + e.stderr}
	}
	if err != nil || most.unpacked == 0 {
		return err
	}
	size, err := r.unpackedSize(ctx, c, most.unpacked)
	if err == nil && size > most.unpacked {
		err = &amp.ParcelError{Why: fmt.Sprintf("its files take more than %d MB unpacked", most.unpacked>>20)}
	}
	return err
}

// unpackedSize is how many bytes the objects in the folder of the call take unpacked; it stops counting beyond max.
func (r *repo) unpackedSize(ctx context.Context, c call, most int64) (size int64, err error) {
	packs, err := filepath.Glob(filepath.Join(c.apart, "pack", "*.idx"))
	if err != nil {
		return 0, err
	}
	for _, name := range packs {
		index, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		list := c
		list.from = index
		out, err := r.g.run(ctx, list, "show-index")
		if err = errors.Join(err, index.Close()); err != nil {
			return 0, err
		}
		var names strings.Builder
		for line := range strings.Lines(out) {
			if words := strings.Fields(line); len(words) > 1 {
				names.WriteString(words[1] + "\n")
			}
		}
		sizes := c
		sizes.from, sizes.stdin = nil, names.String()
		if out, err = r.g.run(ctx, sizes, "cat-file", "--batch-check=%(objectsize)"); err != nil {
			return 0, err
		}
		for line := range strings.Lines(out) {
			n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("read the size of an object: %w", err)
			}
			if size += n; size > most {
				return size, nil
			}
		}
	}
	return size, nil
}

// complete checks that everything that a bundle's commit refers to is in the bundle or here.
func (r *repo) complete(ctx context.Context, c call, h *parcelHeader) error {
	c.from = nil
	out, err := r.g.run(ctx, c, "cat-file", "-t", h.commit)
	if _, ok := errors.AsType[*exitError](err); ok || err == nil && strings.TrimSpace(out) != "commit" {
		return &amp.ParcelError{Why: short(h.commit) + " is not in the bundle, or is no commit"}
	}
	if err != nil {
		return err
	}
	args := []string{"rev-list", "--objects", "--quiet", h.commit}
	for _, need := range h.needs {
		args = append(args, "^"+need)
	}
	_, err = r.g.run(ctx, c, args...)
	if e, ok := errors.AsType[*exitError](err); ok {
		return &amp.ParcelError{Why: "the bundle is not complete: " + e.stderr}
	}
	return err
}

// release moves the packs of a quarantine into the repository's objects; the index comes last, since git sees a pack by it.
func release(quarantine, objects string) error {
	if err := os.MkdirAll(filepath.Join(objects, "pack"), 0o777); err != nil {
		return fmt.Errorf("keep the objects of a bundle: %w", err)
	}
	for _, ending := range []string{".pack", ".rev", ".idx"} {
		files, err := filepath.Glob(filepath.Join(quarantine, "pack", "*"+ending))
		if err != nil {
			return err
		}
		for _, name := range files {
			to := filepath.Join(objects, "pack", filepath.Base(name))
			if exists(to) {
				continue // it came before
			}
			if err := os.Rename(name, to); err != nil {
				return fmt.Errorf("keep the objects of a bundle: %w", err)
			}
		}
	}
	return nil
}

// quotedPath is a path as one element of a list that git reads, whatever characters it has.
func quotedPath(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
)

// Offer writes a bundle of the commit that work in w starts from, without what have holds. Of have only commits that lie on the way to that
// commit count, whatever else is named: nothing but their history is told. What takes more than most bytes in the repository, when that is
// positive, is an [*amp.ParcelError], and nothing is written; it is streamed, so its size on the way may differ, and breaks off at twice most.
func (g *Git) Offer(ctx context.Context, w amp.Workspace, have []string, most int64, to io.Writer) error {
	r, err := g.open(w.Repo)
	if err != nil {
		return err
	}
	at := want(w)
	var known []string
	for _, c := range have[:min(len(have), maxHave)] {
		if !isHex(c) || len(c) != len(at) {
			continue
		}
		full, err := r.commit(ctx, c)
		if err != nil {
			return err
		}
		if full == "" {
			continue
		}
		if on, err := r.ancestor(ctx, full, at); err != nil {
			return err
		} else if on {
			known = append(known, full)
		}
	}
	if most > 0 {
		size, err := r.weigh(ctx, at, known)
		if err != nil {
			return err
		}
		if size > most {
			return &amp.ParcelError{Why: fmt.Sprintf("%s takes %s to send, and %s are allowed", short(at), bytesOf(size), bytesOf(most))}
		}
		to = &ration{to: to, left: 2 * most}
	}
	return r.bundle(ctx, offerRef, at, known, to)
}

// weigh is how many bytes a commit takes in the repository with all that it refers to, without what known holds.
func (r *repo) weigh(ctx context.Context, commit string, known []string) (int64, error) {
	args := []string{"rev-list", "--objects", "--disk-usage", commit}
	for _, c := range known {
		args = append(args, "^"+c)
	}
	out, err := r.git(ctx, args...)
	if err != nil {
		return 0, fmt.Errorf("find out how much %s takes: %w", short(commit), err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(out), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("find out how much %s takes: %w", short(commit), err)
	}
	return n, nil
}

// bytesOf is a number of bytes as a person reads it.
func bytesOf(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// ration takes so many bytes and no more.
type ration struct {
	to   io.Writer
	left int64
}

func (b *ration) Write(p []byte) (int, error) {
	if b.left -= int64(len(p)); b.left < 0 {
		return 0, errors.New("the bundle is larger than was thought")
	}
	return b.to.Write(p)
}

// maxHave is how many commits are looked at of those that another machine says it has.
const maxHave = 32

// Clone makes the repository dir for work on commits of this length, unless it is there, and brings the commit that work in w starts from into
// it from a bundle of [Git.Offer]. An empty file says that the commit is there already.
func (g *Git) Clone(ctx context.Context, dir string, w amp.Workspace, file string) error {
	r, err := g.host(ctx, dir, w)
	if err != nil {
		return err
	}
	if file != "" {
		if err := r.unbundle(ctx, incoming{file: file, ref: offerRef, commit: want(w)}); err != nil {
			return err
		}
	}
	at, err := r.commit(ctx, want(w))
	if err == nil && at == "" {
		err = fmt.Errorf("commit %s is not in %s", short(want(w)), dir)
	}
	if err != nil {
		return err
	}
	for ref, commit := range map[string]string{keptPrefix + fileName(string(w.TaskID)): at, "refs/heads/" + w.BaseBranch: w.BaseCommit} {
		old, err := r.tip(ctx, ref)
		if err != nil {
			return err
		}
		if old == commit {
			continue
		}
		if err := r.setRef(ctx, ref, commit, old, "from the coordinator"); err != nil {
			return err
		}
	}
	return nil
}

// host opens the repository dir for work on commits of this length, and makes it when it is not there.
func (g *Git) host(ctx context.Context, dir string, w amp.Workspace) (*repo, error) {
	if !exists(filepath.Join(dir, ".git")) {
		args := []string{"init", "-q", "-b", w.BaseBranch}
		if len(want(w)) > 40 {
			args = append(args, "--object-format=sha256")
		}
		if _, err := g.run(ctx, call{write: true}, append(args, "--", dir)...); err != nil {
			return nil, fmt.Errorf("make a repository for work: %w", err)
		}
	}
	return g.open(dir)
}

// Seed brings the branches of another clone on this machine into the repository dir, which is made when it is not there, as commits that
// [Git.Has] knows of. The other clone stays as it is, and may be removed afterwards.
func (g *Git) Seed(ctx context.Context, dir string, w amp.Workspace, from string) error {
	r, err := g.host(ctx, dir, w)
	if err != nil {
		return err
	}
	r.write.Lock()
	defer r.write.Unlock()
	c := r.at()
	c.write = true
	if _, err := g.run(ctx, c, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules", "--", from,
		"+refs/heads/*:"+seedPrefix+"heads/*", "+refs/remotes/*:"+seedPrefix+"remotes/*"); err != nil {
		return fmt.Errorf("take the commits of %s: %w", from, err)
	}
	return nil
}

// seedPrefix begins the refs of what came from another clone of this machine.
const seedPrefix = "refs/arbiter/seed/"

// keptPrefix begins the refs that keep what came from the coordinator.
const keptPrefix = "refs/arbiter/from/"

// Has reports whether the repository dir has the commit that work in w starts from, and commits that it had before: what [Git.Offer] need not
// send again.
func (g *Git) Has(ctx context.Context, dir string, w amp.Workspace) (has bool, have []string, err error) {
	if !exists(filepath.Join(dir, ".git")) {
		return false, nil, nil
	}
	r, err := g.open(dir)
	if err != nil {
		return false, nil, err
	}
	at, err := r.commit(ctx, want(w))
	if err != nil || at != "" {
		return at != "", nil, err
	}
	have, err = r.newest(ctx, w)
	return false, have, err
}

// newest are commits that another machine may build on: where the branches of the work are, some steps back from its base, in case that is
// elsewhere there, and what came for other tasks or from other clones, the newest first.
func (r *repo) newest(ctx context.Context, w amp.Workspace) (have []string, err error) {
	add := func(c string) {
		if c != "" && len(have) < maxHave && !slices.Contains(have, c) {
			have = append(have, c)
		}
	}
	base := ""
	for _, ref := range []string{"refs/heads/" + w.Branch, seedPrefix + "heads/" + w.BaseBranch, seedPrefix + "remotes/origin/" + w.BaseBranch, "refs/heads/" + w.BaseBranch} {
		tip, err := r.tip(ctx, ref)
		if err != nil {
			return nil, err
		}
		add(tip)
		base = cmp.Or(tip, base)
	}
	if base != "" {
		out, err := r.git(ctx, "rev-list", "--first-parent", "--max-count=1025", base)
		if err != nil {
			return nil, err
		}
		back := strings.Fields(out)
		for n := 1; n < len(back); n *= 2 {
			add(back[n])
		}
	}
	out, err := r.git(ctx, "for-each-ref", "--sort=-committerdate", "--count="+strconv.Itoa(maxHave), "--format=%(objectname)", "--", keptPrefix, seedPrefix)
	if err != nil {
		return nil, err
	}
	for c := range strings.FieldsSeq(out) {
		add(c)
	}
	return have, nil
}

package gitops

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
)

// The only ref in a bundle that goes to another machine, and in one that comes back. Neither is a ref of a repository: what a bundle names is
// looked at, and never created.
const (
	offerRef  = "refs/arbiter/offer"
	resultRef = "refs/arbiter/result"
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

// bundle writes a bundle with one ref, which need not exist.
func (r *repo) bundle(ctx context.Context, ref, commit string, known []string, to io.Writer) error {
	head := "# v2 git bundle\n"
	if len(commit) > 40 {
		head = "# v3 git bundle\n@object-format=sha256\n"
	}
	var revs strings.Builder
	revs.WriteString(commit + "\n")
	for _, c := range known {
		head += "-" + c + "\n"
		revs.WriteString("^" + c + "\n")
	}
	if _, err := io.WriteString(to, head+commit+" "+ref+"\n\n"); err != nil {
		return fmt.Errorf("write a bundle: %w", err)
	}
	c := r.at()
	c.stdin, c.to = revs.String(), to
	if _, err := r.g.run(ctx, c, "pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "--quiet"); err != nil {
		return fmt.Errorf("write a bundle of %s: %w", short(commit), err)
	}
	return nil
}

// Pack writes what a turn made in the task's worktree as a bundle: the branch's commits since the turn began, and what was left uncommitted as
// a commit on top; of a reviewer's turn what it changed is all in the latter. Nothing in the repository moves, and a second call makes the same
// commit. The parcel has no sum and no size when there is nothing to write.
func (g *Git) Pack(ctx context.Context, w amp.Workspace, turnID, file string) (amp.Parcel, error) {
	var p amp.Parcel
	r, wt, end, err := g.begin(w)
	if err != nil {
		return p, err
	}
	defer end()
	rec, err := g.load(w.TaskID, turnID)
	if err != nil {
		return p, err
	}
	if rec == nil {
		return p, fmt.Errorf("pack turn %s of %s: nothing is recorded of its start; it has to be run again", turnID, w.TaskID)
	}
	if rec.Review {
		return r.packReview(ctx, w, rec, file)
	}
	if err := wt.believed(rec); err != nil {
		return p, err
	}
	if p.Tip, err = r.tip(ctx, "refs/heads/"+w.Branch); err != nil {
		return p, err
	}
	if p.Tip == "" {
		return p, &amp.ParcelError{Why: "the branch was deleted; it was at " + short(rec.Tip)}
	}
	if p.Left, err = wt.left(ctx, w, rec, p.Tip); err != nil || p.Head() == rec.Tip {
		return p, err
	}
	return p, r.bundleFile(ctx, file, &p, rec.Tip)
}

// left is a commit of what the agent left uncommitted, "" when there is none, or none that belongs to the branch.
func (wt *worktree) left(ctx context.Context, w amp.Workspace, rec *turnRecord, tip string) (string, error) {
	s, err := wt.look(ctx)
	if err != nil || len(s.changed) == 0 || s.head != tip {
		return "", err
	}
	if err := wt.bounded(s.changed); err != nil {
		return "", err
	}
	tree, err := wt.tree(ctx)
	if err != nil {
		return "", unpackable(err)
	}
	return wt.leave(ctx, w, rec, tree, tip, "executor", "Left uncommitted by "+string(w.TaskID))
}

// bundleFile writes a parcel's bundle to a file and notes its sum and size.
func (r *repo) bundleFile(ctx context.Context, file string, p *amp.Parcel, known string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write a bundle: %w", err)
	}
	sum := sha256.New()
	n := new(counter)
	err = r.bundle(ctx, resultRef, p.Head(), []string{known}, io.MultiWriter(f, sum, n))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	p.SHA256, p.Bytes = hex.EncodeToString(sum.Sum(nil)), int64(*n)
	return nil
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// parcelHeader is what stands before the pack of a bundle.
type parcelHeader struct {
	needs   []string
	commit  string
	size    int64  // of the header itself
	objects uint32 // of the pack
}

// maxNeeds bounds the prerequisites of a bundle.
const maxNeeds = 64

// readHeader reads the beginning of a bundle that must hold exactly one ref. What it refuses is an [*amp.ParcelError].
func readHeader(in io.Reader, ref string) (*parcelHeader, error) {
	bad := func(format string, args ...any) (*parcelHeader, error) {
		return nil, &amp.ParcelError{Why: fmt.Sprintf("the bundle "+format, args...)}
	}
	b := bufio.NewReaderSize(in, 4096)
	h := &parcelHeader{}
	line := func() (string, bool) {
		text, err := b.ReadSlice('\n') // no longer than the buffer
		h.size += int64(len(text))
		return strings.TrimSuffix(string(text), "\n"), err == nil
	}
	length := 40
	switch first, ok := line(); {
	case ok && first == "# v2 git bundle":
	case ok && first == "# v3 git bundle":
		if form, ok := line(); !ok || form != "@object-format=sha256" {
			return bad("has the capability %q, which is not known", form)
		}
		length = 64
	default:
		return bad("is none: its first line is %q", first[:min(len(first), 40)])
	}
	hash := func(s string) bool { return len(s) == length && isHex(s) }
	for {
		text, ok := line()
		if !ok {
			return bad("has a broken header")
		}
		if text == "" {
			break
		}
		if need, is := strings.CutPrefix(text, "-"); is {
			need, _, _ = strings.Cut(need, " ")
			if !hash(need) || h.commit != "" || len(h.needs) >= maxNeeds {
				return bad("has a prerequisite that is no commit, or more than %d of them", maxNeeds)
			}
			h.needs = append(h.needs, need)
			continue
		}
		commit, name, _ := strings.Cut(text, " ")
		if name != ref || h.commit != "" {
			return bad("holds the ref %q; want %s alone", name[:min(len(name), 100)], ref)
		}
		if !hash(commit) {
			return bad("names no commit for its ref")
		}
		h.commit = commit
	}
	if h.commit == "" {
		return bad("holds no ref")
	}
	pack := make([]byte, 12)
	if _, err := io.ReadFull(b, pack); err != nil || !bytes.HasPrefix(pack, []byte("PACK")) {
		return bad("holds no pack")
	}
	h.objects = binary.BigEndian.Uint32(pack[8:])
	return h, nil
}

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

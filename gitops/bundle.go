package gitops

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"arbiter/amp"
)

// The only ref in a bundle that goes to another machine, and in one that comes back. Neither is a ref of a repository: what a bundle names is
// looked at, and never created.
const (
	offerRef  = "refs/arbiter/offer"
	resultRef = "refs/arbiter/result"
)

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
		return "", unpackable(err)
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

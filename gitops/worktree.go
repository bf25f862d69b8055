package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/scratch"
)

// worktree is a checkout that this package made: a task's, or a reviewer's disposable one.
type worktree struct {
	g   *Git
	r   *repo
	dir string
	// admin is git's own folder of the worktree, <common>/worktrees/<id>; "" when git knows no worktree at dir. It is found from
	// the repository's side, never through dir/.git, which an agent could have written.
	admin string
}

func (g *Git) taskTree(r *repo, task amp.TaskID) *worktree {
	return g.treeAt(r, filepath.Join(g.home, "worktrees", fileName(string(task))))
}

func (g *Git) reviewTree(r *repo, turnID string) *worktree {
	return g.treeAt(r, filepath.Join(g.home, "reviews", fileName(turnID)))
}

func (g *Git) treeAt(r *repo, dir string) *worktree {
	wt := &worktree{g: g, r: r, dir: dir}
	wt.find()
	return wt
}

// find looks for git's folder of the worktree.
func (wt *worktree) find() {
	wt.admin = ""
	parent := filepath.Join(wt.r.common, "worktrees")
	entries, _ := os.ReadDir(parent) // no folder: no worktrees
	for _, e := range entries {
		if text, err := readSmall(filepath.Join(parent, e.Name(), "gitdir")); err == nil && text == filepath.Join(wt.dir, ".git") {
			wt.admin = filepath.Join(parent, e.Name())
			return
		}
	}
}

// at is a call in the worktree.
func (wt *worktree) at() call { return call{gitDir: wt.admin, workTree: wt.dir} }

func (wt *worktree) git(ctx context.Context, args ...string) (string, error) {
	return wt.g.run(ctx, wt.at(), args...)
}

func (wt *worktree) write(ctx context.Context, args ...string) (string, error) {
	c := wt.at()
	c.write = true
	return wt.g.run(ctx, c, args...)
}

// there reports whether git knows the worktree and its folder exists.
func (wt *worktree) there() bool {
	info, err := os.Stat(wt.dir)
	return wt.admin != "" && err == nil && info.IsDir()
}

// fresh reports whether the worktree was never filled, because it was only just made or a crash came first.
func (wt *worktree) fresh() bool {
	return !exists(filepath.Join(wt.admin, "index")) && !exists(wt.keptIndex())
}

// add makes the worktree on a branch, which is created at commit when it does not exist, or detached when branch is empty. The
// files are not there yet: reset fills them. What stood in its place and is no worktree is moved aside, never removed.
func (wt *worktree) add(ctx context.Context, branch, commit string) error {
	if err := wt.forget(); err != nil { // registered, but its folder is gone
		return err
	}
	if _, err := wt.aside(); err != nil {
		return err
	}
	wt.r.write.Lock()
	defer wt.r.write.Unlock()
	err := wt.make(ctx, branch, commit)
	for n := 0; n < addTries && halfMade(err); n++ {
		select {
		case <-time.After(addPause << n):
		case <-ctx.Done():
		}
		err = wt.make(ctx, branch, commit)
	}
	if err != nil {
		return err
	}
	wt.find()
	if wt.admin == "" {
		return fmt.Errorf("create worktree %s: git made none that points there", wt.dir)
	}
	return nil
}

// addTries is how often a worktree is made again that another process was in the way of, addPause the wait before the first time.
const (
	addTries = 6
	addPause = 20 * time.Millisecond
)

// halfMade reports that git ran into a worktree that another process was just making or removing: it reads all of them, and takes a file
// that is not there yet for a fault.
func halfMade(err error) bool {
	e, ok := errors.AsType[*exitError](err)
	return ok && e.code == 128 && (strings.Contains(e.stderr, "failed to read") && strings.Contains(e.stderr, "commondir") ||
		strings.Contains(e.stderr, "Invalid path '") && strings.Contains(e.stderr, "/worktrees/"))
}

func (wt *worktree) make(ctx context.Context, branch, commit string) error {
	args := []string{"worktree", "add", "--no-checkout"}
	switch tip, err := wt.r.tip(ctx, "refs/heads/"+branch); {
	case err != nil:
		return err
	case branch == "":
		args = append(args, "--detach", "--", wt.dir, commit)
	case tip == "":
		args = append(args, "--no-track", "-b", branch, "--", wt.dir, commit)
	default:
		args = append(args, "--", wt.dir, branch)
	}
	c := wt.r.at()
	c.write = true
	if _, err := wt.g.run(ctx, c, args...); err != nil {
		if exited(err, 128) && branch != "" {
			if other := wt.r.checkedOutAt(ctx, branch); other != "" {
				return &amp.GuardError{
					Type: amp.UnknownEscalation, Repo: wt.r.root, Branch: branch,
					Why: "it is checked out in " + other + ", where a person may be at work; switch that to another branch first",
				}
			}
		}
		return fmt.Errorf("create worktree %s: %w", wt.dir, err)
	}
	return nil
}

// isMain reports whether the folder that a person named is the repository's main checkout, not one of its linked worktrees.
func (r *repo) isMain() bool {
	dir := filepath.Join(r.root, ".git")
	if to, err := readLink(dir); err == nil {
		dir = to
	}
	at, err := filepath.EvalSymlinks(dir)
	return err == nil && at == r.common
}

// checkedOutAt is the folder of the worktree that has a branch checked out, "" when none has. Where the repository lies apart from its
// checkout, as that of a submodule, git takes its own folder for the checkout; a person named the right one.
func (r *repo) checkedOutAt(ctx context.Context, branch string) string {
	out, err := r.git(ctx, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return ""
	}
	dir := ""
	for line := range strings.SplitSeq(out, "\x00") {
		if d, ok := strings.CutPrefix(line, "worktree "); ok {
			if dir == "" && r.isMain() {
				d = r.root
			}
			dir = d
		}
		if line == "branch refs/heads/"+branch {
			return dir
		}
	}
	return ""
}

// reset makes the worktree hold exactly commit, on branch or detached when that is empty: HEAD, index and files, whatever state a
// killed process left. Ignored files stay, since they are caches. The branch itself must be at commit already.
func (wt *worktree) reset(ctx context.Context, branch, commit string) error {
	wt.repairLink()
	wt.clearState()
	head, err := readSmall(filepath.Join(wt.admin, "HEAD"))
	want := "ref: refs/heads/" + branch
	switch {
	case branch != "" && (err != nil || head != want):
		if err := putFile(filepath.Join(wt.admin, "HEAD"), want); err != nil {
			return fmt.Errorf("put worktree %s on branch %s: %w", wt.dir, branch, err)
		}
	case branch == "" && head != commit:
		if err := putFile(filepath.Join(wt.admin, "HEAD"), commit); err != nil {
			return fmt.Errorf("detach worktree %s: %w", wt.dir, err)
		}
	}
	if err := wt.restoreIndex(); err != nil {
		return err
	}
	if _, err := wt.write(ctx, "-c", "checkout.workers=0", "reset", "--hard", "--quiet", commit); err != nil {
		return fmt.Errorf("reset worktree %s to %s: %w", wt.dir, short(commit), err)
	}
	_, err = wt.write(ctx, "clean", "-ffdq")
	if _, failed := errors.AsType[*exitError](err); failed {
		makeWritable(wt.dir)
		_, err = wt.write(ctx, "clean", "-ffdq")
	}
	if err != nil {
		return fmt.Errorf("%w %s: %w", errUnclean, wt.dir, err)
	}
	return wt.keepIndex(commit)
}

// errUnclean says that git cannot remove what a worktree must not hold.
var errUnclean = errors.New("clean worktree")

// fill makes the worktree hold exactly commit on a branch that is there, as reset does; the worktree is made when it is not there, and made
// anew when git cannot clean it. What it held is pinned by then.
func (wt *worktree) fill(ctx context.Context, branch, commit string) error {
	if wt.there() {
		err := wt.reset(ctx, branch, commit)
		if !errors.Is(err, errUnclean) {
			return err
		}
		wt.g.log.Warn("a worktree is made anew", "dir", wt.dir, "err", err)
		if err := wt.remove(); err != nil {
			return err
		}
	}
	if err := wt.add(ctx, branch, commit); err != nil {
		return err
	}
	return wt.reset(ctx, branch, commit)
}

// repairLink writes the worktree's .git file and git's commondir file anew when they are not as git made them. It comes before any git
// runs in a worktree that an agent had.
func (wt *worktree) repairLink() {
	if wt.linkProblem() == "" || !exists(wt.dir) {
		return
	}
	dot := filepath.Join(wt.dir, ".git")
	if exists(dot) {
		kept := fmt.Sprintf("%s.tampered-%d", wt.dir, time.Now().UnixNano())
		if err := os.Rename(dot, kept); err != nil {
			wt.g.log.Warn("changed .git of a worktree cannot be moved aside", "dir", wt.dir, "err", err)
			return
		}
		wt.g.log.Warn("changed .git of a worktree moved aside", "dir", wt.dir, "to", kept)
	}
	for name, text := range map[string]string{dot: "gitdir: " + wt.admin, filepath.Join(wt.admin, "commondir"): "../.."} {
		if err := putFile(name, text); err != nil {
			wt.g.log.Warn("link of a worktree cannot be written", "name", name, "err", err)
		}
	}
}

// exists reports whether there is something at a path.
func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// leftState are the files and folders in which git keeps an unfinished merge, rebase, cherry-pick or bisect, and the locks of a
// process that was killed. Nobody works in the worktree when they are removed.
var leftState = []string{
	"index.lock", "HEAD.lock", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "MERGE_RR", "AUTO_MERGE", "CHERRY_PICK_HEAD", "REVERT_HEAD",
	"REBASE_HEAD", "rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG", "BISECT_START", "BISECT_TERMS", "BISECT_NAMES",
	"BISECT_EXPECTED_REV", "SQUASH_MSG",
}

func (wt *worktree) clearState() {
	for _, name := range leftState {
		if err := os.RemoveAll(filepath.Join(wt.admin, name)); err != nil {
			wt.g.log.Warn("left state of git cannot be removed", "dir", wt.dir, "name", name, "err", err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(wt.admin, "locked")); err == nil && strings.HasPrefix(string(b), "initializing") {
		_ = os.Remove(filepath.Join(wt.admin, "locked"))
	}
}

// state is what a worktree holds.
type state struct {
	// branch is the full name of the ref that HEAD names, "" when it is detached; head the commit.
	branch, head string
	// changed are the files that differ from HEAD, untracked ones too, ignored ones not.
	changed []string
}

// look reads the worktree's state, without touching its index.
func (wt *worktree) look(ctx context.Context) (state, error) {
	wt.unblock()
	if err := wt.followHead(ctx); err != nil {
		return state{}, err
	}
	c := wt.at()
	c.index = wt.keptIndex()
	out, err := wt.g.run(ctx, c, "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=dirty", "--no-renames")
	if err != nil {
		return state{}, fmt.Errorf("read the state of worktree %s: %w", wt.dir, err)
	}
	var s state
	for line := range strings.SplitSeq(out, "\x00") {
		switch {
		case strings.HasPrefix(line, "# branch.oid "):
			s.head = strings.TrimPrefix(line, "# branch.oid ")
		case line == "" || line[0] == '#':
		case line[0] == '?':
			s.changed = append(s.changed, line[2:])
		case line[0] == '1':
			s.changed = append(s.changed, field(line, 8))
		case line[0] == 'u':
			s.changed = append(s.changed, field(line, 10))
		}
	}
	if s.head == "(initial)" {
		s.head = ""
	}
	head, err := readSmall(filepath.Join(wt.admin, "HEAD"))
	s.branch = ""
	if ref, ok := strings.CutPrefix(head, "ref: "); ok {
		s.branch = ref
	}
	return s, err
}

// field is what stands after the nth space.
func field(line string, n int) string {
	parts := strings.SplitN(line, " ", n+1)
	return parts[len(parts)-1]
}

// tree writes what the worktree holds, untracked files too, as a tree object, without touching its index. What git does not take in is an
// [*unfitError].
func (wt *worktree) tree(ctx context.Context) (string, error) {
	if err := wt.followHead(ctx); err != nil {
		return "", err
	}
	dir, remove, err := scratch.Make(wt.g.home, "index")
	if err != nil {
		return "", fmt.Errorf("create a temporary index: %w", err)
	}
	defer func() { _ = remove() }() // temporary
	c := wt.at()
	c.index, c.write = filepath.Join(dir, "index"), true
	if err := copyIndex(wt.keptIndex(), c.index); err != nil {
		return "", fmt.Errorf("copy the index of worktree %s: %w", wt.dir, err)
	}
	if _, err := wt.g.run(ctx, c, "-c", "advice.addEmbeddedRepo=false", "add", "--all", "--sparse", "--", "."); err != nil {
		return "", fmt.Errorf("add the files of worktree %s: %w", wt.dir, unfit(err))
	}
	out, err := wt.g.run(ctx, c, "write-tree")
	if err != nil {
		return "", fmt.Errorf("write the tree of worktree %s: %w", wt.dir, err)
	}
	return strings.TrimSpace(out), nil
}

// fileName makes a file name of an id: what is not plain is written as %XX.
func fileName(id string) string {
	var b strings.Builder
	for i := range len(id) {
		switch c := id[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

package gitops

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
)

// taskName is what a task's id must look like before it becomes part of a ref or a folder.
var taskName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// begin opens the task's repository and worktree and makes this the only work on the task; the caller calls end.
func (g *Git) begin(w amp.Workspace) (r *repo, wt *worktree, end func(), err error) {
	id := string(w.TaskID)
	if !taskName.MatchString(id) || strings.Contains(id, "..") || strings.HasSuffix(id, ".lock") {
		return nil, nil, nil, fmt.Errorf("task id %q cannot be part of a ref", id)
	}
	if !isHex(w.BaseCommit) || len(w.BaseCommit) < 40 {
		return nil, nil, nil, fmt.Errorf("base commit %q of %s is no full commit name", w.BaseCommit, id)
	}
	if r, err = g.open(w.Repo); err != nil {
		return nil, nil, nil, err
	}
	end = g.lockTask(w.TaskID)
	return r, g.taskTree(r, w.TaskID), end, nil
}

// want is the commit at which the branch has to be.
func want(w amp.Workspace) string {
	if w.Commit != "" {
		return w.Commit
	}
	return w.BaseCommit
}

// Prepare makes the task's worktree ready for a turn: on its branch, at the recorded commit, clean. What a crashed turn left there is
// pinned to a recovery ref first. It sets the next checkpoint, records all refs of the repository as they are, and returns the
// environment that makes the agent's git refuse to touch other refs (AMP-049). A protected branch, and one that exists with
// work that is not this task's, is an *amp.GuardError (AMP-048). A second call for the same turn returns the same and
// changes nothing.
func (g *Git) Prepare(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error) {
	r, wt, end, err := g.begin(w)
	if err != nil {
		return amp.Prepared{}, err
	}
	defer end()
	if err := g.guard(ctx, r, w.Branch); err != nil {
		return amp.Prepared{}, err
	}
	rec, err := g.load(w.TaskID, turnID)
	if err != nil {
		return amp.Prepared{}, err
	}
	if rec != nil && wt.there() {
		return g.prepared(rec, wt, amp.Executor), g.writeHooks(turnID, w.Branch, wt)
	}
	if err := g.ensure(ctx, wt, w); err != nil {
		return amp.Prepared{}, fmt.Errorf("prepare the worktree of %s: %w", w.TaskID, err)
	}
	rec = &turnRecord{Turn: turnID, Task: w.TaskID, Common: r.common, Branch: w.Branch, Tip: want(w)}
	if err := rec.observe(ctx, r); err != nil {
		return amp.Prepared{}, err
	}
	if err := g.checkpoint(ctx, r, rec); err != nil {
		return amp.Prepared{}, err
	}
	if err := g.note(rec, wt); err != nil {
		return amp.Prepared{}, err
	}
	if err := g.prune(w.TaskID); err != nil {
		g.log.Warn("old turn records stay", "task", w.TaskID, "err", err)
	}
	return g.prepared(rec, wt, amp.Executor), nil
}

func (g *Git) prepared(rec *turnRecord, wt *worktree, role amp.Role) amp.Prepared {
	return amp.Prepared{
		Dir: wt.dir, Checkpoint: rec.Checkpoint, Tip: rec.Tip, Env: agentEnv(g.hookDir(rec.Turn), role, rec.Task),
	}
}

// ensure brings the worktree and the branch to where the journal says they are.
func (g *Git) ensure(ctx context.Context, wt *worktree, w amp.Workspace) error {
	r, at := wt.r, want(w)
	if c, err := r.commit(ctx, at); err != nil || c == "" {
		if err == nil {
			err = fmt.Errorf("commit %s is not in the repository", short(at))
		}
		return err
	}
	if err := g.dropStaleLock(ctx, r.branchLock(w.Branch)); err != nil {
		return err
	}
	tip, err := g.tip(ctx, wt, w)
	if err != nil {
		return err
	}
	if wt.there() {
		clean, err := g.salvage(ctx, wt, w, tip, "left by an earlier turn")
		if err != nil || clean {
			return err
		}
	} else if err := g.firstUse(ctx, r, w, tip); err != nil {
		return err
	}
	if tip != at && (tip != "" || wt.there()) {
		if err := g.moveBranch(ctx, r, w, tip, at); err != nil {
			return err
		}
	}
	return wt.fill(ctx, w.Branch, at)
}

// salvage pins what the worktree and the branch hold beyond the recorded commit, and reports whether there is nothing to mend.
func (g *Git) salvage(ctx context.Context, wt *worktree, w amp.Workspace, tip, why string) (clean bool, err error) {
	at := want(w)
	if wt.fresh() {
		_, err := wt.rescue(ctx, w.TaskID, state{head: tip}, tip, at, why)
		return false, err
	}
	wt.repairLink()
	wt.mendHead(w.Branch)
	s, aside, err := wt.lookOrAside(ctx, tip)
	if err != nil {
		return false, err
	}
	if s.branch == "refs/heads/"+w.Branch && tip == at && len(s.changed) == 0 {
		return true, wt.useKeptIndex(at)
	}
	refs, err := wt.rescue(ctx, w.TaskID, s, tip, at, why)
	if len(refs) > 0 {
		g.log.Warn("work pinned before a reset", "task", w.TaskID, "refs", refs, "aside", aside)
	}
	return false, err
}

// firstUse refuses a branch that has commits that no turn of this task made: a person's.
func (g *Git) firstUse(ctx context.Context, r *repo, w amp.Workspace, tip string) error {
	if tip == "" || tip == want(w) {
		return nil
	}
	mine, err := r.refs(ctx, checkpointPrefix(w.TaskID))
	if err != nil || len(mine) > 0 {
		return err
	}
	return &amp.GuardError{
		Type: amp.UnknownEscalation, Repo: r.root, Branch: w.Branch,
		Why: "it exists already at " + short(tip) + ", with work that is not this task's; choose another branch name",
	}
}

// moveBranch sets the task's branch to a commit, from where it was seen.
func (g *Git) moveBranch(ctx context.Context, r *repo, w amp.Workspace, from, to string) error {
	return r.setRef(ctx, "refs/heads/"+w.Branch, to, from, "back to the recorded commit")
}

// checkpoint sets the ref to roll back to, and puts it among the recorded refs. One that a crash left without a turn is taken.
func (g *Git) checkpoint(ctx context.Context, r *repo, rec *turnRecord) error {
	prefix := checkpointPrefix(rec.Task)
	byNumber, last := numbered(rec.Refs, prefix)
	all, err := g.records(rec.Task)
	if err != nil {
		return err
	}
	used := false
	for _, other := range all {
		used = used || other.Checkpoint == last
	}
	if last > 0 && !used && len(all) > 0 && byNumber[last] == rec.Tip {
		rec.Checkpoint = last
		return nil
	}
	rec.Checkpoint = last + 1
	ref := prefix + strconv.Itoa(rec.Checkpoint)
	if err := r.setRef(ctx, ref, rec.Tip, "", "checkpoint before turn "+rec.Turn); err != nil {
		return err
	}
	rec.Refs[ref] = rec.Tip
	return nil
}

// note completes the record of a turn that is about to start, writes its hooks and saves it, the record last.
func (g *Git) note(rec *turnRecord, wt *worktree) error {
	var err error
	if rec.Trusted, err = wt.trusted(); err != nil {
		return err
	}
	branch := rec.Branch
	if rec.Review {
		branch = ""
	}
	if err := g.writeHooks(rec.Turn, branch, wt); err != nil {
		return err
	}
	rec.At = time.Now().UTC()
	return g.save(rec)
}

// observe records the refs. The reflogs come first: a move between the two is then explained by a line too many, not missing.
func (rec *turnRecord) observe(ctx context.Context, r *repo) (err error) {
	if rec.Default, _, err = r.defaultBranch(ctx); err != nil {
		return err
	}
	if rec.Logs, err = reflogSizes(rec.Common); err != nil {
		return err
	}
	rec.Refs, rec.Symbolic, err = r.refsAndHead(ctx)
	return err
}

// reflogSizes returns how long each reflog of the repository is; new lines stand behind that.
func reflogSizes(common string) (map[string]int64, error) {
	top := filepath.Join(common, "logs")
	sizes := map[string]int64{}
	err := filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if os.IsNotExist(err) {
				return nil // a ref went away meanwhile, or there are no reflogs
			}
			return err
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		rel, err := filepath.Rel(top, name)
		sizes[filepath.ToSlash(rel)] = info.Size()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the reflogs of %s: %w", common, err)
	}
	return sizes, nil
}

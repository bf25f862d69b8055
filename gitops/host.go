package gitops

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"arbiter/amp"
)

// HostReview is [Git.OpenReview] in a clone that [Git.Clone] made for a coordinator elsewhere: branch, and the task's worktree where there is
// one, are brought to the recorded commit first, since the journal that says where they are is not here. What they held otherwise is pinned.
func (g *Git) HostReview(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error) {
	if err := g.bring(ctx, w); err != nil {
		return amp.Prepared{}, err
	}
	return g.OpenReview(ctx, w, turnID)
}

func (g *Git) bring(ctx context.Context, w amp.Workspace) error {
	r, wt, end, err := g.begin(w)
	if err != nil {
		return err
	}
	defer end()
	if err := g.guard(ctx, r, w.Branch); err != nil {
		return err
	}
	if wt.there() {
		return g.ensure(ctx, wt, w)
	}
	at, err := r.commit(ctx, want(w))
	if err == nil && at == "" {
		err = fmt.Errorf("commit %s is not in the repository", short(want(w)))
	}
	if err != nil {
		return err
	}
	tip, err := r.tip(ctx, "refs/heads/"+w.Branch)
	if err != nil || tip == at {
		return err
	}
	if tip != "" {
		return g.moveBranch(ctx, r, w, tip, at)
	}
	return r.setRef(ctx, "refs/heads/"+w.Branch, at, "", "from the coordinator")
}

// HostRelease is [Git.Release] in a clone that [Git.Clone] made for a coordinator elsewhere, and removes these folders of the task, whatever is
// in them. The branch goes, too, so that another task can have its name: what it held is kept by the ref that keeps what came from the
// coordinator, which later bundles build on. A second call finds nothing left.
func (g *Git) HostRelease(ctx context.Context, w amp.Workspace, folders ...string) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckRelease, TaskID: w.TaskID}
	if exists(filepath.Join(w.Repo, ".git")) {
		var err error
		if c, err = g.Release(ctx, w); err == nil {
			err = g.dropBranch(ctx, w)
		}
		if err != nil {
			return c, err
		}
	}
	for _, dir := range folders {
		if err := removeAll(dir); err != nil {
			return c, fmt.Errorf("remove %s: %w", dir, err)
		}
	}
	return c, nil
}

func (g *Git) dropBranch(ctx context.Context, w amp.Workspace) error {
	r, _, end, err := g.begin(w)
	if err != nil {
		return err
	}
	defer end()
	branch, kept := "refs/heads/"+w.Branch, keptPrefix+fileName(string(w.TaskID))
	tip, err := r.tip(ctx, branch)
	if err != nil || tip == "" || g.guard(ctx, r, w.Branch) != nil || r.checkedOutAt(ctx, w.Branch) != "" {
		return err
	}
	old, err := r.tip(ctx, kept)
	if err == nil && old != tip {
		err = r.setRef(ctx, kept, tip, old, "the branch of a task that has ended")
	}
	if err != nil {
		return err
	}
	return r.dropRef(ctx, branch, tip)
}

// packReview is [Git.Pack] of a reviewer's turn: what it changed in its worktree, whatever it committed there, as one commit on top of the one
// that it looked at.
func (r *repo) packReview(ctx context.Context, w amp.Workspace, rec *turnRecord, file string) (amp.Parcel, error) {
	p := amp.Parcel{Tip: rec.Tip}
	wt := r.g.reviewTree(r, rec.Turn)
	if !wt.there() {
		return p, &amp.ParcelError{Why: "the review's worktree is gone, so what was changed in it cannot be told"}
	}
	if err := wt.believed(rec); err != nil {
		return p, err
	}
	wt.unblock()
	tree, err := wt.tree(ctx)
	if err != nil {
		return p, unpackable(err)
	}
	changed, err := r.changes(ctx, rec.Tip, tree, false)
	if err != nil || len(changed) == 0 {
		return p, err
	}
	if err := wt.bounded(paths(changed)); err != nil {
		return p, err
	}
	if p.Left, err = wt.leave(ctx, w, rec, tree, rec.Tip, "reviewer", "Changed by the review of "+string(w.TaskID)); err != nil {
		return p, err
	}
	return p, r.bundleFile(ctx, file, &p, rec.Tip)
}

// takeReview is [Git.Take] of a reviewer's turn: its worktree is then as it was there, and [Git.CloseReview] measures it.
func (g *Git) takeReview(ctx context.Context, r *repo, rec *turnRecord, file string, p amp.Parcel) error {
	wt := g.reviewTree(r, rec.Turn)
	if !wt.there() {
		return fmt.Errorf("take what review %s of %s changed: its worktree is gone; it has to be run again", rec.Turn, rec.Task)
	}
	if p.Tip != rec.Tip {
		return &amp.ParcelError{Why: fmt.Sprintf("it is said to have looked at %s, not at %s, which is reviewed", short(p.Tip), short(rec.Tip))}
	}
	if p.Left != "" {
		if file == "" {
			return &amp.ParcelError{Why: "it is said to have changed files, but no bundle came with it"}
		}
		if err := r.unbundle(ctx, incoming{file: file, ref: resultRef, commit: p.Left, most: g.parcels, from: rec.Tip, parcel: &p}); err != nil {
			return err
		}
	}
	if err := wt.reset(ctx, "", rec.Tip); err != nil || p.Left == "" {
		return err
	}
	return wt.spread(ctx, p)
}

// believed refuses a worktree in which git must not be run.
func (wt *worktree) believed(rec *turnRecord) error {
	var c amp.Check
	stop, err := wt.verifyTrust(rec, &c)
	if err == nil && stop {
		err = &amp.ParcelError{Why: "the worktree cannot be trusted, so git was not run in it: " + c.Claims[0].Found}
	}
	return err
}

// bounded refuses more uncommitted files than honest work leaves.
func (wt *worktree) bounded(names []string) error {
	size := wt.sizeOf(names)
	if size <= maxLeftovers {
		return nil
	}
	return &amp.ParcelError{Why: fmt.Sprintf("%s of %d MB were left uncommitted; files that are no part of the work must be ignored or removed",
		plural(len(names), "file"), size>>20)}
}

// leave makes a commit of a tree on top of another commit, the same each time.
func (wt *worktree) leave(ctx context.Context, w amp.Workspace, rec *turnRecord, tree, on, role, text string) (string, error) {
	c := wt.r.at()
	c.write, c.as = true, &identity{"arbiter " + role, string(w.TaskID) + agentDomain}
	c.date = rec.At.UTC().Format(time.RFC3339)
	c.stdin = message(text, nil)
	out, err := wt.g.run(ctx, c, "commit-tree", tree, "-p", on, "-F", "-")
	if err != nil {
		return "", fmt.Errorf("pack what turn %s left: %w", rec.Turn, err)
	}
	return strings.TrimSpace(out), nil
}

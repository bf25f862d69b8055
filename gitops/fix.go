package gitops

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"arbiter/amp"
)

// A reviewer's direct fixes are a commit on top of the reviewed one. It is on no branch while nobody knows whether the verdict counts:
// refs/arbiter/fixes/<task>/<commit> keeps it. Once the journal names it as the task's commit, the branch follows and the ref goes, so that
// a branch which is behind after that is known to have been put there by somebody.
func fixPrefix(task amp.TaskID) string             { return "refs/arbiter/fixes/" + string(task) + "/" }
func fixRef(task amp.TaskID, commit string) string { return fixPrefix(task) + commit }

// Fix puts the direct fixes of a verdict that counts, which are the recorded commit by now, on the task's branch and into its worktree. What the
// worktree holds besides is pinned to recovery refs first. A branch that is there already stays as it is; one that is neither there nor at
// the commit that was reviewed refutes a blocking claim and is to be escalated (AMP-089), and nothing has changed.
func (g *Git) Fix(ctx context.Context, w amp.Workspace) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckFix, TaskID: w.TaskID, Base: w.BaseCommit}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	if err := g.guard(ctx, r, w.Branch); err != nil {
		return c, err
	}
	reviewed, err := r.resolve(ctx, want(w)+"^")
	if err == nil && reviewed == "" {
		err = fmt.Errorf("commit %s is not in the repository", short(want(w)))
	}
	var tip string
	if err == nil {
		tip, err = g.followFix(ctx, wt, w, reviewed)
	}
	if err != nil {
		return c, fmt.Errorf("put the direct fixes of %s on %s: %w", w.TaskID, w.Branch, err)
	}
	claim := movedClaim(w, tip)
	if tip == want(w) {
		claim.Finding = amp.Confirmed
		c.Commit, c.Text = tip, fmt.Sprintf("%s is at the direct fixes, %s", w.Branch, short(tip))
	} else {
		c.Escalate = amp.PermissionDenied
		c.Text = fmt.Sprintf("the branch moved after the review: it is at %s, and the direct fixes %s are not on it", short(tip), short(want(w)))
	}
	c.Claims = []amp.Claim{claim}
	return c, nil
}

// tip is where the task's branch is; one that has still to follow to direct fixes that count follows first. A planner's is the base branch,
// which nothing moves.
func (g *Git) tip(ctx context.Context, wt *worktree, w amp.Workspace) (string, error) {
	reviewed, err := wt.r.awaited(ctx, w)
	if err != nil {
		return "", err
	}
	if reviewed == "" || g.isProtected(wt.r, "refs/heads/"+w.Branch, w.BaseBranch) {
		return wt.r.tip(ctx, "refs/heads/"+w.Branch)
	}
	return g.followFix(ctx, wt, w, reviewed)
}

// awaited is the commit that was reviewed, when the recorded one is its direct fixes and the branch is not known to have followed; else "".
func (r *repo) awaited(ctx context.Context, w amp.Workspace) (reviewed string, err error) {
	kept, err := r.tip(ctx, fixRef(w.TaskID, want(w)))
	if err != nil || kept == "" {
		return "", err
	}
	return r.resolve(ctx, want(w)+"^")
}

// followFix moves the branch from the reviewed commit to the recorded one and returns where it is then.
func (g *Git) followFix(ctx context.Context, wt *worktree, w amp.Workspace, reviewed string) (string, error) {
	r, at, branch := wt.r, want(w), "refs/heads/"+w.Branch
	tip, err := r.tip(ctx, branch)
	if err != nil || tip != reviewed && tip != at {
		return tip, err
	}
	clean := false
	if moved := tip == at; wt.there() && !(moved && wt.holds(ctx, reviewed)) { // else a crash came before the worktree followed
		if clean, err = g.salvage(ctx, wt, w, tip, "before the direct fixes of a review"); err != nil {
			return "", err
		}
	}
	if tip == reviewed {
		if err := g.dropStaleLock(ctx, r.branchLock(w.Branch)); err != nil {
			return "", err
		}
		if err := r.setRef(ctx, branch, at, tip, "direct fixes of the review"); err != nil {
			return "", err
		}
	}
	if wt.there() && !clean {
		if err := wt.fill(ctx, w.Branch, at); err != nil {
			return "", err
		}
	}
	kept, err := r.tip(ctx, fixRef(w.TaskID, at))
	if err == nil && kept != "" {
		err = r.dropRef(ctx, fixRef(w.TaskID, at), kept)
	}
	return at, err
}

// holds reports whether a worktree has the files of a commit and no others.
func (wt *worktree) holds(ctx context.Context, commit string) bool {
	tree, err := wt.tree(ctx)
	if err != nil {
		return false
	}
	out, err := wt.r.git(ctx, "rev-parse", "--verify", "-q", commit+"^{tree}")
	return err == nil && strings.TrimSpace(out) == tree
}

// keepFix keeps the commit of direct fixes until it is known whether their verdict counts.
func (r *repo) keepFix(ctx context.Context, task amp.TaskID, commit string) error {
	ref := fixRef(task, commit)
	if kept, err := r.tip(ctx, ref); err != nil || kept == commit {
		return err
	}
	return r.setRef(ctx, ref, commit, "", "direct fixes of a review")
}

// dropFixes ends what keeps direct fixes of a task; those whose verdict did not count are pinned to recovery refs.
func (r *repo) dropFixes(ctx context.Context, w amp.Workspace, tip string) (pinned []string, err error) {
	refs, err := r.refs(ctx, fixPrefix(w.TaskID))
	if err != nil {
		return nil, err
	}
	for _, commit := range refs {
		in, err := r.ancestor(ctx, commit, cmp.Or(tip, want(w)))
		if _, odd := errors.AsType[*exitError](err); err != nil && !odd { // what is no commit was put there by an agent
			return pinned, err
		}
		if in {
			continue
		}
		ref, err := r.pin(ctx, w.TaskID, commit, "direct fixes of a verdict that did not count")
		if err != nil {
			return pinned, err
		}
		pinned = append(pinned, ref)
	}
	return pinned, r.drop(ctx, refs)
}

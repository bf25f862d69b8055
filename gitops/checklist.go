package gitops

import (
	"context"
	"errors"
	"fmt"

	"arbiter/amp"
)

// Checklist says whether a task can go on where the journal left it, before a resume or unlock: the branch is at the recorded commit and
// not protected, the base commit is still in the base branch, the worktree is there (or can be made) and clean, and no protected branch
// that the task moved is still where it put it. It changes nothing. What must be mended first is refuted and blocking; what only
// deserves a look is inconclusive.
func (g *Git) Checklist(ctx context.Context, w amp.Workspace) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckResume, TaskID: w.TaskID, Commit: want(w), Base: w.BaseCommit}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	config, stop, err := g.configItem(wt, w)
	if err != nil {
		return c, fmt.Errorf("check whether %s can go on: %w", w.TaskID, err)
	}
	c.Claims = append(c.Claims, config)
	for _, item := range []func() (amp.Claim, error){
		func() (amp.Claim, error) { return g.branchItem(ctx, r, w) },
		func() (amp.Claim, error) { return g.baseItem(ctx, r, w) },
		func() (amp.Claim, error) { return wt.item(ctx, w, stop) },
		func() (amp.Claim, error) { return g.protectedItem(ctx, r, w) },
	} {
		claim, err := item()
		if err != nil {
			return c, fmt.Errorf("check whether %s can go on: %w", w.TaskID, err)
		}
		c.Claims = append(c.Claims, claim)
	}
	c.Text = "ready to go on"
	for _, cl := range c.Claims {
		if cl.Blocking && cl.Finding == amp.Refuted {
			c.Text = "not ready: " + cl.Name + ": " + cl.Found
			break
		}
	}
	return c, nil
}

func (g *Git) branchItem(ctx context.Context, r *repo, w amp.Workspace) (amp.Claim, error) {
	tip, err := r.tip(ctx, "refs/heads/"+w.Branch)
	if err != nil {
		return amp.Claim{}, err
	}
	if tip == "" && w.Commit == "" {
		return amp.Claim{
			Name: "branch", Finding: amp.Confirmed, Claimed: w.Branch, Found: "not created yet; it starts at " + short(w.BaseCommit), Blocking: true,
		}, nil
	}
	c := movedClaim(w, tip)
	reviewed, err := r.awaited(ctx, w)
	if err != nil {
		return c, err
	}
	if tip == want(w) {
		c.Finding = amp.Confirmed
	} else if tip != "" && tip == reviewed {
		c.Finding, c.Found = amp.Confirmed, c.Found+", and follows to the direct fixes of the review"
	} else if tip != "" {
		c.Found += "; roll back, or accept that the next dispatch pins that and resets the branch"
	} else {
		c.Found = "the branch is gone; roll back to put it where it was"
	}
	return c, nil
}

func (g *Git) baseItem(ctx context.Context, r *repo, w amp.Workspace) (amp.Claim, error) {
	c := amp.Claim{Name: "base", Finding: amp.Refuted, Claimed: short(w.BaseCommit), Blocking: true, Evidence: "git merge-base --is-ancestor"}
	if full, err := r.commit(ctx, w.BaseCommit); err != nil || full == "" {
		c.Found = "the base commit is not in the repository any more"
		return c, err
	}
	if tip, err := r.tip(ctx, "refs/heads/"+w.Branch); err != nil {
		return c, err
	} else if tip != "" {
		if in, err := r.ancestor(ctx, w.BaseCommit, tip); err != nil || !in {
			c.Found = "the branch does not hold the base commit"
			return c, err
		}
	}
	baseTip, err := r.tip(ctx, "refs/heads/"+w.BaseBranch)
	if err != nil {
		return c, err
	}
	c.Finding = amp.Inconclusive
	if baseTip == "" {
		c.Found = "there is no local branch " + w.BaseBranch
		return c, nil
	}
	if in, err := r.ancestor(ctx, w.BaseCommit, baseTip); err != nil || !in {
		if behind, err := r.ancestor(ctx, baseTip, w.BaseCommit); g.remote != "" && (err != nil || behind) {
			c.Found = w.BaseBranch + " of this clone has not come to the base commit yet"
			return c, err
		}
		c.Found = w.BaseBranch + " was rewritten and does not hold the base commit any more"
		return c, err
	}
	n, err := r.count(ctx, w.BaseCommit, baseTip)
	if err != nil {
		return c, err
	}
	if c.Found = fmt.Sprintf("%s is %s ahead of the base", w.BaseBranch, plural(n, "commit")); n == 0 {
		c.Finding, c.Found = amp.Confirmed, w.BaseBranch+" is still at the base"
	}
	return c, nil
}

// configItem says what of the hooks and programs that the repository lets run changed since the last turn began; stop says that our own
// git would obey it. A person may have changed it as well as the agent, so it is for the admin to look at.
func (g *Git) configItem(wt *worktree, w amp.Workspace) (c amp.Claim, stop bool, err error) {
	c = amp.Claim{Name: "config", Finding: amp.Confirmed, Found: "hooks and configuration are as they were"}
	all, err := g.records(w.TaskID)
	if err != nil {
		return c, false, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Trusted == nil {
			continue // no turn of an agent
		}
		now, err := wt.trusted()
		if err != nil {
			return c, false, err
		}
		names, stop := trustChanges(all[i].Trusted, now)
		if len(names) > 0 {
			c.Finding, c.Found = amp.Inconclusive, "changed since turn "+all[i].Turn+" began: "+clip(names)+"; undo what is not yours before you go on"
		}
		return c, stop, nil
	}
	return c, false, nil
}

// item says whether the worktree is there and clean; stop says that no git may be run in it.
func (wt *worktree) item(ctx context.Context, w amp.Workspace, stop bool) (amp.Claim, error) {
	c := amp.Claim{Name: "worktree", Finding: amp.Confirmed, Blocking: true, Evidence: "git status"}
	if !wt.there() {
		c.Found = "not there; the next dispatch makes it"
		if other := wt.r.checkedOutAt(ctx, w.Branch); other != "" && other != wt.dir {
			c.Finding, c.Found = amp.Refuted, "the branch is checked out in "+other+"; switch that to another branch first"
		}
		return c, nil
	}
	for _, why := range []string{wt.linkProblem(), wt.headProblem()} {
		if why != "" {
			c.Finding, c.Found = amp.Inconclusive, why+"; the next dispatch mends it"
			return c, nil
		}
	}
	if stop {
		c.Finding, c.Found = amp.Inconclusive, "not looked into, since the repository's configuration changed"
		return c, nil
	}
	if wt.fresh() {
		c.Found = "made, not filled yet; the next dispatch does that"
		return c, nil
	}
	s, err := wt.look(ctx)
	if bad, is := errors.AsType[*unfitError](err); is {
		c.Finding, c.Found = amp.Inconclusive, bad.Error()+"; the next dispatch moves it aside and makes it anew"
		return c, nil
	}
	if err != nil {
		return c, err
	}
	switch {
	case s.branch != "refs/heads/"+w.Branch:
		c.Finding, c.Found = amp.Inconclusive, "it is not on "+w.Branch+"; the next dispatch puts it back"
	case len(s.changed) > 0:
		c.Finding, c.Found = amp.Inconclusive, plural(len(s.changed), "file")+" not committed: "+list(s.changed)+"; the next dispatch pins and resets them"
	default:
		c.Found = "on its branch and clean"
	}
	return c, nil
}

// protectedItem says whether the branch may be worked on, and no protected branch is where a turn of this task left it.
func (g *Git) protectedItem(ctx context.Context, r *repo, w amp.Workspace) (amp.Claim, error) {
	c := amp.Claim{Name: "protected", Finding: amp.Confirmed, Claimed: w.Branch, Found: "a feature branch; no protected branch was moved", Blocking: true}
	err := g.guard(ctx, r, w.Branch)
	if e, ok := errors.AsType[*amp.GuardError](err); ok {
		c.Finding, c.Found = amp.Refuted, e.Why
		return c, nil
	}
	if err != nil {
		return c, err
	}
	all, err := g.records(w.TaskID)
	if err != nil {
		return c, err
	}
	for _, rec := range all {
		for _, m := range rec.Moved {
			tip, err := r.tip(ctx, m.Ref)
			if err != nil {
				return c, err
			}
			target, err := r.symbolic(ctx, m.Ref)
			if err != nil {
				return c, err
			}
			if !m.Restored && (tip == m.After && !m.Symbolic || m.Symbolic && target != "") {
				c.Finding = amp.Refuted
				c.Found = fmt.Sprintf("%s is at %s, where turn %s put it; it was at %s: roll back to put it there again", m.Ref, short(tip), rec.Turn,
					short(m.Before))
			}
		}
	}
	return c, nil
}

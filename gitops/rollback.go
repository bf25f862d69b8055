package gitops

import (
	"context"
	"fmt"
	"strings"

	"arbiter/amp"
)

// Rollback resets the task's branch and worktree to a checkpoint, 0 for the base commit, and puts back protected branches that a turn
// of this task moved: each only when it is still where that turn left it, so that nobody's later work is undone. What is left behind,
// there and on the branch, is pinned to recovery refs first. Commit is the branch's tip afterwards, Checkpoint the number asked for.
// A branch that is already there is no error; neither is a worktree that is gone: the next dispatch makes it.
func (g *Git) Rollback(ctx context.Context, w amp.Workspace, checkpoint int) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckWorkspace, TaskID: w.TaskID, Base: w.BaseCommit, Checkpoint: checkpoint}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	to := w.BaseCommit
	if checkpoint != 0 {
		if to, err = g.checkpointAt(ctx, r, w.TaskID, checkpoint); err != nil {
			return c, err
		}
		if to == "" {
			return refuseRollback(c, fmt.Sprintf("there is no checkpoint %d of %s", checkpoint, w.TaskID)), nil
		}
	}
	restored, err := g.restoreProtected(ctx, r, w, &c)
	if err != nil {
		return c, fmt.Errorf("roll back %s: %w", w.TaskID, err)
	}
	if err := g.plain(ctx, r, w); err != nil {
		return c, fmt.Errorf("roll back %s: %w", w.TaskID, err)
	}
	if err := g.guard(ctx, r, w.Branch); err != nil { // after that: the default branch itself may have been gone
		return c, err
	}
	pinned, err := g.resetTo(ctx, r, wt, w, to)
	if err != nil {
		return c, fmt.Errorf("roll back %s: %w", w.TaskID, err)
	}
	c.Commit = to
	c.Claims = append(c.Claims, amp.Claim{Name: "branch", Finding: amp.Confirmed, Claimed: w.Branch, Found: "at " + short(to), Blocking: true})
	c.Text = fmt.Sprintf("%s is back at %s", w.Branch, short(to))
	if checkpoint == 0 {
		c.Text += ", the base commit"
	} else {
		c.Text += fmt.Sprintf(", checkpoint %d", checkpoint)
	}
	if len(pinned) > 0 {
		c.Text += "; what was there is kept in " + strings.Join(pinned, ", ")
	}
	if len(restored) > 0 {
		c.Text += "; " + strings.Join(restored, ", ")
	}
	return c, nil
}

// plain makes the task's branch a branch again, where a turn made it a symbolic ref to another one.
func (g *Git) plain(ctx context.Context, r *repo, w amp.Workspace) error {
	ref := "refs/heads/" + w.Branch
	target, err := r.symbolic(ctx, ref)
	if err != nil || target == "" {
		return err
	}
	if all, err := g.records(w.TaskID); err != nil || len(all) == 0 {
		return err // a person's, before any turn
	}
	tip, err := r.tip(ctx, ref)
	if err != nil {
		return err
	}
	if tip == "" {
		return r.setRef(ctx, ref, w.BaseCommit, "", "a branch again")
	}
	return r.setRef(ctx, ref, tip, tip, "a branch again")
}

// checkpointAt is the commit of a checkpoint, "" when there is none. The turn's record goes before the ref, which an agent could
// have moved.
func (g *Git) checkpointAt(ctx context.Context, r *repo, task amp.TaskID, n int) (string, error) {
	all, err := g.records(task)
	if err != nil {
		return "", err
	}
	for _, rec := range all {
		if rec.Checkpoint == n {
			return rec.Tip, nil
		}
	}
	return r.tip(ctx, fmt.Sprintf("%s%d", checkpointPrefix(task), n))
}

func refuseRollback(c amp.Check, why string) amp.Check {
	c.Claims = append(c.Claims, amp.Claim{Name: "checkpoint", Finding: amp.Refuted, Found: why, Blocking: true})
	c.Text = "not rolled back: " + why
	return c
}

// resetTo pins what the branch and worktree hold and resets both to a commit.
func (g *Git) resetTo(ctx context.Context, r *repo, wt *worktree, w amp.Workspace, to string) (pinned []string, err error) {
	if err := g.dropStaleLock(ctx, r.branchLock(w.Branch)); err != nil {
		return nil, err
	}
	tip, err := r.tip(ctx, "refs/heads/"+w.Branch)
	if err != nil {
		return nil, err
	}
	s, aside := state{head: tip}, ""
	if wt.there() && !wt.fresh() {
		wt.repairLink()
		wt.mendHead(w.Branch)
		if s, aside, err = wt.lookTrusted(ctx, w, tip); err != nil {
			return nil, err
		}
	}
	if pinned, err = wt.rescue(ctx, w.TaskID, s, tip, to, "before a rollback to "+short(to)); err != nil {
		return pinned, err
	}
	if aside != "" {
		pinned = append(pinned, aside)
	}
	if tip != to {
		if err := r.setRef(ctx, "refs/heads/"+w.Branch, to, tip, "rollback"); err != nil {
			return pinned, err
		}
	}
	if !wt.there() {
		return pinned, nil
	}
	return pinned, wt.fill(ctx, w.Branch, to)
}

// restoreProtected puts back the protected branches that turns of the task moved, the latest move first.
func (g *Git) restoreProtected(ctx context.Context, r *repo, w amp.Workspace, c *amp.Check) (done []string, err error) {
	all, err := g.records(w.TaskID)
	if err != nil {
		return nil, err
	}
	for i := len(all) - 1; i >= 0; i-- {
		rec := all[i]
		for n := range rec.Moved {
			if rec.Moved[n].Restored {
				continue
			}
			claim, err := g.restore(ctx, r, w.TaskID, &rec.Moved[n])
			if err != nil {
				return done, err
			}
			c.Claims = append(c.Claims, claim)
			if claim.Finding == amp.Confirmed {
				done = append(done, claim.Found)
			}
			if err := g.save(rec); err != nil {
				return done, err
			}
		}
	}
	return done, nil
}

// restore puts one protected branch back by comparison: it must still be where the turn left it.
func (g *Git) restore(ctx context.Context, r *repo, task amp.TaskID, m *movedRef) (amp.Claim, error) {
	c := amp.Claim{Name: "protected", Finding: amp.Inconclusive, Claimed: m.Ref + " at " + short(m.Before), Evidence: "the refs recorded before and after the turn"}
	tip, err := r.tip(ctx, m.Ref)
	if err != nil {
		return c, err
	}
	target, err := r.symbolic(ctx, m.Ref)
	if err != nil {
		return c, err
	}
	turned := m.Symbolic && target != "" // whatever it names may have gone on
	switch {
	case turned:
	case tip == m.Before:
		m.Restored = true
		c.Finding, c.Found = amp.Confirmed, m.Ref+" is at "+short(m.Before)+" again"
		return c, nil
	case tip == m.After:
	default:
		c.Found = fmt.Sprintf("%s is at %s by now, neither where it was (%s) nor where the turn put it (%s); it was left alone", m.Ref, short(tip),
			short(m.Before), short(m.After))
		return c, nil
	}
	if m.After != "" {
		if _, err := r.pin(ctx, task, m.After, m.Ref+" as a turn left it"); err != nil {
			return c, err
		}
	}
	name := strings.TrimPrefix(m.Ref, "refs/heads/")
	dir := r.checkedOutAt(ctx, name)
	dirty := ""
	if dir != "" {
		// the person's files are those of the old commit, unless the agent changed them too: the branch alone is put back
		dirty = "; it is checked out in " + dir + ": look there with git status"
	}
	if m.Before == "" {
		err = r.dropRef(ctx, m.Ref, tip)
	} else {
		err = r.setRef(ctx, m.Ref, m.Before, tip, "put back after a turn that must not move it")
	}
	if err != nil {
		return c, err
	}
	m.Restored = true
	c.Finding, c.Found = amp.Confirmed, m.Ref+" is put back to "+short(m.Before)+dirty
	return c, nil
}

// dropRef deletes a ref that is at old.
func (r *repo) dropRef(ctx context.Context, ref, old string) error {
	r.write.Lock()
	defer r.write.Unlock()
	c := r.at()
	c.write = true
	if _, err := r.g.run(ctx, c, "update-ref", "--no-deref", "-d", ref, old); err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	return nil
}

package gitops

import (
	"context"
	"fmt"
	"os"
	"strings"

	"arbiter/amp"
)

// Release removes what a finished task no longer needs: its worktree, disposable ones, hooks and turn records. What no branch holds is
// pinned to recovery refs first; the branch, checkpoints and recovery refs stay. A second call finds nothing left and says so.
func (g *Git) Release(ctx context.Context, w amp.Workspace) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckRelease, TaskID: w.TaskID, Commit: want(w), Base: w.BaseCommit}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	tip, err := g.tip(ctx, wt, w)
	if err != nil {
		return c, err
	}
	var pinned []string
	if wt.there() && !wt.fresh() {
		wt.repairLink()
		wt.mendHead(w.Branch)
		s, aside, err := wt.lookTrusted(ctx, w, tip)
		if err != nil {
			return c, fmt.Errorf("release %s: %w", w.TaskID, err)
		}
		keep := tip // the branch stays, so its own commits need no pin
		if keep == "" {
			keep = want(w)
		}
		if pinned, err = wt.rescue(ctx, w.TaskID, s, tip, keep, "unpublished work of a released task"); err != nil {
			return c, fmt.Errorf("release %s: %w", w.TaskID, err)
		}
		if aside != "" {
			pinned = append(pinned, aside)
		}
	}
	fixes, err := r.dropFixes(ctx, w, tip)
	if pinned = append(pinned, fixes...); err != nil {
		return c, fmt.Errorf("release %s: %w", w.TaskID, err)
	}
	if err := g.clear(wt, w.TaskID); err != nil {
		return c, fmt.Errorf("release %s: %w", w.TaskID, err)
	}
	c.Claims = []amp.Claim{{Name: "worktree", Finding: amp.Confirmed, Found: "removed"}}
	c.Text = "the worktree is removed, branch " + w.Branch + " stays"
	if len(pinned) > 0 {
		c.Text += "; unpublished work is kept in " + strings.Join(pinned, ", ")
	}
	return c, nil
}

// clear removes the worktrees, hooks and records of a task.
func (g *Git) clear(wt *worktree, task amp.TaskID) error {
	all, err := g.records(task)
	if err != nil {
		return err
	}
	for _, rec := range all {
		if rec.Review {
			if err := g.reviewTree(wt.r, rec.Turn).remove(); err != nil {
				return err
			}
		}
		if err := g.removeRecord(rec); err != nil {
			return err
		}
	}
	if err := wt.remove(); err != nil {
		return err
	}
	if err := os.RemoveAll(g.recordDir(task)); err != nil {
		return fmt.Errorf("remove the turn records: %w", err)
	}
	return nil
}

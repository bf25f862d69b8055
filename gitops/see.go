package gitops

import (
	"context"
	"fmt"
	"path/filepath"

	"arbiter/amp"
)

// Sees says why work on a task cannot go on with the repository and the folder of worktrees that this machine has, "" when it can:
// the repository, the task's last commit and its branch must be here, the worktree of lastTurn when that is still to be looked at,
// and no other folder of worktrees may have the branch. Where tasks are passed on, [Git.Adopt] makes the branch. It changes nothing.
func (g *Git) Sees(ctx context.Context, w amp.Workspace, lastTurn string) string {
	r, err := g.open(w.Repo)
	if err != nil {
		return fmt.Sprintf("the repository %s is not here", w.Repo)
	}
	if w.BaseCommit == "" {
		return ""
	}
	if c, err := r.commit(ctx, want(w)); err != nil || c == "" {
		return fmt.Sprintf("commit %s is not in the repository %s here", short(want(w)), r.root)
	}
	tip, err := r.tip(ctx, "refs/heads/"+w.Branch)
	if err != nil || tip == "" && w.Commit != "" && g.remote == "" {
		return fmt.Sprintf("branch %s is not in the repository %s here", w.Branch, r.root)
	}
	at := r.checkedOutAt(ctx, w.Branch)
	if own := g.taskTree(r, w.TaskID).dir; at != "" && at != own &&
		filepath.Base(at) == filepath.Base(own) && filepath.Base(filepath.Dir(at)) == filepath.Base(filepath.Dir(own)) {
		return fmt.Sprintf("its worktree is %s, which is not below %s", at, g.home)
	}
	if lastTurn == "" {
		return ""
	}
	if rec, err := g.load(w.TaskID, lastTurn); err != nil || rec == nil {
		return fmt.Sprintf("what was noted of turn %s is not below %s", lastTurn, g.home)
	}
	return ""
}

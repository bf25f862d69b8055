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
)

// Deliver hands an approved branch over, only by command and only at the recorded commit. With Merge it makes a merge commit with the
// title and trailers on the base branch. Where the base branch is checked out, the files there move along, when no tracked file is
// changed; else, and on a conflict, a blocking claim is refuted with the reason and nothing has changed. Without Merge it writes an
// annotated tag with the trailers to refs/arbiter/delivered/<task>, and Text says how to push. Commit is the merge, or the reviewed commit.
// A second call finds the delivery done and says so.
func (g *Git) Deliver(ctx context.Context, w amp.Workspace, d amp.Delivery) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckWorkspace, TaskID: w.TaskID, Base: w.BaseCommit}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	tip, err := g.tip(ctx, wt, w)
	if err != nil {
		return c, err
	}
	if w.Commit == "" || tip != w.Commit {
		c.Claims = []amp.Claim{movedClaim(w, tip)}
		c.Text = undelivered(w, tip)
		return c, nil
	}
	c.Claims = []amp.Claim{{
		Name: "branch", Finding: amp.Confirmed, Claimed: short(w.Commit), Found: w.Branch + " at " + short(tip), Blocking: true,
	}}
	if d.Merge {
		return c, g.merge(ctx, r, w, d, &c)
	}
	return c, g.tag(ctx, r, w, d, &c)
}

// undelivered says that a branch is not at the commit that was reviewed.
func undelivered(w amp.Workspace, tip string) string {
	return fmt.Sprintf("not delivered: %s is at %s, but %s was reviewed", w.Branch, short(tip), short(w.Commit))
}

// tag marks the reviewed commit with the trailers.
func (g *Git) tag(ctx context.Context, r *repo, w amp.Workspace, d amp.Delivery, c *amp.Check) error {
	ref := deliveredRef(w.TaskID)
	c.Commit = w.Commit
	c.Text = fmt.Sprintf("%s is ready at %s; to publish it: git push <remote> %s", w.Branch, short(w.Commit), w.Branch)
	old, err := r.refs(ctx, ref)
	if err != nil {
		return err
	}
	if old[ref] != "" {
		if at, err := r.resolve(ctx, ref); err != nil || at == w.Commit {
			return err
		}
	}
	call := r.at()
	call.write = true
	call.stdin = fmt.Sprintf("object %s\ntype commit\ntag arbiter-%s\ntagger %s <%s> %d +0000\n\n%s", w.Commit, w.TaskID, arbiter.Name,
		arbiter.Email, time.Now().Unix(), message(d.Title, trailers(w, d.Trailers...)))
	out, err := g.run(ctx, call, "mktag")
	if err != nil {
		return fmt.Errorf("write the delivery tag of %s: %w", w.TaskID, err)
	}
	return r.setRef(ctx, ref, strings.TrimSpace(out), old[ref], "delivered")
}

// merge makes the merge commit and moves the base branch to it.
func (g *Git) merge(ctx context.Context, r *repo, w amp.Workspace, d amp.Delivery, c *amp.Check) error {
	refuse := func(why string) error {
		c.Claims = append(c.Claims, amp.Claim{Name: "merge", Finding: amp.Refuted, Claimed: "into " + w.BaseBranch, Found: why, Blocking: true})
		c.Text = "not delivered: " + why
		return nil
	}
	base := "refs/heads/" + w.BaseBranch
	tip, err := r.tip(ctx, base)
	if err != nil {
		return err
	}
	if tip == "" {
		return refuse("there is no local branch " + w.BaseBranch + "; create it with git branch " + w.BaseBranch + " and deliver again")
	}
	if target, err := r.symbolic(ctx, base); err != nil {
		return err
	} else if target != "" {
		return refuse(w.BaseBranch + " is a symbolic ref to " + target + "; make it a branch of its own, or plan the task for that one")
	}
	if in, err := r.ancestor(ctx, w.Commit, tip); err != nil || in {
		c.Commit, c.Text = tip, w.BaseBranch+" holds "+short(w.Commit)+" already"
		return err
	}
	dir := r.checkedOutAt(ctx, w.BaseBranch)
	if dir != "" {
		if why, err := g.busy(ctx, r, dir); err != nil || why != "" {
			if err != nil {
				return err
			}
			return refuse(w.BaseBranch + " is checked out in " + dir + ", where " + why)
		}
	}
	commit, conflicts, err := g.mergeCommit(ctx, r, w, d, tip)
	if err != nil {
		return err
	}
	if len(conflicts) > 0 {
		return refuse("it conflicts with " + w.BaseBranch + " in " + list(conflicts) + "; bring the branch up to date in a new round")
	}
	if dir == "" {
		err = r.setRef(ctx, base, commit, tip, "deliver "+string(w.TaskID))
	} else {
		err = g.advance(ctx, r, dir, w.BaseBranch, commit)
	}
	if errors.Is(err, errSwitched) {
		return refuse(dir + ": " + err.Error())
	}
	if _, ok := errors.AsType[*exitError](err); ok {
		return refuse("git would not move it: " + err.Error())
	}
	if err != nil {
		return err
	}
	c.Commit, c.Text = commit, fmt.Sprintf("%s merged into %s as %s", w.Branch, w.BaseBranch, short(commit))
	c.Claims = append(c.Claims, amp.Claim{Name: "merge", Finding: amp.Confirmed, Claimed: "into " + w.BaseBranch, Found: short(commit), Blocking: true})
	return nil
}

// personAt is a call in a checkout of a person's, ok whether its git directory is one of this repository: git obeys what stands there, and an
// agent can tell it of worktrees that it made itself.
func (r *repo) personAt(dir string) (c call, ok bool) {
	at := filepath.Join(dir, ".git")
	if to, err := readLink(at); err == nil {
		at = to
	}
	at, err := filepath.EvalSymlinks(at)
	if err != nil || at == r.common {
		return call{gitDir: r.common, workTree: dir}, err == nil
	}
	common, err := readSmall(filepath.Join(at, "commondir"))
	if !filepath.IsAbs(common) {
		common = filepath.Join(at, common)
	}
	return call{gitDir: at, workTree: dir}, err == nil && filepath.Clean(common) == r.common && filepath.Dir(at) == filepath.Join(r.common, "worktrees")
}

// busy says why a person's checkout must not be moved along, "" when it may.
func (g *Git) busy(ctx context.Context, r *repo, dir string) (string, error) {
	call, ok := r.personAt(dir)
	if !ok {
		return "its .git leads to another repository; if you did not make that worktree, remove it with git worktree remove --force", nil
	}
	out, err := g.run(ctx, call, "status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=dirty")
	if err != nil {
		return "", fmt.Errorf("read the state of %s: %w", dir, err)
	}
	if out != "" {
		return plural(strings.Count(out, "\x00"), "file") + " changed and not committed; commit or stash them and deliver again", nil
	}
	for _, name := range []string{"MERGE_HEAD", "rebase-merge", "rebase-apply", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"} {
		if _, err := os.Stat(filepath.Join(call.gitDir, name)); err == nil {
			return "a merge, rebase or bisect is not finished; finish it and deliver again", nil
		}
	}
	return "", nil
}

// mergeCommit makes the merge commit as an object, without moving anything, or names the files that conflict.
func (g *Git) mergeCommit(ctx context.Context, r *repo, w amp.Workspace, d amp.Delivery, tip string) (commit string, conflicts []string, err error) {
	call := r.at()
	call.write = true
	out, err := g.run(ctx, call, "merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", tip, w.Commit)
	fields := strings.Split(strings.TrimRight(out, "\x00"), "\x00")
	if exited(err, 1) && len(fields) > 1 {
		return "", fields[1:], nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("merge %s: %w", w.Branch, err)
	}
	call.stdin = message(d.Title, trailers(w, d.Trailers...))
	out, err = g.run(ctx, call, "commit-tree", fields[0], "-p", tip, "-p", w.Commit, "-F", "-")
	if err != nil {
		return "", nil, fmt.Errorf("commit the merge of %s: %w", w.Branch, err)
	}
	return strings.TrimSpace(out), nil, nil
}

// errSwitched says that a person's checkout is on another branch than it was.
var errSwitched = errors.New("another branch was checked out there meanwhile; deliver again")

// advance moves a person's checkout and its branch to a commit that holds what it is at. Git refuses, and changes nothing, when a
// file that it does not track is in the way.
func (g *Git) advance(ctx context.Context, r *repo, dir, branch, commit string) error {
	r.write.Lock()
	defer r.write.Unlock()
	call, ok := r.personAt(dir)
	if head, err := readSmall(filepath.Join(call.gitDir, "HEAD")); !ok || err != nil || head != "ref: refs/heads/"+branch {
		return errSwitched
	}
	call.write = true
	_, err := g.run(ctx, call, "-c", "merge.verifySignatures=false", "merge", "--ff-only", "--no-autostash", "--no-stat", "--quiet", commit)
	if err != nil {
		return err
	}
	if tip, err := r.tip(ctx, "refs/heads/"+branch); err != nil || tip != commit {
		return errors.Join(err, errSwitched)
	}
	return nil
}

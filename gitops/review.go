package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"arbiter/amp"
)

// OpenReview makes a disposable worktree, detached at exactly the recorded commit, for a reviewer's turn (AMP-089). When the branch is
// elsewhere by now, that is an *amp.GuardError of type permission_denied. A second call for the same turn returns the same worktree.
func (g *Git) OpenReview(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error) {
	r, task, end, err := g.begin(w)
	if err != nil {
		return amp.Prepared{}, err
	}
	defer end()
	tip, err := g.tip(ctx, task, w)
	if err != nil {
		return amp.Prepared{}, err
	}
	if tip != want(w) {
		return amp.Prepared{}, &amp.GuardError{
			Type: amp.PermissionDenied, Repo: r.root, Branch: w.Branch,
			Why: fmt.Sprintf("it moved after the result: it was recorded at %s and is at %s (AMP-089)", short(want(w)), short(tip)),
		}
	}
	rec, err := g.load(w.TaskID, turnID)
	if err != nil {
		return amp.Prepared{}, err
	}
	wt := g.reviewTree(r, turnID)
	if rec != nil && wt.there() {
		return g.prepared(rec, wt, amp.Reviewer), g.writeHooks(turnID, "", wt)
	}
	rec = &turnRecord{Turn: turnID, Task: w.TaskID, Common: r.common, Branch: w.Branch, Tip: want(w), Review: true}
	if err := rec.observe(ctx, r); err != nil {
		return amp.Prepared{}, err
	}
	if !wt.there() {
		if err := wt.add(ctx, "", want(w)); err != nil {
			return amp.Prepared{}, err
		}
	}
	if err := wt.reset(ctx, "", want(w)); err != nil {
		return amp.Prepared{}, err
	}
	if err := g.note(rec, wt); err != nil {
		return amp.Prepared{}, err
	}
	return g.prepared(rec, wt, amp.Reviewer), nil
}

// CloseReview measures what a reviewer changed in its disposable worktree, and removes that. With approved_with_fix every change must
// be one of the verdict's direct fixes, of its change type and with fewer than 5 lines each (AMP-131 to AMP-134, A15); then the
// changes are committed in the reviewer's name, and Fix is that commit (AMP-124). It moves no branch: [Git.Fix] does, once the verdict counts.
// Any other change, a fix that is not there, or a moved ref refutes a blocking claim: the verdict is void, and what was changed is pinned to
// a recovery ref. A nil verdict is a review that failed: its worktree is only removed. A second call for the same turn returns the same.
func (g *Git) CloseReview(ctx context.Context, w amp.Workspace, turnID string, v *amp.Verdict) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckReview, TaskID: w.TaskID, For: turnID, Base: w.BaseCommit}
	r, _, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	rec, err := g.load(w.TaskID, turnID)
	if err != nil {
		return c, err
	}
	wt := g.reviewTree(r, turnID)
	if rec == nil {
		if v != nil {
			return c, fmt.Errorf("close review %s of %s: nothing is recorded of its start; it has to be run again", turnID, w.TaskID)
		}
		c.Text = "there was no review to close"
		return c, wt.remove()
	}
	if rec.Done == nil {
		l := &closing{g: g, r: r, wt: wt, w: w, rec: rec, v: v, c: &c}
		if err := l.judge(ctx); err != nil {
			return c, fmt.Errorf("close review %s of %s: %w", turnID, w.TaskID, err)
		}
		rec.Done = &c
		if err := g.save(rec); err != nil {
			return c, err
		}
	}
	return *rec.Done, wt.remove()
}

// closing is one run of CloseReview.
type closing struct {
	g   *Git
	r   *repo
	wt  *worktree
	w   amp.Workspace
	rec *turnRecord
	v   *amp.Verdict
	c   *amp.Check
}

func (l *closing) judge(ctx context.Context) error {
	if !l.wt.there() {
		l.void("worktree", "the review's worktree is gone, so what was changed in it cannot be measured")
		return nil
	}
	stop, err := l.wt.verifyTrust(l.rec, l.c)
	if err != nil {
		return err
	}
	if stop {
		l.c.Text = "the review's worktree cannot be trusted, so the verdict is void and its folder was moved aside"
		return l.keepAside()
	}
	tip, err := l.r.tip(ctx, "refs/heads/"+l.w.Branch)
	if err != nil {
		return err
	}
	if tip != want(l.w) {
		l.c.Claims = append(l.c.Claims, movedClaim(l.w, tip))
		l.c.Escalate = amp.PermissionDenied
	}
	refs, escalate, err := l.g.refsClaim(ctx, l.r, l.rec, l.rec.Fix)
	if err != nil {
		return err
	}
	l.c.Claims = append(l.c.Claims, refs)
	if escalate != "" {
		l.c.Escalate = escalate
	}
	l.wt.unblock()
	tree, err := l.wt.tree(ctx)
	if bad, is := errors.AsType[*unfitError](err); is {
		l.void("fixes", bad.Error())
		l.c.Text = "the review's worktree cannot be measured, so the verdict is void and its folder was moved aside"
		return l.keepAside()
	}
	if err != nil {
		return err
	}
	changed, err := l.r.changes(ctx, want(l.w), tree, false)
	if err != nil {
		return err
	}
	if err := l.fixes(ctx, tree, changed); err != nil {
		return err
	}
	return l.finish(ctx, tree, changed)
}

// fixes puts the claim about direct fixes into the check.
func (l *closing) fixes(ctx context.Context, tree string, changed []change) error {
	c := amp.Claim{
		Name: "fixes", Finding: amp.Confirmed, Blocking: true, Found: "nothing was changed",
		Evidence: "git diff " + short(want(l.w)) + " and the review's worktree",
	}
	names := list(paths(changed))
	switch {
	case l.v == nil:
		return nil
	case l.v.Decision == amp.ApprovedWithFix:
		c.Claimed = describeFixes(l.v.DirectFixes)
		why, err := l.measure(ctx, tree, changed)
		if err != nil {
			return err
		}
		if c.Found = names; why != "" {
			c.Finding, c.Found = amp.Refuted, why
		}
	case len(changed) > 0:
		c.Claimed = string(l.v.Decision)
		c.Finding, c.Found = amp.Refuted, "a reviewer may only change files with approved_with_fix; changed: "+names
	}
	l.c.Claims = append(l.c.Claims, c)
	l.c.Files = paths(changed)
	l.c.Added, l.c.Removed = lines(changed)
	return nil
}

// finish commits the fixes of a verdict that holds, and pins the changes of one that does not.
func (l *closing) finish(ctx context.Context, tree string, changed []change) error {
	switch {
	case l.c.Blocked() || l.v == nil:
		if len(changed) > 0 {
			ref, err := l.wt.pinFiles(ctx, l.w.TaskID, want(l.w), "changed by review turn "+l.rec.Turn)
			if err != nil {
				return err
			}
			l.c.Text = "what the reviewer changed is pinned to " + ref
		}
		if l.v != nil {
			l.c.Text = strings.TrimPrefix(l.c.Text+"; the verdict is void", "; ")
		} else if l.c.Text == "" {
			l.c.Text = "the review's worktree was removed"
		}
		return nil
	case l.v.Decision == amp.ApprovedWithFix:
		return l.commit(ctx, tree)
	}
	l.c.Commit, l.c.Text = want(l.w), "the reviewer changed nothing"
	return nil
}

// commit commits the fixes in the reviewer's name. The commit is recorded first, so that a second call after a crash returns the same.
func (l *closing) commit(ctx context.Context, tree string) error {
	if l.rec.Fix == "" {
		c := l.r.at()
		c.write, c.as = true, &identity{"arbiter reviewer", string(l.w.TaskID) + agentDomain}
		more := []string{"Turn: " + l.rec.Turn}
		for _, f := range l.v.DirectFixes {
			more = append(more, fmt.Sprintf("Direct-Fix: %s, %s", f.ChangeType, f.File))
		}
		c.stdin = message("Direct fixes of the review of "+string(l.w.TaskID), trailers(l.w, more...))
		out, err := l.g.run(ctx, c, "commit-tree", tree, "-p", want(l.w), "-F", "-")
		if err != nil {
			return fmt.Errorf("commit the direct fixes: %w", err)
		}
		l.rec.Fix = strings.TrimSpace(out)
		if err := l.g.save(l.rec); err != nil {
			return err
		}
	}
	if err := l.r.keepFix(ctx, l.w.TaskID, l.rec.Fix); err != nil {
		return err
	}
	l.c.Commit, l.c.Fix, l.c.Text = want(l.w), l.rec.Fix, "direct fixes committed as "+short(l.rec.Fix)+"; the branch follows when the verdict counts"
	return nil
}

// void refutes a blocking claim.
func (l *closing) void(name, found string) {
	if l.v == nil {
		l.c.Text = found
		return
	}
	l.c.Claims = append(l.c.Claims, amp.Claim{Name: name, Finding: amp.Refuted, Found: found, Blocking: true})
	l.c.Text = "the verdict is void: " + found
}

// keepAside takes the folder out of git's hands without running git in it, and keeps it for a person.
func (l *closing) keepAside() error {
	if err := l.wt.forget(); err != nil {
		return err
	}
	_, err := l.wt.aside()
	return err
}

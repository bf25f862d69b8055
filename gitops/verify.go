package gitops

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"arbiter/amp"
)

// Verify compares a result with git, after the turn that made it. It first commits what the agent left uncommitted, in the agent's
// name; then each claim becomes a line of the ledger (AMP-075, AMP-084). Commit is the branch's tip afterwards, Files, Added
// and Removed are what this turn changed, from its checkpoint to the tip.
//
// When another ref was moved or tried, Escalate says how that is to be raised: branch_violation for a protected branch (AMP-049,
// AMP-168), permission_denied for any other, and for links or configuration of the worktree that were rewritten. Nothing is put back here:
// [Git.Rollback] does that by command.
//
// A nil result is a turn that failed: only refs and attempts are judged, and what was left is pinned to a recovery ref, not committed to
// the branch. A second call for the same turn measures the same.
func (g *Git) Verify(ctx context.Context, w amp.Workspace, turnID string, result *amp.Result, msgID string) (amp.Check, error) {
	c := amp.Check{Subject: amp.CheckResult, TaskID: w.TaskID, For: msgID, Base: w.BaseCommit}
	r, wt, end, err := g.begin(w)
	if err != nil {
		return c, err
	}
	defer end()
	rec, err := g.load(w.TaskID, turnID)
	if err != nil {
		return c, err
	}
	if rec == nil {
		return c, fmt.Errorf("verify turn %s of %s: nothing is recorded of its start; it has to be run again", turnID, w.TaskID)
	}
	c.Checkpoint = rec.Checkpoint
	if c.Commit, err = r.tip(ctx, "refs/heads/"+w.Branch); err != nil {
		return c, err
	}
	stop, err := wt.verifyTrust(rec, &c)
	if err != nil {
		return c, err
	}
	if stop {
		c.Text = "the worktree cannot be trusted, so git was not run in it: " + c.Claims[0].Found
		return c, g.save(rec)
	}
	v := &verification{g: g, r: r, wt: wt, w: w, rec: rec, c: &c}
	v.state, err = wt.look(ctx)
	bad, unfit := errors.AsType[*unfitError](err)
	if err != nil && !unfit {
		return c, err
	}
	if rec.AgentTip == "" {
		rec.AgentTip = c.Commit
	}
	refs, escalate, err := g.refsClaim(ctx, r, rec, c.Commit)
	if err != nil {
		return c, err
	}
	if err := g.save(rec); err != nil { // before anything is committed: AgentTip tells the agent's work from ours
		return c, err
	}
	switch {
	case unfit:
		c.Claims = append(c.Claims, refs, amp.Claim{
			Name: "contents", Finding: amp.Refuted, Blocking: true, Found: "what was committed cannot be checked out: " + bad.Error(), Evidence: "git read-tree",
		})
		c.Text = "the commit cannot be checked out, so nothing else was compared; its files are as the turn left them"
	case result == nil:
		err = v.failed(ctx, refs)
	default:
		err = v.ledger(ctx, result, refs)
	}
	if escalate != "" && c.Escalate != amp.BranchViolation {
		c.Escalate = escalate
	}
	return c, err
}

// verifyTrust puts what was rewritten of links, hooks and configuration into the check; stop says that no git may be run.
func (wt *worktree) verifyTrust(rec *turnRecord, c *amp.Check) (stop bool, err error) {
	refute := func(name, found string) {
		c.Escalate = amp.PermissionDenied
		c.Claims = append(c.Claims, amp.Claim{
			Name: name, Finding: amp.Refuted, Found: found, Blocking: true, Evidence: "compared with the start of the turn",
		})
	}
	if !wt.there() {
		refute("worktree", "the worktree is gone; its commits are on the branch")
		return true, nil
	}
	for _, why := range []string{wt.linkProblem(), wt.headProblem()} {
		if why != "" {
			refute("worktree", why)
			return true, nil
		}
	}
	now, err := wt.trusted()
	if err != nil {
		return true, err
	}
	names, stop := trustChanges(rec.Trusted, now)
	if len(names) > 0 {
		refute("config", "changed during the turn: "+clip(names))
	}
	return stop, nil
}

// verification is one run of Verify.
type verification struct {
	g     *Git
	r     *repo
	wt    *worktree
	w     amp.Workspace
	rec   *turnRecord
	c     *amp.Check
	state state
}

// failed pins what a failed turn left.
func (v *verification) failed(ctx context.Context, refs amp.Claim) error {
	v.c.Claims = append(v.c.Claims, refs)
	pinned, err := v.wt.rescue(ctx, v.w.TaskID, v.state, v.c.Commit, v.rec.Tip, "left by failed turn "+v.rec.Turn)
	if err != nil {
		return err
	}
	v.c.Text = "nothing was left by the turn"
	if len(pinned) > 0 {
		v.c.Text = "what the turn left is pinned to " + strings.Join(pinned, ", ")
	}
	return nil
}

// ledger checks the claims of a result.
func (v *verification) ledger(ctx context.Context, result *amp.Result, refs amp.Claim) error {
	branch, onBranch, err := v.branchClaim(ctx)
	if err != nil {
		return err
	}
	leftovers, err := v.settle(ctx, onBranch)
	if err != nil {
		return err
	}
	base, err := v.baseClaim(ctx)
	if err != nil {
		return err
	}
	turn, whole, err := v.measure(ctx)
	if err != nil {
		return err
	}
	commit, err := v.commitClaim(ctx, result.CommitHash, leftovers)
	if err != nil {
		return err
	}
	files, err := v.filesClaim(ctx, result.DiffSummary.FilesChanged, turn)
	if err != nil {
		return err
	}
	counts, err := v.linesClaim(ctx, result.DiffSummary, turn)
	if err != nil {
		return err
	}
	v.c.Files = paths(turn)
	v.c.Added, v.c.Removed = lines(turn)
	v.c.Claims = append(v.c.Claims, commit, files, counts, branch, base, pathsClaim(v.w.AllowedPaths, whole), refs,
		criteriaClaim(result), v.workLogClaim(result.WorkLog, v.c.Files))
	if odd, ok, err := v.strangeFiles(ctx, turn); err != nil {
		return err
	} else if ok {
		v.c.Claims = append(v.c.Claims, odd)
	}
	if leftovers.claim != nil {
		v.c.Claims = append(v.c.Claims, *leftovers.claim)
	}
	yes, no, open := v.c.Count()
	v.c.Text = fmt.Sprintf("%d confirmed, %d refuted, %d inconclusive; %s, +%d -%d", yes, no, open, plural(len(v.c.Files), "file"),
		v.c.Added, v.c.Removed)
	if len(v.c.Files) > maxFiles {
		v.c.Files = v.c.Files[:maxFiles]
		v.c.Text += fmt.Sprintf("; the first %d files are listed", maxFiles)
	}
	return nil
}

// maxFiles is how many files a check lists: it becomes an entry of the journal.
const maxFiles = 5000

// trailers are the lines that tie a commit to its task.
func trailers(w amp.Workspace, more ...string) []string {
	all := []string{"Task: " + string(w.TaskID)}
	if w.Dispatch != "" {
		all = append(all, "Dispatch: "+w.Dispatch)
	}
	if w.PlanHash != "" {
		all = append(all, "Plan-Hash: "+w.PlanHash)
	}
	return append(all, more...)
}

// message is a commit message with trailers. A line end in a title or trailer would start another one, so there is none, and nothing else that a
// terminal would obey.
func message(title string, trailers []string) string {
	var b strings.Builder
	b.WriteString(oneText(title) + "\n\n")
	for _, t := range trailers {
		b.WriteString(oneText(t) + "\n")
	}
	return b.String()
}

// oneText is a text in one line, without what cannot be seen.
func oneText(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// branchClaim says whether the worktree is still on the branch, and the branch a continuation of what it was. A HEAD detached at
// the tip is put back on the branch without a word.
func (v *verification) branchClaim(ctx context.Context) (amp.Claim, bool, error) {
	full := "refs/heads/" + v.w.Branch
	c := amp.Claim{
		Name: "branch", Finding: amp.Refuted, Blocking: true, Claimed: v.w.Branch,
		Evidence: "HEAD of the worktree, git merge-base --is-ancestor " + short(v.rec.Tip) + " " + v.w.Branch,
	}
	tip := v.c.Commit
	target, err := v.r.symbolic(ctx, full)
	if err != nil {
		return c, false, err
	}
	switch {
	case target != "":
		c.Found = "the branch was made a symbolic ref to " + target
		return c, false, nil
	case slices.ContainsFunc(v.rec.Moved, func(m movedRef) bool { return m.Symbolic && !m.Restored }):
		c.Found = "a protected branch was made a symbolic ref, which could move with this one"
		return c, false, nil
	case tip == "":
		c.Found = "the branch was deleted; it was at " + short(v.rec.Tip)
		return c, false, nil
	case tip != v.rec.AgentTip && tip != v.rec.Left:
		c.Found = fmt.Sprintf("the branch moved after the turn was over: it was at %s and is at %s (AMP-089)", short(v.rec.AgentTip), short(tip))
		v.c.Escalate = amp.PermissionDenied
		return c, false, nil
	case v.state.branch == "" && v.state.head == tip:
	case v.state.branch == "":
		c.Found = "HEAD is detached at " + short(v.state.head) + ", the branch is at " + short(tip)
		return c, false, v.keepHead(ctx)
	case v.state.branch != full:
		c.Found = "the worktree is on " + strings.TrimPrefix(v.state.branch, "refs/heads/")
		return c, false, v.keepHead(ctx)
	}
	in, err := v.r.ancestor(ctx, v.rec.Tip, tip)
	if err != nil {
		return c, true, err
	}
	if !in {
		c.Found = fmt.Sprintf("the branch was rewritten: %s, where the turn started, is no longer in it", short(v.rec.Tip))
		return c, true, nil
	}
	c.Finding, c.Found = amp.Confirmed, v.w.Branch+" at "+short(tip)
	return c, true, nil
}

// keepHead pins commits that only the worktree's HEAD holds.
func (v *verification) keepHead(ctx context.Context) error {
	_, err := v.wt.rescue(ctx, v.w.TaskID, state{head: v.state.head}, v.c.Commit, v.rec.Tip, "left outside the branch by turn "+v.rec.Turn)
	return err
}

// baseClaim says whether the work still starts from the approved base commit.
func (v *verification) baseClaim(ctx context.Context) (amp.Claim, error) {
	c := amp.Claim{Name: "base", Finding: amp.Refuted, Blocking: true, Claimed: short(v.w.BaseCommit)}
	tip := v.c.Commit
	if tip == "" {
		c.Found = "there is no branch"
		return c, nil
	}
	c.Evidence = "git merge-base " + v.w.BaseBranch + " " + short(tip)
	in, err := v.r.ancestor(ctx, v.w.BaseCommit, tip)
	if err != nil {
		return c, err
	}
	if !in {
		c.Found = "the branch no longer holds its base commit"
		return c, nil
	}
	others, err := v.borrowed(ctx, tip)
	if err != nil {
		return c, err
	}
	if of, err := v.ofTasks(others); err != nil || len(of) > 0 {
		c.Found = "the branch took in commits of other tasks: " + list(of)
		return c, err
	}
	baseTip, err := v.r.tip(ctx, "refs/heads/"+v.w.BaseBranch)
	if err != nil {
		return c, err
	}
	held := func() {
		c.Finding, c.Found = amp.Confirmed, short(v.w.BaseCommit)
		if len(others) > 0 { // the task may be to merge them
			c.Finding, c.Found = amp.Inconclusive, c.Found+", and the branch took in commits of "+list(others)
		}
	}
	if baseTip == "" || baseTip == v.w.BaseCommit {
		held()
		return c, nil
	}
	out, err := v.r.git(ctx, "merge-base", baseTip, tip)
	if err != nil && !exited(err, 1) {
		return c, err
	}
	now := strings.TrimSpace(out)
	switch {
	case now == v.w.BaseCommit:
		held()
	case now == "":
		c.Finding, c.Found = amp.Inconclusive, v.w.BaseBranch+" was rewritten and shares nothing with the branch"
	default:
		older, err := v.r.ancestor(ctx, now, v.w.BaseCommit)
		if err != nil {
			return c, err
		}
		c.Found = "the branch now starts from " + short(now)
		if older && v.g.remote != "" {
			c.Finding, c.Found = amp.Confirmed, short(v.w.BaseCommit)+"; "+v.w.BaseBranch+" of this clone does not hold it"
		} else if older {
			c.Finding, c.Found = amp.Inconclusive, v.w.BaseBranch+" was moved back behind the base, to share "+short(now)
		}
	}
	return c, nil
}

// borrowed are other branches that were there before the turn and whose commits it took in. What such a branch is for would seem to be
// delivered with this one, also when the merge left its changes out. The base branch is told apart.
func (v *verification) borrowed(ctx context.Context, tip string) ([]string, error) {
	if tip == v.rec.Tip {
		return nil, nil
	}
	out, err := v.r.git(ctx, "for-each-ref", "--merged="+tip, "--no-merged="+v.rec.Tip, "--format=%(refname)", "refs/heads")
	if err != nil {
		return nil, err
	}
	var others []string
	for ref := range strings.Lines(out) {
		ref = strings.TrimSuffix(ref, "\n")
		name := strings.TrimPrefix(ref, "refs/heads/")
		if name != v.w.Branch && name != v.w.BaseBranch && v.rec.Refs[ref] != "" {
			others = append(others, name)
		}
	}
	return others, nil
}

// ofTasks are those of some branches on which tasks work.
func (v *verification) ofTasks(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	tasks, err := v.g.branchesOfTasks(v.r.common)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !tasks[name] }), err
}

// measure lists what this turn changed, and what the branch changes in all.
func (v *verification) measure(ctx context.Context) (turn, whole []change, err error) {
	tip := v.c.Commit
	if tip == "" {
		return nil, nil, nil
	}
	if turn, err = v.r.changes(ctx, v.rec.Tip, tip, true); err != nil {
		return nil, nil, err
	}
	if v.rec.Tip == v.w.BaseCommit {
		return turn, turn, nil
	}
	whole, err = v.r.changes(ctx, v.w.BaseCommit, tip, true)
	return turn, whole, err
}

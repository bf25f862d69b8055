package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

// fixing is a bench with a verified turn and a review of it that made a direct fix: the workspace as it was reviewed, and as it is once the
// verdict counts.
func fixing(t *testing.T) (b *bench, reviewed, counts amp.Workspace) {
	t.Helper()
	b, w := newReviewed(t, newBench(t))
	return b, w, b.fix(w, "turn-2")
}

// fix is a review with a direct fix; it returns the workspace as it is once that counts.
func (b *bench) fix(w amp.Workspace, turn string) amp.Workspace {
	b.t.Helper()
	p := b.review(w, turn)
	b.sh(p.Dir, p.Env, "sed", "-i", "s/Recieve/Receive/", "lib.go")
	c, err := b.g.CloseReview(b.t.Context(), w, turn, typo)
	if err != nil || c.Blocked() || c.Fix == "" || c.Commit != w.Commit {
		b.t.Fatalf("CloseReview = %+v, %v", c, err)
	}
	w.Commit = c.Fix
	return w
}

var typo = &amp.Verdict{Decision: amp.ApprovedWithFix, DirectFixes: []amp.DirectFix{{File: "lib.go", ChangeType: amp.Typo, DiffLines: 2}}}

func (b *bench) tree(w amp.Workspace) string {
	return filepath.Join(b.g.home, "worktrees", string(w.TaskID))
}

// wantFixed wants branch and worktree to be at direct fixes, and nothing to be kept of them besides.
func (b *bench) wantFixed(w amp.Workspace) {
	b.t.Helper()
	if tip := b.rev(w.Branch); tip != w.Commit {
		b.t.Errorf("the branch is at %s, want the direct fixes %s", tip, w.Commit)
	}
	if exists(b.tree(w)) {
		if text := b.read(b.tree(w), "lib.go"); !strings.Contains(text, "Receive") {
			b.t.Errorf("the worktree did not follow: %s", text)
		}
		if left := b.sh(b.tree(w), nil, "git", "status", "--porcelain"); left != "" {
			b.t.Errorf("the worktree is not clean: %s", left)
		}
	}
	if refs := b.sh(b.repo, nil, "git", "for-each-ref", fixPrefix(w.TaskID)); refs != "" {
		b.t.Errorf("kept besides: %s", refs)
	}
}

// AMP-124: direct fixes are on no branch before their verdict counts, and outlive what git removes; then the branch follows, once.
func TestFix(t *testing.T) {
	t.Parallel()
	b, before, w := fixing(t)
	if tip := b.rev(w.Branch); tip != before.Commit {
		t.Errorf("the branch is at %s before the verdict counts, was reviewed at %s", tip, before.Commit)
	}
	if left := b.sh(b.tree(w), nil, "git", "status", "--porcelain"); left != "" || strings.Contains(b.read(b.tree(w), "lib.go"), "Receive") {
		t.Errorf("the worktree moved before the verdict counts: %s", left)
	}
	b.sh(b.repo, nil, "git", "reflog", "expire", "--expire=now", "--all")
	b.sh(b.repo, nil, "git", "gc", "-q", "--prune=now")
	for range 2 {
		b.again()
		c, err := b.g.Fix(t.Context(), w)
		if err != nil || c.Blocked() || c.Escalate != "" || c.Commit != w.Commit || c.Subject != amp.CheckFix {
			t.Fatalf("Fix = %+v, %v", c, err)
		}
		b.wantFixed(w)
	}
	if refs := b.sh(b.repo, nil, "git", "for-each-ref", recoveryPrefix(w.TaskID)); refs != "" {
		t.Errorf("pinned: %s", refs)
	}
	if log := b.sh(b.repo, nil, "git", "reflog", "-1", "--format=%gn %gs", "refs/heads/"+w.Branch); log != "arbiter arbiter: direct fixes of the review" {
		t.Errorf("the reflog says %q", log)
	}
	b.turn(w, "turn-3", map[string]string{"more.txt": "x\n"})
}

// A crash may come between any two steps of a branch that follows; who goes on brings it to the end, and loses nothing.
func TestFix_crash(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string // in the person's checkout; $FIX is the commit, $REF keeps it
		pinned bool
	}{
		"before the branch":    {"true", false},
		"before the worktree":  {"git update-ref refs/heads/$BRANCH $FIX", false},
		"before the ref goes":  {"git update-ref refs/heads/$BRANCH $FIX && git -C $TREE reset -q --hard", false},
		"after all":            {"git update-ref refs/heads/$BRANCH $FIX && git -C $TREE reset -q --hard && git update-ref -d $REF", false},
		"no worktree":          {"rm -rf $TREE", false},
		"a lock was left":      {"touch .git/refs/heads/$BRANCH.lock && touch -d '1 hour ago' .git/refs/heads/$BRANCH.lock", false},
		"files of a person":    {"echo mine >$TREE/mine.txt", true},
		"such, and the branch": {"echo mine >$TREE/mine.txt && git update-ref refs/heads/$BRANCH $FIX", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, w := fixing(t)
			env := []string{"TREE=" + b.tree(w), "BRANCH=" + w.Branch, "FIX=" + w.Commit, "REF=" + fixRef(w.TaskID, w.Commit)}
			b.sh(b.repo, env, "sh", "-c", tc.script)
			b.again()
			c, err := b.g.Fix(t.Context(), w)
			if err != nil || c.Blocked() || c.Commit != w.Commit {
				t.Fatalf("Fix = %+v, %v", c, err)
			}
			b.wantFixed(w)
			if tc.pinned {
				b.wantRecovered(w.TaskID, "mine.txt")
			} else if refs := b.sh(b.repo, nil, "git", "for-each-ref", recoveryPrefix(w.TaskID)); refs != "" {
				t.Errorf("pinned: %s", refs)
			}
		})
	}
}

// AMP-089: a branch that somebody moved does not follow, and is left where it is.
func TestFix_AMP_089(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"moved on":   "git -C $TREE commit -q --allow-empty -m late",
		"moved back": "git update-ref refs/heads/$BRANCH main",
		"deleted":    "git update-ref -d refs/heads/$BRANCH",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _, w := fixing(t)
			b.sh(b.repo, append([]string{"TREE=" + b.tree(w), "BRANCH=" + w.Branch}, person...), "sh", "-c", script)
			tip := b.rev(w.Branch)
			c, err := b.g.Fix(t.Context(), w)
			if err != nil || !c.Blocked() || c.Escalate != amp.PermissionDenied || c.Commit != "" || b.rev(w.Branch) != tip {
				t.Errorf("Fix = %+v, %v; the branch was at %q, is at %q", c, err, tip, b.rev(w.Branch))
			}
			if c, err := b.g.Checklist(t.Context(), w); err != nil || finding(c, "branch") != amp.Refuted {
				t.Errorf("Checklist = %+v, %v", c, err)
			}
			if b.prepare(w, "turn-3"); b.rev(w.Branch) != w.Commit { // what an admin's redispatch comes to
				t.Errorf("the next turn begins at %s, want %s", b.rev(w.Branch), w.Commit)
			}
		})
	}
}

// A branch that has still to follow is not one that was moved; one that is put back after it followed is.
func TestFix_awaited(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do    func(b *bench, w amp.Workspace) bool
		looks bool // and moves nothing
	}{
		"Prepare": {do: func(b *bench, w amp.Workspace) bool { return b.prepare(w, "turn-3").Tip == w.Commit }},
		"OpenReview": {do: func(b *bench, w amp.Workspace) bool {
			p, err := b.g.OpenReview(b.t.Context(), w, "turn-3")
			return err == nil && p.Tip == w.Commit
		}},
		"RunCI": {do: func(b *bench, w amp.Workspace) bool {
			c, err := b.g.RunCI(b.t.Context(), w, [][]string{{"grep", "-q", "Receive", "lib.go"}}, time.Minute)
			return err == nil && c.CI["local"] == "passed" && !c.Blocked() && c.Escalate == ""
		}},
		"Deliver": {do: func(b *bench, w amp.Workspace) bool {
			c := b.deliver(w, amp.Delivery{Title: "x"})
			return !c.Blocked()
		}},
		"Adopt": {do: func(b *bench, w amp.Workspace) bool { return b.g.Adopt(b.t.Context(), w, false) == nil }},
		"Release": {do: func(b *bench, w amp.Workspace) bool {
			c, err := b.g.Release(b.t.Context(), w)
			return err == nil && !c.Blocked() && !strings.Contains(c.Text, "kept")
		}},
		"Checklist": {looks: true, do: func(b *bench, w amp.Workspace) bool {
			c, err := b.g.Checklist(b.t.Context(), w)
			return err == nil && !c.Blocked()
		}},
		"Outgoing": {looks: true, do: func(b *bench, w amp.Workspace) bool {
			n, err := b.g.Outgoing(b.t.Context(), w)
			return err == nil && n == 2
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, before, w := fixing(t)
			if !tc.do(b, w) {
				t.Errorf("%s takes a branch that has still to follow for one that was moved", name)
			}
			if !tc.looks {
				b.wantFixed(w)
			} else if tip := b.rev(w.Branch); tip != before.Commit {
				t.Errorf("%s moved the branch to %s", name, tip)
			}
			if name == "Adopt" || name == "Prepare" || name == "Release" {
				return // which bring the branch to where it has to be
			}
			b, before, w = fixing(t)
			if _, err := b.g.Fix(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			b.sh(b.repo, person, "git", "update-ref", "refs/heads/"+w.Branch, before.Commit)
			if tc.do(b, w) {
				t.Errorf("%s does not see that the branch was put back", name)
			}
			if tip := b.rev(w.Branch); tip != before.Commit {
				t.Errorf("%s moved the branch to %s", name, tip)
			}
		})
	}
}

// Direct fixes of a verdict that does not count are on no branch, whatever comes next, and nothing takes them for a violation. They are
// kept, and when the task ends as what any turn left is.
func TestFix_notCounted(t *testing.T) {
	t.Parallel()
	b, w, lost := fixing(t)
	if c, err := b.g.Checklist(t.Context(), w); err != nil || finding(c, "branch") != amp.Confirmed {
		t.Errorf("Checklist = %+v, %v", c, err)
	}
	again := b.fix(w, "turn-3") // the same request is reviewed once more
	if again.Commit == lost.Commit {
		t.Fatal("two reviews made one commit")
	}
	w, c := b.turn(w, "turn-4", map[string]string{"more.txt": "x\n"})
	if log := b.sh(b.repo, nil, "git", "log", "--format=%H %s", b.base+".."+w.Branch); strings.Contains(log, "Direct fixes") || finding(c, "refs") != amp.Confirmed {
		t.Errorf("on the branch:\n%s\ncheck = %+v", log, c)
	}
	b.sh(b.repo, nil, "git", "gc", "-q", "--prune=now")
	b.sh(b.repo, nil, "git", "symbolic-ref", fixPrefix(w.TaskID)+"forged", "refs/heads/main")
	b.sh(b.repo, nil, "git", "update-ref", fixPrefix(w.TaskID)+"odd", b.rev("main:main.go"))
	done, err := b.g.Release(t.Context(), w)
	if err != nil || done.Blocked() || !strings.Contains(done.Text, recoveryPrefix(w.TaskID)) {
		t.Errorf("Release = %+v, %v", done, err)
	}
	kept := b.sh(b.repo, nil, "git", "for-each-ref", "--format=%(objectname)", recoveryPrefix(w.TaskID))
	if !strings.Contains(kept, lost.Commit) || !strings.Contains(kept, again.Commit) || b.rev(w.Branch) != w.Commit {
		t.Errorf("kept %s, want %s and %s; the branch is at %s", kept, lost.Commit, again.Commit, b.rev(w.Branch))
	}
	if refs := b.sh(b.repo, nil, "git", "for-each-ref", fixPrefix(w.TaskID)); refs != "" || b.rev("main") != b.base {
		t.Errorf("left: %s; main is at %s", refs, b.rev("main"))
	}
	if done, err = b.g.Release(t.Context(), w); err != nil || strings.Contains(done.Text, "kept") {
		t.Errorf("a second call: %+v, %v", done, err)
	}
}

// A rollback that comes before the branch has followed leaves it at the checkpoint, and nothing brings it on.
func TestFix_rolledBack(t *testing.T) {
	t.Parallel()
	b, _, w := fixing(t)
	fix := w.Commit
	w.Commit = b.rollback(w, 1).Commit
	w, _ = b.turn(w, "turn-3", map[string]string{"more.txt": "x\n"})
	if in := b.sh(b.repo, nil, "git", "branch", "--contains", fix); in != "" {
		t.Errorf("%s is on %s", fix, in)
	}
}

// A turn of the same task that began while direct fixes were kept, on another machine with the same repository, is blamed neither for the
// branch that follows nor for the ref that goes; one that removes what is kept is.
func TestFix_rival(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do     func(b *bench, w amp.Workspace) error
		counts bool
		blamed bool
	}{
		"they count": {counts: true, do: func(b *bench, w amp.Workspace) error {
			_, err := b.g.Fix(b.t.Context(), w)
			return err
		}},
		"they are pinned": {do: func(b *bench, w amp.Workspace) error {
			r, err := b.g.open(b.repo)
			if err == nil {
				_, err = r.dropFixes(b.t.Context(), w, b.rev(w.Branch))
			}
			return err
		}},
		"an agent removes them": {blamed: true, do: func(b *bench, w amp.Workspace) error {
			return os.Remove(filepath.Join(b.repo, ".git", filepath.FromSlash(fixRef(w.TaskID, w.Commit))))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w, counted := fixing(t)
			b.review(w, "turn-3")
			if err := tc.do(b, counted); err != nil {
				t.Fatal(err)
			}
			if tc.counts {
				w = counted
			}
			c, err := b.g.CloseReview(t.Context(), w, "turn-3", nil)
			if err != nil || (c.Escalate != "") != tc.blamed || c.Blocked() != tc.blamed {
				t.Errorf("check = %+v, %v; want blamed: %v", c, err, tc.blamed)
			}
		})
	}
}

// Another machine has the direct fixes from the remote, before it is known whether they count.
func TestFix_elsewhere(t *testing.T) {
	t.Parallel()
	for _, adopted := range []bool{true, false} {
		p := newPair(t)
		b, before := newReviewed(t, p.bench)
		p.pass(before, 1)
		w := b.fix(before, "turn-2")
		p.pass(w, 1)
		p.take(before)
		if tip := p.other.rev(w.Branch); tip != before.Commit {
			t.Fatalf("the branch there is at %s, want %s", tip, before.Commit)
		}
		if err := p.other.g.Receive(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		if adopted {
			p.take(w)
		}
		c, err := p.other.g.Fix(t.Context(), w)
		if err != nil || c.Blocked() || c.Commit != w.Commit || p.other.rev(w.Branch) != w.Commit {
			t.Errorf("Fix there = %+v, %v; the branch is at %s", c, err, p.other.rev(w.Branch))
		}
		if err := b.g.Adopt(t.Context(), w, true); err != nil {
			t.Fatal(err)
		}
		b.wantFixed(w)
	}
	p := newPair(t)
	_, w := newReviewed(t, p.bench)
	p.pass(w, 1)
	p.take(w)
	w.Commit = strings.Repeat("1", 40)
	if _, err := p.other.g.Fix(t.Context(), w); err == nil {
		t.Error("direct fixes that are not there are on the branch")
	}
}

// A planner looks at the base branch: that follows to nothing, also where a person put direct fixes there.
func TestFix_planner(t *testing.T) {
	t.Parallel()
	b, before, w := fixing(t)
	b.sh(b.repo, person, "git", "merge", "-q", "--ff-only", w.Commit)
	plan := amp.Workspace{TaskID: w.TaskID, Repo: b.repo, Branch: "main", BaseBranch: "main", BaseCommit: w.Commit, Commit: w.Commit}
	if p := b.review(plan, "turn-3"); p.Tip != w.Commit {
		t.Errorf("prepared = %+v", p)
	}
	head := b.sh(b.tree(w), nil, "git", "symbolic-ref", "HEAD")
	if kept := b.rev(fixRef(w.TaskID, w.Commit)); head != "refs/heads/"+w.Branch || kept != w.Commit || b.rev(w.Branch) != before.Commit {
		t.Errorf("the task's worktree is on %s, the branch at %s, kept is %s", head, b.rev(w.Branch), kept)
	}
	plan.Commit = before.Commit
	if _, err := b.g.Fix(t.Context(), plan); err == nil {
		t.Error("direct fixes are put on a protected branch")
	}
}

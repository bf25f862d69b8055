package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

func (b *bench) rollback(w amp.Workspace, n int) amp.Check {
	b.t.Helper()
	c, err := b.g.Rollback(b.t.Context(), w, n)
	if err != nil {
		b.t.Fatalf("Rollback: %v", err)
	}
	return c
}

func (b *bench) deliver(w amp.Workspace, d amp.Delivery) amp.Check {
	b.t.Helper()
	c, err := b.g.Deliver(b.t.Context(), w, d)
	if err != nil {
		b.t.Fatalf("Deliver: %v", err)
	}
	return c
}

// TestRollback resets to each checkpoint and to the base, and keeps what was there.
func TestRollback(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"one.txt": "1\n"})
	one := w.Commit
	w, _ = b.turn(w, "turn-2", map[string]string{"two.txt": "2\n"})
	two := w.Commit
	p := b.prepare(w, "turn-3")
	b.write(p.Dir, "three.txt", "3\n")
	c := b.rollback(w, 2)
	if c.Subject != amp.CheckWorkspace || c.Commit != one || c.Checkpoint != 2 || b.rev(w.Branch) != one || c.Blocked() {
		t.Errorf("check = %+v", c)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "two.txt")); err == nil {
		t.Error("the worktree did not follow")
	}
	b.wantRecovered(w.TaskID, "two.txt")
	b.wantRecovered(w.TaskID, "three.txt")
	if again := b.rollback(w, 2); again.Commit != one || again.Blocked() {
		t.Errorf("a second call: %+v", again)
	}
	if c = b.rollback(w, 3); c.Commit != two || b.rev(w.Branch) != two {
		t.Errorf("forward to checkpoint 3: %+v", c)
	}
	if c = b.rollback(w, 0); c.Commit != b.base || !strings.Contains(c.Text, "the base commit") {
		t.Errorf("to the base: %+v", c)
	}
	if c = b.rollback(w, 99); !c.Blocked() || b.rev(w.Branch) != b.base {
		t.Errorf("a checkpoint that is not there: %+v", c)
	}
	b.sh(b.repo, nil, "git", "update-ref", "refs/arbiter/checkpoints/T-2026-001/2", b.base) // an agent moved it
	if c = b.rollback(w, 2); c.Commit != one {
		t.Errorf("a checkpoint ref that was moved is believed: %+v", c)
	}
	b.sh(b.repo, nil, "git", "worktree", "remove", "--force", p.Dir)
	if c = b.rollback(w, 3); c.Commit != two || b.rev(w.Branch) != two {
		t.Errorf("without a worktree: %+v", c)
	}
}

// TestRollback_AMP_168 puts back protected branches that a turn moved, and only those, and only when nobody moved them since.
func TestRollback_AMP_168(t *testing.T) {
	t.Parallel()
	const work = "echo x >x.txt && git add . && git commit -qm x && "
	for name, tc := range map[string]struct {
		script, later string
		// back says that main is where it was.
		back bool
		says string
	}{
		"moved":            {work + "git update-ref refs/heads/main HEAD", "", true, "refs/heads/main is put back to"},
		"committed there":  {"cd \"$REPO\" && echo x >x.txt && git add . && git commit -qm x", "", true, "look there with git status"},
		"deleted":          {"git update-ref -d refs/heads/main", "", true, "refs/heads/main is put back to"},
		"created":          {work + "git update-ref refs/heads/master HEAD", "", true, "refs/heads/master is put back to nothing"},
		"a person went on": {work + "git update-ref refs/heads/main HEAD", "git commit -q --allow-empty -m mine", false, ""},
		"a person mended":  {work + "git update-ref refs/heads/main HEAD", "git update-ref refs/heads/main HEAD~1", true, "refs/heads/main is at"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.sh(p.Dir, append(around(p), "REPO="+b.repo), "sh", "-c", tc.script)
			if c := b.verify(w, "turn-1", nil); c.Escalate != amp.BranchViolation {
				t.Fatalf("escalates %s: %s", c.Escalate, found(c, "refs"))
			}
			if list, err := b.g.Checklist(t.Context(), w); err != nil || finding(list, "protected") != amp.Refuted {
				t.Errorf("checklist: %+v, %v", list, err)
			}
			if tc.later != "" {
				b.sh(b.repo, person, "sh", "-c", tc.later)
			}
			left := b.rev("main")
			b.again()
			c := b.rollback(w, 0)
			if !strings.Contains(c.Text, tc.says) {
				t.Errorf("text = %s", c.Text)
			}
			if got := b.rev("main"); tc.back && got != b.base || !tc.back && got != left {
				t.Errorf("main at %s, base %s, left at %s: %+v", got, b.base, left, c.Claims)
			}
			if b.rev("refs/heads/master") != "" {
				t.Error("master is still there")
			}
			if strings.HasPrefix(tc.script, work) && tc.back {
				b.wantRecovered(w.TaskID, "x.txt")
			}
			list, err := b.g.Checklist(t.Context(), w)
			if err != nil || (finding(list, "protected") == amp.Confirmed) != true && tc.back {
				t.Errorf("checklist afterwards: %+v, %v", list, err)
			}
			if again := b.rollback(w, 0); again.Blocked() || b.rev("main") != left && !tc.back {
				t.Errorf("a second call: %+v", again)
			}
			b.turn(w, "turn-2", map[string]string{"y.txt": "y\n"}) // in the same second as the violation, and not blamed for it
		})
	}
}

// TestDeliver_merge has the states of a person's checkout that a merge meets. A refused one changes nothing.
func TestDeliver_merge(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		// refused is what the reason says; files that the merge brings are then not there.
		refused string
		// elsewhere says that main is not checked out in the repository.
		elsewhere bool
	}{
		"clean":                     {"true", "", false},
		"main went on":              {"echo x >person.txt && git add . && git commit -qm mine", "", false},
		"untracked files":           {"echo x >notes.txt", "", false},
		"untracked file in the way": {"echo x >lib.go", "untracked", false},
		"changed file":              {"echo x >>main.go", "1 file changed", false},
		"staged file":               {"echo x >new && git add new", "1 file changed", false},
		"conflict":                  {"echo other >lib.go && git add . && git commit -qm mine", "conflicts with main in lib.go", false},
		"unfinished merge":          {"git switch -qc side && git commit -q --allow-empty -m a && git switch -q main && git commit -q --allow-empty -m b && git merge -q --no-commit side", "not finished", false},
		"another branch":            {"git switch -qc side", "", true},
		"another branch, dirty":     {"git switch -qc side && echo x >>main.go", "", true},
		"another branch, conflict":  {"echo other >lib.go && git add . && git commit -qm mine && git switch -qc side", "conflicts", true},
		"detached":                  {"git switch -q --detach", "", true},
		"no local main":             {"git switch -qc side && git branch -D main", "no local branch main", true},
		"main in a linked worktree": {"git switch -qc side && git worktree add -q ../linked main", "", true},
		"same, dirty":               {"git switch -qc side && git worktree add -q ../linked main && echo x >>../linked/main.go", "1 file changed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w := reviewed(t)
			b.sh(b.repo, person, "sh", "-c", tc.script)
			before, status := b.rev("main"), b.sh(b.repo, nil, "git", "status", "--porcelain")
			c := b.deliver(w, amp.Delivery{Merge: true, Title: "Add\nlib", Trailers: []string{"Verdict-Seq: 9\nEvil: x"}})
			after := b.rev("main")
			if tc.refused != "" {
				if !c.Blocked() || !strings.Contains(c.Text, tc.refused) || after != before || b.sh(b.repo, nil, "git", "status", "--porcelain") != status {
					t.Errorf("check = %+v; main from %s to %s", c, before, after)
				}
				return
			}
			if c.Blocked() || c.Commit != after || b.rev("main^1") != before || b.rev("main^2") != w.Commit {
				t.Errorf("check = %+v; main from %s to %s", c, before, after)
			}
			if got := b.sh(b.repo, nil, "git", "status", "--porcelain"); got != status {
				t.Errorf("the person's checkout: %q, before %q", got, status)
			}
			_, err := os.Stat(filepath.Join(b.repo, "lib.go"))
			if (err == nil) == tc.elsewhere {
				t.Errorf("lib.go is there: %v", err == nil)
			}
			body := b.sh(b.repo, nil, "git", "show", "-s", "--format=%B", "main")
			if !strings.HasPrefix(body, "Add lib\n\nTask: T-2026-001\n") || !strings.Contains(body, "\nVerdict-Seq: 9 Evil: x") {
				t.Errorf("message:\n%s", body)
			}
			if again := b.deliver(w, amp.Delivery{Merge: true, Title: "Add lib"}); again.Blocked() || b.rev("main") != after {
				t.Errorf("a second call: %+v", again)
			}
		})
	}
}

// TestDeliver_prepare writes an annotated tag at the reviewed commit and moves no branch.
func TestDeliver_prepare(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	c := b.deliver(w, amp.Delivery{Title: "Add lib", Trailers: []string{"Journal-Head: 12"}})
	if c.Blocked() || c.Commit != w.Commit || !strings.Contains(c.Text, "git push <remote> "+w.Branch) || b.rev("main") != b.base || b.rev(w.Branch) != w.Commit {
		t.Errorf("check = %+v", c)
	}
	tag := b.rev("refs/arbiter/delivered/T-2026-001")
	if b.rev(tag+"^{commit}") != w.Commit {
		t.Errorf("the tag names %s", b.rev(tag+"^{commit}"))
	}
	if body := b.sh(b.repo, nil, "git", "cat-file", "tag", tag); !strings.Contains(body, "Add lib\n\nTask: T-2026-001\n") || !strings.Contains(body, "Journal-Head: 12") {
		t.Errorf("tag:\n%s", body)
	}
	if b.deliver(w, amp.Delivery{Title: "Add lib"}); b.rev("refs/arbiter/delivered/T-2026-001") != tag {
		t.Error("a second call writes another tag")
	}
	if c := b.deliver(b.space("T-2026-002"), amp.Delivery{Title: "x"}); !c.Blocked() {
		t.Errorf("a task without a result is delivered: %+v", c)
	}
}

// TestRelease removes the worktree, and nothing that is not kept elsewhere.
func TestRelease(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	r := b.review(w, "turn-2")
	p := b.prepare(w, "turn-3")
	b.write(p.Dir, "unpublished.txt", "x\n")
	b.sh(p.Dir, person, "git", "checkout", "-q", "--detach")
	b.sh(p.Dir, person, "git", "commit", "-q", "--allow-empty", "-m", "loose")
	c, err := b.g.Release(t.Context(), w)
	if err != nil || c.Subject != amp.CheckRelease || c.Blocked() || !strings.Contains(c.Text, recoveryPrefix(w.TaskID)) {
		t.Errorf("check = %+v, %v", c, err)
	}
	b.wantRecovered(w.TaskID, "unpublished.txt")
	for _, name := range []string{p.Dir, r.Dir, b.g.recordDir(w.TaskID), b.g.hookDir("turn-3")} {
		if exists(name) {
			t.Errorf("%s is still there", name)
		}
	}
	if list := b.sh(b.repo, nil, "git", "worktree", "list"); strings.Contains(list, "\n") {
		t.Errorf("worktrees:\n%s", list)
	}
	if b.rev(w.Branch) != w.Commit || b.rev("refs/arbiter/checkpoints/T-2026-001/1") == "" {
		t.Error("branch or checkpoints are gone")
	}
	if c, err = b.g.Release(t.Context(), w); err != nil || c.Blocked() {
		t.Errorf("a second call: %+v, %v", c, err)
	}
	if p = b.prepare(w, "turn-4"); p.Tip != w.Commit {
		t.Errorf("after a release the task cannot go on: %+v", p)
	}
}

// TestChecklist has what may have happened while a task stood still.
func TestChecklist(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script  string // in the person's checkout, $TREE is the task's worktree, $BRANCH its branch
		claim   string
		want    amp.Finding
		says    string
		blocked bool
	}{
		"nothing":             {"true", "base", amp.Confirmed, "main is still at the base", false},
		"worktree":            {"true", "worktree", amp.Confirmed, "clean", false},
		"main went on":        {"git commit -q --allow-empty -m a && git commit -q --allow-empty -m b", "base", amp.Inconclusive, "main is 2 commits ahead", false},
		"main rewritten":      {"git commit -q --amend -m other", "base", amp.Inconclusive, "was rewritten", false},
		"branch moved":        {"cd $TREE && git commit -q --allow-empty -m late", "branch", amp.Refuted, "it is at", true},
		"branch deleted":      {"git update-ref -d refs/heads/$BRANCH", "branch", amp.Refuted, "the branch is gone", true},
		"dirty":               {"echo x >$TREE/left.txt", "worktree", amp.Inconclusive, "left.txt", false},
		"detached":            {"cd $TREE && git checkout -q --detach", "worktree", amp.Inconclusive, "not on", false},
		"worktree gone":       {"rm -rf $TREE", "worktree", amp.Confirmed, "not there", false},
		"tampered":            {"echo x >$TREE/.git", "worktree", amp.Inconclusive, "points somewhere else", false},
		"person took it":      {"git worktree remove --force $TREE && git switch -q $BRANCH", "worktree", amp.Refuted, "checked out in", true},
		"a filter":            {"git config filter.x.clean 'touch ran; cat' && echo '* filter=x' >$TREE/.gitattributes", "config", amp.Inconclusive, "filter.x.clean", false},
		"branch is protected": {"git update-ref refs/remotes/origin/$BRANCH HEAD && git symbolic-ref refs/remotes/origin/HEAD refs/remotes/origin/$BRANCH", "protected", amp.Refuted, "protected", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w := reviewed(t)
			tree := filepath.Join(b.g.home, "worktrees", "T-2026-001")
			b.sh(b.repo, append([]string{"TREE=" + tree, "BRANCH=" + w.Branch}, person...), "sh", "-c", tc.script)
			b.again()
			c, err := b.g.Checklist(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			if exists(filepath.Join(tree, "ran")) {
				t.Error("our git ran a program of the agent")
			}
			if finding(c, tc.claim) != tc.want || !strings.Contains(found(c, tc.claim), tc.says) || c.Blocked() != tc.blocked || c.Subject != amp.CheckResume {
				t.Errorf("%s: %s %q, blocked %v; want %s %q %v", tc.claim, finding(c, tc.claim), found(c, tc.claim), c.Blocked(), tc.want, tc.says, tc.blocked)
			}
			if (c.Text == "ready to go on") == tc.blocked {
				t.Errorf("text = %s", c.Text)
			}
		})
	}
	b := newBench(t)
	if c, err := b.g.Checklist(t.Context(), b.space("T-2026-001")); err != nil || c.Blocked() {
		t.Errorf("before the first turn: %+v, %v", c, err)
	}
}

// BenchmarkPrepare is the preparation of a turn in a worktree that is there, as a multiple of one git status in it.
func BenchmarkPrepare(b *testing.B) {
	bn := newBench(b)
	w := bn.space("T-2026-001")
	for i := range 1000 {
		bn.write(bn.repo, fmt.Sprintf("d%02d/f%04d", i%20, i), "x\n")
	}
	bn.base = bn.commit(bn.repo, person, "many")
	w.BaseCommit = bn.base
	p := bn.prepare(w, "turn-0")
	n := 0
	var status time.Duration
	for b.Loop() {
		n++
		bn.prepare(w, fmt.Sprintf("turn-%d", n))
		b.StopTimer()
		started := time.Now()
		bn.sh(p.Dir, nil, "git", "status", "--porcelain")
		status += time.Since(started)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed())/float64(status), "x-git-status")
}

package gitops

import (
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

// TestLoop goes once through everything: inspect, prepare, work, verify, CI, review with a direct fix, deliver by merge.
func TestLoop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	facts, err := b.g.Inspect(t.Context(), b.repo, w.Branch)
	if err != nil {
		t.Fatal(err)
	}
	if facts.DefaultBranch != "main" || facts.Head != b.base || facts.Dirty || facts.Detached || facts.BranchExists || facts.Files != 3 {
		t.Errorf("facts = %+v", facts)
	}
	w, c := b.turn(w, "turn-1", map[string]string{"main.go": "package main\n\nfunc main() {\n\tprintln(1)\n}\n", "new file.txt": "x\n"})
	wantFindings(t, c, map[string]amp.Finding{
		"commit": amp.Confirmed, "files": amp.Confirmed, "lines": amp.Confirmed, "branch": amp.Confirmed, "base": amp.Confirmed,
		"paths": amp.Confirmed, "refs": amp.Confirmed, "work_log": amp.Confirmed,
	})
	if c.Added != 2 || c.Removed != 0 || len(c.Files) != 2 {
		t.Errorf("measured %v +%d -%d", c.Files, c.Added, c.Removed)
	}

	ci, err := b.g.RunCI(t.Context(), w, [][]string{{"grep", "-q", "println", "main.go"}, {"sh", "-c", "echo made >made.txt"}}, time.Minute)
	if err != nil || ci.CI["local"] != "passed" || ci.Blocked() {
		t.Fatalf("RunCI = %+v, %v", ci, err)
	}

	rev, err := b.g.OpenReview(t.Context(), w, "turn-2")
	if err != nil {
		t.Fatal(err)
	}
	if head := b.sh(rev.Dir, rev.Env, "git", "rev-parse", "HEAD"); head != w.Commit {
		t.Errorf("review at %s, want %s", head, w.Commit)
	}
	b.write(rev.Dir, "docs/guide.md", "one\ntwo\nthreee\nfour\nfive\nsix\nseven\neight\n")
	done, err := b.g.CloseReview(t.Context(), w, "turn-2", &amp.Verdict{
		Decision: amp.ApprovedWithFix, DirectFixes: []amp.DirectFix{{File: "docs/guide.md", ChangeType: amp.Typo, DiffLines: 1}},
	})
	if err != nil || done.Blocked() || done.Commit != w.Commit || done.Fix == "" {
		t.Fatalf("CloseReview = %+v, %v", done, err)
	}
	if author := b.sh(b.repo, nil, "git", "show", "-s", "--format=%an <%ae> %cn", done.Fix); author != "arbiter reviewer <T-2026-001@arbiter.invalid> arbiter" {
		t.Errorf("fix is by %s", author)
	}
	w.Commit = done.Fix
	if c, err := b.g.Fix(t.Context(), w); err != nil || c.Blocked() || b.rev(w.Branch) != done.Fix {
		t.Fatalf("Fix = %+v, %v", c, err)
	}

	sent, err := b.g.Deliver(t.Context(), w, amp.Delivery{Merge: true, Title: "Print one", Trailers: []string{"Approval-Seq: 7"}})
	if err != nil || sent.Blocked() || sent.Commit != b.rev("main") {
		t.Fatalf("Deliver = %+v, %v", sent, err)
	}
	body := b.sh(b.repo, nil, "git", "show", "-s", "--format=%B%P", "main")
	for _, part := range []string{"Print one", "Task: T-2026-001", "Approval-Seq: 7", b.base + " " + w.Commit} {
		if !strings.Contains(body, part) {
			t.Errorf("merge commit lacks %q:\n%s", part, body)
		}
	}
	if status := b.sh(b.repo, nil, "git", "status", "--porcelain"); status != "" {
		t.Errorf("person's checkout is dirty after the merge: %s", status)
	}
	if b.read(b.repo, "new file.txt") != "x\n" {
		t.Error("the merged file is not checked out")
	}
}

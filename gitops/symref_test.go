package gitops

import (
	"testing"

	"arbiter/amp"
)

// A symbolic ref in the place of a branch moves no other branch by Arbiter's hand, is seen though no commit tells of it, and is put back.
func TestVerify_symbolic_AMP_049(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script   string
		escalate amp.EscalationType
	}{
		"the branch is main":        {"git symbolic-ref refs/heads/feature/t-2026-001 refs/heads/main", amp.PermissionDenied},
		"main is the branch":        {"git symbolic-ref refs/heads/main refs/heads/feature/t-2026-001", amp.BranchViolation},
		"main is the branch, moved": {"git symbolic-ref refs/heads/main refs/heads/feature/t-2026-001 && git commit -q --allow-empty -m x", amp.BranchViolation},
		"a new branch is main":      {"git symbolic-ref refs/heads/master refs/heads/main", amp.BranchViolation},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.sh(b.repo, nil, "git", "symbolic-ref", "refs/heads/alias", "refs/heads/main") // a person's own is nobody's fault
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.write(p.Dir, "evil.go", "x\n")
			b.sh(p.Dir, p.Env, "sh", "-c", tc.script)
			left := b.rev("main")
			c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete, DiffSummary: amp.DiffSummary{FilesChanged: []string{"evil.go"}, LinesAdded: 1}})
			wantFindings(t, c, map[string]amp.Finding{"branch": amp.Refuted, "refs": amp.Refuted})
			if c.Escalate != tc.escalate || !c.Blocked() {
				t.Errorf("escalates %q, want %q; %+v", c.Escalate, tc.escalate, c)
			}
			if b.rev("main") != left {
				t.Errorf("main moved from %s to %s by the commit of what was left", left, b.rev("main"))
			}
			b.rollback(w, 0)
			for _, ref := range []string{"refs/heads/main", "refs/heads/" + w.Branch} {
				if out, err := b.try(b.repo, nil, "git", "symbolic-ref", "-q", ref); err == nil || b.rev(ref) != b.base {
					t.Errorf("after the rollback %s is at %s, names %q", ref, b.rev(ref), out)
				}
			}
			if b.rev("refs/heads/master") != "" {
				t.Error("master is still there")
			}
			if list, err := b.g.Checklist(t.Context(), w); err != nil || list.Blocked() {
				t.Errorf("checklist: %+v, %v", list, err)
			}
			b.turn(w, "turn-2", map[string]string{"y.txt": "y\n"})
		})
	}
}

// HEAD of the person's checkout that names another branch is told, and a base that is a symbolic ref is not delivered to.
func TestVerify_symbolicHead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sh(b.repo, nil, "git", "branch", "other")
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "x.go", "x\n")
	b.write(b.repo, ".git/HEAD", "ref: refs/heads/other\n") // git itself would leave a line in the reflog
	c := b.verify(w, "turn-1", b.honest(p, b.commit(p.Dir, p.Env, "x")))
	if wantFindings(t, c, map[string]amp.Finding{"refs": amp.Inconclusive}); c.Blocked() || found(c, "refs") != "HEAD was made a symbolic ref to refs/heads/other: git has no record of who did it" {
		t.Errorf("refs: %s", found(c, "refs"))
	}
	w.Commit = c.Commit
	b.sh(b.repo, nil, "git", "symbolic-ref", "refs/heads/main", "refs/heads/other")
	if c := b.deliver(w, amp.Delivery{Merge: true, Title: "x"}); !c.Blocked() || b.rev("other") != b.base {
		t.Errorf("delivered to a symbolic ref: %+v, other at %s", c, b.rev("other"))
	}
}

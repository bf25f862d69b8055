package gitops

import (
	"os"
	"path/filepath"
	"testing"

	"arbiter/amp"
)

// A worktree that an agent told git of is no person's checkout of the base branch: git is not run by what stands there.
func TestDeliver_plantedWorktree(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	top := filepath.Dir(b.repo)
	b.sh(b.repo, person, "git", "switch", "-q", "-c", "side")
	evil, ran := filepath.Join(top, "evil"), filepath.Join(top, "ran")
	b.sh(top, nil, "git", "clone", "-q", b.repo, evil)
	b.sh(evil, nil, "git", "checkout", "-q", "-B", "main", "origin/main")
	b.sh(evil, nil, "git", "config", "filter.x.clean", "touch '"+ran+"'; cat")
	b.write(evil, ".git/info/attributes", "* filter=x\n")
	b.write(evil, "main.go", b.read(evil, "main.go")) // another time, so git looks into it
	admin := filepath.Join(b.repo, ".git", "worktrees", "evil")
	for name, text := range map[string]string{"gitdir": filepath.Join(evil, ".git"), "commondir": "../..", "HEAD": "ref: refs/heads/main"} {
		b.write(admin, name, text+"\n")
	}
	before := b.rev("main")
	c := b.deliver(w, amp.Delivery{Merge: true, Title: "x"})
	if !c.Blocked() || b.rev("main") != before {
		t.Errorf("check = %+v", c)
	}
	if exists(ran) {
		t.Error("our git ran a program of the agent")
	}
	if err := os.RemoveAll(admin); err != nil {
		t.Fatal(err)
	}
	if c = b.deliver(w, amp.Delivery{Merge: true, Title: "x"}); c.Blocked() || b.rev("main") != c.Commit {
		t.Errorf("without it: %+v", c)
	}
}

// A checkout that its person switched to another branch between the look and the merge is left alone.
func TestAdvance_switched(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	r, err := b.g.open(b.repo)
	if err != nil {
		t.Fatal(err)
	}
	commit, _, err := b.g.mergeCommit(t.Context(), r, w, amp.Delivery{Title: "x"}, b.rev("main"))
	if err != nil {
		t.Fatal(err)
	}
	b.sh(b.repo, person, "git", "switch", "-q", "-c", "side")
	before := b.rev("side")
	if err := b.g.advance(t.Context(), r, b.repo, "main", commit); err == nil {
		t.Error("no error")
	}
	if b.rev("side") != before || b.rev("main") != before {
		t.Errorf("side is at %s, main at %s, both were at %s", b.rev("side"), b.rev("main"), before)
	}
	b.sh(b.repo, person, "git", "switch", "-q", "main")
	if err := b.g.advance(t.Context(), r, b.repo, "main", commit); err != nil || b.rev("main") != commit {
		t.Errorf("on main: %v", err)
	}
}

package gitops

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"arbiter/amp"
)

// What a killed git left of our own refs stops nobody for longer than a moment; a person's is theirs.
func TestLocks_stale(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	leave := func(ref string) string {
		t.Helper()
		lock := filepath.Join(p.repo, ".git", filepath.FromSlash(ref)+".lock")
		old := time.Now().Add(-staleAfter - time.Second)
		if err := os.MkdirAll(filepath.Dir(lock), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(lock, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(lock, old, old); err != nil {
			t.Fatal(err)
		}
		return lock
	}
	passed := leave(passedRef(w.TaskID))
	p.pass(w, 3)
	if p.rev(passedRef(w.TaskID)) != w.Commit || exists(passed) {
		t.Errorf("the ref is at %s, want %s; the lock is there: %v", p.rev(passedRef(w.TaskID)), w.Commit, exists(passed))
	}
	leave(passedRef(w.TaskID))
	if err := p.g.Withdraw(t.Context(), []amp.Workspace{w}); err != nil {
		t.Fatal(err)
	}
	if at := p.rev(passedRef(w.TaskID)); at != "" {
		t.Errorf("the ref is still at %s", at)
	}
	theirs := leave("refs/heads/theirs")
	r, err := p.g.open(p.repo)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.setRef(t.Context(), "refs/heads/theirs", w.Commit, "", "test"); err == nil || !exists(theirs) {
		t.Errorf("a person's lock: %v, it is there: %v", err, exists(theirs))
	}
}

package gitops

import (
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// TestSees: another coordinator goes on with a task when it shares the repository and the folder of worktrees, and says what is missing
// when it does not.
func TestSees(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other, err := New(Options{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := New(Options{Home: b.g.home})
	if err != nil {
		t.Fatal(err)
	}
	w := b.space("T-2026-001")
	want := func(when string, g *Git, w amp.Workspace, turn, part string) {
		t.Helper()
		if got := g.Sees(t.Context(), w, turn); (part == "") != (got == "") || !strings.Contains(got, part) {
			t.Errorf("%s: %q, want %q", when, got, part)
		}
	}
	want("before any work", other, w, "", "")
	want("without a plan", other, amp.Workspace{TaskID: w.TaskID, Repo: w.Repo}, "", "")
	b.prepare(w, "turn-1")
	want("a worktree elsewhere", other, w, "", "its worktree is "+filepath.Join(b.g.home, "worktrees"))
	want("the same folder", shared, w, "turn-1", "")
	want("a turn of nobody", shared, w, "turn-2", "turn-2")
	gone := w
	gone.Repo = filepath.Join(t.TempDir(), "nothing")
	want("no repository", shared, gone, "", "is not here")
	ahead := w
	ahead.Commit = strings.Repeat("a", 40)
	want("a commit of another machine", shared, ahead, "", "is not in the repository")
	lost := w
	lost.Branch, lost.Commit = "feature/elsewhere", b.base
	want("no branch", shared, lost, "", "branch feature/elsewhere is not")
}

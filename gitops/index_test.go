package gitops

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"arbiter/amp"
)

// hiding are the ways in which an agent's index can say that a changed file is as it was.
var hiding = map[string]string{
	"assume unchanged": "git update-index --assume-unchanged main.go && echo '// hidden' >>main.go",
	"skip worktree":    "git update-index --skip-worktree main.go && echo '// hidden' >>main.go",
	"no index":         "echo '// hidden' >>main.go && rm \"$(git rev-parse --git-path index)\"",
	"damaged index":    "echo '// hidden' >>main.go && echo no >\"$(git rev-parse --git-path index)\"",
}

// TestIndex_hidden_AMP_131: what an agent hides by its index is found, pinned or committed, and gone before anything else runs there.
func TestIndex_hidden_AMP_131(t *testing.T) {
	t.Parallel()
	for name, script := range hiding {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w := reviewed(t)
			p := b.review(w, "turn-2")
			b.sh(p.Dir, p.Env, "sh", "-c", script)
			c, err := b.g.CloseReview(t.Context(), w, "turn-2", &amp.Verdict{Decision: amp.Approved})
			if err != nil || !c.Blocked() {
				t.Errorf("review: void = %v, %v: %s", c.Blocked(), err, c.Text)
			}
			// an executor's
			p = b.prepare(w, "turn-3")
			b.sh(p.Dir, p.Env, "sh", "-c", script)
			v := b.verify(w, "turn-3", &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: []string{"main.go"}, LinesAdded: 1}})
			if finding(v, "files") != amp.Confirmed || b.sh(b.repo, nil, "git", "show", v.Commit+":main.go") == b.sh(b.repo, nil, "git", "show", w.Commit+":main.go") {
				t.Errorf("the hidden change is not committed: %s", v.Text)
			}
			w.Commit = v.Commit
			// one that fails, and what the next turn then finds
			p = b.prepare(w, "turn-4")
			b.sh(p.Dir, p.Env, "sh", "-c", script)
			b.verify(w, "turn-4", nil)
			p = b.prepare(w, "turn-5")
			if b.read(p.Dir, "main.go") != b.sh(b.repo, nil, "git", "show", w.Commit+":main.go")+"\n" {
				t.Error("the next turn finds what a failed one hid")
			}
		})
	}
}

// TestIndex_forced: an ignored file that the agent added by force, without a commit, is part of its work.
func TestIndex_forced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "cache/kept.txt", "x\n")
	b.write(p.Dir, "cache/other.txt", "y\n")
	b.sh(p.Dir, nil, "git", "add", "--force", "cache/kept.txt")
	c := b.verify(w, "turn-1", &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: []string{"cache/kept.txt"}, LinesAdded: 1}})
	if finding(c, "files") != amp.Confirmed || len(c.Files) != 1 {
		t.Errorf("files = %v: %s", c.Files, found(c, "files"))
	}
}

// TestIndex_tick: a file that was changed at the same size within the clock tick of the index is found all the same.
func TestIndex_tick(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sh(b.repo, nil, "git", "config", "core.trustctime", "false") // the change time cannot be set, so it is left out
	b.sh(b.repo, nil, "git", "config", "core.checkStat", "minimal")
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	r, err := b.g.open(b.repo)
	if err != nil {
		t.Fatal(err)
	}
	wt := b.g.treeAt(r, p.Dir)
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tick := func(name string) {
		t.Helper()
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	name := filepath.Join(p.Dir, "bin")
	b.write(p.Dir, "bin", "a\x00b")
	tick(name)
	b.sh(p.Dir, nil, "git", "add", "bin")
	tick(filepath.Join(wt.admin, "index"))
	if err := wt.keepIndex(p.Tip); err != nil {
		t.Fatal(err)
	}
	before, err := wt.tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.write(p.Dir, "bin", "a\x00c")
	tick(name)
	after, err := wt.tree(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if before == after {
		t.Error("a change within the tick of the index is not in the tree")
	}
}

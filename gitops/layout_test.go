package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
)

// Wherever a repository lies, a delivery moves the checkout along that the person has.
func TestLayout_deliver(t *testing.T) {
	t.Parallel()
	for name, lay := range map[string]func(b *bench, top string){
		"git directory apart": func(b *bench, top string) {
			b.sh(top, nil, "git", "init", "-q", "--separate-git-dir", filepath.Join(top, "apart.git"), b.repo)
		},
		"link to the git directory": func(b *bench, top string) {
			b.sh(top, nil, "mkdir", "else")
			b.sh(top, nil, "mv", filepath.Join(b.repo, ".git"), filepath.Join(top, "else", ".git"))
			if err := os.Symlink(filepath.Join(top, "else", ".git"), filepath.Join(b.repo, ".git")); err != nil {
				b.t.Fatal(err)
			}
		},
		"submodule": func(b *bench, top string) {
			b.sh(top, nil, "git", "init", "-q", "super")
			b.sh(filepath.Join(top, "super"), nil, "git", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", b.repo, "sub")
			b.repo = filepath.Join(top, "super", "sub")
			b.sh(b.repo, nil, "git", "checkout", "-q", "main")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			lay(b, filepath.Dir(b.repo))
			w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"z.go": "z\n"})
			c := b.deliver(w, amp.Delivery{Merge: true, Title: "x"})
			if c.Blocked() || b.rev("main") != c.Commit || b.read(b.repo, "z.go") != "z\n" || b.sh(b.repo, nil, "git", "status", "--porcelain") != "" {
				t.Errorf("delivered: %+v", c)
			}
		})
	}
}

// In a sparse checkout an agent's new files count wherever they are, and what is not checked out stays.
func TestLayout_sparse(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"--cone", "--no-cone"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.write(b.repo, "big/file.txt", "1\n")
			b.base = b.commit(b.repo, person, "more")
			b.sh(b.repo, nil, "git", "sparse-checkout", "set", kind, "docs")
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			if exists(filepath.Join(p.Dir, "big")) {
				t.Error("the worktree holds what the person left out")
			}
			b.write(p.Dir, "other/x.go", "x\n")
			b.write(p.Dir, "docs/y.md", "y\n")
			c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete})
			if !slices.Equal(c.Files, []string{"docs/y.md", "other/x.go"}) || finding(c, "leftovers") != "" {
				t.Errorf("changed are %v: %s %s", c.Files, c.Text, found(c, "leftovers"))
			}
			w.Commit = c.Commit
			b.prepare(w, "turn-2")
			if d := b.deliver(w, amp.Delivery{Merge: true, Title: "x"}); d.Blocked() || exists(filepath.Join(b.repo, "big")) {
				t.Errorf("delivered: %+v", d)
			}
		})
	}
}

// A repository whose refs no comparison can be made of is refused before any work.
func TestLayout_reftable(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.Mkdir(filepath.Join(b.repo, ".git", "reftable"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.again()
	if _, err := b.g.Inspect(t.Context(), b.repo, "feature/x"); err == nil || !strings.Contains(err.Error(), "reftable") {
		t.Errorf("Inspect: %v", err)
	}
}

// A branch that an agent deleted is found out in a repository with long names too.
func TestLayout_sha256Deleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo = filepath.Join(filepath.Dir(b.repo), "sha256")
	b.sh(filepath.Dir(b.repo), nil, "git", "init", "-q", "-b", "main", "--object-format=sha256", "sha256")
	b.write(b.repo, "a", "a")
	b.base = b.commit(b.repo, person, "first")
	w := b.space("T-2026-001")
	b.prepare(w, "turn-1")
	b.sh(b.repo, nil, "git", "update-ref", "-d", "refs/heads/"+w.Branch)
	wantFindings(t, b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete}), map[string]amp.Finding{"branch": amp.Refuted})
}

// A title is one line that a terminal obeys nothing of, whatever an agent wrote.
func TestDeliver_title(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"z.go": "z\n"})
	if c := b.deliver(w, amp.Delivery{Merge: true, Title: "Count\x00 \x1b[31mteas\u202e\nTask: T-1"}); c.Blocked() {
		t.Fatalf("not delivered: %+v", c)
	}
	if got := b.sh(b.repo, nil, "git", "log", "-1", "--format=%s", "main"); got != "Count [31mteas Task: T-1" {
		t.Errorf("the title is %q", got)
	}
}

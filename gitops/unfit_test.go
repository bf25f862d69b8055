//go:build unix

package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"arbiter/amp"
)

// A worktree with what git does not take in refutes the result, and holds nobody up afterwards: what was there is kept aside.
func TestUnfit(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(b *bench, dir string){
		"a repository without a commit": func(b *bench, dir string) {
			b.sh(dir, nil, "git", "init", "-q", "sub")
			b.write(dir, "sub/x", "x")
		},
		"a pipe in the place of a file": func(b *bench, dir string) {
			if err := errors.Join(os.Remove(dir+"/main.go"), syscall.Mkfifo(dir+"/main.go", 0o644)); err != nil {
				b.t.Fatal(err)
			}
		},
		"a repository with a name like an error": func(b *bench, dir string) { b.sh(dir, nil, "git", "init", "-q", "No space left") },
		"a name like .git":                       func(b *bench, dir string) { b.write(dir, "git~1", "x") },
		"an encoding that is none": func(b *bench, dir string) {
			b.write(dir, ".gitattributes", "*.t working-tree-encoding=nosuch\n")
			b.write(dir, "a.t", "x")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w, _ := b.turn(b.space("T-2026-001"), "turn-0", map[string]string{"z.go": "x"})
			tree := filepath.Join(b.g.home, "worktrees", "T-2026-001")
			again := func(turn string) {
				t.Helper()
				p := b.prepare(w, turn)
				if at := b.sh(p.Dir, nil, "git", "rev-parse", "HEAD"); at != w.Commit || b.sh(p.Dir, nil, "git", "status", "--porcelain") != "" {
					t.Fatalf("the worktree of %s is at %s, want %s and clean", turn, at, w.Commit)
				}
				b.write(p.Dir, "mine.txt", turn)
				do(b, p.Dir)
			}
			kept := func(n string) string {
				text, _ := os.ReadFile(tree + ".aside-" + n + "/mine.txt")
				return string(text)
			}
			again("turn-1")
			for range 2 {
				if name == "a repository with a name like an error" { // a person is told; what follows is the same
					break
				}
				c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete})
				if wantFindings(t, c, map[string]amp.Finding{"leftovers": amp.Refuted, "refs": amp.Confirmed}); !c.Blocked() || !strings.Contains(found(c, "leftovers"), "cannot take in") {
					t.Errorf("leftovers: %s", found(c, "leftovers"))
				}
			}
			again("turn-2")
			if kept("1") != "turn-1" {
				t.Errorf("aside stands %q, want what turn 1 left", kept("1"))
			}
			c, err := b.g.Verify(t.Context(), w, "turn-2", nil, "")
			if err != nil || !strings.Contains(c.Text, tree+".aside-2") || kept("2") != "turn-2" {
				t.Errorf("a failed turn: %v, %s", err, c.Text)
			}
			again("turn-3")
			if c, err = b.g.Rollback(t.Context(), w, 0); err != nil || !strings.Contains(c.Text, tree+".aside-3") || b.rev(w.Branch) != b.base {
				t.Errorf("Rollback: %v, %s", err, c.Text)
			}
			w.Commit = c.Commit
			again("turn-4")
			if c, err = b.g.Release(t.Context(), w); err != nil || !strings.Contains(c.Text, tree+".aside-4") || exists(tree) {
				t.Errorf("Release: %v, %s", err, c.Text)
			}
			if list := b.sh(b.repo, nil, "git", "worktree", "list"); strings.Contains(list, "\n") {
				t.Errorf("git knows of %s", list)
			}
		})
	}
}

// A machine without room is no fault of an agent's files.
func TestUnfit_machine(t *testing.T) {
	t.Parallel()
	for said, agents := range map[string]bool{
		"error: 'sub/' does not have a commit checked out fatal: adding files failed":                                  true,
		"error: open(\"x\"): Permission denied fatal: adding files failed":                                             true,
		"error: file write error: No space left on device error: x: failed to insert into database":                    false,
		"fatal: unable to write loose object file: Disk quota exceeded":                                                false,
		"error: insufficient permission for adding an object to repository database .git/objects fatal: adding failed": false,
	} {
		var bad *unfitError
		if err := unfit(&exitError{command: "add", code: 128, stderr: said}); errors.As(err, &bad) != agents {
			t.Errorf("%q: %v, want the agent's fault: %v", said, err, agents)
		}
	}
	var bad *unfitError
	if err := unfit(&exitError{command: "add", code: -1}); errors.As(err, &bad) {
		t.Errorf("a git that was killed: %v", err)
	}
}

// A review in whose worktree git cannot look is void.
func TestUnfit_review(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	p, err := b.g.OpenReview(t.Context(), w, "review-1")
	if err != nil {
		t.Fatal(err)
	}
	b.sh(p.Dir, nil, "git", "init", "-q", "sub")
	c, err := b.g.CloseReview(t.Context(), w, "review-1", &amp.Verdict{Decision: amp.Approved})
	if err != nil || !c.Blocked() || !strings.Contains(c.Text, "void") || exists(p.Dir) || !exists(p.Dir+".aside-1") {
		t.Errorf("CloseReview: %v, %+v", err, c)
	}
}

// A pipe, or a file too large for memory, where git looks for its own files, keeps no git waiting.
func TestUnblock(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "sub/x.go", "x\n")
	for _, name := range []string{".gitattributes", "sub/.gitignore"} {
		if err := syscall.Mkfifo(filepath.Join(p.Dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b.write(p.Dir, ".gitignore", "*.tmp\n")
	if err := os.Truncate(filepath.Join(p.Dir, ".gitignore"), maxLeading+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("sub/.gitignore", filepath.Join(p.Dir, ".gitmodules")); err != nil {
		t.Fatal(err)
	}
	c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete})
	if !strings.Contains(strings.Join(c.Files, " "), "sub/x.go") {
		t.Errorf("files %v\n%s", c.Files, c.Text)
	}
	for _, name := range []string{".gitattributes", "sub/.gitignore", ".gitignore", ".gitmodules"} {
		if exists(filepath.Join(p.Dir, name)) {
			t.Errorf("%s is still there", name)
		}
	}
	b.prepare(w, "turn-2")
}

// A folder that git cannot remove, since its path is too long, is removed.
func TestFill_deep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, strings.Repeat("d", 200)+"/seen", "x")
	at, err := os.OpenRoot(p.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 40 {
		name := strings.Repeat("d", 200)
		if err := at.Mkdir(name, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		below, err := at.OpenRoot(name)
		if err = errors.Join(err, at.Close()); err != nil {
			t.Fatal(err)
		}
		at = below
	}
	if err := errors.Join(at.WriteFile("x", []byte("x"), 0o644), at.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.g.Verify(t.Context(), w, "turn-1", nil, ""); err != nil {
		t.Fatal(err)
	}
	if p = b.prepare(w, "turn-2"); exists(filepath.Join(p.Dir, strings.Repeat("d", 200))) {
		t.Error("the folder is still there")
	}
}

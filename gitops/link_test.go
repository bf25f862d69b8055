//go:build unix

package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"arbiter/amp"
)

// What stands in the place of a file that Arbiter writes or reads, a link or a pipe, leads it to no other file and keeps it waiting for nobody.
func TestLink(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"link", "pipe"} {
		for _, name := range []string{"HEAD", "commondir", "index", "config.worktree", ".attempts"} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				w := b.space("T-2026-001")
				p := b.prepare(w, "turn-1")
				b.write(p.Dir, "mine.txt", "x\n")
				diary := filepath.Join(filepath.Dir(b.repo), "diary")
				b.write(filepath.Dir(diary), "diary", "dear diary\n")
				file := filepath.Join(b.repo, ".git", "worktrees", "T-2026-001", name)
				if name == ".attempts" {
					file = b.g.attemptsFile("turn-1")
				}
				if err := os.RemoveAll(file); err != nil {
					t.Fatal(err)
				}
				leave := map[string]func() error{
					"link": func() error { return os.Symlink(diary, file) },
					"pipe": func() error { return syscall.Mkfifo(file, 0o644) },
				}
				if err := leave[kind](); err != nil {
					t.Fatal(err)
				}
				c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete, DiffSummary: amp.DiffSummary{FilesChanged: []string{"mine.txt"}, LinesAdded: 1}})
				if name != "index" && (!c.Blocked() || c.Escalate != amp.PermissionDenied) {
					t.Errorf("check = %+v", c)
				}
				if name == "index" && c.Blocked() {
					t.Errorf("an index that git would make anew: %+v", c)
				}
				if name == "config.worktree" {
					return // the admin looks at it first
				}
				w.Commit = c.Commit
				p = b.prepare(w, "turn-2")
				if b.sh(p.Dir, nil, "git", "rev-parse", "HEAD") != w.Commit || b.sh(p.Dir, nil, "git", "status", "--porcelain") != "" {
					t.Error("the next turn does not begin clean")
				}
				if got := b.read(filepath.Dir(diary), "diary"); got != "dear diary\n" {
					t.Errorf("the file behind the link holds %q", got)
				}
			})
		}
	}
}

// A pipe in the place of a reflog keeps nobody waiting, and a move that it does not tell of is the turn's.
func TestLink_reflog(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	log := filepath.Join(b.repo, ".git", "logs", "refs", "heads", "main")
	moved := b.sh(b.repo, person, "git", "commit-tree", "-p", "main", "-m", "x", "main^{tree}")
	if err := errors.Join(os.Remove(log), syscall.Mkfifo(log, 0o644)); err != nil {
		t.Fatal(err)
	}
	b.write(b.repo, ".git/refs/heads/main", moved+"\n")
	b.write(p.Dir, "mine.txt", "x\n")
	c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete})
	if wantFindings(t, c, map[string]amp.Finding{"refs": amp.Refuted}); c.Escalate != amp.BranchViolation {
		t.Errorf("escalates %q: %s", c.Escalate, found(c, "refs"))
	}
}

package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// object writes an object as it stands, whatever git thinks of it.
func (b *bench) object(kind, raw string) string {
	b.t.Helper()
	name := filepath.Join(filepath.Dir(b.repo), "raw")
	if err := os.WriteFile(name, []byte(raw), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return b.sh(b.repo, nil, "git", "hash-object", "-t", kind, "-w", "--literally", name)
}

// forge puts a commit of a tree with one file of this name more on the task's branch.
func (b *bench) forge(w amp.Workspace, names ...string) string {
	b.t.Helper()
	var id, old []byte
	fmt.Sscanf(b.rev("main:main.go"), "%x", &old)
	b.write(filepath.Dir(b.repo), "evil", "evil\n")
	fmt.Sscanf(b.sh(b.repo, nil, "git", "hash-object", "-w", filepath.Join(filepath.Dir(b.repo), "evil")), "%x", &id)
	tree := ""
	for _, name := range names {
		entry := "100644 " + name
		if dir, file, ok := strings.Cut(name, "/"); ok {
			var sub []byte
			fmt.Sscanf(b.object("tree", "100644 "+file+"\x00"+string(id)), "%x", &sub)
			tree += "40000 " + dir + "\x00" + string(sub)
			continue
		}
		if name == "main.go" && tree == "" {
			tree += entry + "\x00" + string(old)
			continue
		}
		tree += entry + "\x00" + string(id)
	}
	commit := b.object("commit", fmt.Sprintf("tree %s\nparent %s\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\n\nx\n", b.object("tree", tree), b.base))
	b.sh(b.repo, nil, "git", "update-ref", "refs/heads/"+w.Branch, commit)
	return commit
}

// A commit that git cannot check out refutes its result and stands in nobody's way afterwards.
func TestForged_tree(t *testing.T) {
	t.Parallel()
	for name, names := range map[string][]string{
		"in .git":     {".git/config", "main.go"},
		"above":       {"../evil", "main.go"},
		"a file .git": {".GIT", "main.go"},
		"a path":      {".", "main.go"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.write(p.Dir, "left.txt", "x\n")
			commit := b.forge(w, names...)
			c, err := b.g.Verify(t.Context(), w, "turn-1", &amp.Result{CommitHash: commit, CompletionStatus: amp.Complete}, "")
			if err != nil || finding(c, "contents") != amp.Refuted || !c.Blocked() {
				t.Errorf("Verify: %v, %s %s", err, finding(c, "contents"), found(c, "contents"))
			}
			if list, err := b.g.Checklist(t.Context(), w); err != nil || !strings.Contains(found(list, "worktree"), "moves it aside") {
				t.Errorf("Checklist: %v, %+v", err, list)
			}
			if c := b.rollback(w, 0); !strings.Contains(c.Text, p.Dir+".aside-1") || b.read(p.Dir+".aside-1", "left.txt") != "x\n" || b.rev(recoveryPrefix(w.TaskID)+"1") != commit {
				t.Errorf("Rollback: %s", c.Text)
			}
			w, _ = b.turn(w, "turn-2", map[string]string{"y.txt": "y\n"})
			b.prepare(w, "turn-3")
			b.forge(w, names...)
			if c, err := b.g.Verify(t.Context(), w, "turn-3", nil, ""); err != nil {
				t.Errorf("a failed turn: %v %+v", err, c)
			}
			b.prepare(w, "turn-4")
			b.forge(w, names...)
			if _, err := b.g.Release(t.Context(), w); err != nil {
				t.Error(err)
			}
		})
	}
}

// A commit with a date that is none stands in nobody's way.
func TestForged_date(t *testing.T) {
	t.Parallel()
	for name, date := range map[string]string{"none": "", "late": " 99999999999999 +0000", "early": " -5 +0000", "zone": " 1 +9999", "words": " now then"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			commit := b.object("commit", fmt.Sprintf("tree %s\nparent %s\nauthor a <a@b>%s\ncommitter a <a@b>%s\n\nx\n", b.rev("main^{tree}"), b.base, date, date))
			b.sh(b.repo, nil, "git", "update-ref", "refs/heads/"+w.Branch, commit)
			b.write(p.Dir, "left.txt", "x\n")
			if _, err := b.g.Verify(t.Context(), w, "turn-1", nil, ""); err != nil {
				t.Fatal(err)
			}
			b.wantRecovered(w.TaskID, "left.txt")
			b.prepare(w, "turn-2")
		})
	}
}

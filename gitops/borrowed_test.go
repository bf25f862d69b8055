package gitops

import (
	"strings"
	"testing"

	"arbiter/amp"
)

// A branch that takes in another task's commits, with their changes or without, would make that task look delivered.
func TestVerify_borrowed(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"without its changes": "git merge -q -s ours -m x feature/t-2026-002",
		"with its changes":    "git merge -q -m x feature/t-2026-002",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			other, _ := b.turn(b.space("T-2026-002"), "turn-1", map[string]string{"other.txt": "1\n"})
			w, _ := b.turn(b.space("T-2026-001"), "turn-2", map[string]string{"mine.txt": "1\n"})
			p := b.prepare(w, "turn-3")
			b.sh(p.Dir, p.Env, "sh", "-c", script)
			c := b.verify(w, "turn-3", b.honest(p, b.sh(p.Dir, nil, "git", "rev-parse", "HEAD")))
			if wantFindings(t, c, map[string]amp.Finding{"base": amp.Refuted}); !c.Blocked() || !strings.Contains(found(c, "base"), other.Branch) {
				t.Errorf("base: %s", found(c, "base"))
			}
		})
	}
}

// A person's branch at what the turn made, before it or since, is none of its fault.
func TestVerify_borrowedByPerson(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"mine.txt": "1\n"})
	b.sh(b.repo, nil, "git", "branch", "look", w.Commit)
	b.sh(b.repo, nil, "git", "branch", "base-too", b.base)
	w, _ = b.turn(w, "turn-2", map[string]string{"more.txt": "1\n"})
	p := b.prepare(w, "turn-3")
	b.write(p.Dir, "third.txt", "1\n")
	commit := b.commit(p.Dir, p.Env, "work")
	b.sh(b.repo, person, "git", "branch", "look-again", commit)
	c := b.verify(w, "turn-3", b.honest(p, commit))
	wantFindings(t, c, map[string]amp.Finding{"base": amp.Confirmed})
	w.Commit = c.Commit
	b.sh(b.repo, person, "git", "switch", "-q", "-c", "wish")
	b.write(b.repo, "wish.txt", "x\n")
	b.commit(b.repo, person, "wish")
	p = b.prepare(w, "turn-4")
	b.sh(p.Dir, p.Env, "git", "merge", "-q", "-m", "x", "wish") // the task may be to do that
	c = b.verify(w, "turn-4", b.honest(p, b.sh(p.Dir, nil, "git", "rev-parse", "HEAD")))
	if wantFindings(t, c, map[string]amp.Finding{"base": amp.Inconclusive}); c.Blocked() || !strings.Contains(found(c, "base"), "wish") {
		t.Errorf("base: %s", found(c, "base"))
	}
}

// A repository inside the repository is not told as a submodule by a .gitmodules that does not name it.
func TestVerify_nestedBehindModules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		modules string
		want    amp.Finding
	}{
		"named":      {"[submodule \"x\"]\n\tpath = inner\n\turl = https://example.org/x\n", ""},
		"not named":  {"[submodule \"x\"]\n\tpath = lib\n\turl = https://example.org/x\n", amp.Refuted},
		"broken":     {"[[[", amp.Refuted},
		"only a url": {"[submodule \"inner\"]\n\turl = https://example.org/x\n", amp.Refuted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.sh(p.Dir, nil, "git", "init", "-q", "-b", "main", "inner")
			b.write(p.Dir, "inner/secret.txt", "x\n")
			b.commit(p.Dir+"/inner", person, "hidden")
			b.write(p.Dir, ".gitmodules", tc.modules)
			c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete})
			wantFindings(t, c, map[string]amp.Finding{"contents": tc.want})
		})
	}
}

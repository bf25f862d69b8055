package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// pair is a bench and a second machine with a clone of its own, with a bare repository between them.
type pair struct {
	*bench
	other *bench
	bare  string
}

func newPair(t *testing.T) *pair {
	t.Helper()
	b := newBench(t)
	top := filepath.Dir(b.repo)
	p := &pair{bench: b, bare: filepath.Join(top, "origin.git")}
	b.sh(top, nil, "git", "clone", "-q", "--bare", b.repo, p.bare)
	b.sh(b.repo, nil, "git", "remote", "add", "origin", p.bare)
	clone := filepath.Join(top, "other", "a repo")
	b.sh(top, nil, "git", "clone", "-q", p.bare, clone)
	p.other = &bench{t: t, repo: clone, base: b.base}
	for who, home := range map[*bench]string{p.bench: b.g.home, p.other: filepath.Join(top, "home2")} {
		g, err := New(Options{Home: home, Remote: "origin", Places: map[string]string{"a repo": who.repo}})
		if err != nil {
			t.Fatal(err)
		}
		who.g = g
	}
	return p
}

// there are the refs of a task at the remote.
func (p *pair) there(task amp.TaskID) []string {
	return strings.Fields(p.sh(p.bare, nil, "git", "for-each-ref", "--format=%(refname)", passPrefix(task)))
}

func (p *pair) pass(w amp.Workspace, epoch uint64) {
	p.t.Helper()
	if err := p.g.Pass(p.t.Context(), w, epoch); err != nil {
		p.t.Fatalf("Pass: %v", err)
	}
}

// take receives and adopts a task on the second machine.
func (p *pair) take(w amp.Workspace) {
	p.t.Helper()
	if err := p.other.g.Receive(p.t.Context(), w); err != nil {
		p.t.Fatalf("Receive: %v", err)
	}
	if err := p.other.g.Adopt(p.t.Context(), w, true); err != nil {
		p.t.Fatalf("Adopt: %v", err)
	}
}

// A task goes over and back: commits and checkpoints are those that were recorded, branches and people see nothing of it.
func TestPass_thereAndBack(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w := p.space("T-2026-001")
	heads := p.sh(p.bare, nil, "git", "for-each-ref", "refs/heads", "refs/tags")
	w, _ = p.turn(w, "turn-1", map[string]string{"a.txt": "1\n"})
	first := w.Commit
	w, _ = p.turn(w, "turn-2", map[string]string{"a.txt": "2\n"})
	p.pass(w, 3)
	if got := p.there(w.TaskID); len(got) != 3 {
		t.Errorf("at the remote: %v, want the commit and two checkpoints", got)
	}
	if now := p.sh(p.bare, nil, "git", "for-each-ref", "refs/heads", "refs/tags"); now != heads {
		t.Errorf("branches and tags of the remote were %s and are %s", heads, now)
	}
	p.take(w)
	o := p.other
	if o.rev(w.Branch) != w.Commit || o.rev("refs/arbiter/checkpoints/T-2026-001/2") != first {
		t.Fatalf("branch at %s, checkpoint 2 at %s; want %s and %s", o.rev(w.Branch), o.rev("refs/arbiter/checkpoints/T-2026-001/2"), w.Commit, first)
	}
	w, _ = o.turn(w, "turn-3", map[string]string{"a.txt": "3\n"})
	back, err := o.g.Rollback(t.Context(), w, 2)
	if err != nil || back.Commit != first {
		t.Fatalf("Rollback = %+v, %v", back, err)
	}
	w.Commit = back.Commit
	w, _ = o.turn(w, "turn-4", map[string]string{"b.txt": "4\n"})
	if err := o.g.Pass(t.Context(), w, 4); err != nil {
		t.Fatal(err)
	}
	if err := p.g.Receive(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if err := p.g.Adopt(t.Context(), w, true); err != nil {
		t.Fatal(err)
	}
	if p.rev(w.Branch) != w.Commit || p.sh(p.g.taskTree(mustOpen(t, p.g, p.repo), w.TaskID).dir, nil, "git", "status", "--porcelain") != "" {
		t.Errorf("the branch came back at %s, want %s, and its worktree with it", p.rev(w.Branch), w.Commit)
	}
	if n := p.sh(p.repo, nil, "git", "for-each-ref", "refs/arbiter/received"); n != "" {
		t.Errorf("received refs stay: %s", n)
	}
	p.turn(w, "turn-5", map[string]string{"c.txt": "5\n"})
}

func mustOpen(t *testing.T, g *Git, path string) *repo {
	t.Helper()
	r, err := g.open(path)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A machine that lost its lease passes on what nobody asked for: the other one takes the commit of the journal, and what the first one
// had done is pinned when it takes the task again.
func TestPass_stale(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	p.pass(w, 3)
	p.take(w)
	stale, _ := p.turn(w, "turn-2", map[string]string{"a.txt": "stale\n"})
	p.pass(stale, 3)
	next, _ := p.other.turn(w, "turn-3", map[string]string{"a.txt": "2\n"})
	if err := p.other.g.Receive(t.Context(), stale); err != nil { // it can be had; whether it counts is the journal's word
		t.Fatal(err)
	}
	if p.other.rev(next.Branch) != next.Commit {
		t.Errorf("the branch moved to %s, want %s", p.other.rev(next.Branch), next.Commit)
	}
	if err := p.other.g.Pass(t.Context(), next, 4); err != nil {
		t.Fatal(err)
	}
	if err := p.g.Receive(t.Context(), next); err != nil {
		t.Fatal(err)
	}
	if err := p.g.Adopt(t.Context(), next, false); err != nil || p.rev(next.Branch) != stale.Commit {
		t.Fatalf("a branch that nobody else worked on was moved to %s, %v: a check has to find that", p.rev(next.Branch), err)
	}
	if err := p.g.Adopt(t.Context(), next, true); err != nil {
		t.Fatal(err)
	}
	if p.rev(next.Branch) != next.Commit {
		t.Errorf("the branch is at %s, want %s", p.rev(next.Branch), next.Commit)
	}
	if p.rev("refs/arbiter/recovery/T-2026-001/1") != stale.Commit {
		t.Errorf("%s is not pinned", stale.Commit)
	}
}

// What cannot be had is an error that says what is missing, and nothing has changed.
func TestPass_missing(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	fails := func(what, part string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v, want %q", what, err, part)
		}
	}
	fails("not passed on", "is not at origin", p.other.g.Receive(t.Context(), w))
	fails("not here", "is not in the repository", p.other.g.Adopt(t.Context(), w, true))
	p.pass(w, 1)

	p.other.sh(p.other.repo, nil, "git", "branch", w.Branch)
	p.other.sh(p.other.repo, person, "git", "commit", "-q", "--allow-empty", "-m", "mine")
	p.other.sh(p.other.repo, nil, "git", "branch", "-f", w.Branch, "HEAD")
	mine := p.other.rev(w.Branch)
	if err := p.other.g.Receive(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	fails("a person's branch", "not this task's; rename it", p.other.g.Adopt(t.Context(), w, true))
	if p.other.rev(w.Branch) != mine {
		t.Error("a person's branch was moved")
	}
	p.other.sh(p.other.repo, nil, "git", "branch", "-f", w.Branch, p.base)
	p.other.sh(p.other.repo, nil, "git", "checkout", "-q", w.Branch)
	fails("checked out", "where a person may be at work", p.other.g.Adopt(t.Context(), w, true))

	alien := w
	alien.BaseCommit = strings.Repeat("a", 40)
	if err := p.other.g.Adopt(t.Context(), alien, true); err == nil {
		t.Error("a commit that is not built on the base was adopted")
	}

	if err := os.Rename(p.bare, p.bare+".gone"); err != nil {
		t.Fatal(err)
	}
	next, _ := p.turn(w, "turn-2", map[string]string{"a.txt": "2\n"})
	fails("remote down", "pass T-2026-001 on through origin", p.g.Pass(t.Context(), next, 1))
	fails("remote down", "get T-2026-001 from origin", p.other.g.Receive(t.Context(), next))
	if err := os.Rename(p.bare+".gone", p.bare); err != nil {
		t.Fatal(err)
	}
	p.pass(next, 1)

	p.sh(p.repo, nil, "git", "remote", "set-url", "origin", p.bare+".other")
	moved, _ := p.turn(next, "turn-2b", map[string]string{"a.txt": "moved\n"})
	fails("led elsewhere", "leads elsewhere", p.g.Pass(t.Context(), moved, 1))

	p.sh(p.repo, nil, "git", "remote", "remove", "origin")
	last, _ := p.turn(moved, "turn-3", map[string]string{"a.txt": "3\n"})
	fails("no remote", "none that is called origin", p.g.Pass(t.Context(), last, 1))
}

// A password in the address of a remote is in no error.
func TestPass_secret(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	p.sh(p.repo, nil, "git", "remote", "set-url", "origin", "http://ada:s3cret@127.0.0.1:1/shop.git")
	err := p.g.Pass(t.Context(), w, 1)
	if err == nil || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("Pass: %v, want an error without the password", err)
	}
	p.sh(p.repo, nil, "git", "remote", "set-url", "origin", "ext::sh -c touch% "+filepath.Join(t.TempDir(), "ran"))
	if err := os.Remove(mustOpen(t, p.g, p.repo).pinFile()); err != nil {
		t.Fatal(err)
	}
	if err := p.g.Pass(t.Context(), w, 1); err == nil || !strings.Contains(err.Error(), "not allowed") {
		t.Errorf("Pass: %v, want a transport that is not allowed", err)
	}
}

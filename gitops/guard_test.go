package gitops

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// TestProtected is the normalising of AMP-048 and AMP-049 as A22 decides it.
func TestProtected(t *testing.T) {
	t.Parallel()
	patterns := []string{"release/*", "refs/heads/prod", "hotfix/**"}
	for name, want := range map[string]bool{
		"main": true, "master": true, "trunk": true, // trunk is the default branch
		" main ": true, "\tmain\n": true, "main/": true, "/main": true,
		"refs/heads/main": true, "heads/main": true, "refs/heads/refs/heads/main": true, "refs/heads/heads/master": true,
		"refs/remotes/origin/main": true, "remotes/fork/main": true, "origin/main": true, "upstream/master": true,
		"refs/heads/origin/main": true, "origin/trunk": true,
		"HEAD": true, "@": true, "origin/HEAD": true, "head": true,
		"Main": true, "MASTER": true, "Trunk": true, "refs/heads/MAIN": true,
		"main^": true, "main~3": true, "main@{0}": true, "main@{upstream}": true, "main:file": true, "main^{commit}": true,
		"": true, "  ": true,
		"release/1.0": true, "release/1.0/x": false, "prod": true, "hotfix/a/b": true, "Release/2": true, "origin/release/1": true,
		"feature/x": false, "feature/main": false, "mainline": false, "main-2": false, "maintenance": false, "my/master": false,
		"masters": false, "releases/1": false, "feature/origin/main": false, "x": false, "главная": false,
	} {
		if got := Protected(name, "trunk", patterns); got != want {
			t.Errorf("Protected(%q) = %v, want %v", name, got, want)
		}
	}
	if Protected("feature/x", "refs/heads/feature/y", nil) || !Protected("feature/x", "refs/remotes/origin/feature/x", nil) {
		t.Error("the default branch is not normalised itself")
	}
}

func guardType(t *testing.T, err error) amp.EscalationType {
	t.Helper()
	e, ok := errors.AsType[*amp.GuardError](err)
	if !ok {
		t.Fatalf("error %v is no GuardError", err)
	}
	if e.Why == "" || e.Repo == "" {
		t.Errorf("guard error without words: %+v", e)
	}
	return e.Type
}

// TestInspect_AMP_046 has the repositories that cannot be worked in (A23).
func TestInspect_AMP_046(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	top := filepath.Dir(b.repo)
	b.sh(top, nil, "git", "init", "-q", "--bare", "bare.git")
	b.sh(top, nil, "git", "init", "-q", "-b", "main", "unborn")
	b.write(top, "plain/file", "x")
	b.write(top, "fake/.git", "gitdir: /nowhere\n")
	b.write(top, "empty/.git/x", "")
	b.write(top, "file", "x")
	for name, says := range map[string]string{
		"bare.git": "bare", "unborn": "no commits", "plain": "no git repository", "fake": ".git", "empty": ".git", "missing": "does not exist",
		"file": ".git", "a repo/docs": "no git repository",
	} {
		_, err := b.g.Inspect(t.Context(), filepath.Join(top, name), "feature/x")
		if guardType(t, err) != amp.UnknownEscalation || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want unknown with %q", name, err, says)
		}
		_, err = b.g.Prepare(t.Context(), amp.Workspace{
			TaskID: "T-2026-001", Repo: filepath.Join(top, name), Branch: "feature/x", BaseBranch: "main", BaseCommit: b.base,
		}, "turn-1")
		if guardType(t, err) != amp.UnknownEscalation {
			t.Errorf("Prepare(%s): %v", name, err)
		}
	}
	if _, err := b.g.Inspect(t.Context(), "a repo", ""); guardType(t, err) != amp.UnknownEscalation {
		t.Errorf("relative path (AMP-045): %v", err)
	}
}

// TestInspect_AMP_048_AMP_049 has every way to name a protected branch of a real repository, at inspection and at preparation.
func TestInspect_AMP_048_AMP_049(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sh(b.repo, nil, "git", "branch", "develop")
	b.sh(b.repo, nil, "git", "remote", "add", "fork", "/nowhere")
	b.sh(b.repo, nil, "git", "symbolic-ref", "refs/heads/feature/alias", "refs/heads/main")
	b.sh(b.repo, nil, "git", "symbolic-ref", "refs/heads/feature/loop", "refs/heads/feature/loop2")
	b.sh(b.repo, nil, "git", "symbolic-ref", "refs/heads/feature/loop2", "refs/heads/feature/loop")
	b.g.protected = []string{"release/**"}
	for branch, want := range map[string]amp.EscalationType{
		"main": amp.BranchViolation, "master": amp.BranchViolation, "refs/heads/main": amp.BranchViolation, " main": amp.BranchViolation,
		"fork/main": amp.BranchViolation, "Main": amp.BranchViolation, "release/1": amp.BranchViolation, "HEAD": amp.BranchViolation,
		"feature/alias": amp.BranchViolation, "feature/loop": amp.UnknownEscalation,
		"refs/heads/feature/x": amp.UnknownEscalation, "feature/x ": amp.UnknownEscalation, "feature..x": amp.UnknownEscalation,
		"-x": amp.UnknownEscalation, "feature/x.lock": amp.UnknownEscalation, "feature x": amp.UnknownEscalation,
	} {
		if _, err := b.g.Inspect(t.Context(), b.repo, branch); guardType(t, err) != want {
			t.Errorf("Inspect(%q): %v, want %s", branch, err, want)
		}
		w := b.space("T-2026-001")
		w.Branch = branch
		if _, err := b.g.Prepare(t.Context(), w, "turn-1"); guardType(t, err) != want {
			t.Errorf("Prepare(%q): %v, want %s", branch, err, want)
		}
	}
	if facts, err := b.g.Inspect(t.Context(), b.repo, "develop"); err != nil || !facts.BranchExists || facts.BranchCommit != b.base {
		t.Errorf("develop: %+v, %v", facts, err)
	}
	if b.rev("main") != b.base {
		t.Error("main moved")
	}
}

// TestInspect_facts: a detached HEAD, changed files and where the default branch comes from are facts.
func TestInspect_facts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write(b.repo, "main.go", "changed")
	b.sh(b.repo, nil, "git", "checkout", "-q", "--detach")
	f, err := b.g.Inspect(t.Context(), b.repo, "")
	if err != nil || !f.Detached || !f.Dirty || f.DefaultBranch != "main" || f.Head != b.base {
		t.Errorf("facts = %+v, %v", f, err)
	}
	b.sh(b.repo, nil, "git", "checkout", "-q", "-f", "-b", "trunk", "main")
	b.sh(b.repo, nil, "git", "branch", "-D", "main")
	if f, err = b.g.Inspect(t.Context(), b.repo, ""); err != nil || f.DefaultBranch != "trunk" || f.Detached || f.Dirty {
		t.Errorf("current branch as default: %+v, %v", f, err)
	}
	b.sh(b.repo, nil, "git", "branch", "stable")
	b.sh(b.repo, nil, "git", "config", "init.defaultBranch", "stable")
	b.again() // init.defaultBranch is read once
	if f, err = b.g.Inspect(t.Context(), b.repo, ""); err != nil || f.DefaultBranch != "stable" {
		t.Errorf("init.defaultBranch: %+v, %v", f, err)
	}
	b.sh(b.repo, nil, "git", "update-ref", "refs/remotes/origin/prod", b.base)
	b.sh(b.repo, nil, "git", "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/prod")
	if f, err = b.g.Inspect(t.Context(), b.repo, ""); err != nil || f.DefaultBranch != "prod" || f.Head != b.base {
		t.Errorf("origin/HEAD: %+v, %v", f, err)
	}
	if _, err := b.g.Inspect(t.Context(), b.repo, "prod"); guardType(t, err) != amp.BranchViolation {
		t.Errorf("the remote's default branch is not protected: %v", err)
	}
	b.sh(b.repo, nil, "git", "symbolic-ref", "-d", "refs/remotes/origin/HEAD")
	b.sh(b.repo, nil, "git", "config", "--unset", "init.defaultBranch")
	b.sh(b.repo, nil, "git", "checkout", "-q", "--detach")
	b.again()
	if _, err = b.g.Inspect(t.Context(), b.repo, ""); guardType(t, err) != amp.UnknownEscalation || !strings.Contains(err.Error(), "detached") {
		t.Errorf("no default branch: %v", err)
	}
}

// TestInspect_linked: the repository may be named by one of its linked worktrees, by a symbolic link, or with strange characters.
func TestInspect_linked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	top := filepath.Dir(b.repo)
	linked := filepath.Join(top, "lin\nked ü")
	b.sh(b.repo, nil, "git", "worktree", "add", "-q", "-b", "side", linked)
	link := filepath.Join(top, "link")
	if err := os.Symlink(b.repo, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{linked, link} {
		w := b.space("T-2026-00" + map[bool]string{true: "1", false: "2"}[path == link])
		w.Repo = path
		if f, err := b.g.Inspect(t.Context(), path, w.Branch); err != nil || f.Head != b.base || f.Dirty {
			t.Errorf("Inspect(%q) = %+v, %v", path, f, err)
		}
		w, _ = b.turn(w, "turn-"+string(w.TaskID), map[string]string{"x": "1\n"})
		if got := b.rev(w.Branch); got != w.Commit {
			t.Errorf("branch of %s at %s, want %s", path, got, w.Commit)
		}
	}
	if len(b.g.repos) != 1 {
		t.Errorf("%d repositories are open, want 1 for all paths", len(b.g.repos))
	}
}

// A branch that git could not make beside another one is refused before work starts.
func TestGuard_inTheWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sh(b.repo, nil, "git", "branch", "feature")
	b.sh(b.repo, nil, "git", "branch", "fix/a/b")
	for branch, other := range map[string]string{"feature/x": "feature", "fix/a": "fix/a/b", "fix": "fix/a/b", "fix/a/c": "", "features": "", "fix/a/b": ""} {
		_, err := b.g.Inspect(t.Context(), b.repo, branch)
		if refused := err != nil && strings.Contains(err.Error(), "there is a branch "+other+","); refused != (other != "") || err != nil && other == "" {
			t.Errorf("%s: %v, want %q in the way", branch, err, other)
		}
	}
}

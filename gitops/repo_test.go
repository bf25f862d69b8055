package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/scratch"
)

// TestReaders: go-git and git give the same answers.
func TestReaders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sh(b.repo, nil, "git", "branch", "feature/x")
	b.sh(b.repo, nil, "git", "symbolic-ref", "refs/heads/alias", "refs/heads/feature/x")
	b.sh(b.repo, nil, "git", "symbolic-ref", "refs/heads/dangling", "refs/heads/none")
	b.sh(b.repo, person, "git", "tag", "-a", "-m", "x", "v1")
	r, err := b.g.open(b.repo)
	if err != nil {
		t.Fatal(err)
	}
	store := r.store
	for _, packed := range []bool{false, true} {
		if packed { // and packs that came after the repository was opened
			b.sh(b.repo, nil, "git", "pack-refs", "--all")
			b.sh(b.repo, nil, "git", "gc", "-q")
		}
		for _, name := range []string{"go-git", "git"} {
			if r.store = store; name == "git" {
				r.store = nil
			}
			for ref, want := range map[string]string{
				"refs/heads/main": b.base, "refs/heads/feature/x": b.base, "refs/heads/alias": b.base, "HEAD": b.base, "refs/heads/dangling": "",
				"refs/heads/feature": "", "refs/heads/none": "", "refs/heads/bad..name": "", "refs/heads/main.lock": "",
			} {
				if got, err := r.tip(t.Context(), ref); err != nil || got != want {
					t.Errorf("%s: tip(%s) = %q, %v, want %q", name, ref, got, err, want)
				}
			}
			for ref, want := range map[string]string{
				"HEAD": "refs/heads/main", "refs/heads/main": "", "refs/heads/alias": "refs/heads/feature/x", "refs/heads/none": "",
				"refs/remotes/origin/HEAD": "",
			} {
				if got, err := r.symbolic(t.Context(), ref); err != nil || got != want {
					t.Errorf("%s: symbolic(%s) = %q, %v, want %q", name, ref, got, err, want)
				}
			}
			tree := b.rev(b.base + "^{tree}")
			for hash, want := range map[string]string{b.base: b.base, b.base[:8]: b.base, strings.Repeat("1", 40): "", tree: "", "": "", "main": ""} {
				if got, err := r.commit(t.Context(), hash); err != nil || got != want {
					t.Errorf("%s: commit(%s) = %q, %v, want %q", name, hash, got, err, want)
				}
			}
		}
	}
}

// TestLoop_sha256: a repository in a format that go-git cannot read works with git alone.
func TestLoop_sha256(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.repo = filepath.Join(filepath.Dir(b.repo), "sha256")
	b.sh(filepath.Dir(b.repo), nil, "git", "init", "-q", "-b", "main", "--object-format=sha256", "sha256")
	b.write(b.repo, "lib.go", "package lib\n")
	b.base = b.commit(b.repo, person, "first")
	w, c := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"main.go": "package main\n"})
	if len(c.Commit) != 64 || finding(c, "refs") != amp.Confirmed {
		t.Errorf("check = %+v", c)
	}
	if ci, err := b.g.RunCI(t.Context(), w, [][]string{{"true"}}, time.Minute); err != nil || ci.CI["local"] != "passed" {
		t.Errorf("RunCI = %+v, %v", ci, err)
	}
	p := b.review(w, "turn-2")
	b.write(p.Dir, "main.go", "package main \n")
	v := &amp.Verdict{Decision: amp.ApprovedWithFix, DirectFixes: []amp.DirectFix{{File: "main.go", ChangeType: amp.Whitespace, DiffLines: 1}}}
	done, err := b.g.CloseReview(t.Context(), w, "turn-2", v)
	if err != nil || done.Blocked() {
		t.Fatalf("CloseReview = %+v, %v", done, err)
	}
	w.Commit = done.Fix
	if c, err := b.g.Fix(t.Context(), w); err != nil || c.Blocked() || b.rev(w.Branch) != done.Fix {
		t.Fatalf("Fix = %+v, %v", c, err)
	}
	if c := b.deliver(w, amp.Delivery{Merge: true, Title: "x"}); c.Blocked() || b.rev("main^2") != w.Commit {
		t.Errorf("Deliver = %+v", c)
	}
	if c := b.rollback(w, 1); c.Commit != b.base {
		t.Errorf("Rollback = %+v", c)
	}
}

// TestRun_environment: our own git never takes a repository, an identity or a secret from the environment.
func TestRun_environment(t *testing.T) { // not parallel: it sets variables
	for name, value := range map[string]string{
		"GIT_DIR": "/elsewhere", "GIT_WORK_TREE": "/elsewhere", "GIT_INDEX_FILE": "/elsewhere", "GIT_CONFIG_COUNT": "1",
		"GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "/elsewhere", "GIT_AUTHOR_NAME": "Mallory", "GITHUB_TOKEN": "s3cret", "LC_ALL": "de_DE",
	} {
		t.Setenv(name, value)
	}
	b := newBench(t)
	env := strings.Join(b.g.callEnv(call{}), "\n")
	for _, bad := range []string{"elsewhere", "Mallory", "s3cret", "de_DE"} {
		if strings.Contains(env, bad) {
			t.Errorf("%s is in the environment of our git:\n%s", bad, env)
		}
	}
	if _, err := b.g.Inspect(t.Context(), b.repo, "feature/x"); err != nil {
		t.Error(err)
	}
}

// TestRun_timeout: a git that hangs is stopped, and the error says so.
func TestRun_timeout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.g.timeout = 100 * time.Millisecond
	b.g.program = filepath.Join(b.g.home, "git")
	if err := writeProgram(b.g.program, "#!/bin/sh\nsleep 60\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.g.run(t.Context(), call{}, "status"); err == nil || !strings.Contains(err.Error(), "git status was stopped: it took longer than the time limit (100ms)") {
		t.Errorf("error = %v", err)
	}
}

// TestRemoveAll: folders that a tool made read-only go too.
func TestRemoveAll(t *testing.T) {
	t.Parallel()
	top := filepath.Join(t.TempDir(), "top")
	if err := os.MkdirAll(filepath.Join(top, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "a", "."} {
		if err := os.Chmod(filepath.Join(top, dir), 0o500); err != nil {
			t.Fatal(err)
		}
	}
	makeWritable(top)
	if info, err := os.Stat(filepath.Join(top, "a", "b")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
	if err := removeAll(top); err != nil || exists(top) {
		t.Errorf("removeAll: %v", err)
	}
}

// TestRun_hooks: no hook of the repository runs by our hand, and no file system monitor.
func TestRun_hooks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ran := filepath.Join(filepath.Dir(b.repo), "ran")
	for _, hook := range []string{"reference-transaction", "post-checkout", "pre-commit", "post-merge", "post-index-change", "pre-merge-commit", "commit-msg"} {
		b.write(b.repo, ".git/hooks/"+hook, "#!/bin/sh\necho "+hook+" >>'"+ran+"'\n")
		if err := os.Chmod(filepath.Join(b.repo, ".git/hooks", hook), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.sh(b.repo, nil, "git", "config", "core.fsmonitor", "echo fsmonitor >>'"+ran+"'; false")
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "x", "x\n")
	w.Commit = b.verify(w, "turn-1", &amp.Result{}).Commit
	b.review(w, "turn-2")
	if _, err := b.g.CloseReview(t.Context(), w, "turn-2", &amp.Verdict{Decision: amp.Approved}); err != nil {
		t.Fatal(err)
	}
	if c := b.deliver(w, amp.Delivery{Merge: true, Title: "x"}); c.Blocked() {
		t.Fatalf("check = %+v", c)
	}
	b.rollback(w, 0)
	if exists(ran) {
		t.Errorf("ran: %s", b.read(filepath.Dir(ran), "ran"))
	}
}

// TestNewLines: what is new in a reflog is told by where it stands, and by its time once the file was rewritten.
func TestNewLines(t *testing.T) {
	t.Parallel()
	common := t.TempDir()
	line := func(n int, sec int64, who string) string {
		return fmt.Sprintf("%040d %040d %s <%s@example.org> %d +0000\tcommit: %d\n", n, n+1, who, who, sec, n)
	}
	old, young := line(1, 1000, "ada"), line(2, 1000, "bob")
	write := func(text string) {
		if err := os.MkdirAll(filepath.Join(common, "logs", "refs", "heads"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(common, "logs", "refs", "heads", "x"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		text string
		from int
		want string
	}{
		"the same second":         {old + young, len(old), "bob@example.org"},
		"nothing new":             {old + young, len(old + young), ""},
		"a new file":              {old, 0, "ada@example.org"},
		"shorter: by time":        {young + line(3, 999, "eve"), 4096, "bob@example.org"},
		"not a line end: by time": {line(1, 900, "ada") + line(2, 1001, "bob"), 50, "bob@example.org"},
		"names with brackets":     {strings.ReplaceAll(young, "bob <", "b > <o> <"), 0, "bob@example.org"},
		"damaged lines":           {"nonsense\n\n" + young + "0 1 <\n", 0, "bob@example.org"},
	} {
		write(tc.text)
		lines, err := newLines(common, "refs/heads/x", int64(tc.from), time.Unix(1000, 500))
		var got strings.Builder
		for _, l := range lines {
			got.WriteString(l.email)
		}
		if err != nil || got.String() != tc.want {
			t.Errorf("%s: %q, %v, want %q", name, got.String(), err, tc.want)
		}
	}
}

// What a killed process left of its temporary folders goes, what one may still use stays.
func TestNew_sweeps(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"apart-1/refs", "index-1/x", "other-1/x"} {
		if err := os.MkdirAll(filepath.Join(b.g.home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	used, remove, err := scratch.Make(b.g.home, "apart")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = remove() })
	b.again()
	for name, stays := range map[string]bool{"apart-1": false, "index-1": false, filepath.Base(used): true, "other-1": true, "worktrees": true} {
		if exists(filepath.Join(b.g.home, name)) != stays {
			t.Errorf("%s is there: %v, want %v", name, !stays, stays)
		}
	}
}

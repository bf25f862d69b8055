package gitops

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"arbiter/amp"
)

// TestMain keeps the configuration of whoever runs the tests out of them.
func TestMain(m *testing.M) {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			os.Unsetenv(name)
		}
	}
	os.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	os.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	code := m.Run()
	if dir, err := template(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// template is a folder with the repository that each test gets a copy of.
var template = sync.OnceValues(func() (string, error) {
	top, err := os.MkdirTemp("", "gitops-template-")
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		"main.go": "package main\n\nfunc main() {\n}\n", ".gitignore": "cache/\n",
		"docs/guide.md": "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n",
	} {
		if err := os.MkdirAll(filepath.Join(top, filepath.Dir(name)), 0o755); err != nil {
			return top, err
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			return top, err
		}
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"commit", "-q", "-m", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir, cmd.Env = top, append(os.Environ(), person...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return top, fmt.Errorf("git %v: %v: %s", args, err, out)
		}
	}
	return top, nil
})

// person is the identity of the admin in the tests.
var person = []string{
	"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
}

// bench is a repository with one commit on main, and a Git.
type bench struct {
	t    testing.TB
	g    *Git
	repo string
	base string
}

func newBench(t testing.TB) *bench {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, repo: filepath.Join(top, "a repo")}
	made, err := template()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(b.repo, os.DirFS(made)); err != nil {
		t.Fatal(err)
	}
	b.base = strings.TrimSpace(b.read(b.repo, ".git/refs/heads/main"))
	b.g, err = New(Options{Home: filepath.Join(top, "home"), Log: slog.New(slog.NewTextHandler(testLog{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// again is a Git after a restart: the same data directory, nothing in memory.
func (b *bench) again() {
	b.t.Helper()
	g, err := New(Options{Home: b.g.home, Protected: b.g.protected})
	if err != nil {
		b.t.Fatal(err)
	}
	b.g = g
}

type testLog struct{ t testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// try runs a program, without the identity of anyone unless env has one.
func (b *bench) try(dir string, env []string, argv ...string) (string, error) {
	b.t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (b *bench) sh(dir string, env []string, argv ...string) string {
	b.t.Helper()
	out, err := b.try(dir, env, argv...)
	if err != nil {
		b.t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return out
}

func (b *bench) write(dir, name, text string) {
	b.t.Helper()
	full := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) read(dir, name string) string {
	b.t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

func (b *bench) commit(dir string, env []string, title string) string {
	b.t.Helper()
	b.sh(dir, env, "git", "add", "-A")
	b.sh(dir, env, "git", "commit", "-q", "-m", title)
	return b.sh(dir, env, "git", "rev-parse", "HEAD")
}

// rev is what a revision names in the repository, "" for nothing.
func (b *bench) rev(rev string) string {
	b.t.Helper()
	out, err := b.try(b.repo, nil, "git", "rev-parse", "--verify", "-q", rev)
	if err != nil {
		return ""
	}
	return out
}

func (b *bench) space(id string) amp.Workspace {
	return amp.Workspace{
		TaskID: amp.TaskID(id), Repo: b.repo, Branch: "feature/" + strings.ToLower(id), BaseBranch: "main", BaseCommit: b.base,
		PlanHash: "abc123", Dispatch: "msg-1",
	}
}

func (b *bench) prepare(w amp.Workspace, turn string) amp.Prepared {
	b.t.Helper()
	p, err := b.g.Prepare(b.t.Context(), w, turn)
	if err != nil {
		b.t.Fatalf("Prepare(%s): %v", turn, err)
	}
	return p
}

func (b *bench) verify(w amp.Workspace, turn string, result *amp.Result) amp.Check {
	b.t.Helper()
	c, err := b.g.Verify(b.t.Context(), w, turn, result, "msg-2")
	if err != nil {
		b.t.Fatalf("Verify(%s): %v", turn, err)
	}
	return c
}

// turn runs an honest turn that writes files and commits them, and returns the workspace after it.
func (b *bench) turn(w amp.Workspace, id string, files map[string]string) (amp.Workspace, amp.Check) {
	b.t.Helper()
	p := b.prepare(w, id)
	for name, text := range files {
		b.write(p.Dir, name, text)
	}
	commit := b.commit(p.Dir, p.Env, "work")
	c := b.verify(w, id, b.honest(p, commit))
	if c.Commit != commit || c.Blocked() || c.Escalate != "" {
		b.t.Fatalf("honest turn %s: %+v", id, c)
	}
	w.Commit = c.Commit
	return w, c
}

// honest is a result that says what git says.
func (b *bench) honest(p amp.Prepared, commit string) *amp.Result {
	b.t.Helper()
	r := &amp.Result{CompletionStatus: amp.Complete, CommitHash: commit}
	to := commit
	if to == "" {
		to = "HEAD"
	}
	for line := range strings.Lines(b.sh(p.Dir, nil, "git", "diff", "--numstat", "--no-renames", p.Tip, to)) {
		f := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		r.DiffSummary.FilesChanged = append(r.DiffSummary.FilesChanged, f[2])
		var n int
		for i, s := range f[:2] {
			n = 0
			for _, d := range s {
				n = n*10 + int(d-'0')
			}
			if i == 0 {
				r.DiffSummary.LinesAdded += n
			} else {
				r.DiffSummary.LinesRemoved += n
			}
		}
	}
	return r
}

// finding is the finding of a claim, "" when there is no such claim.
func finding(c amp.Check, name string) amp.Finding {
	i := slices.IndexFunc(c.Claims, func(cl amp.Claim) bool { return cl.Name == name })
	if i < 0 {
		return ""
	}
	return c.Claims[i].Finding
}

func found(c amp.Check, name string) string {
	i := slices.IndexFunc(c.Claims, func(cl amp.Claim) bool { return cl.Name == name })
	if i < 0 {
		return ""
	}
	return c.Claims[i].Found
}

// wantFindings compares the findings of the named claims.
func wantFindings(t testing.TB, c amp.Check, want map[string]amp.Finding) {
	t.Helper()
	for name, f := range want {
		if got := finding(c, name); got != f {
			t.Errorf("claim %s = %q (%s), want %q", name, got, found(c, name), f)
		}
	}
	if t.Failed() {
		for _, cl := range c.Claims {
			t.Logf("%-9s %-12s blocking=%v claimed=%q found=%q", cl.Name, cl.Finding, cl.Blocking, cl.Claimed, cl.Found)
		}
		t.Logf("escalate=%s text=%s", c.Escalate, c.Text)
	}
}

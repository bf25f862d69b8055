package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/gitops"
	"arbiter/providers"
	"arbiter/providers/api"
)

// fakeDiffer answers with a diff for all files and one for each.
type fakeDiffer struct {
	all   amp.Diff
	files map[string]string
}

func (f fakeDiffer) Diff(_ context.Context, _ amp.Workspace, _, _ string, how amp.DiffOptions) (amp.Diff, error) {
	if how.Path == "" {
		return f.all, nil
	}
	return amp.Diff{Text: f.files[how.Path]}, nil
}

func seen(t *testing.T, git differ, turn providers.Turn) []api.Part {
	t.Helper()
	parts, err := material(git)(t.Context(), turn)
	if err != nil {
		t.Fatal(err)
	}
	return parts
}

const (
	oneDiff = "diff --git a/a.go b/a.go\n@@ -1 +1 @@\n-x\n+diff --git is no start here\n+… cut: neither is this\n"
	twoDiff = "diff --git a/dir/b c.txt b/dir/b c.txt\n@@ -1 +1 @@\n-x\n+y\n"
)

func TestMaterial_files(t *testing.T) {
	t.Parallel()
	parts := seen(t, fakeDiffer{all: amp.Diff{Text: oneDiff + twoDiff}}, providers.Turn{Role: amp.Reviewer})
	want := []api.Part{{Name: "a.go", Text: oneDiff}, {Name: "dir/b c.txt", Text: twoDiff}}
	if len(parts) != 2 || parts[0] != want[0] || parts[1] != want[1] {
		t.Errorf("parts = %+v", parts)
	}
	if parts := seen(t, fakeDiffer{}, providers.Turn{Role: amp.Reviewer}); len(parts) != 1 || !strings.Contains(parts[0].Text, "Nothing differs") {
		t.Errorf("no change: %+v", parts)
	}
}

func TestMaterial_cut(t *testing.T) {
	t.Parallel()
	parts := seen(t, fakeDiffer{
		all: amp.Diff{
			Text: oneDiff + "… cut: 9 more bytes of this file are not shown; git diff shows the whole\n", MoreFiles: 3,
			Files: []amp.DiffFile{{Path: "a.go"}, {Path: "huge"}, {Path: "gone"}},
		},
		files: map[string]string{"a.go": oneDiff, "huge": twoDiff + "… cut: 7 more bytes of this file are not shown; git diff shows the whole\n"},
	}, providers.Turn{Role: amp.Reviewer})
	want := []api.Part{
		{Name: "a.go", Text: oneDiff},
		{Name: "huge", Text: twoDiff, Missing: "7 more bytes of this file are not shown; git diff shows the whole"},
		{Name: "gone", Missing: "its change cannot be shown"},
		{Name: "more files", Missing: "3 more changed files are not listed"},
	}
	if len(parts) != len(want) {
		t.Fatalf("parts = %+v", parts)
	}
	for i := range want {
		if parts[i] != want[i] {
			t.Errorf("part %d = %+v, want %+v", i, parts[i], want[i])
		}
	}
}

// TestMaterial_real: a change of more than 2 MB in a real repository is seen to its last line.
func TestMaterial_real(t *testing.T) {
	t.Parallel()
	repo, base, tip := bigChange(t)
	git, err := gitops.New(gitops.Options{Home: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	turn := providers.Turn{Role: amp.Reviewer, Work: amp.Workspace{TaskID: "T-2026-001", Repo: repo, BaseCommit: base, Commit: tip}}
	total := 0
	for _, p := range seen(t, git, turn) {
		total += len(p.Text)
		if p.Missing != "" || !strings.Contains(p.Text, "+the last line of "+p.Name+"\n") {
			t.Errorf("%s: %d bytes, missing %q", p.Name, len(p.Text), p.Missing)
		}
	}
	if total < 3<<20 {
		t.Errorf("%d bytes are seen", total)
	}
}

func bigChange(t *testing.T) (repo, base, tip string) {
	t.Helper()
	repo = t.TempDir()
	gitIn(t, repo, "init", "-q", "-b", "main")
	gitIn(t, repo, "commit", "-q", "--allow-empty", "-m", "base")
	base = gitIn(t, repo, "rev-parse", "HEAD")
	for _, name := range []string{"one", "two", "three"} {
		text := strings.Repeat("a line of a large file\n", 50_000) + "the last line of " + name + "\n"
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-q", "-m", "much")
	return repo, base, gitIn(t, repo, "rev-parse", "HEAD")
}

func TestMaterial_look(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "README.md")
	for name, text := range map[string]string{
		outside: "a secret of somebody else", filepath.Join(dir, "README.md"): "What it is.\n" + strings.Repeat("x", 2*maxHead),
		filepath.Join(dir, ".git"): "gitdir: elsewhere", filepath.Join(dir, "src", "main.go"): "package main", filepath.Join(dir, "go.mod"): "module m\x00",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(dir, "CONTRIBUTING.md")); err != nil {
		t.Fatal(err)
	}
	parts := seen(t, nil, providers.Turn{Role: amp.Coordinator, Dir: dir})
	if len(parts) != 2 || parts[1].Text != "CONTRIBUTING.md\nREADME.md\ngo.mod\nsrc/main.go\n" ||
		!strings.HasPrefix(parts[0].Text, "What it is.") || len(parts[0].Text) > maxHead+10 {
		t.Errorf("parts = %+.200v", parts)
	}
}

// gitIn runs git in a folder without anybody's configuration, and returns what it prints.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	c.Dir = dir
	c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

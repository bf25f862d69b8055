package gitops

import (
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
)

// TestBlame: a line leads to its commit, and to the tasks that the commit or a merge above it names; only the work of a task holds it.
func TestBlame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.sh(b.repo, nil, "git", "checkout", "-q", "-b", "feature/x")
	b.write(b.repo, "main.go", "package main\n\nfunc main() {\n\tprintln(1)\n}\n")
	b.sh(b.repo, person, "git", "commit", "-qam", "by an agent")
	work := b.rev("HEAD")
	b.write(b.repo, "main.go", "package main\n\nfunc main() {\n\tprintln(1)\n\tprintln(2)\n}\n")
	b.sh(b.repo, person, "git", "commit", "-qam", "named\n\nTask: T-2026-009\nTask: T-2026-007\n")
	tip := b.rev("HEAD")
	b.sh(b.repo, nil, "git", "checkout", "-q", "main")
	b.sh(b.repo, person, "git", "merge", "-q", "--no-ff", "-m", "deliver\n\nTask: T-2026-007", "feature/x")
	b.write(b.repo, "main.go", b.read(b.repo, "main.go")+"// mine\n")
	for _, c := range []struct {
		line   int
		commit string
		text   string
		claims []amp.TaskID
	}{
		{1, b.base, "package main", []amp.TaskID{"T-2026-007"}},
		{4, work, "\tprintln(1)", []amp.TaskID{"T-2026-007"}},
		{5, tip, "\tprintln(2)", []amp.TaskID{"T-2026-009", "T-2026-007"}},
		{7, "", "// mine", nil},
	} {
		got, err := b.g.Blame(t.Context(), b.repo, "main.go", c.line)
		if err != nil || got.Commit != c.commit || got.Text != c.text || !slices.Equal(got.Claims, c.claims) {
			t.Errorf("Blame(%d) = %+v, %v", c.line, got, err)
		}
	}
	for _, c := range []struct {
		commit, base, tip string
		want              bool
	}{
		{work, b.base, tip, true},
		{tip, b.base, tip, true},
		{tip, b.base, work, false},
		{b.base, b.base, tip, false},
		{work, b.base, strings.Repeat("1", 40), false},
		{work, "", tip, false},
	} {
		if got, err := b.g.Within(t.Context(), b.repo, c.commit, c.base, c.tip); err != nil || got != c.want {
			t.Errorf("Within(%s, %s, %s) = %v, %v", c.commit, c.base, c.tip, got, err)
		}
	}
	for _, file := range []string{"none.go", "-main.go", "../x"} {
		if _, err := b.g.Blame(t.Context(), b.repo, file, 1); err == nil {
			t.Errorf("Blame of %s succeeded", file)
		}
	}
	if _, err := b.g.Blame(t.Context(), b.repo, "main.go", 99); err == nil {
		t.Error("Blame of a line that is not there succeeded")
	}
}

//go:build linux

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every command in docs/journal.md, in order, does what the page says; the restored journal has the head of the lost one.
func TestDocs_journal(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	home, head := bigJournal(t, 20)
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(bin, "arbiter")); err != nil {
		t.Fatal(err)
	}
	run := func(line string) (int, string) {
		c := exec.CommandContext(t.Context(), "sh", "-c", line)
		c.Dir = dir
		c.Env = append(os.Environ(), "ARBITER_TEST_SELF=1", "ARBITER_HOME="+home, "PATH="+bin+":"+os.Getenv("PATH"), "DIR=imported",
			"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
		out, err := c.CombinedOutput()
		if err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), string(out)
	}
	if code, out := run("yes x | head -20 > main.go && git init -q && git add main.go && git commit -qm first"); code != 0 {
		t.Fatal(out)
	}
	ran, heads := 0, 0
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			want := 0
			if strings.Contains(line, " why ") {
				want = 1 // of a line that no task wrote
			}
			code, out := run(strings.ReplaceAll(line, "DIR", "imported"))
			if code != want {
				t.Errorf("%sexit code %d, want %d: %s", line, code, want, out)
			}
			ran++
			heads += strings.Count(out, head.Hash.String())
		}
	}
	if ran < 11 || heads != 6 { // verify, export, verify --file, import, backup, verify of what was restored
		t.Errorf("%d commands were run, %d of them said the head", ran, heads)
	}
}

package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"arbiter/amp"
)

// TestRunCI_AMP_113 has the outcomes of check commands; a failed one means no review_request.
func TestRunCI_AMP_113(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	dir := filepath.Join(b.g.home, "worktrees", "T-2026-001")
	sh := func(s string) []string { return []string{"sh", "-c", s} }
	for name, tc := range map[string]struct {
		commands [][]string
		timeout  time.Duration
		local    string
		findings string // a letter for each command: C, R, I
		says     string
	}{
		"none":                 {nil, 0, "none", "", ""},
		"passes":               {[][]string{{"true"}, sh("test -f lib.go")}, 0, "passed", "CC", ""},
		"fails":                {[][]string{{"true"}, sh("echo why; exit 3"), {"true"}}, 0, "failed", "CRI", "why"},
		"stderr":               {[][]string{sh("echo problem >&2; false")}, 0, "failed", "R", "problem"},
		"no such program":      {[][]string{{"no-such-program-here"}}, 0, "failed", "R", ""},
		"empty command":        {[][]string{{}}, 0, "failed", "R", ""},
		"too slow":             {[][]string{sh("echo started; sleep 60")}, 50 * time.Millisecond, "failed", "R", "started"},
		"slow in background":   {[][]string{sh("sleep 60 & echo started; wait")}, 50 * time.Millisecond, "failed", "R", ""},
		"deaf to signals":      {[][]string{sh("trap '' TERM; while :; do sleep 1; done")}, 50 * time.Millisecond, "failed", "R", ""},
		"killed by a signal":   {[][]string{sh("kill -9 $$")}, 0, "failed", "R", ""},
		"daemon keeps output":  {[][]string{sh("sleep 60 & exit 0")}, 0, "passed", "C", ""},
		"much output":          {[][]string{sh("i=0; while [ $i -lt 4000 ]; do echo line $i; i=$((i+1)); done; exit 1")}, 0, "failed", "R", "line 3999"},
		"reads standard input": {[][]string{{"cat"}}, 0, "passed", "C", ""},
		"changes files":        {[][]string{sh("echo x >>lib.go; echo x >junk; mkdir -p cache; echo x >cache/x; git add junk; git stash list")}, 0, "passed", "C", ""},
	} {
		t.Run(name, func(t *testing.T) { // one after the other: they share the worktree
			c, err := b.g.RunCI(t.Context(), w, tc.commands, tc.timeout)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for _, cl := range c.Claims {
				if cl.Name != "tests" {
					t.Errorf("claim %s: %s", cl.Name, cl.Found)
				}
				got.WriteString(string(cl.Finding[:1]))
			}
			if c.Subject != amp.CheckCI || c.CI["local"] != tc.local || got.String() != tc.findings || !strings.Contains(c.Output, tc.says) || c.Text == "" {
				t.Errorf("check = %+v, findings %s", c, got.String())
			}
			if len(c.Output) > maxOutput+10 || (tc.local == "failed") != (c.Commit == w.Commit && strings.Contains(c.Text, "failed")) {
				t.Errorf("output of %d bytes, text %q", len(c.Output), c.Text)
			}
			if s := b.sh(dir, nil, "git", "status", "--porcelain"); s != "" {
				t.Errorf("worktree afterwards: %s", s)
			}
		})
	}
	if b.read(dir, "cache/x") != "x\n" {
		t.Error("ignored files do not stay")
	}
}

// TestRunCI_environment: check commands see where tools are, and no secret.
func TestRunCI_environment(t *testing.T) { // not parallel: it sets variables
	b, w := reviewed(t)
	for name, value := range map[string]string{
		"AWS_SECRET_ACCESS_KEY": "s3cret", "GITHUB_TOKEN": "s3cret", "ANTHROPIC_API_KEY": "s3cret", "SSH_AUTH_SOCK": "/s3cret", "MY_SETTING": "s3cret",
		"GOPROXY": "https://me:s3cret@proxy.example.org", "GOFLAGS": "-mod=mod", "GIT_DIR": "/s3cret",
	} {
		t.Setenv(name, value)
	}
	c, err := b.g.RunCI(t.Context(), w, [][]string{{"sh", "-c", "env; exit 1"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(c.Output, "s3cret") {
		t.Errorf("a secret is in the environment:\n%s", c.Output)
	}
	for _, want := range []string{"PATH=", "GOFLAGS=-mod=mod", "CI=true"} {
		if !strings.Contains(c.Output, want) {
			t.Errorf("environment lacks %s:\n%s", want, c.Output)
		}
	}
}

// TestRunCI_leftovers: no process of a check command is left, however it ended.
func TestRunCI_leftovers(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	pids := filepath.Join(t.TempDir(), "pids")
	for _, script := range []string{"exit 0", "sleep 60"} {
		_, err := b.g.RunCI(t.Context(), w, [][]string{{"sh", "-c", "sleep 61 >/dev/null 2>&1 & echo $! >>" + pids + "; " + script}}, 500*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.FieldsSeq(b.read(filepath.Dir(pids), "pids")) {
		pid, err := strconv.Atoi(line)
		if err != nil {
			t.Fatal(err)
		}
		if state, err := os.ReadFile("/proc/" + line + "/stat"); err == nil && strings.Contains(string(state), ") Z ") {
			continue // dead, not yet collected by its new parent
		}
		if err := syscall.Kill(pid, 0); err == nil {
			t.Errorf("process %d still runs", pid)
		}
	}
}

// TestRunCI_cancelled: when the coordinator goes down that is no result, so that the checks run again.
func TestRunCI_cancelled(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	started := filepath.Join(t.TempDir(), "started")
	if err := syscall.Mkfifo(started, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(started) // until the command has opened it
		cancel()
	}()
	if _, err := b.g.RunCI(ctx, w, [][]string{{"sh", "-c", "echo >" + started + "; sleep 60"}}, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if c, err := b.g.RunCI(t.Context(), w, [][]string{{"true"}}, 0); err != nil || c.CI["local"] != "passed" {
		t.Errorf("after that: %+v, %v", c, err)
	}
}

// TestRunCI_AMP_049: the agent's code can go for main while our checks run it.
func TestRunCI_AMP_049(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	c, err := b.g.RunCI(t.Context(), w, [][]string{{"git", "update-ref", "refs/heads/main", w.Commit}}, 0)
	if err != nil || c.Escalate != amp.BranchViolation || !c.Blocked() {
		t.Fatalf("check = %+v, %v", c, err)
	}
	back, err := b.g.Rollback(t.Context(), w, 0)
	if err != nil || b.rev("main") != b.base || !strings.Contains(back.Text, "refs/heads/main is put back") {
		t.Errorf("rollback = %+v, %v; main at %s", back, err, b.rev("main"))
	}
}

package gitops

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
)

// TestPrepare_again: a second call for the same turn returns the same and leaves the agent's work alone, also after a restart.
func TestPrepare_again(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	if p.Checkpoint != 1 || p.Tip != b.base || p.Dir != filepath.Join(b.g.home, "worktrees", "T-2026-001") {
		t.Errorf("prepared = %+v", p)
	}
	b.write(p.Dir, "x", "half done\n")
	b.again()
	q := b.prepare(w, "turn-1")
	if q.Dir != p.Dir || q.Checkpoint != p.Checkpoint || q.Tip != p.Tip || !slices.Equal(q.Env, p.Env) {
		t.Errorf("second call = %+v, want %+v", q, p)
	}
	if b.read(p.Dir, "x") != "half done\n" {
		t.Error("the agent's file is gone")
	}
	if r := b.prepare(w, "turn-2"); r.Checkpoint != 2 {
		t.Errorf("next checkpoint is %d", r.Checkpoint)
	}
	b.wantRecovered(w.TaskID, "x")
}

// TestPrepare_env: the agent's git works under the task's name, reaches no credentials, and leaves repositories of its own alone.
func TestPrepare_env(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.prepare(b.space("T-2026-001"), "turn-1")
	if got := b.sh(p.Dir, p.Env, "git", "var", "GIT_COMMITTER_IDENT"); !strings.HasPrefix(got, "arbiter executor <T-2026-001@arbiter.invalid>") {
		t.Errorf("committer is %s", got)
	}
	for key, want := range map[string]string{"credential.helper": "", "core.hooksPath": filepath.Join(b.g.home, "hooks", "turn-1"), "commit.gpgSign": "false"} {
		if got := b.sh(p.Dir, p.Env, "git", "config", key); got != want {
			t.Errorf("%s = %q, want %q", key, got, want)
		}
	}
	for _, kv := range []string{"SSH_AUTH_SOCK=", "GIT_TERMINAL_PROMPT=0", "GIT_SSH_COMMAND=false", "GIT_ASKPASS=false"} {
		if !slices.Contains(p.Env, kv) {
			t.Errorf("environment lacks %s", kv)
		}
	}
}

// TestPrepare_personsBranch: a branch with a person's work, or checked out by one, is not taken over.
func TestPrepare_personsBranch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	b.sh(b.repo, person, "git", "checkout", "-q", "-b", w.Branch)
	if _, err := b.g.Prepare(t.Context(), w, "turn-1"); guardType(t, err) != amp.UnknownEscalation || !strings.Contains(err.Error(), "checked out in "+b.repo) {
		t.Errorf("checked out: %v", err)
	}
	b.sh(b.repo, person, "git", "commit", "-q", "--allow-empty", "-m", "mine")
	b.sh(b.repo, person, "git", "checkout", "-q", "main")
	tip := b.rev(w.Branch)
	if _, err := b.g.Prepare(t.Context(), w, "turn-1"); guardType(t, err) != amp.UnknownEscalation || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("with commits: %v", err)
	}
	if b.rev(w.Branch) != tip {
		t.Error("the person's branch moved")
	}
	w.BaseCommit = tip // work that goes on from there is planned so
	if p := b.prepare(w, "turn-1"); p.Tip != tip {
		t.Errorf("tip = %s", p.Tip)
	}
}

// TestPrepare_crashed has what a crashed turn or a killed git can leave; the next turn starts from the recorded commit in every case.
func TestPrepare_crashed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		kept   string
	}{
		"dirty files":        {"echo x >lost.txt", "lost.txt"},
		"commits":            {"echo x >lost.txt && git add . && git commit -qm x", "lost.txt"},
		"staged":             {"echo x >lost.txt && git add .", "lost.txt"},
		"index lock":         {"touch \"$ADMIN/index.lock\" && echo x >lost.txt", "lost.txt"},
		"half a rebase":      {"mkdir \"$ADMIN/rebase-merge\" && touch \"$ADMIN/rebase-merge/interactive\"", ""},
		"conflict":           {"git checkout -q -b other && echo a >main.go && git commit -qam a && git checkout -q - && echo b >main.go && git commit -qam b && ! git merge -q other && echo x >lost.txt", "lost.txt"},
		"no index":           {"rm \"$ADMIN/index\"", ""},
		"folder gone":        {"rm -rf \"$PWD\"", ""},
		"metadata gone":      {"echo x >lost.txt && rm -rf \"$ADMIN\"", ""},
		"half made":          {"printf initializing >\"$ADMIN/locked\" && rm \"$ADMIN/index\"", ""},
		"in a new folder":    {"mkdir -p sub && echo x >sub/lost.txt", "sub/lost.txt"},
		"branch lock, stale": {"touch -d '11 seconds ago' \"$REPO/.git/refs/heads/feature/t-2026-001.lock\" && echo x >lost.txt && git add . && git commit -qm x || true", "lost.txt"},
		"a file as folder":   {"rm main.go && mkdir main.go && echo x >main.go/lost.txt", "main.go/lost.txt"},
		"wrong branch":       {"git checkout -q -b elsewhere && echo x >lost.txt", "lost.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"one.txt": "1\n"})
			p := b.prepare(w, "turn-2")
			admin := filepath.Join(b.repo, ".git", "worktrees", "T-2026-001")
			b.sh(p.Dir, append([]string{"REPO=" + b.repo, "ADMIN=" + admin}, person...), "sh", "-c", tc.script)
			b.again()
			p = b.prepare(w, "turn-3")
			if s := b.sh(p.Dir, nil, "git", "status", "--porcelain=v2", "--branch"); s != "# branch.oid "+w.Commit+"\n# branch.head "+w.Branch {
				t.Errorf("worktree:\n%s", s)
			}
			if b.rev(w.Branch) != w.Commit || b.read(p.Dir, "one.txt") != "1\n" {
				t.Errorf("branch at %s, want %s", b.rev(w.Branch), w.Commit)
			}
			if tc.kept != "" {
				b.wantRecovered(w.TaskID, tc.kept)
			}
			if name == "metadata gone" {
				if got := b.read(p.Dir+".aside-1", "lost.txt"); got != "x\n" {
					t.Errorf("folder moved aside has %q", got)
				}
			}
			b.write(p.Dir, "two.txt", "2\n")
			c := b.verify(w, "turn-3", b.honest(p, b.commit(p.Dir, p.Env, "two")))
			if c.Blocked() || c.Escalate != "" {
				t.Errorf("the turn after the crash: %+v", c)
			}
		})
	}
}

// TestPrepare_records: records of old turns go, those that a rollback needs stay.
func TestPrepare_records(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-0")
	b.sh(p.Dir, around(p), "sh", "-c", "git commit -q --allow-empty -m x && git update-ref refs/heads/main HEAD")
	if c := b.verify(w, "turn-0", nil); c.Escalate != amp.BranchViolation {
		t.Fatalf("check = %+v", c)
	}
	for i := range 8 {
		b.prepare(w, "turn-"+string(rune('1'+i)))
	}
	all, err := b.g.records(w.TaskID)
	if err != nil || len(all) != keptRecords+1 || all[0].Turn != "turn-0" || all[len(all)-1].Turn != "turn-8" {
		t.Errorf("%d records, %v", len(all), err)
	}
	if hooks, _ := os.ReadDir(filepath.Join(b.g.home, "hooks")); len(hooks) != 2*(keptRecords+1) {
		t.Errorf("%d entries in the hooks folder", len(hooks))
	}
}

// TestPrepare_badIDs: an id that is not plain never reaches a ref, a path or a command line.
func TestPrepare_badIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []string{"", "../x", "a b", "-x", "a..b", "x.lock", "a/b", "T\n"} {
		w := b.space("T-2026-001")
		w.TaskID = amp.TaskID(id)
		if _, err := b.g.Prepare(t.Context(), w, "turn-1"); err == nil {
			t.Errorf("task id %q is accepted", id)
		}
	}
	w := b.space("T-2026-001")
	w.BaseCommit = "HEAD"
	if _, err := b.g.Prepare(t.Context(), w, "turn-1"); err == nil {
		t.Error("base commit HEAD is accepted")
	}
	w.BaseCommit = strings.Repeat("a", 40)
	if _, err := b.g.Prepare(t.Context(), w, "turn-1"); err == nil || !strings.Contains(err.Error(), "not in the repository") {
		t.Errorf("missing base commit: %v", err)
	}
	w.BaseCommit = b.base
	if p := b.prepare(w, "../../x y"); !strings.HasPrefix(p.Dir, b.g.home) {
		t.Errorf("dir = %s", p.Dir)
	}
	if _, err := os.Stat(filepath.Join(b.g.home, "refs", "T-2026-001", "%2E.%2F..%2Fx%20y.json")); err != nil {
		t.Errorf("record of a strange turn id: %v", err)
	}
}

// TestPrepare_cancelled: a context that ends stops git, and the next call starts over.
func TestPrepare_cancelled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.g.Prepare(ctx, w, "turn-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v", err)
	}
	if p := b.prepare(w, "turn-1"); p.Checkpoint != 1 {
		t.Errorf("prepared = %+v", p)
	}
}

// TestPrepare_damagedRecord: a record that does not parse is an error that names the file, never replaced by an empty one.
func TestPrepare_damagedRecord(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	b.prepare(w, "turn-1")
	name := b.g.recordFile(w.TaskID, "turn-1")
	if err := os.WriteFile(name, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.g.Prepare(t.Context(), w, "turn-1"); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("error = %v", err)
	}
	if b.read(filepath.Dir(name), filepath.Base(name)) != "{" {
		t.Error("the damaged record was replaced")
	}
}

// TestPrepare_processes: beside the checkout, preparing a turn takes at most three runs of git.
func TestPrepare_processes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"x": "1\n"})
	log := filepath.Join(b.g.home, "calls")
	real := b.g.program
	b.g.program = filepath.Join(b.g.home, "git")
	if err := writeProgram(b.g.program, "#!/bin/sh\necho \"$*\" >>'"+log+"'\nexec '"+real+"' \"$@\"\n"); err != nil {
		t.Fatal(err)
	}
	b.prepare(w, "turn-2")
	calls := strings.Split(strings.TrimSpace(b.read(b.g.home, "calls")), "\n")
	if len(calls) > 3 {
		t.Errorf("%d runs of git:\n%s", len(calls), strings.Join(calls, "\n"))
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := New(Options{Home: "relative"}); err == nil {
		t.Error("a relative home is accepted")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Home: file}); err == nil {
		t.Error("a file as home is accepted")
	}
}

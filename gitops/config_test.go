package gitops

import (
	"bytes"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

// What an agent writes into the repository's configuration hides no line of a change from those who look at it.
func TestConfig_binary(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "evil.go", "one\ntwo\n")
	commit := b.commit(p.Dir, p.Env, "work")
	for _, kv := range [][2]string{{"core.bigFileThreshold", "1"}, {"diff.orderFile", "/none"}, {"diff.renameLimit", "1"}, {"diff.relative", "true"}} {
		b.sh(b.repo, nil, "git", "config", kv[0], kv[1])
	}
	c := b.verify(w, "turn-1", &amp.Result{CommitHash: commit, DiffSummary: amp.DiffSummary{FilesChanged: []string{"evil.go"}}})
	wantFindings(t, c, map[string]amp.Finding{"files": amp.Confirmed, "lines": amp.Refuted})
	w.Commit = c.Commit
	d, err := b.g.Diff(t.Context(), w, "", "", amp.DiffOptions{})
	if err != nil || !strings.Contains(d.Text, "+two") {
		t.Errorf("the diff hides it: %v\n%s", err, d.Text)
	}
}

// A signature makes our git run no program, whatever the configuration says.
func TestConfig_signature(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	ran := filepath.Join(filepath.Dir(b.repo), "ran")
	program := filepath.Join(filepath.Dir(b.repo), "evil")
	b.write(filepath.Dir(b.repo), "evil", "#!/bin/sh\ntouch '"+ran+"'\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	b.sh(b.repo, nil, "git", "config", "log.showSignature", "true")
	b.sh(b.repo, nil, "git", "config", "gpg.program", program)
	raw := "tree " + b.rev("main^{tree}") + "\nparent " + b.base + "\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\nx\n"
	b.write(filepath.Dir(b.repo), "raw", raw)
	commit := b.sh(b.repo, nil, "git", "hash-object", "-t", "commit", "-w", filepath.Join(filepath.Dir(b.repo), "raw"))
	b.sh(p.Dir, around(p), "git", "reset", "-q", commit)
	b.write(p.Dir, "left.txt", "x\n")
	b.verify(w, "turn-1", nil)
	if b.wantRecovered(w.TaskID, "left.txt"); exists(ran) {
		t.Error("our git ran a program of the agent")
	}
}

// A commit-graph that tells another tree of a commit than the commit does is not believed.
func TestConfig_commitGraph(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "evil.go", "x\n")
	commit := b.commit(p.Dir, p.Env, "work")
	result := b.honest(p, commit)
	b.sh(b.repo, nil, "git", "commit-graph", "write", "--reachable")
	name := filepath.Join(b.repo, ".git", "objects", "info", "commit-graph")
	graph, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tree := func(rev string) []byte {
		raw, err := hex.DecodeString(b.rev(rev + "^{tree}"))
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	forged := bytes.ReplaceAll(graph, tree(commit), tree("main"))
	if bytes.Equal(forged, graph) {
		t.Fatal("the graph holds no tree of the commit")
	}
	if err := errors.Join(os.Remove(name), os.WriteFile(name, forged, 0o644)); err != nil {
		t.Fatal(err)
	}
	if out := b.sh(b.repo, nil, "git", "diff", "--name-only", "main", commit); out != "" {
		t.Fatalf("git does not believe the forged graph: %s", out)
	}
	c := b.verify(w, "turn-1", result)
	if wantFindings(t, c, map[string]amp.Finding{"files": amp.Confirmed, "lines": amp.Confirmed}); c.Commit != commit {
		t.Errorf("check = %+v", c)
	}
}

// A configuration that makes git overlook changed files is found out before git looks with it.
func TestConfig_hiding(t *testing.T) {
	t.Parallel()
	then := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, hide := range map[string]func(b *bench, dir string){
		"times": func(b *bench, dir string) {
			b.sh(b.repo, nil, "git", "config", "core.trustctime", "false")
			b.sh(b.repo, nil, "git", "config", "core.checkStat", "minimal")
			info, err := os.Stat(filepath.Join(dir, "main.go"))
			if err != nil {
				b.t.Fatal(err)
			}
			b.write(dir, "main.go", strings.ReplaceAll(b.read(dir, "main.go"), "main()", "evil()"))
			if err := os.Chtimes(filepath.Join(dir, "main.go"), info.ModTime(), info.ModTime()); err != nil {
				b.t.Fatal(err)
			}
		},
		"excluded": func(b *bench, dir string) {
			b.write(b.repo, ".git/info/exclude", "evil_test.go\n")
			b.write(dir, "evil_test.go", "x\n")
		},
		"excludesFile": func(b *bench, dir string) {
			b.write(filepath.Dir(b.repo), "more", "evil_test.go\n")
			b.sh(b.repo, nil, "git", "config", "core.excludesFile", filepath.Join(filepath.Dir(b.repo), "more"))
			b.write(dir, "evil_test.go", "x\n")
		},
		"upper case": func(b *bench, dir string) {
			b.sh(b.repo, nil, "git", "config", "core.ignoreCase", "true")
			b.write(dir, "MAIN.go", "x\n")
		},
		"modes": func(b *bench, dir string) {
			b.sh(b.repo, nil, "git", "config", "core.fileMode", "false")
			if err := os.Chmod(filepath.Join(dir, "main.go"), 0o755); err != nil {
				b.t.Fatal(err)
			}
		},
		"sparse": func(b *bench, _ string) {
			b.sh(b.repo, nil, "git", "config", "sparse.expectFilesOutsideOfPatterns", "true")
		},
		"bare": func(b *bench, _ string) { b.sh(b.repo, nil, "git", "config", "core.bare", "true") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.space("T-2026-001")
			old := filepath.Join(b.repo, "main.go")
			if err := os.Chtimes(old, then, then); err != nil {
				t.Fatal(err)
			}
			p := b.prepare(w, "turn-1")
			b.write(p.Dir, "x.txt", "x\n")
			hide(b, p.Dir)
			c := b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete, DiffSummary: amp.DiffSummary{FilesChanged: []string{"x.txt"}, LinesAdded: 1}})
			if wantFindings(t, c, map[string]amp.Finding{"config": amp.Refuted}); !c.Blocked() || c.Escalate != amp.PermissionDenied {
				t.Errorf("check = %+v", c)
			}
		})
	}
}

// A rollback, or the end of a task, after a turn that planted a program in the configuration does not run it, and loses nothing.
func TestConfig_rollback(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(b *bench, w amp.Workspace) amp.Check{
		"rollback": func(b *bench, w amp.Workspace) amp.Check { return b.rollback(w, 0) },
		"release": func(b *bench, w amp.Workspace) amp.Check {
			c, err := b.g.Release(b.t.Context(), w)
			if err != nil {
				b.t.Fatal(err)
			}
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "a\n"})
			p := b.prepare(w, "turn-2")
			ran := filepath.Join(filepath.Dir(b.repo), "ran")
			b.sh(b.repo, nil, "git", "config", "filter.x.clean", "touch '"+ran+"'; cat")
			b.write(p.Dir, ".gitattributes", "* filter=x\n")
			b.write(p.Dir, "left.txt", "x\n")
			if c := b.verify(w, "turn-2", &amp.Result{}); c.Escalate != amp.PermissionDenied {
				t.Fatalf("check = %+v", c)
			}
			c := end(b, w)
			if exists(ran) {
				t.Error("our git ran a program of the agent")
			}
			if !strings.Contains(c.Text, p.Dir+".aside-1") || b.read(p.Dir+".aside-1", "left.txt") != "x\n" || c.Blocked() {
				t.Errorf("check = %+v", c)
			}
			if name == "rollback" && b.rev(w.Branch) != b.base {
				t.Errorf("the branch is at %s", b.rev(w.Branch))
			}
			b.sh(b.repo, nil, "git", "config", "--remove-section", "filter.x") // the admin undoes it
			w.Commit = b.rev(w.Branch)
			b.turn(w, "turn-3", map[string]string{"b.txt": "b\n"})
		})
	}
}

package github_test

import (
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"arbiter/ssot/github"
)

// hostile is a clone of a mirror of 5 entries and a task, in the hands of somebody who wants it to be believed, or more.
type hostile struct {
	*world
	dir string
	// ran is a file that a program makes when it runs.
	ran string
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	w := newWorld(t)
	w.task(1)
	w.grow(3)
	w.push(w.mirror())
	w.grow(2)
	w.push(w.mirror())
	h := &hostile{w, w.clone(), filepath.Join(t.TempDir(), "ran")}
	if r := h.report(h.dir, github.Checks{}); r.Difference != nil || r.Commits != 2 {
		t.Fatalf("before anything is done to it: %+v", r)
	}
	return h
}

func (h *hostile) in(stdin string, args ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "git", append([]string{"-C", h.dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=m", "GIT_AUTHOR_EMAIL=m@x", "GIT_COMMITTER_NAME=m", "GIT_COMMITTER_EMAIL=m@x")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		h.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out))
}

// program is a program that leaves a trace.
func (h *hostile) program() string {
	h.t.Helper()
	file := filepath.Join(h.t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\ntouch "+h.ran+"\n"), 0o700); err != nil {
		h.t.Fatal(err)
	}
	return file
}

// tree makes a tree from rows as ls-tree prints them.
func (h *hostile) tree(rows ...string) string {
	h.t.Helper()
	return h.in(strings.Join(append(rows, ""), "\n"), "mktree")
}

func (h *hostile) rows(tree string) []string {
	h.t.Helper()
	return strings.Split(h.in("", "ls-tree", tree), "\n")
}

// with is the tree with another object at a path, or without it when mode is empty.
func (h *hostile) with(tree, path, mode, id string) string {
	h.t.Helper()
	name, rest, deep := strings.Cut(path, "/")
	var rows []string
	below := ""
	if tree != "" {
		for _, r := range h.rows(tree) {
			meta, n, _ := strings.Cut(r, "\t")
			if n == name {
				below = strings.Fields(meta)[2]
				continue
			}
			if r != "" {
				rows = append(rows, r)
			}
		}
	}
	switch kind := "blob"; {
	case deep:
		rows = append(rows, "040000 tree "+h.with(below, rest, mode, id)+"\t"+name)
	case mode != "":
		if mode == "040000" {
			kind = "tree"
		}
		rows = append(rows, mode+" "+kind+" "+id+"\t"+name)
	}
	return h.tree(rows...)
}

func (h *hostile) blob(text string) string {
	h.t.Helper()
	return h.in(text, "hash-object", "-w", "--stdin")
}

func (h *hostile) commit(tree string, parents ...string) string {
	h.t.Helper()
	args := []string{"commit-tree", tree, "-m", "journal: entries"}
	for _, p := range parents {
		args = append(args, "-p", p)
	}
	return h.in("", args...)
}

func (h *hostile) head() string { return h.in("", "rev-parse", "HEAD") }

func (h *hostile) move(commit string) { h.in("", "update-ref", "refs/heads/main", commit) }

// loose is the file of an object.
func (h *hostile) loose(id string) string {
	return filepath.Join(h.dir, ".git", "objects", id[:2], id[2:])
}

// forge writes an object under a name that is not its own.
func (h *hostile) forge(id, kind string, data []byte) {
	h.t.Helper()
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	fmt.Fprintf(w, "%s %d\x00%s", kind, len(data), data)
	if err := firstErr(w.Close(), os.MkdirAll(filepath.Dir(h.loose(id)), 0o700), os.RemoveAll(h.loose(id)), os.WriteFile(h.loose(id), z.Bytes(), 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

// segment is where the first entries are.
const segment = "entries/000000/000/000000000001.jsonl"

// tampered is the tree of HEAD with other first entries.
func (h *hostile) tampered() string {
	h.t.Helper()
	return h.with("HEAD^{tree}", segment, "100644", h.blob("{}\n"))
}

// Nobody who has a clone in hand before it is compared gets a program to run, or the comparison to agree, whatever is done to it.
func TestOpen_attacks(t *testing.T) {
	t.Parallel()
	type attack struct {
		do func(h *hostile)
		// checks are what is known of the mirror besides the clone.
		checks func(h *hostile) github.Checks
		// agree says that nothing is wrong with the mirror: it is only asked that no program runs.
		agree bool
		// bare moves the repository away from its files.
		bare bool
	}
	for name, x := range map[string]attack{
		"a signature, and a program that checks signatures": {do: func(h *hostile) {
			signed := h.in("tree "+h.tampered()+"\nparent "+h.head()+"\nauthor m <m@x> 1 +0000\ncommitter m <m@x> 1 +0000\n"+
				"gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEz\n -----END PGP SIGNATURE-----\n\nsigned\n", "hash-object", "-t", "commit", "-w", "--stdin")
			h.move(signed)
			h.in("", "config", "log.showSignature", "true")
			h.in("", "config", "gpg.program", h.program())
		}},
		"a file that is fetched through a program": {do: func(h *hostile) {
			h.in("", "config", "core.repositoryFormatVersion", "1")
			h.in("", "config", "extensions.partialClone", "origin")
			h.in("", "config", "remote.origin.promisor", "true")
			h.in("", "config", "remote.origin.url", "ext::"+h.program())
			h.in("", "config", "protocol.ext.allow", "always")
			if err := os.Remove(h.loose(h.in("", "rev-parse", "HEAD~1:head.json"))); err != nil {
				h.t.Fatal(err)
			}
		}},
		"a commit-graph that leaves out a commit": {do: func(h *hostile) {
			old := h.in("", "rev-parse", "HEAD~1")
			bad := h.commit(h.tampered(), h.head())
			good := h.commit("HEAD^{tree}", bad)
			h.move(good)
			h.in("", "commit-graph", "write", "--reachable")
			h.lie(good, old)
		}},
		"a commit that was seen, with another content": {do: func(h *hostile) {
			known := h.head()
			h.move(h.in("tree "+h.in("", "rev-parse", "HEAD^{tree}")+"\nparent "+known+"\nauthor m <m@x> 1 +0000\ncommitter m <m@x> 1 +0000\n\nanew\n", "hash-object", "-t", "commit", "-w", "--stdin"))
			h.forge(known, "commit", []byte("tree "+h.tree()+"\nauthor m <m@x> 1 +0000\ncommitter m <m@x> 1 +0000\n\nnothing\n"))
		}, checks: func(h *hostile) github.Checks { return github.Checks{Known: h.repo.Head("main"), KnownSeq: 7} }},
		"entries that are not what they are called": {bare: true, do: func(h *hostile) {
			id := h.in("", "rev-parse", "HEAD~1:"+segment)
			right := h.in("", "cat-file", "blob", id) + "\n"
			wrong := h.with("HEAD^{tree}", segment, "100644", h.blob("{}\n"))
			h.forge(h.blob("{}\n"), "blob", []byte(right))
			h.move(h.commit(wrong))
		}},
		"a merge that changes entries": {do: func(h *hostile) {
			bad := h.commit(h.tampered(), h.head(), h.in("", "rev-parse", "HEAD~1"))
			h.move(h.commit("HEAD^{tree}", bad, h.head()))
		}},
		"a merge that puts entries back that another changed": {do: func(h *hostile) {
			bad := h.commit(h.tampered(), h.head())
			h.move(h.commit("HEAD^{tree}", bad, h.head()))
		}},
		"entries as a link": {bare: true, do: func(h *hostile) {
			h.move(h.commit(h.with("HEAD^{tree}", segment, "120000", h.in("", "rev-parse", "HEAD:"+segment))))
		}},
		"a head as a link": {bare: true, do: func(h *hostile) {
			h.move(h.commit(h.with("HEAD^{tree}", "head.json", "120000", h.in("", "rev-parse", "HEAD:head.json"))))
		}},
		"a commit that holds other entries than the folder": {do: func(h *hostile) {
			h.move(h.commit(h.tampered()))
		}},
		"a commit that holds another task than the folder": {do: func(h *hostile) {
			h.move(h.commit(h.with("HEAD^{tree}", "tasks/2026/000/T-2026-001.json", "100644", h.blob("{}\n")), h.head()))
		}},
		"the folder of another repository around it": {do: func(h *hostile) {
			if err := firstErr(os.Rename(filepath.Join(h.dir, ".git"), filepath.Join(filepath.Dir(h.dir), ".git")), os.Mkdir(filepath.Join(h.dir, ".git"), 0o700)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"a repository elsewhere": {do: func(h *hostile) {
			git := filepath.Join(h.dir, ".git")
			away := filepath.Join(h.t.TempDir(), "away")
			if err := firstErr(os.Rename(git, away), os.WriteFile(git, []byte("gitdir: "+away+"\n"), 0o600)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"a repository behind a link": {do: func(h *hostile) {
			git := filepath.Join(h.dir, ".git")
			away := filepath.Join(h.t.TempDir(), "away")
			if err := firstErr(os.Rename(git, away), os.Symlink(away, git)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"objects behind a link": {do: func(h *hostile) {
			objects := filepath.Join(h.dir, ".git", "objects")
			away := filepath.Join(h.t.TempDir(), "away")
			if err := firstErr(os.Rename(objects, away), os.Symlink(away, objects)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"objects of another repository": {do: func(h *hostile) {
			objects := filepath.Join(h.dir, ".git", "objects")
			away := filepath.Join(h.t.TempDir(), "away")
			if err := firstErr(os.Rename(objects, away), os.MkdirAll(filepath.Join(objects, "info"), 0o700),
				os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte(away+"\n"), 0o600)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"a pipe as an object": {do: func(h *hostile) {
			file := h.loose(h.in("", "rev-parse", "HEAD~1:head.json"))
			if err := firstErr(os.Remove(file), pipe(file)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"a configuration that is a pipe": {agree: true, do: func(h *hostile) {
			if err := pipe(h.ran + ".pipe"); err != nil {
				h.t.Fatal(err)
			}
			h.in("", "config", "include.path", h.ran+".pipe")
		}},
		"a folder that is a pipe": {do: func(h *hostile) {
			entries := filepath.Join(h.dir, "entries")
			if err := firstErr(os.RemoveAll(filepath.Join(h.dir, ".git")), os.RemoveAll(entries), pipe(entries)); err != nil {
				h.t.Fatal(err)
			}
		}},
		"folders without end": {bare: true, do: func(h *hostile) {
			tree := h.tree()
			for range 12 {
				var rows []string
				for i := range 20 {
					rows = append(rows, fmt.Sprintf("040000 tree %s\t%06d", tree, i))
				}
				tree = h.tree(rows...)
			}
			h.move(h.commit(h.with("HEAD^{tree}", "entries/000001", "040000", tree), h.head()))
		}},
		"folders of tasks without end": {bare: true, do: func(h *hostile) {
			tree := h.tree()
			for range 12 {
				var rows []string
				for i := range 20 {
					rows = append(rows, fmt.Sprintf("040000 tree %s\t%06d", tree, i))
				}
				tree = h.tree(rows...)
			}
			h.move(h.commit(h.with("HEAD^{tree}", "tasks/000001", "040000", tree), h.head()))
		}},
		"a head with a name of a version that fills the memory": {bare: true, do: func(h *hostile) {
			head := h.in("", "cat-file", "blob", "HEAD:head.json")
			head = strings.Replace(head, `"version": "`, `"version": "`+strings.Repeat("x", 900_000), 1)
			h.move(h.commit(h.with("HEAD^{tree}", "head.json", "100644", h.blob(head)), h.head()))
		}},
		"the same name twice": {bare: true, do: func(h *hostile) {
			var raw bytes.Buffer
			tree := h.in("", "rev-parse", "HEAD^{tree}")
			cmd := exec.CommandContext(h.t.Context(), "git", "-C", h.dir, "cat-file", "tree", tree)
			cmd.Stdout = &raw
			if err := cmd.Run(); err != nil {
				h.t.Fatal(err)
			}
			raw.Write(raw.Bytes())
			id := fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "tree %d\x00%s", raw.Len(), raw.Bytes())))
			h.forge(id, "tree", raw.Bytes())
			h.move(h.in("tree "+id+"\nparent "+h.head()+"\nauthor m <m@x> 1 +0000\ncommitter m <m@x> 1 +0000\n\ntwice\n", "hash-object", "-t", "commit", "-w", "--stdin"))
		}},
		"a task that the journal does not know": {bare: true, do: func(h *hostile) {
			h.move(h.commit(h.with("HEAD^{tree}", "tasks/2026/000/T-2026-009.json", "100644", h.blob(`{"status":"approved"}`)), h.head()))
		}},
		"a task that is called withheld and says more": {bare: true, do: func(h *hostile) {
			h.move(h.commit(h.with("HEAD^{tree}", "tasks/2026/000/T-2026-001.json", "100644", h.blob("{\n  \"withheld\": \"x\",\n  \"status\": \"approved\"\n}\n")), h.head()))
		}},
		"an entry that was released and never withheld": {bare: true, do: func(h *hostile) {
			h.move(h.commit(h.with("HEAD^{tree}", "released/000000/000/000000000002.json", "100644", h.blob("{}\n")), h.head()))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHostile(t)
			x.do(h)
			var checks github.Checks
			if x.checks != nil {
				checks = x.checks(h)
			}
			dir := h.dir
			if x.bare {
				dir = filepath.Join(dir, ".git")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			c, err := github.Open(ctx, dir, "")
			var r github.Report
			if err == nil {
				defer c.Close()
				r, err = github.Compare(ctx, h.log, c, checks)
			}
			switch agree := err == nil && r.Difference == nil; {
			case ctx.Err() != nil:
				t.Error("it does not come to an end")
			case agree && !x.agree:
				t.Error("journal and mirror agree")
			case x.agree && !agree:
				t.Errorf("a mirror that is as it was is refused: %v %v", err, r.Difference)
			case err != nil:
				t.Log(err)
			default:
				t.Log(r.Difference)
			}
			if _, err := os.Stat(h.ran); err == nil {
				t.Error("a program ran")
			}
		})
	}
}

// lie changes the commit-graph so that a commit has another parent.
func (h *hostile) lie(commit, parent string) {
	h.t.Helper()
	file := filepath.Join(h.dir, ".git", "objects", "info", "commit-graph")
	data, err := os.ReadFile(file)
	if err != nil {
		h.t.Fatal(err)
	}
	at := map[string]uint64{}
	for i := range int(data[6]) {
		row := data[8+12*i:]
		at[string(row[:4])] = binary.BigEndian.Uint64(row[4:])
	}
	ids, rows := data[at["OIDL"]:at["CDAT"]], data[at["CDAT"]:]
	place := func(id string) int {
		for i := range len(ids) / 20 {
			if fmt.Sprintf("%x", ids[20*i:20*i+20]) == id {
				return i
			}
		}
		h.t.Fatalf("%s is not in the commit-graph", id)
		return 0
	}
	binary.BigEndian.PutUint32(rows[36*place(commit)+20:], uint32(place(parent)))
	sum := sha1.Sum(data[:len(data)-20])
	copy(data[len(data)-20:], sum[:])
	if err := firstErr(os.Remove(file), os.WriteFile(file, data, 0o600)); err != nil {
		h.t.Fatal(err)
	}
}

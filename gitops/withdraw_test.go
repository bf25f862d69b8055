package gitops

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"arbiter/amp"
)

// hook puts a hook into the bare repository.
func (p *pair) hook(name, script string) {
	p.t.Helper()
	file := filepath.Join(p.bare, "hooks", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		p.t.Fatal(err)
	}
}

// left are the tasks of which a machine finds something, here and at the remote.
func (p *pair) left(b *bench) []amp.TaskID {
	p.t.Helper()
	ids, err := b.g.Left(p.t.Context(), []string{b.repo, b.repo, "/not/here"}, true)
	if err != nil {
		p.t.Fatalf("Left: %v", err)
	}
	slices.Sort(ids)
	return ids
}

// A push that was cut off when the remote had it already left no note of it here; it is found at the remote and removed, by either machine.
func TestWithdraw_cutOff(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	open, _ := p.turn(p.space("T-2026-002"), "turn-2", map[string]string{"b.txt": "1\n"})
	p.pass(open, 1)
	pipe := filepath.Join(p.bare, "arrived")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	arrived, err := os.OpenFile(pipe, os.O_RDWR, 0) // which waits for nobody
	if err != nil {
		t.Fatal(err)
	}
	defer arrived.Close()
	p.hook("post-receive", "echo > '"+pipe+"'; exec sleep 600")
	ctx, cut := context.WithCancel(t.Context())
	go func() {
		defer cut()
		_, _ = arrived.Read(make([]byte, 1)) // ends with the file at the latest
	}()
	if err := p.g.Pass(ctx, w, 7); err == nil {
		t.Fatal("Pass was not cut off")
	}
	if err := os.Remove(filepath.Join(p.bare, "hooks", "post-receive")); err != nil {
		t.Fatal(err)
	}
	if at := p.rev(passedRef(w.TaskID)); at != "" || len(p.there(w.TaskID)) != 2 {
		t.Fatalf("noted %q, at the remote %v; want nothing, and the commit with its checkpoint", at, p.there(w.TaskID))
	}
	if got := p.left(p.other); !slices.Equal(got, []amp.TaskID{w.TaskID, open.TaskID}) {
		t.Errorf("left of %v", got)
	}
	for range 2 {
		if err := p.other.g.Withdraw(t.Context(), []amp.Workspace{w}); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.left(p.other); !slices.Equal(got, []amp.TaskID{open.TaskID}) || len(p.there(open.TaskID)) != 2 {
		t.Errorf("left of %v, of the open task %v", got, p.there(open.TaskID))
	}
	if err := p.g.Withdraw(t.Context(), []amp.Workspace{w}); err != nil {
		t.Fatal(err)
	}
	if tree := p.g.taskTree(mustOpen(t, p.g, p.repo), w.TaskID).dir; exists(tree) || exists(p.g.recordDir(w.TaskID)) {
		t.Error("the worktree or its records stay")
	}
}

// Two machines that remove the same at the same time are in nobody's way, and what came between looking and removing stays.
func TestWithdraw_rivals(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	p.pass(w, 3)
	refs := p.there(w.TaskID)
	once := filepath.Join(p.bare, "once")
	p.hook("pre-receive", fmt.Sprintf("mkdir '%s' 2>/dev/null && git update-ref -d %s; exit 0", once, refs[0]))
	if err := p.g.Withdraw(t.Context(), []amp.Workspace{w}); err != nil {
		t.Errorf("Withdraw beside a rival: %v", err)
	}
	if !exists(once) || len(p.there(w.TaskID)) > 0 || p.rev(passedRef(w.TaskID)) != "" {
		t.Errorf("the rival came: %v; left are %v and %s", exists(once), p.there(w.TaskID), p.rev(passedRef(w.TaskID)))
	}
	p.pass(w, 3)
	point := passPrefix(w.TaskID) + "3/checkpoint-1"
	p.sh(p.bare, nil, "git", "update-ref", point, w.Commit)
	r := mustOpen(t, p.g, p.repo)
	if err := r.remove(t.Context(), p.bare, map[string]string{point: p.base}); err == nil || p.sh(p.bare, nil, "git", "rev-parse", point) != w.Commit {
		t.Errorf("a ref that had moved on was removed: %v", err)
	}
}

// A remote that keeps its refs, or is away, is an error; what is here is kept until it is over there.
func TestWithdraw_refused(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	w, _ := p.turn(p.space("T-2026-001"), "turn-1", map[string]string{"a.txt": "1\n"})
	p.pass(w, 3)
	p.hook("pre-receive", "exit 1")
	if err := p.g.Withdraw(t.Context(), []amp.Workspace{w}); err == nil || !strings.Contains(err.Error(), "from origin") {
		t.Errorf("Withdraw: %v, want that the remote refuses", err)
	}
	if p.rev(passedRef(w.TaskID)) != w.Commit {
		t.Error("the note of what was passed on is gone")
	}
	p.hook("pre-receive", "exit 0")
	if err := os.Rename(p.bare, p.bare+".gone"); err != nil {
		t.Fatal(err)
	}
	ids, err := p.g.Left(t.Context(), []string{p.repo}, true)
	if err == nil || !strings.Contains(err.Error(), "at origin") || !slices.Contains(ids, w.TaskID) {
		t.Errorf("Left = %v, %v; want what is here, and that the remote does not answer", ids, err)
	}
	if err := p.g.Withdraw(t.Context(), []amp.Workspace{w}); err == nil {
		t.Error("nothing was said of a remote that is away")
	}
	if err := os.Rename(p.bare+".gone", p.bare); err != nil {
		t.Fatal(err)
	}
	if err := p.g.Withdraw(t.Context(), []amp.Workspace{w}); err != nil || len(p.left(p.bench)) > 0 {
		t.Errorf("Withdraw: %v, left of %v", err, p.left(p.bench))
	}
}

// More refs than fit into one push are removed too.
func TestWithdraw_many(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	var in strings.Builder
	var ended []amp.Workspace
	for n := range 2*maxRemoved + 1 {
		w := p.space(fmt.Sprintf("T-2026-%03d", n+1))
		fmt.Fprintf(&in, "create %s1/%s %s\n", passPrefix(w.TaskID), p.base, p.base)
		ended = append(ended, w)
	}
	r := mustOpen(t, p.g, p.repo)
	if _, err := p.g.run(t.Context(), call{gitDir: p.bare, write: true, stdin: in.String()}, "update-ref", "--stdin"); err != nil {
		t.Fatal(err)
	}
	if got := p.left(p.bench); len(got) != len(ended) {
		t.Errorf("left of %d tasks, want %d", len(got), len(ended))
	}
	if err := p.g.Withdraw(t.Context(), ended[1:]); err != nil {
		t.Fatal(err)
	}
	if there, _, err := r.there(t.Context()); err != nil || len(there) != 1 {
		t.Errorf("at the remote %v, %v; want the refs of one task", there, err)
	}
}

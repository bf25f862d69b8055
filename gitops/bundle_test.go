package gitops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// elsewhere is another machine: a data directory and a clone of its own.
type elsewhere struct {
	*bench
	here *bench
	w    amp.Workspace // as it is there
}

func newElsewhere(b *bench, w amp.Workspace) *elsewhere {
	b.t.Helper()
	top, err := filepath.EvalSymlinks(b.t.TempDir())
	if err != nil {
		b.t.Fatal(err)
	}
	g, err := New(Options{Home: filepath.Join(top, "home")})
	if err != nil {
		b.t.Fatal(err)
	}
	e := &elsewhere{bench: &bench{t: b.t, g: g, repo: filepath.Join(top, "clone"), base: b.base}, here: b, w: w}
	e.w.Repo = e.repo
	e.fetch(w)
	return e
}

// fetch brings the commit that w starts from there, and returns the size of the bundle, 0 when none was needed.
func (e *elsewhere) fetch(w amp.Workspace) int {
	e.t.Helper()
	w.Repo = e.repo
	has, have, err := e.g.Has(e.t.Context(), e.repo, w)
	if err != nil {
		e.t.Fatal(err)
	}
	file := ""
	var sent bytes.Buffer
	if !has {
		at := w
		at.Repo = e.here.repo
		if err := e.here.g.Offer(e.t.Context(), at, have, 0, &sent); err != nil {
			e.t.Fatal(err)
		}
		file = filepath.Join(e.t.TempDir(), "offer.bundle")
		if err := os.WriteFile(file, sent.Bytes(), 0o600); err != nil {
			e.t.Fatal(err)
		}
	}
	if err := e.g.Clone(e.t.Context(), e.repo, w, file); err != nil {
		e.t.Fatal(err)
	}
	return sent.Len()
}

func (e *elsewhere) pack(turn string) (amp.Parcel, string) {
	e.t.Helper()
	file := filepath.Join(e.t.TempDir(), "result.bundle")
	p, err := e.g.Pack(e.t.Context(), e.w, turn, file)
	if err != nil {
		e.t.Fatal(err)
	}
	return p, file
}

// A turn on another machine leaves here what it left there: commits, uncommitted files, and files that it removed; the ledger is that of a turn
// that ran here. The next one is sent what is new.
func TestBundle_roundTrip(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	e := newElsewhere(b, w)
	b.prepare(w, "turn-1")
	p := e.prepare(e.w, "there-1")
	e.write(p.Dir, "main.go", "package main\n\nfunc main() { run() }\n")
	commit := e.commit(p.Dir, p.Env, "work")
	e.write(p.Dir, "run.go", "package main\n\nfunc run() {}\n")
	if err := os.Remove(filepath.Join(p.Dir, "docs", "guide.md")); err != nil {
		t.Fatal(err)
	}
	parcel, file := e.pack("there-1")
	if parcel.Tip != commit || parcel.Left == "" || parcel.Bytes == 0 || len(parcel.SHA256) != 64 {
		t.Fatalf("parcel = %+v", parcel)
	}
	if again, _ := e.pack("there-1"); again.Left != parcel.Left {
		t.Errorf("packed again: %s, want %s", again.Left, parcel.Left)
	}
	for range 2 { // the second time nothing happens
		if err := b.g.Take(t.Context(), w, "turn-1", file, parcel); err != nil {
			t.Fatal(err)
		}
	}
	here := filepath.Join(b.g.home, "worktrees", "T-2026-001")
	if got := b.sh(here, nil, "git", "status", "--porcelain"); got != "D docs/guide.md\n?? run.go" && got != " D docs/guide.md\n?? run.go" {
		t.Errorf("status here:\n%s", got)
	}
	r := &amp.Result{CompletionStatus: amp.Complete, DiffSummary: amp.DiffSummary{
		FilesChanged: []string{"main.go", "run.go", "docs/guide.md"}, LinesAdded: 4, LinesRemoved: 10,
	}}
	c := b.verify(w, "turn-1", r)
	wantFindings(t, c, map[string]amp.Finding{
		"files": amp.Confirmed, "lines": amp.Confirmed, "branch": amp.Confirmed, "base": amp.Confirmed, "refs": amp.Confirmed,
	})
	if b.rev("main") != b.base || b.rev("refs/arbiter/result") != "" || b.rev("refs/arbiter/offer") != "" {
		t.Error("another ref was touched")
	}
	if got := b.sh(b.repo, nil, "git", "show", "--stat", "--format=", c.Commit); !strings.Contains(got, "run.go") {
		t.Errorf("what was left is not committed:\n%s", got)
	}

	w.Commit = c.Commit
	all := e.fetch(b.space("T-2026-001"))
	if n := e.fetch(w); all != 0 || n == 0 || n > 1500 {
		t.Errorf("the first commit took %d bytes again, the next one %d", all, n)
	}
	e.w.Commit = c.Commit
	b.prepare(w, "turn-2")
	p = e.prepare(e.w, "there-2")
	if _, err := os.Stat(filepath.Join(p.Dir, "run.go")); err != nil {
		t.Error(err)
	}
	nothing, _ := e.pack("there-2")
	if nothing.Tip != c.Commit || nothing.SHA256 != "" {
		t.Errorf("a turn that did nothing: %+v", nothing)
	}
	if err := b.g.Take(t.Context(), w, "turn-2", "", nothing); err != nil {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(b.repo, ".git", "objects", "tmp_*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// wantRefused wants a parcel to be refused for this reason, and nothing to have changed.
func (e *elsewhere) wantRefused(w amp.Workspace, turn, file string, p amp.Parcel, why string) {
	e.t.Helper()
	before := e.here.sh(e.here.repo, nil, "git", "for-each-ref")
	packs, _ := filepath.Glob(filepath.Join(e.here.repo, ".git", "objects", "*", "*"))
	err := e.here.g.Take(e.t.Context(), w, turn, file, p)
	refused, ok := errors.AsType[*amp.ParcelError](err)
	if !ok || !strings.Contains(refused.Why, why) {
		e.t.Errorf("Take = %v, want a refusal with %q", err, why)
	}
	if after := e.here.sh(e.here.repo, nil, "git", "for-each-ref"); after != before {
		e.t.Errorf("refs moved:\n%s\nwere:\n%s", after, before)
	}
	if now, _ := filepath.Glob(filepath.Join(e.here.repo, ".git", "objects", "*", "*")); len(now) != len(packs) {
		e.t.Errorf("%s: %d files of objects, were %d", why, len(now), len(packs))
	}
	e.here.sh(e.here.repo, nil, "git", "fsck", "--strict")
}

package gitops

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"arbiter/amp"
)

// TestBundle_review has what a reviewer on another machine can leave in its worktree there: the verdict counts for as much as it would here.
func TestBundle_review_AMP_124_AMP_131(t *testing.T) {
	t.Parallel()
	typo := []amp.DirectFix{{File: "lib.go", ChangeType: amp.Typo, DiffLines: 2}}
	for name, tc := range map[string]struct {
		decision amp.Decision
		fixes    []amp.DirectFix
		script   string
		void     string
	}{
		"a fix":                {amp.ApprovedWithFix, typo, "sed -i s/Recieve/Receive/ lib.go", ""},
		"a fix, committed":     {amp.ApprovedWithFix, typo, "sed -i s/Recieve/Receive/ lib.go && git commit -qam fix", ""},
		"more than was listed": {amp.ApprovedWithFix, typo, "sed -i s/Recieve/Receive/ lib.go && echo nine >>docs/guide.md", "docs/guide.md was changed"},
		"listed, not changed":  {amp.ApprovedWithFix, typo, "true", "nothing was changed"},
		"unchanged":            {amp.Approved, nil, "true", ""},
		"approved, changed":    {amp.Approved, nil, "rm main.go && echo x >x", "only change files with approved_with_fix"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w := reviewed(t)
			e := newElsewhere(b, w)
			b.review(w, "turn-2")
			p, err := e.g.HostReview(t.Context(), e.w, "there-1")
			if err != nil {
				t.Fatal(err)
			}
			if out, err := e.try(p.Dir, p.Env, "sh", "-c", tc.script); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			parcel, file := e.pack("there-1")
			if parcel.Tip != w.Commit || (parcel.SHA256 == "") != (tc.script == "true") {
				t.Errorf("parcel = %+v", parcel)
			}
			if parcel.SHA256 == "" {
				file = ""
			}
			for range 2 {
				if err := b.g.Take(t.Context(), w, "turn-2", file, parcel); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.rev(w.Branch); got != w.Commit {
				t.Errorf("the branch moved to %s", got)
			}
			c, err := b.g.CloseReview(t.Context(), w, "turn-2", &amp.Verdict{Decision: tc.decision, DirectFixes: tc.fixes})
			if err != nil {
				t.Fatal(err)
			}
			if said := c.Text + findings(c); c.Blocked() != (tc.void != "") || !strings.Contains(said, tc.void) {
				t.Errorf("check = %+v", c)
			}
			if fixed := tc.decision == amp.ApprovedWithFix && tc.void == ""; fixed != (c.Fix != "") || b.rev(w.Branch) != w.Commit {
				t.Errorf("fixed as %q, the branch is at %s, was at %s", c.Fix, b.rev(w.Branch), w.Commit)
			}
			there, err := e.g.CloseReview(t.Context(), e.w, "there-1", nil)
			if err != nil || there.Escalate != "" || there.Blocked() {
				t.Errorf("there: %+v, %v", there, err)
			}
			if _, err := os.Stat(p.Dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the review's worktree stays there: %v", err)
			}
		})
	}
}

func findings(c amp.Check) (all string) {
	for _, cl := range c.Claims {
		all += "\n" + cl.Found
	}
	return all
}

// A reviewer's parcel is for the commit that is reviewed, and brings what it names.
func TestTake_reviewRefuses(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	e := newElsewhere(b, w)
	b.review(w, "turn-2")
	p, err := e.g.HostReview(t.Context(), e.w, "there-1")
	if err != nil {
		t.Fatal(err)
	}
	e.write(p.Dir, "x.txt", "x\n")
	good, file := e.pack("there-1")
	e.wantRefused(w, "turn-2", file, amp.Parcel{Tip: b.base, Left: good.Left, SHA256: good.SHA256}, "which is reviewed")
	e.wantRefused(w, "turn-2", "", amp.Parcel{Tip: w.Commit, Left: good.Left}, "no bundle came with it")
	e.wantRefused(w, "turn-2", file, amp.Parcel{Tip: w.Commit, Left: b.base, SHA256: good.SHA256}, "announced was")
	if got := b.sh(filepath.Join(b.g.home, "reviews", "turn-2"), nil, "git", "status", "--porcelain"); got != "" {
		t.Errorf("the review's worktree here holds\n%s", got)
	}
}

// A worker that executed the task reviews it too: the journal's commit is another than the one that it made, and its own worktree follows.
func TestHostReview_besideTheTask(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	e := newElsewhere(b, w)
	b.prepare(w, "turn-1")
	p := e.prepare(e.w, "there-1")
	e.write(p.Dir, "run.go", "package main\n")
	parcel, file := e.pack("there-1")
	if err := b.g.Take(t.Context(), w, "turn-1", file, parcel); err != nil {
		t.Fatal(err)
	}
	w.Commit = b.verify(w, "turn-1", &amp.Result{CompletionStatus: amp.Complete, DiffSummary: amp.DiffSummary{FilesChanged: []string{"run.go"}, LinesAdded: 1}}).Commit
	if w.Commit == parcel.Left {
		t.Fatal("nothing was committed here")
	}
	e.fetch(w)
	e.w.Commit = w.Commit
	r, err := e.g.HostReview(t.Context(), e.w, "there-2")
	if err != nil {
		t.Fatal(err)
	}
	if got := e.sh(r.Dir, nil, "git", "rev-parse", "HEAD", w.Branch); got != w.Commit+"\n"+w.Commit {
		t.Errorf("the review is at\n%s\nwant %s", got, w.Commit)
	}
	if got := e.sh(p.Dir, nil, "git", "status", "--porcelain"); got != "" {
		t.Errorf("the task's worktree there:\n%s", got)
	}
}

// What is offered is bounded before a byte is written; what the other side has does not count.
func TestOffer_bounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	var sent bytes.Buffer
	err := b.g.Offer(t.Context(), w, nil, 10, &sent)
	if large, ok := errors.AsType[*amp.ParcelError](err); !ok || !strings.Contains(large.Why, "10 bytes are allowed") || sent.Len() > 0 {
		t.Errorf("Offer = %v after %d bytes", err, sent.Len())
	}
	if err := b.g.Offer(t.Context(), w, []string{w.BaseCommit}, 10, &bytes.Buffer{}); err != nil && !strings.Contains(err.Error(), "larger than was thought") {
		t.Error(err) // a bundle of nothing has its header all the same
	}
	if err := b.g.Offer(t.Context(), w, nil, 1<<20, &sent); err != nil || sent.Len() == 0 {
		t.Errorf("Offer = %v after %d bytes", err, sent.Len())
	}
	if _, err := (&ration{to: &sent, left: 2}).Write([]byte("abc")); err == nil {
		t.Error("a ration has no end")
	}
}

// A clone that is on the machine already makes the first bundle small, also when it is ahead of the commit that work starts from, or elsewhere.
func TestSeed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 20 { // a history that is larger than one commit
		b.write(b.repo, "big.txt", strings.Repeat(strconv.Itoa(i)+"\n", 50)+strings.Repeat("x", 100*i))
		b.sh(b.repo, nil, "git", "add", "-A")
		b.sh(b.repo, nil, "git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-qm", "more "+strconv.Itoa(i))
	}
	b.base = b.rev("main")
	w := b.space("T-2026-001")
	var whole bytes.Buffer
	if err := b.g.Offer(t.Context(), w, nil, 0, &whole); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		at string // of the clone's main
		// least and most are what the bundle may have.
		least, most int
	}{
		"the same":  {"main", 0, 0},
		"behind":    {"main~2", 1, whole.Len() / 2},
		"elsewhere": {"", 1, whole.Len() / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := filepath.Join(t.TempDir(), "own")
			b.sh(b.repo, nil, "git", "clone", "-q", "--no-local", b.repo, own)
			if tc.at == "" {
				b.sh(own, nil, "git", "reset", "-q", "--hard", "main~3")
				b.sh(own, nil, "git", "-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "-q", "--allow-empty", "-m", "a person's own")
			} else {
				b.sh(own, nil, "git", "reset", "-q", "--hard", tc.at)
			}
			b.sh(own, nil, "git", "update-ref", "-d", "refs/remotes/origin/main")
			b.sh(own, nil, "git", "update-ref", "-d", "refs/remotes/origin/HEAD")
			b.sh(own, nil, "git", "reflog", "expire", "--expire=now", "--all")
			b.sh(own, nil, "git", "gc", "-q", "--prune=now")
			top := t.TempDir()
			g, err := New(Options{Home: filepath.Join(top, "home")})
			if err != nil {
				t.Fatal(err)
			}
			e := &elsewhere{bench: &bench{t: t, g: g, repo: filepath.Join(top, "clone"), base: b.base}, here: b, w: w}
			e.w.Repo = e.repo
			for range 2 {
				if err := g.Seed(t.Context(), e.repo, e.w, own); err != nil {
					t.Fatal(err)
				}
			}
			if n := e.fetch(w); n < tc.least || n > tc.most {
				t.Errorf("%d bytes were sent, of %d; want %d to %d", n, whole.Len(), tc.least, tc.most)
			}
			if err := os.RemoveAll(own); err != nil {
				t.Fatal(err)
			}
			e.prepare(e.w, "there-1")
			e.sh(e.repo, nil, "git", "fsck", "--strict")
		})
	}
	if err := b.g.Seed(t.Context(), filepath.Join(t.TempDir(), "x"), w, "/nowhere"); err == nil {
		t.Error("a clone that is not there is taken")
	}
}

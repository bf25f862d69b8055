package gitops

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
)

// reviewed is a bench with a verified turn.
func reviewed(t *testing.T) (*bench, amp.Workspace) {
	t.Helper()
	return newReviewed(t, newBench(t))
}

func newReviewed(t *testing.T, b *bench) (*bench, amp.Workspace) {
	t.Helper()
	w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{
		"lib.go": "package lib\n\nimport (\n\t\"os\"\n\t\"fmt\"\n)\n\n// Recieve gets.\nfunc Recieve() { fmt.Println(os.Args)  }\n", "bin": "a\x00b",
	})
	return b, w
}

func (b *bench) review(w amp.Workspace, turn string) amp.Prepared {
	b.t.Helper()
	p, err := b.g.OpenReview(b.t.Context(), w, turn)
	if err != nil {
		b.t.Fatalf("OpenReview: %v", err)
	}
	return p
}

// TestCloseReview_AMP_124_AMP_131_AMP_134 has what a reviewer can leave in its worktree, and what becomes of the verdict.
func TestCloseReview_AMP_124_AMP_131_AMP_134(t *testing.T) {
	t.Parallel()
	fix := func(file string, kind amp.ChangeType) amp.DirectFix {
		return amp.DirectFix{File: file, ChangeType: kind, DiffLines: 2}
	}
	for name, tc := range map[string]struct {
		decision amp.Decision
		fixes    []amp.DirectFix
		script   string
		// void says that the verdict must not count, says is in the reason.
		void bool
		says string
	}{
		"AMP-124 typo":                  {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Typo)}, "sed -i s/Recieve/Receive/ lib.go", false, ""},
		"AMP-132 whitespace":            {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Whitespace)}, "sed -i 's/  }/ }/' lib.go", false, ""},
		"AMP-132 import order":          {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.ImportOrder)}, `sed -i '4d;5a\	"os"' lib.go`, false, ""},
		"AMP-132 lint, ./ before it":    {amp.ApprovedWithFix, []amp.DirectFix{fix("./lib.go", amp.Lint)}, "sed -i 's/Println/Print/' lib.go", false, ""},
		"AMP-124 the reviewer commits":  {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Typo)}, "sed -i s/Recieve/Receive/ lib.go && git commit -qam fix", false, ""},
		"AMP-131 not listed":            {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Typo)}, "sed -i s/Recieve/Receive/ lib.go && echo nine >>docs/guide.md", true, "docs/guide.md was changed"},
		"AMP-131 listed, not changed":   {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Typo), fix("main.go", amp.Lint)}, "sed -i s/Recieve/Receive/ lib.go", true, "main.go is listed"},
		"AMP-131 nothing changed":       {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Typo)}, "true", true, "nothing was changed"},
		"AMP-132 code as whitespace":    {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Whitespace)}, "sed -i s/Println/Exit/ lib.go", true, "AMP-132"},
		"AMP-132 code as typo":          {amp.ApprovedWithFix, []amp.DirectFix{fix("lib.go", amp.Typo)}, "sed -i s/os.Args/nil/ lib.go", true, "AMP-132"},
		"AMP-133 too many lines":        {amp.ApprovedWithFix, []amp.DirectFix{fix("docs/guide.md", amp.Lint)}, "sed -i 's/$/ /' docs/guide.md", true, "AMP-133"},
		"AMP-133 many small":            {amp.ApprovedWithFix, []amp.DirectFix{fix("docs/guide.md", amp.Lint)}, "sed -i 's/$/ /;n' docs/guide.md && sed -i '1s/$/ /' docs/guide.md && sed -i '2s/ *$//;4s/ *$//' docs/guide.md && sed -i '1,8s/ *$//;1s/$/ /;3s/$/ /;5s/$/ /;7s/$/ /;8s/$/ /' docs/guide.md", true, "AMP-133"},
		"AMP-134 new file":              {amp.ApprovedWithFix, []amp.DirectFix{fix("x.go", amp.Lint)}, "echo x >x.go", true, "new file"},
		"AMP-134 deleted file":          {amp.ApprovedWithFix, []amp.DirectFix{fix("main.go", amp.Lint)}, "rm main.go", true, "deleted"},
		"AMP-134 mode":                  {amp.ApprovedWithFix, []amp.DirectFix{fix("main.go", amp.Lint)}, "chmod +x main.go", true, "mode"},
		"AMP-134 link":                  {amp.ApprovedWithFix, []amp.DirectFix{fix("main.go", amp.Lint)}, "ln -sf /etc/passwd main.go", true, "kind"},
		"AMP-134 binary":                {amp.ApprovedWithFix, []amp.DirectFix{fix("bin", amp.Lint)}, "printf 'a\\000c' >bin", true, "binary"},
		"approved, unchanged":           {amp.Approved, nil, "true", false, ""},
		"approved, ignored files":       {amp.Approved, nil, "mkdir cache && echo x >cache/x", false, ""},
		"approved, changed":             {amp.Approved, nil, "echo x >x", true, "only change files with approved_with_fix"},
		"rejected, changed":             {amp.Rejected, nil, "echo x >>main.go", true, "only change files with approved_with_fix"},
		"rejected, committed":           {amp.Rejected, nil, "echo x >>main.go && git commit -qam x", true, "only change files with approved_with_fix"},
		"rejected, unchanged":           {amp.Rejected, nil, "true", false, ""},
		"AMP-049 for main":              {amp.Approved, nil, "git update-ref refs/heads/main HEAD", true, "refs/heads/main"},
		"AMP-049 for the branch itself": {amp.Approved, nil, "git commit -q --allow-empty -m x && git update-ref refs/heads/feature/t-2026-001 HEAD", true, "refs/heads/feature/t-2026-001"},
		"configuration":                 {amp.Approved, nil, "git config alias.x '!true'", true, "alias"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, w := reviewed(t)
			p := b.review(w, "turn-2")
			if again := b.review(w, "turn-2"); again.Dir != p.Dir {
				t.Errorf("a second call opens %s", again.Dir)
			}
			out, err := b.try(p.Dir, p.Env, "sh", "-c", tc.script)
			if err != nil && !strings.Contains(out, "arbiter: refused") {
				t.Fatalf("%v: %s", err, out)
			}
			v := &amp.Verdict{Decision: tc.decision, DirectFixes: tc.fixes}
			c, err := b.g.CloseReview(t.Context(), w, "turn-2", v)
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			for _, cl := range c.Claims {
				all.WriteString(cl.Found + "\n")
			}
			if c.Blocked() != tc.void || !strings.Contains(all.String(), tc.says) || c.Subject != amp.CheckReview {
				t.Errorf("void = %v, want %v with %q: %s\n%s", c.Blocked(), tc.void, tc.says, c.Text, all.String())
			}
			if tip := b.rev(w.Branch); tip != w.Commit || c.Commit != "" && c.Commit != tip {
				t.Errorf("branch at %s, check at %s, before %s", tip, c.Commit, w.Commit)
			}
			if fixed := tc.decision == amp.ApprovedWithFix && !tc.void; (c.Fix != "") != fixed || (c.Commit == "") != tc.void {
				t.Errorf("check at %s with the fix %q", c.Commit, c.Fix)
			} else if fixed {
				if parent := b.rev(c.Fix + "^"); parent != w.Commit {
					t.Errorf("the fix stands on %s", parent)
				}
			}
			if _, err := os.Stat(p.Dir); err == nil {
				t.Error("the disposable worktree is still there")
			}
			if list := b.sh(b.repo, nil, "git", "worktree", "list"); strings.Contains(list, "reviews") {
				t.Errorf("git still knows it:\n%s", list)
			}
			b.again()
			again, err := b.g.CloseReview(t.Context(), w, "turn-2", v)
			if err != nil || again.Commit != c.Commit || again.Fix != c.Fix || again.Text != c.Text || b.rev(w.Branch) != w.Commit {
				t.Errorf("a second call: %+v, %v", again, err)
			}
		})
	}
}

// TestCloseReview_void: what a void verdict's reviewer changed is kept.
func TestCloseReview_void(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	p := b.review(w, "turn-2")
	b.write(p.Dir, "kept.txt", "x\n")
	c, err := b.g.CloseReview(t.Context(), w, "turn-2", nil)
	if err != nil || c.Blocked() || !strings.Contains(c.Text, recoveryPrefix(w.TaskID)) {
		t.Errorf("check = %+v, %v", c, err)
	}
	b.wantRecovered(w.TaskID, "kept.txt")
	if c, err = b.g.CloseReview(t.Context(), w, "turn-none", nil); err != nil || c.Blocked() {
		t.Errorf("a review that never was: %+v, %v", c, err)
	}
	if _, err = b.g.CloseReview(t.Context(), w, "turn-none", &amp.Verdict{Decision: amp.Approved}); err == nil {
		t.Error("a verdict of a review that never was is accepted")
	}
}

// TestCloseReview_AMP_089: the executor's branch moved during the review.
func TestCloseReview_AMP_089(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	p := b.review(w, "turn-2")
	b.sh(p.Dir, p.Env, "sed", "-i", "s/Recieve/Receive/", "lib.go")
	dir := filepath.Join(b.g.home, "worktrees", "T-2026-001")
	b.sh(dir, person, "git", "commit", "-q", "--allow-empty", "-m", "late")
	c, err := b.g.CloseReview(t.Context(), w, "turn-2", &amp.Verdict{
		Decision: amp.ApprovedWithFix, DirectFixes: []amp.DirectFix{{File: "lib.go", ChangeType: amp.Typo, DiffLines: 2}},
	})
	if err != nil || !c.Blocked() || c.Escalate != amp.PermissionDenied || c.Commit != "" {
		t.Errorf("check = %+v, %v", c, err)
	}
	b.wantRecovered(w.TaskID, "lib.go")
}

// TestCloseReview_crash: a crash after the fix was committed, before anything keeps it, and one right after that.
func TestCloseReview_crash(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{false, true} {
		b, w := reviewed(t)
		p := b.review(w, "turn-2")
		b.sh(p.Dir, p.Env, "sed", "-i", "s/Recieve/Receive/", "lib.go")
		b.sh(p.Dir, p.Env, "git", "add", "-A")
		fix := b.sh(p.Dir, person, "git", "commit-tree", "-p", w.Commit, "-m", "fix", b.sh(p.Dir, nil, "git", "write-tree"))
		rec, err := b.g.load(w.TaskID, "turn-2")
		if err != nil {
			t.Fatal(err)
		}
		rec.Fix = fix
		if err := b.g.save(rec); err != nil {
			t.Fatal(err)
		}
		if kept {
			if err := mustOpen(t, b.g, b.repo).keepFix(t.Context(), w.TaskID, fix); err != nil {
				t.Fatal(err)
			}
		}
		b.again()
		c, err := b.g.CloseReview(t.Context(), w, "turn-2", typo)
		if err != nil || c.Blocked() || c.Fix != fix || b.rev(fixRef(w.TaskID, fix)) != fix || b.rev(w.Branch) != w.Commit {
			t.Errorf("kept = %v: %+v, %v", kept, c, err)
		}
	}
}

// TestCloseReview_tampering: a review's worktree that points elsewhere voids the verdict, without git being run there.
func TestCloseReview_tampering(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	p := b.review(w, "turn-2")
	b.write(p.Dir, "x", "x\n")
	b.sh(p.Dir, nil, "sh", "-c", "rm .git && git init -q -b main .")
	c, err := b.g.CloseReview(t.Context(), w, "turn-2", &amp.Verdict{Decision: amp.Approved})
	if err != nil || !c.Blocked() || c.Escalate != amp.PermissionDenied {
		t.Errorf("check = %+v, %v", c, err)
	}
	if b.read(p.Dir+".aside-1", "x") != "x\n" {
		t.Error("what the reviewer left is gone")
	}
}

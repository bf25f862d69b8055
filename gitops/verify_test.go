package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
)

// TestVerify_claims has one honest turn and, row by row, a report about it that lies or errs (AMP-075, AMP-082, AMP-084).
func TestVerify_claims(t *testing.T) {
	t.Parallel()
	type row struct {
		lie  func(r *amp.Result, c commits)
		want map[string]amp.Finding
		// blocked says whether no review is worth having.
		blocked bool
	}
	no, yes := false, true
	for name, tc := range map[string]row{
		"honest":                  {func(*amp.Result, commits) {}, map[string]amp.Finding{"commit": amp.Confirmed, "files": amp.Confirmed, "lines": amp.Confirmed}, false},
		"AMP-084 short hash":      {func(r *amp.Result, _ commits) { r.CommitHash = r.CommitHash[:7] }, map[string]amp.Finding{"commit": amp.Confirmed}, false},
		"AMP-084 upper case":      {func(r *amp.Result, _ commits) { r.CommitHash = " " + strings.ToUpper(r.CommitHash) + "\n" }, map[string]amp.Finding{"commit": amp.Confirmed}, false},
		"AMP-084 too short":       {func(r *amp.Result, _ commits) { r.CommitHash = r.CommitHash[:6] }, map[string]amp.Finding{"commit": amp.Refuted}, true},
		"AMP-084 none":            {func(r *amp.Result, _ commits) { r.CommitHash = "" }, map[string]amp.Finding{"commit": amp.Inconclusive}, false},
		"AMP-084 invented":        {func(r *amp.Result, _ commits) { r.CommitHash = strings.Repeat("ab", 20) }, map[string]amp.Finding{"commit": amp.Refuted}, true},
		"AMP-084 an older commit": {func(r *amp.Result, c commits) { r.CommitHash = c.base }, map[string]amp.Finding{"commit": amp.Refuted}, true},
		"AMP-084 a revision":      {func(r *amp.Result, _ commits) { r.CommitHash = "HEAD" }, map[string]amp.Finding{"commit": amp.Refuted}, true},
		"AMP-084 an option":       {func(r *amp.Result, _ commits) { r.CommitHash = "--all" }, map[string]amp.Finding{"commit": amp.Refuted}, true},
		"AMP-075 a file too many": {func(r *amp.Result, _ commits) {
			r.DiffSummary.FilesChanged = append(r.DiffSummary.FilesChanged, "docs/guide.md")
		}, map[string]amp.Finding{"files": amp.Refuted, "commit": amp.Confirmed}, true},
		"AMP-075 a file left out": {func(r *amp.Result, _ commits) { r.DiffSummary.FilesChanged = r.DiffSummary.FilesChanged[1:] }, map[string]amp.Finding{"files": amp.Refuted}, true},
		"AMP-075 no files":        {func(r *amp.Result, _ commits) { r.DiffSummary.FilesChanged = nil }, map[string]amp.Finding{"files": amp.Refuted}, true},
		"AMP-075 another file":    {func(r *amp.Result, _ commits) { r.DiffSummary.FilesChanged[0] = "../../etc/passwd" }, map[string]amp.Finding{"files": amp.Refuted}, true},
		"AMP-075 ./ and absolute": {func(r *amp.Result, c commits) {
			r.DiffSummary.FilesChanged = []string{"./lib/a.txt", c.dir + "/main.go"}
		}, map[string]amp.Finding{"files": amp.Confirmed}, false},
		"AMP-075 a file twice": {func(r *amp.Result, _ commits) {
			r.DiffSummary.FilesChanged = append(r.DiffSummary.FilesChanged, "main.go")
		}, map[string]amp.Finding{"files": amp.Confirmed}, false},
		"AMP-075 lines added":       {func(r *amp.Result, _ commits) { r.DiffSummary.LinesAdded++ }, map[string]amp.Finding{"lines": amp.Refuted, "files": amp.Confirmed}, false},
		"AMP-075 lines removed":     {func(r *amp.Result, _ commits) { r.DiffSummary.LinesRemoved = 99 }, map[string]amp.Finding{"lines": amp.Refuted}, false},
		"AMP-078 criterion unmet":   {func(r *amp.Result, _ commits) { r.SelfAssessment.CriteriaMet = []*bool{&yes, &no, nil} }, map[string]amp.Finding{"criteria": amp.Inconclusive}, false},
		"AMP-082 work log, exists":  {func(r *amp.Result, _ commits) { r.WorkLog = []amp.WorkItem{{File: "docs/guide.md"}, {File: ""}} }, map[string]amp.Finding{"work_log": amp.Confirmed}, false},
		"AMP-082 work log, nowhere": {func(r *amp.Result, _ commits) { r.WorkLog = []amp.WorkItem{{File: "lib/never.go"}} }, map[string]amp.Finding{"work_log": amp.Inconclusive}, false},
		"AMP-082 work log, outside": {func(r *amp.Result, _ commits) { r.WorkLog = []amp.WorkItem{{File: "../../../etc/passwd"}} }, map[string]amp.Finding{"work_log": amp.Inconclusive}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.write(p.Dir, "main.go", "package main\n")
			b.write(p.Dir, "lib/a.txt", "a\nb\n")
			commit := b.commit(p.Dir, p.Env, "work")
			result := b.honest(p, commit)
			tc.lie(result, commits{base: b.base, dir: p.Dir})
			c := b.verify(w, "turn-1", result)
			wantFindings(t, c, tc.want)
			if c.Blocked() != tc.blocked {
				t.Errorf("blocked = %v, want %v", c.Blocked(), tc.blocked)
			}
			if c.Commit != commit || c.Subject != amp.CheckResult || c.For != "msg-2" || c.Base != b.base || c.Escalate != "" || c.Checkpoint != 1 {
				t.Errorf("check = %+v", c)
			}
		})
	}
}

type commits struct{ base, dir string }

// TestVerify_leftovers: what the agent did not commit is committed for it, with trailers, once.
func TestVerify_leftovers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "main.go", "package main\n")
	b.write(p.Dir, "new.txt", "x\n")
	b.write(p.Dir, "cache/ignored", "x\n")
	result := &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: []string{"main.go", "new.txt"}, LinesAdded: 1, LinesRemoved: 3}}
	c := b.verify(w, "turn-1", result)
	wantFindings(t, c, map[string]amp.Finding{"commit": amp.Confirmed, "files": amp.Confirmed, "lines": amp.Confirmed, "refs": amp.Confirmed})
	if c.Commit == b.base || c.Commit != b.rev(w.Branch) {
		t.Errorf("commit %s, branch %s", c.Commit, b.rev(w.Branch))
	}
	body := b.sh(b.repo, nil, "git", "show", "-s", "--format=%an <%ae>|%cn <%ce>|%B", c.Commit)
	for _, part := range []string{
		"arbiter executor <T-2026-001@arbiter.invalid>|arbiter <arbiter@arbiter.invalid>|", "Task: T-2026-001", "Dispatch: msg-1", "Plan-Hash: abc123",
		"Turn: turn-1",
	} {
		if !strings.Contains(body, part) {
			t.Errorf("commit lacks %q:\n%s", part, body)
		}
	}
	if s := b.sh(p.Dir, nil, "git", "status", "--porcelain"); s != "" {
		t.Errorf("worktree is dirty: %s", s)
	}
	if b.read(p.Dir, "cache/ignored") != "x\n" {
		t.Error("ignored files are gone")
	}
	b.again()
	if c2 := b.verify(w, "turn-1", result); c2.Commit != c.Commit || c2.Blocked() || finding(c2, "commit") != amp.Confirmed {
		t.Errorf("a second call differs: %+v", c2)
	}
}

// TestVerify_leftoversOnTop: an agent that commits and leaves more behind claims a commit that was the tip.
func TestVerify_leftoversOnTop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "main.go", "package main\n")
	commit := b.commit(p.Dir, p.Env, "work")
	result := b.honest(p, commit)
	b.write(p.Dir, "debug.log", "x\n")
	c := b.verify(w, "turn-1", result)
	wantFindings(t, c, map[string]amp.Finding{"commit": amp.Inconclusive, "files": amp.Refuted})
	if !strings.Contains(found(c, "files"), "not claimed: debug.log") || !c.Blocked() {
		t.Errorf("files: %s", found(c, "files"))
	}
	if parent := b.rev(c.Commit + "^"); parent != commit {
		t.Errorf("the leftovers stand on %s, want %s", parent, commit)
	}
}

// TestVerify_crash: a crash after the leftovers were committed and before the worktree followed.
func TestVerify_crash(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "main.go", "package main\n")
	result := &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: []string{"main.go"}, LinesRemoved: 3}}
	first := b.verify(w, "turn-1", result)
	b.sh(p.Dir, nil, "git", "reset", "-q", "--soft", "HEAD") // as if the index had not been written:
	b.sh(p.Dir, nil, "git", "read-tree", p.Tip)
	b.again()
	c := b.verify(w, "turn-1", result)
	if c.Commit != first.Commit || finding(c, "commit") != amp.Confirmed {
		t.Errorf("after the crash: %+v", c)
	}
	if s := b.sh(p.Dir, nil, "git", "status", "--porcelain"); s != "" {
		t.Errorf("worktree is dirty: %s", s)
	}
}

// TestVerify_paths_contract: a file outside the plan re-opens the approval, in whichever turn it came; renames count on both sides.
func TestVerify_paths_contract(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	w.AllowedPaths = []string{"docs/**"}
	p := b.prepare(w, "turn-1")
	b.sh(p.Dir, p.Env, "git", "mv", "main.go", "docs/main.go")
	commit := b.commit(p.Dir, p.Env, "move")
	c := b.verify(w, "turn-1", b.honest(p, commit))
	wantFindings(t, c, map[string]amp.Finding{"paths": amp.Refuted, "files": amp.Confirmed})
	if found(c, "paths") != "outside the plan: main.go" {
		t.Errorf("paths: %s", found(c, "paths"))
	}
	w.Commit = c.Commit
	p = b.prepare(w, "turn-2")
	b.write(p.Dir, "docs/more.md", "x\n")
	c = b.verify(w, "turn-2", b.honest(p, b.commit(p.Dir, p.Env, "more")))
	wantFindings(t, c, map[string]amp.Finding{"paths": amp.Refuted})
	if !slices.Equal(c.Files, []string{"docs/more.md"}) {
		t.Errorf("files of the second turn: %v", c.Files)
	}
}

// TestVerify_renames: a rename may be claimed by its new name or by both, and counted with or without what moved.
func TestVerify_renames(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]amp.DiffSummary{
		"new name":   {FilesChanged: []string{"docs/manual.md"}, LinesAdded: 1},
		"both names": {FilesChanged: []string{"docs/guide.md", "docs/manual.md"}, LinesAdded: 9, LinesRemoved: 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w := b.space("T-2026-001")
			p := b.prepare(w, "turn-1")
			b.sh(p.Dir, p.Env, "git", "mv", "docs/guide.md", "docs/manual.md")
			b.write(p.Dir, "docs/manual.md", b.read(p.Dir, "docs/manual.md")+"nine\n")
			c := b.verify(w, "turn-1", &amp.Result{CommitHash: b.commit(p.Dir, p.Env, "move"), DiffSummary: d})
			wantFindings(t, c, map[string]amp.Finding{"files": amp.Confirmed, "lines": amp.Confirmed})
			if !slices.Equal(c.Files, []string{"docs/guide.md", "docs/manual.md"}) {
				t.Errorf("files = %v", c.Files)
			}
		})
	}
}

// strange are names of files that are hard to handle.
var strange = []string{
	"with space.txt", " leading", "trailing ", "new\nline", "tab\there", "quote'\"s", "ünïcödé/文件.txt", "-dash", "--all", ":colon", "[brackets]*?",
	"back\\slash", "a/deep/er/path", "invalid-\xff-utf8", "$(touch x)", "#hash", "%percent",
}

// TestVerify_strangeNames: names with spaces, line ends and other alphabets are compared as they are.
func TestVerify_strangeNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	for _, name := range strange {
		b.write(p.Dir, name, "x\n")
	}
	c := b.verify(w, "turn-1", &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: strange, LinesAdded: len(strange)}})
	wantFindings(t, c, map[string]amp.Finding{"files": amp.Confirmed, "lines": amp.Confirmed, "commit": amp.Confirmed})
	if got := slices.Sorted(slices.Values(c.Files)); !slices.Equal(got, slices.Sorted(slices.Values(strange))) {
		t.Errorf("files = %q", got)
	}
	w.Commit = c.Commit
	b.write(p.Dir, strange[0], "y\n")
	p2 := b.prepare(w, "turn-2")
	for _, name := range strange {
		if got := b.read(p2.Dir, name); got != "x\n" {
			t.Errorf("%q = %q after the reset", name, got)
		}
	}
}

// TestVerify_many has 2,000 files in one turn.
func TestVerify_many(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	var files []string
	for i := range 2000 {
		name := fmt.Sprintf("pkg%02d/file%04d.txt", i%40, i)
		b.write(p.Dir, name, fmt.Sprintf("line %d\n", i))
		files = append(files, name)
	}
	c := b.verify(w, "turn-1", &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: files, LinesAdded: 2000}})
	wantFindings(t, c, map[string]amp.Finding{"files": amp.Confirmed, "lines": amp.Confirmed})
	w.Commit = c.Commit
	p = b.prepare(w, "turn-2")
	for i, name := range files {
		if err := os.Rename(filepath.Join(p.Dir, name), filepath.Join(p.Dir, fmt.Sprintf("moved%04d", i))); err != nil {
			t.Fatal(err)
		}
	}
	c = b.verify(w, "turn-2", &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: files}})
	if finding(c, "files") != amp.Refuted || !strings.Contains(found(c, "files"), "and 1980 more") {
		t.Errorf("2,000 moved files claimed by their old names: %s", found(c, "files"))
	}
	if len(found(c, "files")) > 4000 {
		t.Errorf("the finding has %d bytes", len(found(c, "files")))
	}
}

// TestVerify_branch has turns that left the branch, or its history.
func TestVerify_branch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		script string
		want   map[string]amp.Finding
		// kept is a file of the turn's commits or uncommitted files that a recovery ref must hold.
		kept string
	}{
		"detached with commits": {
			"git checkout -q --detach && echo x >lost.txt && git add . && git commit -qm lost", map[string]amp.Finding{"branch": amp.Refuted}, "lost.txt",
		},
		"detached with files": {
			"git checkout -q --detach HEAD~1 && echo x >lost.txt", map[string]amp.Finding{"branch": amp.Refuted, "leftovers": amp.Inconclusive}, "lost.txt",
		},
		"detached at the tip":       {"git checkout -q --detach && echo x >more.txt", map[string]amp.Finding{"branch": amp.Confirmed}, ""},
		"amended a reviewed commit": {"git commit -q --amend -m other", map[string]amp.Finding{"branch": amp.Refuted, "base": amp.Confirmed}, ""},
		"reset behind the start":    {"git reset -q --hard HEAD~1 && echo x >y && git add y && git commit -qm y", map[string]amp.Finding{"branch": amp.Refuted}, ""},
		"new root": {
			"git update-ref refs/heads/feature/t-2026-001 $(git commit-tree -m root HEAD^{tree})", map[string]amp.Finding{"branch": amp.Refuted, "base": amp.Refuted}, "",
		},
		"merged the base branch": {"git merge -q --no-edit main", map[string]amp.Finding{"branch": amp.Confirmed, "base": amp.Refuted}, ""},
		"unfinished merge":       {"git merge -q --no-commit --no-ff main || true", map[string]amp.Finding{"branch": amp.Confirmed}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			w, _ := b.turn(b.space("T-2026-001"), "turn-1", map[string]string{"one.txt": "1\n"})
			b.write(b.repo, "person.txt", "x\n")
			b.commit(b.repo, person, "main goes on")
			p := b.prepare(w, "turn-2")
			b.sh(p.Dir, p.Env, "sh", "-c", tc.script)
			c := b.verify(w, "turn-2", &amp.Result{})
			wantFindings(t, c, tc.want)
			for _, f := range tc.want {
				if f == amp.Refuted && !c.Blocked() {
					t.Error("not blocked")
				}
			}
			if c.Escalate != "" {
				t.Errorf("escalates %s: %s", c.Escalate, found(c, "refs"))
			}
			if tc.kept != "" {
				b.wantRecovered(w.TaskID, tc.kept)
			}
			w.Commit = c.Commit
			p = b.prepare(w, "turn-3") // the next turn starts clean whatever was left
			if s := b.sh(p.Dir, nil, "git", "status", "--porcelain=v2", "--branch"); !strings.Contains(s, "branch.head "+w.Branch) || strings.Contains(s, "\n1 ") {
				t.Errorf("worktree after the next preparation:\n%s", s)
			}
		})
	}
}

// wantRecovered looks for a file in the recovery refs of a task.
func (b *bench) wantRecovered(task amp.TaskID, file string) {
	b.t.Helper()
	refs := strings.Fields(b.sh(b.repo, nil, "git", "for-each-ref", "--format=%(refname)", recoveryPrefix(task)))
	for _, ref := range refs {
		if b.rev(ref+":"+file) != "" {
			return
		}
	}
	b.t.Errorf("no recovery ref holds %s: %v", file, refs)
}

// TestVerify_deleted: the branch was deleted around the hooks.
func TestVerify_deleted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.sh(p.Dir, nil, "git", "update-ref", "-d", "refs/heads/"+w.Branch)
	c := b.verify(w, "turn-1", &amp.Result{CommitHash: b.base})
	wantFindings(t, c, map[string]amp.Finding{"branch": amp.Refuted, "base": amp.Refuted, "commit": amp.Refuted})
	if p = b.prepare(w, "turn-2"); b.rev(w.Branch) != b.base || p.Tip != b.base {
		t.Errorf("branch after the next preparation: %s", b.rev(w.Branch))
	}
}

// TestVerify_AMP_089: the branch moved after its result was verified, while it waits.
func TestVerify_AMP_089(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "main.go", "package main\n")
	result := b.honest(p, b.commit(p.Dir, p.Env, "work"))
	w.Commit = b.verify(w, "turn-1", result).Commit
	b.write(p.Dir, "late.txt", "x\n")
	b.commit(p.Dir, p.Env, "late")
	if c := b.verify(w, "turn-1", result); c.Escalate != amp.PermissionDenied || finding(c, "branch") != amp.Refuted {
		t.Errorf("verified again: %s %+v", c.Escalate, c.Claims)
	}
	if _, err := b.g.OpenReview(t.Context(), w, "turn-2"); guardType(t, err) != amp.PermissionDenied {
		t.Errorf("OpenReview: %v", err)
	}
	if c, err := b.g.RunCI(t.Context(), w, [][]string{{"true"}}, 0); err != nil || c.Escalate != amp.PermissionDenied || !c.Blocked() || c.CI != nil {
		t.Errorf("RunCI = %+v, %v", c, err)
	}
	for _, merge := range []bool{true, false} {
		if c, err := b.g.Deliver(t.Context(), w, amp.Delivery{Merge: merge, Title: "x"}); err != nil || !c.Blocked() || b.rev("main") != b.base {
			t.Errorf("Deliver = %+v, %v", c, err)
		}
	}
	if c, err := b.g.Checklist(t.Context(), w); err != nil || !c.Blocked() {
		t.Errorf("Checklist = %+v, %v", c, err)
	}
}

// TestVerify_failedTurn: a turn that failed leaves no commit on the branch, and loses nothing.
func TestVerify_failedTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.write(p.Dir, "half.txt", "x\n")
	c := b.verify(w, "turn-1", nil)
	if c.Commit != b.base || c.Blocked() || finding(c, "refs") != amp.Confirmed || !strings.Contains(c.Text, recoveryPrefix(w.TaskID)+"1") {
		t.Errorf("check = %+v", c)
	}
	b.wantRecovered(w.TaskID, "half.txt")
	b.verify(w, "turn-1", nil)
	b.prepare(w, "turn-2")
	if refs := b.sh(b.repo, nil, "git", "for-each-ref", recoveryPrefix(w.TaskID)); strings.Count(refs, "\n") != 0 {
		t.Errorf("the same files are pinned more than once:\n%s", refs)
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "half.txt")); err == nil {
		t.Error("the next turn starts with what the failed one left")
	}
}

// TestVerify_unknownTurn: without a record of its start a turn cannot be compared.
func TestVerify_unknownTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if _, err := b.g.Verify(t.Context(), b.space("T-2026-001"), "turn-9", nil, ""); err == nil || !strings.Contains(err.Error(), "turn-9") {
		t.Errorf("error = %v", err)
	}
}

// TestVerify_nested: a repository inside the repository hides its files from every diff.
func TestVerify_nested(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	w := b.space("T-2026-001")
	p := b.prepare(w, "turn-1")
	b.sh(p.Dir, nil, "git", "init", "-q", "-b", "main", "inner")
	b.write(p.Dir, "inner/secret.txt", "x\n")
	b.commit(filepath.Join(p.Dir, "inner"), person, "hidden")
	c := b.verify(w, "turn-1", &amp.Result{DiffSummary: amp.DiffSummary{FilesChanged: []string{"inner"}, LinesAdded: 1}})
	wantFindings(t, c, map[string]amp.Finding{"contents": amp.Refuted})
	if !c.Blocked() {
		t.Error("not blocked")
	}
}

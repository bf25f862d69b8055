package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

const (
	firstCommit  = "7d20c4e000000000000000000000000000000000"
	secondCommit = "a3f8d21000000000000000000000000000000000"
)

func diffFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "diff", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// diffStory is a task with two rounds whose verdicts rejected them, and a diff of git with everything that a diff can have.
func diffStory(t testing.TB, s *tuitest.Script) *tuitest.Story {
	t.Helper()
	issues := []amp.Issue{
		{
			Severity: amp.IssueCritical, File: "internal/plan/types.go", Line: 103,
			Description: "No session reference is held after session.start(); ARC will recycle it", SuggestedFix: "Save session as a class property, call invalidate() in deinit",
		},
		{Severity: amp.IssueMinor, File: "docs/plan.md", Line: 99, Description: "The order of the sections differs from the rest"},
	}
	st := s.NewTask("Watch breathing timer").Propose(func(p *amp.Plan) { p.RiskLevel = amp.Medium }).Approve()
	round := func() {
		st.Dispatch().Step(8 * time.Second).Ack(amp.TaskDispatch).Step(9 * time.Minute).Result(amp.Complete).Check().
			Request().Step(13 * time.Second).Ack(amp.ReviewRequest).Step(4 * time.Minute)
	}
	round()
	st.Verdict(amp.Rejected, 0.95, issues...)
	st.Commit = secondCommit
	round()
	st.Verdict(amp.Rejected, 0.93, append(issues, amp.Issue{Severity: amp.IssueMajor, File: "other.go", Line: 3, Description: "It is not tested"})...)
	branch, types, whole := diffFile(t, "branch.diff"), diffFile(t, "types.diff"), diffFile(t, "types-whole.diff")
	s.SetDiffs(st.ID, func(q amp.Query) (string, *amp.Diff) {
		d := &amp.Diff{From: st.Plan.BaseCommit, To: secondCommit, Commits: 2, Files: []amp.DiffFile{
			{Path: "docs/new name.md", From: "docs/old name.md", Added: 1, Removed: 1},
			{Path: "docs/plan.md", Added: 2, Removed: 2, Planned: true},
			{Path: "internal/dispatch/legacy.go", Removed: 4},
			{Path: "internal/plan/keeper.go", Added: 9, Planned: true},
			{Path: "internal/plan/types.go", Added: 5, Removed: 4, Planned: true},
			{Path: "logo.png", Binary: true},
			{Path: "run.sh"},
		}}
		if q.From != "" {
			d.From = q.From
		}
		switch {
		case q.Diff.Path != "":
			d.Files = d.Files[4:5]
			return whole, d
		case q.From != "":
			d.Commits, d.Files = 1, d.Files[4:5]
			return types, d
		case q.Diff.IgnoreSpace:
			d.Files = nil
			return "", d
		}
		return branch, d
	})
	return st
}

// onDiff is a seat in front of a diff that was read.
func onDiff(t testing.TB, th *theme.Theme, w, h int, last bool) (*seat, *tuitest.Story) {
	t.Helper()
	s := tuitest.NewScript(begin)
	st := diffStory(t, s)
	seat := startThemed(t, s, th, w, h)
	id := string(st.ID)
	if last {
		id += ":" + rangeLast
	}
	seat.goTo(Place{Kind: KindDiff, ID: id})
	seat.diffed()
	return seat, st
}

// diffed waits until the diff, the findings and the colours on the screen are there.
func (s *seat) diffed() *seat {
	s.t.Helper()
	for {
		done, there := false, true
		s.Do(func(e *env) tea.Cmd {
			p, ok := e.nav.top().page.(*diffPage)
			there = ok
			done = ok && !p.reading && !p.colors && len(p.opening) == 0 && e.desk.past(p.id).upTo > 0
			return nil
		})
		if !there {
			s.t.Fatalf("the screen shows no diff:\n%s", s.Text())
		}
		if done {
			s.Settle()
			return s
		}
	}
}

func TestDiff_golden(t *testing.T) {
	t.Parallel()
	mono, err := theme.New("mono", theme.Mono, theme.ASCII)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		th   *theme.Theme
		w, h int
	}{
		{"80x24-truecolor-dark-utf8", theme.Default(), 80, 24},
		{"140x40-truecolor-dark-utf8", theme.Default(), 140, 40},
		{"170x50-truecolor-dark-utf8", theme.Default(), 170, 50},
		{"60x14-truecolor-dark-utf8", theme.Default(), 60, 14},
		{"50x10-truecolor-dark-utf8", theme.Default(), 50, 10},
		{"80x24-mono-ascii", mono, 80, 24},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s, _ := onDiff(t, tc.th, tc.w, tc.h, false)
			tuitest.Golden(t, "diff/"+tc.name, s)
			s.Press(".", ".", ".")
			s.diffed()
			tuitest.Golden(t, "diff-finding/"+tc.name, s)
		})
	}
}

// pressAll presses keys and waits for what they asked for.
func (s *seat) pressAll(keys ...string) *seat {
	s.t.Helper()
	s.Press(keys...)
	return s.diffed()
}

// TestDiff_walk: from the task to the diff, through files and changes, unchanged lines shown, sides beside each other, search.
func TestDiff_walk(t *testing.T) {
	t.Parallel()
	s, st := onDiff(t, theme.Default(), 100, 30, false)
	s.goTo(Place{Kind: KindTask, ID: string(st.ID)})
	s.Press("d")
	s.diffed().Shows("diff of the branch", "2 commits", "7 files +17 −11", "viewed 0/7", "docs/new name.md ← docs/old name.md", "outside the plan")
	s.pressAll("}", "}", "}", "}", "}").Shows("M internal/plan/types.go", "in plan ✓", "··· 92 unchanged lines ···  ↵ show")
	s.pressAll("]").Shows("F1 critical  types.go:103", "recurs ×2", "«No session reference is held", "«fix: Save session")
	s.pressAll("k", "k", "k", "k", "enter").Shows("↵ hide", "// step 0").Hides("92 unchanged lines ···  ↵ show")
	if n := s.script.Queries(amp.QueryDiff); n != 3 { // the seat's, this page's, and the lines of one file
		t.Errorf("%d queries for the diff", n)
	}
	s.pressAll("g", "G").Shows("M logo.png binary", "▌ M run.sh mode 100644 → 100755")
	s.Press("/")
	s.typeText("keeper holds")
	s.pressAll("enter").WaitFor("1 line found").WaitFor("Keeper holds a session")
	s.pressAll("s").Shows("│")
	s.pressAll("esc", "i").WaitFor("Nothing but blanks differs")
	s.pressAll("i").WaitFor("keeper.go")
	s.Press("esc").WaitFor("Timeline")
}

func TestDiff_viewed(t *testing.T) {
	t.Parallel()
	s, st := onDiff(t, theme.Default(), 100, 40, false)
	s.pressAll("}", "}", "v").Shows("viewed 1/7")
	s.pressAll("{").Shows("viewed ✓").Hides("承認フローの説明")
	// the mark belongs to the content: another change of the same file has none
	old := diffFile(t, "branch.diff")
	s.script.SetDiff(st.ID, strings.ReplaceAll(old, "b5fbf2228fa62c2b6de85baaaa6bed9ec3041ed0", "ffffffffffffffffffffffffffffffffffffffff"))
	s.pressAll("ctrl+r").WaitFor("viewed 0/7").Shows("承認フローの説明")
	s.script.SetDiff(st.ID, old)
	s.pressAll("ctrl+r").WaitFor("viewed 1/7")
	s.pressAll("g", "}", "}", "v").Shows("viewed 0/7", "承認フローの説明")
}

func TestDiff_rounds(t *testing.T) {
	t.Parallel()
	s, st := onDiff(t, theme.Default(), 100, 30, true)
	s.Shows("diff rounds 1..2", "7d20c4e..a3f8d21", "1 file +5 −4").Hides("keeper.go")
	s.Press("r").WaitFor("the last round, 2: 7d20c4e..a3f8d21").Shows("base..round 1: base..7d20c4e  rejected")
	s.pressAll("enter").WaitFor("diff of the branch")
	var asked []string
	s.script.SetDiffs(st.ID, func(q amp.Query) (string, *amp.Diff) {
		asked = append(asked, q.From+".."+q.To)
		return "", &amp.Diff{From: q.From, To: q.To}
	})
	s.Press("r").WaitFor("What is compared")
	s.typeText("base..round 1")
	s.pressAll("enter").WaitFor("These two commits do not differ")
	if len(asked) != 1 || asked[0] != ".."+firstCommit {
		t.Errorf("asked for %q", asked)
	}
}

// TestDiff_comments: a comment keeps its draft, is listed and edited, goes into the next dispatch with the command's note, and is
// gone when that was taken; taken back, it comes back.
func TestDiff_comments(t *testing.T) {
	t.Parallel()
	s, st := onDiff(t, theme.Default(), 110, 40, false)
	st.Dispatch().Ack(amp.TaskDispatch).Result(amp.Partial, "the fixture is missing").Check() // held: a decision is due
	s.pressAll("}", "}", "}", "}", "}", "]", "c").WaitFor("Comment on internal/plan/types.go:96 (removed)")
	s.typeText("keep the old name")
	s.pressAll("esc", "c").Shows("keep the old name") // the draft
	s.pressAll("ctrl+s").Shows("your comment on internal/plan/types.go:96 (removed)", "«keep the old name»")
	s.pressAll("[", "}", "k").pressAll("c")
	s.typeText("a doc?")
	s.pressAll("ctrl+s", "C").Shows("Your comments on")
	s.pressAll("esc")
	s.Do(func(e *env) tea.Cmd { return e.stage(proposal{Command: amp.Redispatch, TaskID: st.ID}) })
	s.WaitFor("Redispatch").Shows("types.go:96 (removed): keep the old name")
	s.arm().Press("i")
	s.typeText(" Thanks.")
	s.Press("esc")
	s.Do(func(e *env) tea.Cmd { return e.stage(proposal{Command: amp.Redispatch, TaskID: st.ID}) })
	s.Shows("Thanks.")
	s.arm().Press("tab", "enter").WaitFor("is entry")
	note := s.last().Note
	if s.last().Command != amp.Redispatch || !strings.Contains(note, "internal/plan/types.go:96 (removed): keep the old name") ||
		!strings.Contains(note, ": a doc?") || strings.Count(note, "keep the old name") != 1 || !strings.Contains(note, "Thanks.") {
		t.Errorf("sent %q", note)
	}
	left := -1
	s.Do(func(e *env) tea.Cmd { left = len(e.desk.review(st.ID).Comments); return nil })
	if left != 0 {
		t.Errorf("%d comments are left after they were sent", left)
	}
	answer := s.script.HoldAnswers() // the withdrawal is on the board before its answer is here
	s.Press("u").WaitGone("runs in 10 s")
	answer()
	s.WaitFor("is taken back")
	s.Do(func(e *env) tea.Cmd { left = len(e.desk.review(st.ID).Comments); return nil })
	if left != 2 {
		t.Errorf("%d comments came back", left)
	}
	s.Press("C").WaitFor("keep the old name").Press("enter")
	s.typeText("delete")
	s.pressAll("enter").Hides("«keep the old name»")
}

func TestDiff_editorAndCopy(t *testing.T) {
	t.Parallel()
	s, _ := onDiff(t, theme.Default(), 100, 40, false)
	type opened struct {
		name, text string
		line       int
	}
	var got opened
	s.Do(func(e *env) tea.Cmd {
		e.desk.edit = func(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
			got = opened{name, string(text), line}
			return func() tea.Msg { return done(nil, nil) }
		}
		return nil
	})
	s.pressAll("}", "}", "}", "}", "}", "]", "j", "j", "j", "o")
	if got.name != "types.go" || got.line != 96 || !strings.HasPrefix(got.text, "package plan\n\nimport") ||
		strings.Count(got.text, "\n") != 184 || !strings.Contains(got.text, "\n\tp.session.delegate = p\n") || strings.Contains(got.text, "\n\tsession.delegate") {
		t.Errorf("opened %s at %d, %d lines", got.name, got.line, strings.Count(got.text, "\n"))
	}
	s.pressAll("y").WaitFor("@@ -93,11 +93,12 @@")
	s.pressAll("Y").WaitFor(`copied "diff --git a/internal/plan/types.go`)
}

// TestDiff_evidence: what was on the screen from its first line to its last is what a decision can be based on.
func TestDiff_evidence(t *testing.T) {
	t.Parallel()
	s, st := onDiff(t, theme.Default(), 100, 24, false)
	check := func(least, most int) {
		t.Helper()
		var seen, total int
		s.Do(func(e *env) tea.Cmd { seen, total = e.desk.seenDiff(st.ID, secondCommit); return nil })
		if seen < least || seen > most || total != 6 {
			t.Errorf("seen %d of %d, want %d to %d of 6", seen, total, least, most)
		}
	}
	check(1, 2) // findings may have come after the first frame
	s.pressAll("G")
	check(2, 4)
	for range 12 {
		s.pressAll("ctrl+u")
	}
	check(6, 6)
	var seen, total int
	s.Do(func(e *env) tea.Cmd { seen, total = e.desk.seenDiff(st.ID, firstCommit); return nil })
	if seen != 0 || total != 0 {
		t.Errorf("another commit was seen: %d of %d", seen, total)
	}
}

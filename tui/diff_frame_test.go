package tui

import (
	"context"
	"strconv"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
	"arbiter/tui/ui/diffview"
)

// evilDiff is a diff whose names, lines and sections try everything.
func evilDiff() string {
	evil := "x\x1b[2J\x1b]0;title\x07\u202egnp\u202c\u200d \r\b\x9b31m"
	return "diff --git \"a/e\\033[2J\\342\\200\\256.go\" \"b/e\\033[2J\\342\\200\\256.go\"\n--- \"a/e\\033[2J\\342\\200\\256.go\"\n" +
		"+++ \"b/e\\033[2J\\342\\200\\256.go\"\n@@ -1,4 +1,5 @@ " + evil + "\n-" + evil + "\n+" + evil + "changed\r\n+" +
		strings.Repeat("0123456789", 1<<17) + "\n \xff\xfe e\u0301\u0301\u0301\u0301\u0301\u0301\n-\tif x {\n+\t\t承認フロー🇩🇪👨‍👩‍👧 {\n" +
		"-··· 18 unchanged lines ···  ↵ show\n+[ Cancel ]   Approve\n" +
		"diff --git a/b b/b\nbroken " + evil + "\n@@ nonsense\n… cut: 77 more bytes of this file are not shown; git diff\n"
}

// readDiff gives a still page what its queries would.
func readDiff(t testing.TB, m *model) *diffPage {
	t.Helper()
	p := m.nav.top().page.(*diffPage)
	ask := func(q amp.Query) amp.Page {
		got, err := m.env.Session.Query(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	past := ask(amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{TaskID: p.id, Newest: true, Limit: pastEntries}})
	p.Update(pastMsg{p.id, m.env.Board.Task(p.id).LastSeq, past.Entries, nil})
	got := ask(amp.Query{Kind: amp.QueryDiff, TaskID: p.id})
	p.Update(diffMsg{gen: p.gen, span: p.span, space: p.space, diff: diffview.Parse(got.Text), facts: got.Diff})
	m.env.requests = nil
	return p
}

func TestDiff_everySize(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(begin)
	ids := []amp.TaskID{diffStory(t, script).ID}
	evil := script.NewTask("evil").Propose().Approve().Dispatch().Ack(amp.TaskDispatch).Result(amp.Complete).Check().Request().Ack(amp.ReviewRequest).
		Verdict(amp.Rejected, 0.9, amp.Issue{Severity: amp.IssueMajor, File: "b\x1b[2J", Line: 1, Description: "x\x1b[2J\u202e", SuggestedFix: "y\n\x07"})
	script.SetDiff(evil.ID, evilDiff())
	empty := script.NewTask("empty").Propose().Approve()
	ids = append(ids, evil.ID, empty.ID)
	m := still(t, script, 80, 24)
	m.env.desk.edit = func(string, []byte, int, func([]byte, error) tea.Msg) tea.Cmd { return nil }
	keys := []string{
		"j", "k", "g", "G", "]", "[", "}", "{", "v", "c", "C", ".", ",", "r", "s", "w", "i", "f", "o", "y", "Y", "n", "p", "h", "l", "/", "x", "enter",
		"esc", "?", "tab", " ", "t",
	}
	rapid.Check(t, func(r *rapid.T) {
		id := string(rapid.SampledFrom(ids).Draw(r, "task"))
		visit(t, m, Place{Kind: KindDiff, ID: id})
		if rapid.Bool().Draw(r, "read") {
			readDiff(t, m)
		}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			w, h := rapid.IntRange(1, 220).Draw(r, "w"), rapid.IntRange(1, 70).Draw(r, "h")
			m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			checkFrame(r, m, id)
			k := rapid.SampledFrom(keys).Draw(r, "key")
			m.Update(key(k))
			checkFrame(r, m, id+" after "+k)
			if p, ok := m.nav.top().page.(*diffPage); ok && p.reading && rapid.Bool().Draw(r, "answer") {
				readDiff(t, m)
			}
		}
		m.overlay, m.env.requests = nil, nil
		m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
		for range 8 {
			m.Update(key("esc"))
		}
		if m.sink() != nil {
			r.Fatalf("esc does not lead out of what has the keys")
		}
	})
}

func TestDiff_states(t *testing.T) {
	t.Parallel()
	shot := func(t *testing.T, name string, s *seat) {
		t.Helper()
		tuitest.Golden(t, name+"/80x24-truecolor-dark-utf8", s.Settle())
	}
	t.Run("hostile", func(t *testing.T) {
		t.Parallel()
		s, st := onDiff(t, theme.Default(), 80, 24, false)
		s.script.SetDiff(st.ID, evilDiff())
		s.pressAll("ctrl+r", "g")
		shot(t, "diff-hostile", s)
		if got := s.OSC(); len(got) > 0 {
			t.Errorf("a line reached the terminal: %q", got)
		}
	})
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		s, st := onDiff(t, theme.Default(), 80, 24, false)
		s.script.SetDiff(st.ID, "")
		s.pressAll("ctrl+r").WaitFor("does not differ from its base")
		shot(t, "diff-empty", s)
	})
	t.Run("comment", func(t *testing.T) {
		t.Parallel()
		s, _ := onDiff(t, theme.Default(), 80, 24, false)
		s.pressAll("}", "}", "]", "c")
		s.typeText("say who translates it")
		shot(t, "diff-comment-field", s)
		s.pressAll("ctrl+s", ".")
		shot(t, "diff-comment", s)
	})
	t.Run("changes of all kinds", func(t *testing.T) {
		t.Parallel()
		s, _ := onDiff(t, theme.Default(), 80, 24, false)
		s.pressAll("G")
		shot(t, "diff-end", s)
	})
}

// TestDiff_stops: reading that takes long can be stopped; what was there stays, and an answer that is too late changes nothing.
func TestDiff_stops(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(begin)
	st := diffStory(t, script)
	m := still(t, script, 100, 30)
	visit(t, m, Place{Kind: KindDiff, ID: string(st.ID)})
	p := m.nav.top().page.(*diffPage)
	old := p.gen
	p.Update(diffMsg{gen: old, err: context.Canceled})
	m.gate.urgent()
	m.Update(nil)
	if !strings.Contains(m.View(), "You stopped reading the diff. ↵ reads it") {
		t.Errorf("it does not say what to do:\n%s", m.View())
	}
	m.Update(key("enter"))
	if !p.reading || p.gen == old {
		t.Error("enter does not read it again")
	}
	p.Update(diffMsg{gen: old, diff: diffview.Parse(diffFile(t, "types.diff"))})
	if p.shown != nil {
		t.Error("an answer to an older question is shown")
	}
	readDiff(t, m)
	m.Update(key("i"))
	p.Update(diffMsg{gen: p.gen, err: context.Canceled})
	if p.shown == nil || p.space {
		t.Error("what was on the screen is lost, or blanks seem to be ignored")
	}
}

// BenchmarkDiff draws the screen after a key at 10,000 and at 100,000 lines; the ratio of the two says that size does not matter.
func BenchmarkDiff(b *testing.B) {
	big := func(n int) string {
		var s strings.Builder
		for f := range 10 {
			name := string(rune('a'+f)) + ".go"
			s.WriteString("diff --git a/" + name + " b/" + name + "\n--- a/" + name + "\n+++ b/" + name + "\n@@ -1," + strconv.Itoa(n/20) + " +1," + strconv.Itoa(n/20) + " @@\n")
			for i := range n / 20 {
				s.WriteString("-\tx := before(" + strconv.Itoa(i) + ")\n")
			}
			for i := range n / 20 {
				s.WriteString("+\tx := after(" + strconv.Itoa(i) + ")\n")
			}
		}
		return s.String()
	}
	times := map[int]float64{}
	for _, n := range []int{10_000, 100_000} {
		script := tuitest.NewScript(begin)
		st := diffStory(b, script)
		script.SetDiff(st.ID, big(n))
		m := still(b, script, 200, 50)
		visit(b, m, Place{Kind: KindDiff, ID: string(st.ID)})
		readDiff(b, m)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			down := key("j")
			for i := 0; b.Loop(); i++ {
				if i%2000 == 1999 {
					m.Update(key("g"))
				}
				m.Update(down)
				_ = m.View()
			}
			times[n] = float64(b.Elapsed()) / float64(b.N)
			if times[10_000] > 0 && n == 100_000 {
				b.ReportMetric(times[n]/times[10_000], "x-10k")
			}
		})
	}
}

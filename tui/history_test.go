package tui

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// inHistory opens History and waits until everything on it was read.
func (s *seat) inHistory() *seat {
	s.t.Helper()
	s.Press("5")
	return s.rested()
}

func (s *seat) keys(keys ...string) *seat {
	s.t.Helper()
	s.Press(keys...)
	return s
}

// rested waits until what History shows of the entry under the cursor was read.
func (s *seat) rested() *seat {
	s.t.Helper()
	for {
		done := false
		s.Do(func(e *env) tea.Cmd {
			p, ok := e.nav.top().page.(*historyPage)
			done = ok && p.loaded && !p.paging && !p.due && p.since.IsZero() &&
				(p.selected() == nil || p.glance.whole && (p.detail == nil || p.detail.loaded))
			return nil
		})
		if done {
			s.Settle()
			return s
		}
	}
}

// search types a search and waits for its answer.
func (s *seat) search(text, counted string) *seat {
	s.t.Helper()
	s.Press("/")
	s.Burst(text)
	s.WaitFor(counted)
	s.Press("enter")
	return s.rested()
}

func TestHistory_golden(t *testing.T) {
	t.Parallel()
	for _, size := range sizes {
		t.Run(size.name, func(t *testing.T) {
			t.Parallel()
			name := size.name + "-truecolor-dark-utf8"
			s := start(t, tuitest.Scene(), size.w, size.h).inHistory()
			tuitest.Golden(t, "history/"+name, s)
			s.search("session type:review_verdict from:claude", "5 of ")
			tuitest.Golden(t, "history-search/"+name, s)
			s.Press("e").WaitFor("[Body]")
			tuitest.Golden(t, "entry/"+name, s.Settle())
		})
	}
	t.Run("mono", func(t *testing.T) {
		t.Parallel()
		th, err := theme.New("mono", theme.Mono, theme.ASCII)
		if err != nil {
			t.Fatal(err)
		}
		s := startThemed(t, tuitest.Scene(), th, 80, 24).inHistory().search("session type:review_verdict", "5 of ")
		tuitest.Golden(t, "history-search/80x24-mono-ascii", s)
		s.Press("e").WaitFor("[Body]")
		tuitest.Golden(t, "entry/80x24-mono-ascii", s.Settle())
	})
}

func TestHistory_states(t *testing.T) {
	t.Parallel()
	shot := func(s *seat, name string) {
		t.Helper()
		tuitest.Golden(t, "history/80x24-"+name, s.Settle())
	}
	empty := start(t, tuitest.NewScript(tuitest.SceneEnd), 80, 24).inHistory()
	shot(empty, "empty")

	script := tuitest.Scene()
	s := start(t, script, 80, 24).inHistory().search("承認", " of 193")
	shot(s, "cjk")
	s.Press("/")
	s.Burst(" typ:review_verdict and").WaitFor("did you mean")
	shot(s, "error") // the last good results stay
	s.Press("ctrl+u")
	s.Burst("nothing says this").WaitFor("No entry matches")
	shot(s, "nothing")
	s.Press("ctrl+u")
	s.Burst("ty").Press("tab")
	s.Burst("rev").Press("tab", "tab").WaitFor("[type:review_request]")
	shot(s, "complete")

	off := start(t, script, 80, 24)
	script.Cut(errors.New("the socket is gone"))
	off.WaitFor("◌ retry").Press("5").WaitFor("The journal was not read")
	off.WaitGone("the socket is gone ·") // the toast
	tuitest.GoldenText(t, "history/80x24-offline", strings.Join(off.Rows()[1:6], "\n")+"\n")
	script.Cut(nil)
	off.WaitFor("193 entries")
}

// The journal is asked once for each rest of the field, and not for what was typed on the way.
func TestHistory_oneQueryPerPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Hour) }) // timers of the program outlive it
		script := tuitest.Scene()
		s := start(t, script, 100, 30).inHistory()
		searches := func() (words []string) {
			for _, q := range script.Asked(amp.QueryEntries) {
				if q.Filter.Search != nil {
					words = append(words, strings.Join(q.Filter.Search.Words, " "))
				}
			}
			return words
		}
		s.Press("/")
		for _, c := range "session" {
			s.Press(string(c))
			time.Sleep(searchDelay / 2)
		}
		time.Sleep(2 * searchDelay)
		s.Settle()
		if got := searches(); !slices.Equal(got, []string{"session"}) {
			t.Errorf("asked for %q", got)
		}
		s.Press("space", "r", "e").Settle()
		time.Sleep(2 * searchDelay)
		s.Press("backspace", "backspace", "l").Settle()
		time.Sleep(2 * searchDelay)
		s.Settle()
		if got := searches(); !slices.Equal(got, []string{"session", "session re", "session l"}) {
			t.Errorf("asked for %q", got)
		}
		n := len(searches())
		s.Press("ctrl+u") // an empty search is one too
		s.Burst("typ:x")
		time.Sleep(2 * searchDelay)
		s.Settle()
		if got := searches(); len(got) != n {
			t.Errorf("what cannot be read was asked for: %q", got)
		}
	})
}

// A slow answer to what was typed before is cancelled, and dropped when it comes all the same.
func TestHistory_staleAnswer(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 100, 30).inHistory()
	release := script.HoldEntries()
	s.Press("/")
	s.Burst("session")
	for n := script.Queries(amp.QueryEntries); script.Queries(amp.QueryEntries) == n; {
		s.Settle()
	}
	var held *historyPage
	s.Do(func(e *env) tea.Cmd { held = e.nav.top().page.(*historyPage); return nil })
	s.Do(func(e *env) tea.Cmd {
		if held.since.IsZero() {
			t.Error("nothing is on its way")
		}
		return nil
	})
	s.Burst(" nonsense")
	release()
	s.WaitFor("No entry matches")
	s.Do(func(e *env) tea.Cmd {
		rows := readHits([]amp.Entry{e.Recent[0]}, nil)
		return held.Update(resultsMsg{asked: held.asked - 1, page: amp.Page{Entries: []amp.Entry{e.Recent[0]}}, rows: rows})
	})
	s.Shows("No entry matches")
	s.Do(func(e *env) tea.Cmd {
		rows := readHits([]amp.Entry{e.Recent[0]}, nil)
		return held.Update(resultsMsg{era: held.era - 1, at: endOlder, page: amp.Page{Entries: []amp.Entry{e.Recent[0]}}, rows: rows})
	})
	s.Shows("No entry matches")
}

// A search that takes long says so, and esc leaves the field with the last good results.
func TestHistory_slow(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 100, 30).inHistory()
	release := script.HoldEntries()
	defer release()
	s.Press("/")
	s.Burst("session")
	for n := script.Queries(amp.QueryEntries); script.Queries(amp.QueryEntries) == n; {
		s.Settle()
	}
	script.Advance(2 * time.Second)
	s.WaitFor("searching, 2 s").Shows("193 entries", "T-2026-013")
}

func TestHistory_live(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 100, 30).inHistory().search("type:review_verdict", "8 of ")
	s.Press("j", "j")
	under := func() string {
		for _, r := range s.Rows() {
			if strings.HasPrefix(r, "▌") {
				return strings.Join(strings.Fields(r)[3:5], " ")
			}
		}
		return ""
	}
	before := under()
	task := script.NewTask("another").Propose().Approve()
	task.Reject()
	seq := uint64(0)
	for _, e := range mustEntries(t, script, "type:review_verdict") {
		seq = max(seq, e.Seq)
	}
	s.WaitFor(seqName(seq)).WaitFor("9 of ")
	if got := under(); got != before || before == "" {
		t.Errorf("the cursor went from %q to %q", before, got)
	}
	s.keys("g").rested().Shows(seqName(seq))
}

func mustEntries(t testing.TB, s *tuitest.Script, text string) []amp.Entry {
	t.Helper()
	f, err := amp.ParseSearch(text, s.Now())
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Query(t.Context(), amp.Query{Kind: amp.QueryEntries, Filter: f})
	if err != nil {
		t.Fatal(err)
	}
	return p.Entries
}

func TestHistory_opens(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	e := stopThaw(script)
	s := start(t, script, 100, 30).inHistory()
	s.Press("j", "enter").WaitFor(seqName(e.Seq)+" command").Shows("of no task", "«lunch»")
	s.keys("esc").rested().search("session decision:rejected", "5 of ")
	s.Press("enter").WaitFor("Tasks › T-2026-005").WaitFor("▌ 13:38:49 ← review_verdict")
	s.keys("esc").rested().Shows("5 of ").Press("e").WaitFor("#112 message")
	s.Press(":")
	s.Burst(seqName(e.Seq))
	s.Press("enter").WaitFor(seqName(e.Seq) + " command")
}

// stopThaw stops everything and goes on: two entries of no task, of which it returns the first.
func stopThaw(s *tuitest.Script) amp.Entry {
	var first amp.Entry
	for i, c := range []amp.CommandName{amp.StopAll, amp.Thaw} {
		e := s.Append(amp.KindCommand, "", amp.Admin, "mira", amp.EncodeBody(&amp.Command{ID: "stop-" + fmt.Sprint(i), Command: c, By: "mira", At: s.Now(), Note: "lunch"}))
		if i == 0 {
			first = e
		}
	}
	return first
}

func TestOpen_entryOfNoTask(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	e := stopThaw(script)
	s := start(t, script, 100, 30, func(c *Config) { c.Open = seqName(e.Seq) })
	s.WaitFor(seqName(e.Seq) + " command").Shows("of no task")
}

func TestHistory_hits(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 80, 24).inHistory().search("looked type:review_verdict", "8 of ")
	s.Press("n", "n").Shows("▌ │ ✓ true  no call of legacy")
	s.Press("n", "n").Shows("no other hit in this entry")
	s.Press("N").Shows("▌ │ ✓ true  no call of legacy")
}

func TestHistory_saved(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 30).inHistory()
	s.Press("s").Shows("no search is saved yet")
	s.Press("ctrl+s").Shows("there is nothing to save")
	s.Press("/")
	s.Burst("session decision:rejected").WaitFor("5 of ")
	s.Press("ctrl+s").Shows("Save this search")
	s.Burst("sessions\x1b[31m").Press("enter").Shows("saved as sessions")
	s.Press("esc").WaitFor("193 entries · ")
	s.Press("s").Shows("Saved searches", "session decision:rejected")
	s.Press("enter").WaitFor("5 of 193")
	s.Press("1", ":")
	s.Burst("search: sess").Press("enter").WaitFor("5 of 193").Shows("[5 History]")
	s.Press("s", "ctrl+x").Shows("is deleted").Hides("Saved searches")
	s.Press("/").Burst("typo")
	s.Press("esc", "1").Shows("[1 Now]")                               // the field has let go of the keys
	s.Press("5", "/", "up", "up").Shows("/ session decision:rejected") // what was searched for before
}

// Saved searches and those of the past outlive the program.
func TestHistory_kept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	m := keeping(t, dir)
	m.env.desk.searches.save("late ones", "is:late since:7d")
	m.env.desk.searches.save("late ones", "is:late")
	for i := range 2 * maxPast {
		m.env.desk.searches.remember(fmt.Sprint("word ", i))
	}
	m.env.desk.searches.remember("word 150")
	if err := m.saveNow(); err != nil {
		t.Fatal(err)
	}
	got := keeping(t, dir).env.desk.searches
	if !slices.Equal(got.Saved, []savedSearch{{"late ones", "is:late"}}) || len(got.Past) != maxPast || got.Past[maxPast-1] != "word 150" {
		t.Errorf("kept %+v", got)
	}
}

func TestHistory_completes(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 30).inHistory()
	for _, c := range []struct {
		keys []string
		want string
	}{
		{[]string{"t", "y", "tab"}, "type:"},
		{[]string{"t", "tab"}, "t"}, // type: to: task:
		{[]string{"t", "tab", "tab"}, "type:"},
		{[]string{"t", "tab", "tab", "tab"}, "to:"},
		{[]string{"t", "tab", "shift+tab"}, "task:"},
		{[]string{"-", "d", "e", "tab", "r", "tab"}, "-decision:rejected "},
		{[]string{"f", "r", "tab", "c", "o", "d", "tab"}, "from:codex "},
		{[]string{"t", "a", "tab", "tab", "tab"}, "task:T-2026-016 "},
		{[]string{"x", "y", "tab"}, "xy"},
	} {
		s.Press("/")
		s.Press(c.keys...)
		got := ""
		s.Do(func(e *env) tea.Cmd { got = e.nav.top().page.(*historyPage).line.field.Text(); return nil })
		if got != c.want {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.want)
		}
		s.Press("esc")
	}
}

func TestHistory_pages(t *testing.T) {
	t.Parallel()
	script := tuitest.NewScript(tuitest.SceneEnd)
	task := script.NewTask("Long history").Propose().Approve()
	task.Dispatch().Ack(amp.TaskDispatch)
	for i := range 2500 {
		task.Says(fmt.Sprintf("step %d of many", i))
	}
	s := start(t, script, 100, 30).inHistory()
	var p *historyPage
	s.Do(func(e *env) tea.Cmd { p = e.nav.top().page.(*historyPage); return nil })
	look := func(f func()) { s.Do(func(*env) tea.Cmd { f(); return nil }) }
	for range 1300 {
		s.Press("j")
	}
	s.rested()
	look(func() {
		if n := len(p.res.rows); n > windowLimit || !p.res.newer {
			t.Errorf("%d rows are kept, newer %v", n, p.res.newer)
		}
		if h := p.selected(); h.entry.Seq != script.Board().Head.Seq-1300 {
			t.Errorf("1,300 rows below is #%d", h.entry.Seq)
		}
		for i := range p.res.rows[1:] {
			if p.res.rows[i].entry.Seq != p.res.rows[i+1].entry.Seq+1 {
				t.Errorf("#%d follows #%d", p.res.rows[i+1].entry.Seq, p.res.rows[i].entry.Seq)
			}
		}
	})
	s.search("step", "1,000+ of 2,5")
	s.Press("esc").WaitFor("─ 2,5")
	s.rested()
	for range 300 {
		s.Press("j")
	}
	s.rested()
	n := script.Queries(amp.QueryEntries)
	s.Press("G").WaitFor("«Long history»")
	s.rested()
	look(func() {
		if h := p.selected(); h.entry.Seq != 1 {
			t.Errorf("the end is #%d", h.entry.Seq)
		}
	})
	if got := script.Queries(amp.QueryEntries) - n; got > 8 {
		t.Errorf("the way to the end took %d queries", got)
	}
	s.keys("g").rested()
	look(func() {
		if h := p.selected(); h.entry.Seq != script.Board().Head.Seq || p.res.newer {
			t.Errorf("the top is #%d", h.entry.Seq)
		}
	})
}

func TestHistory_everySize(t *testing.T) {
	t.Parallel()
	evil := "x\x1b[2J\u202eevil\x07\u200d漢字\r\n\x9b1mwide"
	script := tuitest.Scene()
	script.NewTask(evil).Propose(func(p *amp.Plan) { p.Author, p.Description = evil, evil }).Approve().Dispatch().Ack(amp.TaskDispatch).Says(evil).
		Asks(evil).EscalateFrom(amp.Executor, amp.UnknownEscalation, amp.Warning, evil, evil).
		Refused(amp.Problem{Rule: "AMP-085", Field: evil, Message: evil}, evil).Command(amp.NoteCommand, amp.Args{}, evil)
	m := still(t, script, 80, 24)
	head := script.Board().Head.Seq
	m.env.desk.searches.save(evil, evil)
	answer := func(cmd tea.Cmd) {
		if cmd == nil {
			return
		}
		m.Update(cmd())
	}
	texts := []string{"", "evil", "漢 wide", "session type:review_verdict", "typ:" + evil, "kind:refusal", "no such thing", "type:"}
	keys := []string{"/", "tab", "enter", "esc", "e", "s", "n", "N", "z", "j", "k", "G", "g", "x", "r", "w", "[", "]", "{", "}", "?", ":", "t", "漢"}
	rapid.Check(t, func(r *rapid.T) {
		if rapid.Bool().Draw(r, "entry") {
			m.env.Go(entryPlace(rapid.Uint64Range(1, head+1).Draw(r, "seq")))
			answer(m.nav.top().page.(*entryPage).load())
		} else {
			m.env.Go(Place{Kind: KindHistory, ID: rapid.SampledFrom(texts).Draw(r, "text")})
			p := m.nav.top().page.(*historyPage)
			p.Update(intent{moveTop})
			answer(p.search())
		}
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			w, h := rapid.IntRange(1, 220).Draw(r, "w"), rapid.IntRange(1, 70).Draw(r, "h")
			m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			if p, ok := m.nav.top().page.(*historyPage); ok && p.selected() != nil && rapid.Bool().Draw(r, "rested") {
				f, err := readEntry(t.Context(), script, p.selected().entry.Seq, false)
				if err != nil {
					r.Fatal(err)
				}
				p.Update(entryMsg{f.entry.Seq, f, nil})
				if p.detail != nil {
					answer(p.detail.load())
				}
			}
			m.gate.urgent()
			m.Update(nil)
			checkFrame(r, m, "history")
			k := rapid.SampledFrom(keys).Draw(r, "key")
			m.Update(key(k))
			checkFrame(r, m, "history after "+k)
		}
		m.overlay = nil
		m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
		for range 8 {
			m.Update(key("esc"))
		}
		if m.sink() != nil {
			r.Fatalf("esc does not lead out of what has the keys")
		}
	})
}

package ui

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/theme"
)

func TestHeader_givesWay(t *testing.T) {
	t.Parallel()
	h := sampleHeader()
	h.Tabs[0].Active, h.Tabs[1].Active = true, false
	for w, want := range map[int]string{
		140: "ARBITER  local · rw [1 Now] 2 Tasks  3 Inbox ▲4  4 Plans ◇2  5 History  6 Agents  7 Errors !3                             ● live · 14:32:07",
		105: "ARBITER  local · rw [1 Now] 2 Tasks  3 Inbox ▲4  4 Plans ◇2  5 History  6 Agents  7 Errors !3                  ● live",
		80:  "ARBITER [1 Now] 2 Tasks  3 Inbox▲4  4 Plans◇2  5 Hist  6 Agents  7 Err!3  ● live",
		74:  "A [1 Now] 2 Tasks  3 Inbox▲4  4 Plans◇2  5 Hist  6 Agents  7 Err!3  ● live",
		50:  "A [1 Now] 2  3▲4  4◇2  5  6  7!3            ● live",
		30:  " [1 Now] 2  3▲4  4◇2  … ● live",
	} {
		got := ansi.Strip(h.Row(theme.Default(), w))
		want = strings.TrimSpace(want)
		if strings.Join(strings.Fields(got), " ") != strings.Join(strings.Fields(want), " ") {
			t.Errorf("at %d cells: %q, want %q", w, got, want)
		}
		if Width(got) != w {
			t.Errorf("at %d cells it has %d", w, Width(got))
		}
	}
	h.Tabs[0].Active, h.Tabs[6].Active = false, true
	for w := 20; w < 150; w++ {
		if got := ansi.Strip(h.Row(theme.Default(), w)); !strings.Contains(got, "[7") || !strings.Contains(got, "● live") {
			t.Errorf("at %d cells the active tab or the connection is gone: %q", w, got)
		}
	}
}

func TestKeyRows(t *testing.T) {
	t.Parallel()
	th := theme.Default()
	hints := []KeyHint{{"↵", "open"}, {"a", "ack"}, {"/", "filter"}, {":", "command"}, {"?", "help"}, {"q", "quit"}}
	strip := func(rows []string) (out []string) {
		for _, r := range rows {
			out = append(out, strings.TrimRight(ansi.Strip(r), " "))
		}
		return out
	}
	for _, tc := range []struct {
		w, n int
		want []string
	}{
		{80, 1, []string{" ↵ open  a ack  / filter  : command  ? help  q quit                       #18213"}},
		{80, 2, []string{" ↵ open  a ack  / filter  : command  ? help  q quit                       #18213"}},
		{30, 2, []string{" ↵ open  a ack  / filter", " : command  ? help      #18213"}},
		{30, 1, []string{" ↵ open  a ack          #18213"}},
		{8, 1, []string{"  #18213"}},
	} {
		if got := strip(KeyRows(th, tc.w, tc.n, hints, "#18213")); !slices.Equal(got, tc.want) {
			t.Errorf("%d cells, %d rows: %q, want %q", tc.w, tc.n, got, tc.want)
		}
		for _, r := range KeyRows(th, tc.w, tc.n, hints, "#18213") {
			if Width(r) != tc.w {
				t.Errorf("a row of %d cells, want %d", Width(r), tc.w)
			}
		}
	}
	for w := 1; w < 90; w++ {
		text := strings.Join(strip(KeyRows(th, w, 2, hints, "#18213")), " ")
		for _, h := range hints { // whole or not at all
			if strings.Contains(text, " "+h.Key+" ") && !strings.Contains(text, h.Key+" "+h.Text) {
				t.Errorf("at %d cells a hint is cut in half: %q", w, text)
			}
		}
	}
}

func TestToasts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	var ts Toasts
	for i, s := range []string{"one", "two", "three", "four"} {
		ts.Push(theme.Good, s, now.Add(time.Duration(i)*time.Second))
	}
	f := NewFrame(theme.Default(), 40, 6)
	ts.Draw(f, 5)
	text := ansi.Strip(f.String())
	if strings.Contains(text, "one") || !strings.Contains(text, "✓ four") {
		t.Errorf("the oldest should give way to the newest:\n%s", text)
	}
	if at, ok := ts.Next(); !ok || !at.Equal(now.Add(time.Second+ToastFor)) {
		t.Errorf("the next one ends at %v, %v", at, ok)
	}
	ts.Push(theme.Good, "two", now.Add(3*time.Second))
	if at, _ := ts.Next(); !at.Equal(now.Add(2*time.Second + ToastFor)) {
		t.Errorf("the same text again should stay longer, the next one ends at %v", at)
	}
	if !ts.Expire(now.Add(10*time.Second)) || ts.Expire(now.Add(10*time.Second)) {
		t.Error("all toasts are over once")
	}
	if _, ok := ts.Next(); ok {
		t.Error("there is no toast left to end")
	}
}

func TestRuleLine(t *testing.T) {
	t.Parallel()
	th := theme.Default()
	for _, tc := range []struct {
		w                  int
		title, facts, want string
	}{
		{30, "Needs you 6", "oldest 22m", "─ Needs you 6 ─── oldest 22m ─"},
		{31, "Needs you 6", "oldest 22m", "─ Needs you 6 ──── oldest 22m ─"},
		{20, "Needs you 6", "oldest 22m", "─ Needs you 6 ──────"},
		{12, "Needs you 6", "", "─ Needs… ───"},
		{10, "", "", "──────────"},
		{14, "", "proof", "────── proof ─"},
		{5, "title", "facts", "─────"},
		{28, "Inbox", "1-6 of 7 · severity, age", "─ Inbox ───────── 1-6 of 7 ─"},
		{34, "Inbox", "1-6 of 7 · severity, age", "─ Inbox ── 1-6 of 7 · severity,… ─"},
		{19, "Inbox", "severity, age · 7", "─ Inbox ── sever… ─"},
	} {
		got := ansi.Strip(RuleLine(th, tc.w, tc.title, tc.facts))
		if Width(got) != tc.w {
			t.Errorf("%q has %d cells, want %d", got, Width(got), tc.w)
		}
		if got != tc.want {
			t.Errorf("rule at %d = %q, want %q", tc.w, got, tc.want)
		}
	}
}

func TestBeside_tees(t *testing.T) {
	t.Parallel()
	th := theme.Default()
	left := NewBlock(th, 4).Rule("", "").Add("a").Rule("", "").Add("b").Rule("", "")
	right := NewBlock(th, 3).Rule("", "").Rule("", "").Add("c").Add("d").Rule("", "")
	got := ansi.Strip(strings.Join(Beside(left, right).RuleUp(4).Rows(), "\n"))
	want := strings.Join([]string{"────┬───", "a   ├───", "────┤c  ", "b   │d  ", "────┼───", "────┴───"}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBlock_quote(t *testing.T) {
	t.Parallel()
	b := NewBlock(theme.Default(), 24).Quote(2, "No reference is held\x1b[2J after the start of the session", 3)
	got := ansi.Strip(strings.Join(b.Rows(), "\n"))
	want := strings.Join([]string{"  │ «No reference is    ", "  │ held␛[2J after the  ", "  │ start of the …      "}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestColumns_dropInOrder(t *testing.T) {
	t.Parallel()
	th := theme.Default()
	var order []string
	shown := map[string]bool{"TASK": true, "STATUS": true, "TITLE": true, "ACK": true, "REJ": true}
	for w := 120; w > 3; w-- {
		c := sampleColumns(th, w)
		for title := range shown {
			if shown[title] && !c.Shows(title) {
				order = append(order, title)
				shown[title] = false
			}
		}
		if got := Width(c.Head()); got != w {
			t.Fatalf("the head at %d cells has %d", w, got)
		}
	}
	if want := []string{"REJ", "ACK", "TASK", "STATUS"}; !slices.Equal(order, want) {
		t.Errorf("columns went in the order %v, want %v and TITLE stays", order, want)
	}
}

func TestColumns_slot(t *testing.T) {
	t.Parallel()
	line := sampleColumns(theme.Default(), 60).Row(true, Cell{Text: "T-1"}, Cell{Text: "held"}, Cell{Text: "title"}, Cell{Live: true}, Cell{Text: "2/3"})
	if line.Slot != 11 {
		t.Fatalf("the slot has %d cells, want 11", line.Slot)
	}
	got := ansi.Strip(line.Join("▰▰▰▱ 4:21"))
	if want := "▌ T-1        held         title              ▰▰▰▱ 4:21   2/3"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	var z Zones
	z.Add("page", 0, 0, 80, 24)
	z.Add("box", 10, 5, 20, 4)
	if id, dx, dy, ok := z.At(12, 6); id != "box" || dx != 2 || dy != 1 || !ok {
		t.Errorf("At(12, 6) = %s %d %d %v", id, dx, dy, ok)
	}
	if id, _, _, _ := z.At(30, 6); id != "page" {
		t.Errorf("At(30, 6) = %s, want page", id)
	}
	z.Reset()
	if _, _, _, ok := z.At(1, 1); ok {
		t.Error("regions survive a reset")
	}
}

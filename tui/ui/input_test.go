package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/theme"
)

func press(f *Field, keys ...string) {
	for _, k := range keys {
		f.Key(keyMsg(k))
	}
}

func TestField_editing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		multi bool
		text  string
		keys  []string
		want  string
	}{
		"type":               {false, "", []string{"a", "space", "b"}, "a b"},
		"in the middle":      {false, "ac", []string{"left", "b"}, "abc"},
		"burst":              {false, "", []string{"jjj"}, "jjj"},
		"backspace":          {false, "ab漢", []string{"backspace", "backspace"}, "a"},
		"whole characters":   {false, "e\u0301x", []string{"home", "delete"}, "x"},
		"word":               {false, "one two", []string{"ctrl+w"}, "one "},
		"to the beginning":   {false, "one two", []string{"left", "ctrl+u"}, "o"},
		"to the end":         {false, "one two", []string{"home", "right", "ctrl+k"}, "o"},
		"word moves":         {false, "one two three", []string{"ctrl+left", "x", "home", "ctrl+right", "y"}, "oney two xthree"},
		"no newline":         {false, "ab", []string{"ctrl+j"}, "ab"},
		"newline":            {true, "ab", []string{"enter", "c"}, "ab\nc"},
		"up":                 {true, "abc\nd", []string{"up", "x"}, "axbc\nd"},
		"down":               {true, "a\nbcd", []string{"home", "up", "end", "down", "x"}, "a\nbxcd"},
		"backspace newline":  {true, "a\nb", []string{"home", "backspace"}, "ab"},
		"delete at the end":  {false, "a", []string{"delete"}, "a"},
		"backspace at start": {false, "a", []string{"home", "backspace"}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &Field{Multi: tc.multi}
			f.SetText(tc.text)
			press(f, tc.keys...)
			if f.Text() != tc.want {
				t.Errorf("text = %q, want %q", f.Text(), tc.want)
			}
		})
	}
}

func TestField_paste(t *testing.T) {
	t.Parallel()
	f := NewField("Reason")
	f.Key(tea.KeyMsg{Type: tea.KeyRunes, Paste: true, Runes: []rune("a\x1b[2J\r\nb\u202ec")})
	if want := "a[2J bc"; f.Text() != want {
		t.Errorf("a paste became %q, want %q", f.Text(), want)
	}
	f.Limit = 10
	f.SetText(strings.Repeat("漢", 10))
	if want := "漢漢漢"; f.Text() != want {
		t.Errorf("the limit left %q, want %q", f.Text(), want)
	}
}

// What did not fit into a field is said to be left out, in one row and in many, until there is room again.
func TestField_over(t *testing.T) {
	t.Parallel()
	th := theme.Default()
	const said = "! the end was left out: a field takes 65,536 bytes"
	for _, multi := range []bool{false, true} {
		f := NewField("x")
		f.Multi = multi
		drawn := func() string {
			if !multi {
				return ansi.Strip(f.Row(th, 120, true))
			}
			return ansi.Strip(strings.Join(f.Rows(th, 70, 4, true), "\n"))
		}
		f.Insert(strings.Repeat("x", 64<<10))
		if strings.Contains(drawn(), said) {
			t.Errorf("multi %v: a full field says that something is missing:\n%s", multi, drawn())
		}
		f.Insert("漢字")
		if !strings.Contains(drawn(), said) {
			t.Errorf("multi %v: it is not said that something is missing:\n%s", multi, drawn())
		}
		for row := range strings.SplitSeq(drawn(), "\n") {
			if got := Width(row); got != map[bool]int{false: 120, true: 70}[multi] {
				t.Errorf("multi %v: a row has %d cells", multi, got)
			}
		}
		f.Key(tea.KeyMsg{Type: tea.KeyBackspace})
		if strings.Contains(drawn(), said) {
			t.Errorf("multi %v: it is still said after something was deleted", multi)
		}
	}
}

func TestField_leavesKeys(t *testing.T) {
	t.Parallel()
	f := NewField("")
	for _, k := range []string{"enter", "esc", "tab", "up", "pgdown"} {
		if f.Key(keyMsg(k)) {
			t.Errorf("a field of one line took %s", k)
		}
	}
}

func TestField_cursorIsSeen(t *testing.T) {
	t.Parallel()
	th, _ := theme.New("mono", theme.Mono, theme.UTF8)
	f := NewField("")
	f.SetText("abcdefghij")
	if got := f.Row(th, 5, true); got != "ghij"+th.S(theme.Cursor, " ") {
		t.Errorf("row = %q, want the end and the cursor", got)
	}
	press(f, "home")
	if got := f.Row(th, 5, true); got != th.S(theme.Cursor, "a")+"bcd…" {
		t.Errorf("row = %q, want the cursor on a", got)
	}
	a := NewArea("")
	a.SetText("one two three\nfour\nfive")
	if got := ansi.Strip(strings.Join(a.Rows(th, 9, 2, true), "|")); got != "four     |five     " {
		t.Errorf("rows = %q, want the last two", got)
	}
	for range 4 {
		press(a, "up", "home")
	}
	if got := ansi.Strip(strings.Join(a.Rows(th, 9, 2, true), "|")); got != "one two  |three    " {
		t.Errorf("rows = %q, want the first two", got)
	}
}

func choices() []Choice {
	return []Choice{
		{ID: "plan.approve", Text: "approve…", Hint: "A"},
		{ID: "plan.reject", Text: "reject with reason…", Hint: "R", Off: "read 4/5"},
		{ID: "go.history", Text: "History", Hint: "5"},
		{ID: "T-2026-044", Text: "Watch breathing timer", Hint: "task", Match: "T-2026-044"},
	}
}

func TestPicker(t *testing.T) {
	t.Parallel()
	p := NewPicker("Command", choices())
	if got := p.Key(keyMsg("enter")); got != PickChosen {
		t.Errorf("enter = %v, want chosen", got)
	}
	for _, k := range "rej" {
		p.Key(keyMsg(string(k)))
	}
	if c, _ := p.Choice(); c.ID != "plan.reject" {
		t.Errorf("rej finds %q", c.ID)
	}
	if got := p.Key(keyMsg("enter")); got != PickOff {
		t.Errorf("enter on a choice that is off = %v", got)
	}
	p.SetQuery("044")
	if c, _ := p.Choice(); c.ID != "T-2026-044" {
		t.Errorf("044 finds %q", c.ID)
	}
	p.SetQuery("zzz")
	if _, ok := p.Choice(); ok || p.Key(keyMsg("enter")) != PickNone {
		t.Error("nothing matches zzz, and yet there is a choice")
	}
	text := ansi.Strip(strings.Join(p.Render(theme.Default(), 50, 8).Rows(), "\n"))
	if !strings.Contains(text, "nothing matches") || !strings.Contains(text, "0 of 4") {
		t.Errorf("an empty result does not say so:\n%s", text)
	}
	p.SetQuery("")
	p.Key(keyMsg("down"))
	text = ansi.Strip(strings.Join(p.Render(theme.Default(), 60, 8).Rows(), "\n"))
	if !strings.Contains(text, "▌ reject with reason…  off: read 4/5") {
		t.Errorf("a choice that is off does not say why:\n%s", text)
	}
	if p.Key(keyMsg("esc")) != PickClosed {
		t.Error("esc does not close")
	}
}

func TestPicker_keepsTheChoice(t *testing.T) {
	t.Parallel()
	p := NewPicker("", choices())
	p.Key(keyMsg("down"))
	p.Key(keyMsg("down"))
	p.SetChoices(append([]Choice{{ID: "new", Text: "new"}}, choices()...))
	if c, _ := p.Choice(); c.ID != "go.history" {
		t.Errorf("the cursor went to %q, want go.history", c.ID)
	}
}

func TestPalette_history(t *testing.T) {
	t.Parallel()
	p := NewPalette(choices(), []string{"old"})
	for _, q := range []string{"history", "history", "approve"} {
		p.SetQuery(q)
		p.Key(keyMsg("enter"))
	}
	if want := []string{"old", "history", "approve"}; !slices.Equal(p.History(), want) {
		t.Errorf("history = %v, want %v", p.History(), want)
	}
	p.SetQuery("dra")
	var got []string
	for _, k := range []string{"up", "up", "up", "up", "down", "down", "down"} {
		p.Key(keyMsg(k))
		got = append(got, p.Query())
	}
	if want := []string{"approve", "history", "old", "old", "history", "approve", "dra"}; !slices.Equal(got, want) {
		t.Errorf("up and down gave %v, want %v", got, want)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	h := NewHelp("Help · plan", []HelpSection{
		{Title: "This screen", Items: []HelpItem{{ID: "plan.approve", Key: "A", Text: "approve…", Off: "S5 unread"}, {ID: "plan.diff", Key: "d", Text: "what changed"}}},
		{Title: "Signs", Items: []HelpItem{{Key: "○", Text: "drafting"}}},
		{Title: "Everywhere", Right: true, Items: []HelpItem{{ID: "app.help", Key: "?", Text: "this help"}}},
	})
	text := ansi.Strip(strings.Join(h.Render(theme.Default(), 80, 12).Rows(), "\n"))
	for _, want := range []string{"THIS SCREEN", "EVERYWHERE", "▌ A       approve…  off: S5 unread", "○       drafting", "1 of 3"} {
		if !strings.Contains(text, want) {
			t.Errorf("the help does not show %q:\n%s", want, text)
		}
	}
	if got := h.Key(keyMsg("enter")); got != PickOff {
		t.Errorf("enter on a row that is off = %v", got)
	}
	h.Key(keyMsg("down"))
	if it, _ := h.Item(); it.ID != "plan.diff" || h.Key(keyMsg("enter")) != PickChosen {
		t.Errorf("the second row is %q", it.ID)
	}
	h.Key(keyMsg("down"))
	if it, _ := h.Item(); it.ID != "app.help" {
		t.Errorf("rows that only explain should be passed over, the third is %q", it.ID)
	}
	for _, k := range "changed" {
		h.Key(keyMsg(string(k)))
	}
	if it, _ := h.Item(); it.ID != "plan.diff" {
		t.Errorf("the filter leaves %q", it.ID)
	}
	if h.Key(keyMsg("?")) != PickClosed || h.Key(keyMsg("esc")) != PickClosed {
		t.Error("? and esc should close")
	}
}

func TestPager(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "line %d\tend\n", i)
	}
	p := NewPager(theme.Default())
	p.SetText(b.String())
	if p.Lines() != 1000 {
		t.Fatalf("%d lines, want 1000", p.Lines())
	}
	first := func() string { return strings.TrimSpace(p.Render(30, 10).Rows()[0]) }
	if got := first(); got != "line 0  end" {
		t.Errorf("first row = %q", got)
	}
	p.Goto(5000)
	if got := first(); got != "line 990    end" {
		t.Errorf("at the end the first row is %q, the last screen should be full", got)
	}
	p.Page(-1)
	if got := first(); got != "line 980    end" {
		t.Errorf("a page up shows %q", got)
	}
	if n := p.Search("LINE 77"); n != 11 {
		t.Errorf("found %d lines, want 77 and 770 to 779", n)
	}
	p.Goto(0)
	p.Next(true)
	p.Next(true)
	if got := ansi.Strip(first()); got != "line 770    end" {
		t.Errorf("the second hit is %q", got)
	}
	if got := p.Render(30, 1).Rows()[0]; !strings.Contains(got, theme.Default().S(theme.Hit, "line 77")) {
		t.Errorf("the hit is not marked: %q", got)
	}
	if !p.Next(false) || p.Next(false) {
		t.Error("there is one hit before, not two")
	}
	p.SetText("\x1b[2J" + strings.Repeat("w", 100))
	p.Search("")
	if got := first(); !strings.HasPrefix(got, "␛[2Jww") || !strings.HasSuffix(got, "…") {
		t.Errorf("a hostile long line shows as %q", got)
	}
	p.Wrap(true)
	if rows := p.Render(30, 10).Rows(); strings.TrimSpace(rows[3]) != "w"+strings.Repeat("w", 13) {
		t.Errorf("wrapped rows = %q", rows[:4])
	}
	p.Wrap(false)
	p.Shift(95)
	if got := first(); got != "wwwwwwwww" {
		t.Errorf("shifted to the right it shows %q", got)
	}
}

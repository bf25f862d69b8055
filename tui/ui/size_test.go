package ui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"arbiter/tui/theme"
)

// hostile is text that a page may be handed by an agent.
var hostile = []string{
	"", "x", "Extract retry policy", "承認フローの翻訳 (JA)", "a\x1b[2Jb\u202e", "👨\u200d👩\u200d👧 family", "e\u0301\u0301\u0301",
	"tab\there", strings.Repeat("long ", 60), "🇩🇪🇯🇵", "العربية", "漢", "漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢漢",
	"line\nbreak\r\nmore", "\x00\xff", "⚠ 1\ufe0f\u20e3", "한국어 ㅎㅏㄴ", strings.Repeat("w", 300),
}

func genText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.SampledFrom(hostile), rapid.String())
}

func genTheme() *rapid.Generator[*theme.Theme] {
	return rapid.Custom(func(r *rapid.T) *theme.Theme {
		th, err := theme.New(rapid.SampledFrom(theme.Names()).Draw(r, "theme"),
			rapid.SampledFrom([]theme.Profile{theme.Mono, theme.ANSI16, theme.ANSI256, theme.TrueColor}).Draw(r, "profile"),
			rapid.SampledFrom([]*theme.Signs{theme.UTF8, theme.ASCII, theme.Narrow}).Draw(r, "signs"))
		if err != nil {
			r.Fatal(err)
		}
		return th
	})
}

// checkRows fails unless there are h rows of w cells that leave no style open.
func checkRows(r interface{ Fatalf(string, ...any) }, what string, rows []string, w, h int) {
	if h >= 0 && len(rows) != h {
		r.Fatalf("%s: %d rows, want %d", what, len(rows), h)
	}
	for i, row := range rows {
		if got := Width(row); got != w {
			r.Fatalf("%s: row %d has %d cells, want %d: %q", what, i, got, w, row)
		}
		if strings.ContainsAny(row, "\n\r\t") {
			r.Fatalf("%s: row %d has a control character: %q", what, i, row)
		}
		if at := strings.LastIndex(row, "\x1b["); at >= 0 && !strings.HasPrefix(row[at:], theme.Reset) {
			r.Fatalf("%s: row %d leaves a style open: %q", what, i, row)
		}
	}
}

func TestCells_exactWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := Safe(genText().Draw(r, "text"))
		other := Safe(genText().Draw(r, "other"))
		w := rapid.IntRange(-1, 220).Draw(r, "w")
		styled := theme.Default().S(theme.Danger, s)
		want := max(w, 0)
		for name, got := range map[string]string{
			"Pad": Pad(s, w), "PadLeft": PadLeft(s, w), "Center": Center(s, w), "Spread": Spread(s, other, w),
			"Pad styled": Pad(styled, w), "PadLeft styled": PadLeft(styled, w), "Spread styled": Spread(styled, styled, w),
			"RuleLine": RuleLine(theme.Default(), w, s, other),
		} {
			if Width(got) != want {
				r.Fatalf("%s(%q, %d) has %d cells: %q", name, s, w, Width(got), got)
			}
		}
		for name, got := range map[string]string{"Cut": Cut(s, w), "CutLeft": CutLeft(s, w)} {
			if Width(got) > want {
				r.Fatalf("%s(%q, %d) has %d cells", name, s, w, Width(got))
			}
		}
		for _, row := range Wrap(styled, max(w, 1)) {
			if Width(row) > max(w, 1) {
				r.Fatalf("Wrap(%q, %d) has a row of %d cells: %q", s, w, Width(row), row)
			}
		}
	})
}

func TestSplice_exactWidth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		total := rapid.IntRange(1, 80).Draw(r, "total")
		th := theme.Default()
		row := Pad(th.S(theme.Accent, Safe(genText().Draw(r, "a")))+Safe(genText().Draw(r, "b")), total)
		pw := rapid.IntRange(0, 40).Draw(r, "pw")
		x := rapid.IntRange(-20, 90).Draw(r, "x")
		patch := Pad(th.S(theme.Danger, Safe(genText().Draw(r, "patch"))), pw)
		got := Splice(row, patch, x, pw, total)
		if Width(got) != total {
			r.Fatalf("Splice(%q, %q, %d, %d, %d) has %d cells: %q", row, patch, x, pw, total, Width(got), got)
		}
	})
}

// TestFrame_exactSize draws a page with one of each part in every size.
func TestFrame_exactSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		th := genTheme().Draw(r, "theme")
		w, h := rapid.IntRange(1, 220).Draw(r, "w"), rapid.IntRange(1, 70).Draw(r, "h")
		f := samplePage(th, w, h, genText().Draw(r, "text"), rapid.IntRange(0, 300).Draw(r, "items"))
		checkRows(r, "frame", f.Rows(), w, h)
		text := f.String()
		rows := strings.Split(text, "\n")
		checkRows(r, "text", rows, w, h)
		for i, row := range rows {
			if !strings.HasPrefix(row, theme.Reset) || !strings.HasSuffix(row, theme.Reset) {
				r.Fatalf("row %d does not begin and end with a reset: %q", i, row)
			}
		}
		if th.Signs == theme.ASCII {
			for _, c := range text {
				if c > 126 {
					r.Fatalf("%q is not ASCII in %q", c, text)
				}
			}
		}
	})
}

// TestFrame_everySize draws the same page in each size there is, one theme.
func TestFrame_everySize(t *testing.T) {
	t.Parallel()
	step := 1
	if testing.Short() {
		step = 7
	}
	th := theme.Default()
	for w := 1; w <= 220; w += step {
		for _, h := range []int{1, 2, 5, 10, 24, 70} {
			checkRows(t, fmt.Sprintf("%dx%d", w, h), samplePage(th, w, h, hostile[3], 40).Rows(), w, h)
		}
	}
}

// samplePage is a page with header, list, detail, gauges, quote, footer, toast and overlay.
func samplePage(th *theme.Theme, w, h int, text string, items int) *Frame {
	now := time.Date(2026, 3, 1, 14, 32, 7, 0, time.UTC)
	f := NewFrame(th, w, h)
	f.Put(0, NewBlock(th, w).Add(sampleHeader().Row(th, w)))
	lw, rw, two := Split(w, 0.6, 40, 30)
	left := NewBlock(th, lw).Rule("Tasks "+text, "id ▾")
	cols := sampleColumns(th, lw)
	left.Add(cols.Head())
	list := NewList(th, Source{
		Len: func() int { return items },
		ID:  func(i int) string { return fmt.Sprintf("T-%d", i) },
		Lines: func(i, _ int, selected bool) []Line {
			return []Line{cols.Row(selected, Cell{Text: fmt.Sprintf("T-%d", i)}, Cell{Text: "◎ reviewing"}, Cell{Text: text},
				Cell{Live: true}, Cell{Text: "2/3", Role: theme.Time})}
		},
		Live: func(i int) string {
			return Countdown{Start: now, Deadline: now.Add(time.Duration(i) * time.Second), Redone: i%2 == 0}.Text(th, now)
		},
	})
	list.Move(items / 2)
	left.Append(list.Render(lw, h-6))
	page := left
	if two {
		right := NewBlock(th, rw).Rule(Safe(text), "2/3").Field(9, "branch", Safe(text)).Quote(2, text, 3).
			Say(theme.Muted, text).Rule("", "").Add(Spark(th, rw, []float64{1, 2, 3}))
		page = Beside(left, right)
	}
	f.Put(1, page.Fit(h-4))
	keys := KeyRows(th, w, 2, []KeyHint{{"↵", "open"}, {"/", "filter"}, {":", "command"}, {"?", "help"}}, "#18213")
	f.Put(h-3, NewBlock(th, w).RuleUp(lw).Add(keys...))
	var toasts Toasts
	toasts.Push(theme.Danger, text, now)
	toasts.Draw(f, h-3)
	help := NewHelp("Help", []HelpSection{
		{Title: "This screen", Items: []HelpItem{{ID: "a", Key: "A", Text: text, Off: text}}},
		{Title: "Everywhere", Right: true, Items: []HelpItem{{ID: "b", Key: "ctrl+d", Text: "half page"}}},
	})
	f.Center(help.Render(th, w-4, h/2))
	pick := NewPicker("Pick", []Choice{{ID: "1", Text: text, Hint: "id"}, {ID: "2", Text: "x", Off: text}})
	return f.Overlay(w/3, h/3, pick.Render(th, w/2, h/2))
}

func sampleHeader() Header {
	return Header{Name: "ARBITER", Facts: "local · rw", Right: "● live", Detail: " · 14:32:07", Tabs: []Tab{
		{Key: "1", Title: "Now"},
		{Key: "2", Title: "Tasks", Active: true},
		{Key: "3", Title: "Inbox", Badge: "▲4"},
		{Key: "4", Title: "Plans", Badge: "◇2"},
		{Key: "5", Title: "History", Short: "Hist"},
		{Key: "6", Title: "Agents"},
		{Key: "7", Title: "Errors", Short: "Err", Badge: "!3"},
	}}
}

func sampleColumns(th *theme.Theme, w int) *Columns {
	return NewColumns(th, w, Column{Title: "TASK", Width: 10, Keep: 8}, Column{Title: "STATUS", Width: 12, Keep: 9},
		Column{Title: "TITLE", Width: 12, Flex: true, Keep: 10}, Column{Title: "ACK", Width: 11, Keep: 5},
		Column{Title: "REJ", Width: 3, Right: true, Keep: 4})
}

func TestFields_exactSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		th := genTheme().Draw(r, "theme")
		w, h := rapid.IntRange(1, 100).Draw(r, "w"), rapid.IntRange(1, 20).Draw(r, "h")
		f := NewArea("Reason")
		f.Multi = rapid.Bool().Draw(r, "multi")
		f.SetText(genText().Draw(r, "text"))
		for range rapid.IntRange(0, 5).Draw(r, "moves") {
			f.Key(keyMsg(rapid.SampledFrom([]string{"left", "right", "home", "up", "down", "ctrl+w", "x", "backspace", "delete"}).Draw(r, "key")))
		}
		focused := rapid.Bool().Draw(r, "focused")
		checkRows(r, "area", f.Rows(th, w, h, focused), w, h)
		if !f.Multi {
			checkRows(r, "field", []string{f.Row(th, w, focused)}, w, 1)
		}
		p := NewPager(th)
		p.SetText(genText().Draw(r, "pager"))
		p.Wrap(rapid.Bool().Draw(r, "wrap"))
		p.Search(rapid.SampledFrom([]string{"", "x", "long"}).Draw(r, "query"))
		p.Shift(rapid.IntRange(0, 30).Draw(r, "shift"))
		checkRows(r, "pager", p.Render(w, h).Rows(), w, h)
	})
}

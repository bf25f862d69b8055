package ui

import (
	"fmt"
	"testing"

	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// TestGolden_parts draws each part in the sizes and looks that screens are reviewed in.
func TestGolden_parts(t *testing.T) {
	t.Parallel()
	for _, look := range []struct {
		name    string
		theme   string
		profile theme.Profile
		signs   *theme.Signs
	}{
		{"dark-truecolor-utf8", "dark", theme.TrueColor, theme.UTF8},
		{"light-16-utf8", "light", theme.ANSI16, theme.UTF8},
		{"dark-mono-ascii", "dark", theme.Mono, theme.ASCII},
	} {
		th, err := theme.New(look.theme, look.profile, look.signs)
		if err != nil {
			t.Fatal(err)
		}
		for _, size := range [][2]int{{80, 24}, {140, 40}, {60, 14}, {50, 10}} {
			w, h := size[0], size[1]
			t.Run(fmt.Sprintf("%s/%dx%d", look.name, w, h), func(t *testing.T) {
				t.Parallel()
				tuitest.Golden(t, fmt.Sprintf("page/%dx%d-%s", w, h, look.name), tuitest.Draw(t, goldenPage(th, w, h).String(), w, h))
			})
		}
		f := NewFrame(th, 80, 24).Put(0, NewBlock(th, 80).Rule("Plans", "2"))
		f.Center(goldenHelp().Render(th, 78, 20))
		tuitest.Golden(t, "help/80x24-"+look.name, tuitest.Draw(t, f.String(), 80, 24))
		p := NewPalette(choices(), nil)
		p.SetQuery("re")
		f = NewFrame(th, 80, 24).Overlay(10, 4, p.Render(th, 60, 10))
		tuitest.Golden(t, "palette/80x24-"+look.name, tuitest.Draw(t, f.String(), 80, 24))
	}
}

// goldenPage is a list with its detail, as the example of the package draws it.
func goldenPage(th *theme.Theme, w, h int) *Frame {
	b := newBoard(40)
	b.th, b.lw, b.rw = th, w, 0
	two := false
	if lw, rw, ok := Split(w, 0.6, 50, 40); ok {
		b.lw, b.rw, two = lw, rw, true
	}
	b.cols = sampleColumns(th, b.lw)
	b.list.SetTheme(th)
	b.list.Top()
	b.list.Move(2)
	f := NewFrame(th, w, h)
	f.Put(0, NewBlock(th, w).Add(sampleHeader().Row(th, w)))
	page := NewBlock(th, b.lw).Rule("Tasks 18  working 8 · awaiting 2", "id ▾").Add(b.cols.Head())
	page.Append(b.list.Render(b.lw, h-6))
	if two {
		right := NewBlock(th, b.rw).RuleStyled(th.S(theme.Title, "T-0000002"), th.S(theme.Time, "2/3 · ▲ Lock is approaching")).
			Field(9, "branch", "feature/watch-breath-v2").Field(9, "paths", "Sources/WatchApp/** docs/plan.md internal/dispatch/*.go").
			Rule("Issues of #18140", "1 critical").
			Quote(2, "No session reference is held after session.start(); ARC will recycle it", 3).
			Add("  " + th.S(theme.Good, th.Signs.Yes+" confirmed") + "  " + th.S(theme.Danger, th.Signs.No+" refuted"))
		page = Beside(page, right)
	}
	f.Put(1, page.Fit(h-4))
	f.Put(h-3, NewBlock(th, w).RuleUp(b.lw).Add(KeyRows(th, w, 2,
		[]KeyHint{{th.Signs.Enter, "open"}, {"a", "ack"}, {"/", "filter"}, {":", "command"}, {"?", "help"}}, "#18213 c41e77b0")...))
	var toasts Toasts
	toasts.Push(theme.Good, "copied 10 bytes", benchNow)
	toasts.Draw(f, h-3)
	return f
}

func goldenHelp() *Help {
	return NewHelp("Help · plan approval", []HelpSection{
		{Title: "This screen", Items: []HelpItem{
			{ID: "plan.approve", Key: "A", Text: "approve…", Off: "S5 unread"},
			{ID: "plan.reject", Key: "R", Text: "reject with reason…"},
			{ID: "plan.diff", Key: "d", Text: "what changed r3→r4"},
		}},
		{Title: "Signs", Items: []HelpItem{{Key: "○", Text: "drafting"}, {Key: "▲▲", Text: "critical"}, {Key: "▰▰▱▱", Text: "2:31 time to ACK"}}},
		{Title: "Everywhere", Right: true, Items: []HelpItem{
			{ID: "go.screen", Key: "1-7", Text: "go to screen"},
			{ID: "app.palette", Key: ":", Text: "command palette"},
			{ID: "half", Key: "ctrl+d ctrl+u", Text: "half page"},
		}},
	})
}

package tui

import (
	"regexp"
	"strings"
	"testing"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// sgr matches what a frame may hold besides text: styles, and the erase and column moves that keep rows with rare characters in place.
var sgr = regexp.MustCompile("\x1b\\[[0-9;:]*[mKGC]")

// checkFrame fails unless the frame has exactly the rows and cells of the screen and no control but styles.
func checkFrame(t interface {
	Helper()
	Fatalf(string, ...any)
}, m *model, what string,
) {
	t.Helper()
	frame := m.View()
	if m.w == 0 || m.h == 0 {
		return
	}
	rows := strings.Split(frame, "\n")
	if len(rows) != m.h {
		t.Fatalf("%s at %dx%d has %d rows", what, m.w, m.h, len(rows))
	}
	for y, row := range rows {
		if got := ansi.StringWidth(row); got != m.w {
			t.Fatalf("%s at %dx%d: row %d has %d cells: %q", what, m.w, m.h, y, got, row)
		}
		plain := sgr.ReplaceAllString(row, "")
		if i := strings.IndexFunc(plain, func(r rune) bool {
			return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f
		}); i >= 0 {
			t.Fatalf("%s at %dx%d: row %d has a control character at byte %d: %q", what, m.w, m.h, y, i, plain)
		}
	}
}

func TestFrame_everySize(t *testing.T) {
	t.Parallel()
	script := busy()
	places := []Place{
		{Kind: KindNow},
		{Kind: KindTasks},
		{Kind: KindTask, ID: "T-2026-005"},
		{Kind: KindTask, ID: "T-2026-004"},
		{Kind: KindAgents},
		turnPlace("T-2026-008", script.Task("T-2026-008").Turn.TurnID),
	}
	keys := []string{"?", ":", "tab", "x", "[", "j", "k", "G", "g", "z", "esc", "/", "w", "c", "v", "i", "f", "t", "u", "!", "a", "s"}
	roam(t, still(t, script, 80, 24), places, keys)
}

// roam visits places in random order and sizes and presses random keys: every frame has its size, and esc leads out of everything.
func roam(t *testing.T, m *model, places []Place, keys []string) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		at := rapid.SampledFrom(places).Draw(r, "place")
		visit(t, m, at)
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			w, h := rapid.IntRange(1, 220).Draw(r, "w"), rapid.IntRange(1, 70).Draw(r, "h")
			m.Update(tea.WindowSizeMsg{Width: w, Height: h})
			checkFrame(r, m, string(at.Kind))
			k := rapid.SampledFrom(keys).Draw(r, "key")
			m.Update(key(k))
			checkFrame(r, m, string(at.Kind)+" after "+k)
		}
		m.overlay = nil
		m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
		for range 6 {
			m.Update(key("esc"))
		}
		if m.sink() != nil {
			r.Fatalf("esc does not lead out of what has the keys")
		}
	})
}

func key(name string) tea.KeyMsg {
	switch name {
	case "tab":
		return tea.KeyMsg{Type: tea.KeyTab}
	case "esc":
		return tea.KeyMsg{Type: tea.KeyEsc}
	case "enter":
		return tea.KeyMsg{Type: tea.KeyEnter}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

func TestIndex_followsTheBoard(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	page, err := script.Query(t.Context(), amp.Query{Kind: amp.QueryEntries})
	if err != nil {
		t.Fatal(err)
	}
	board := amp.NewBoard()
	x := newIndex(board, nil)
	order := taskOrder{by: byWork}
	order.rebuild(board)
	for i, e := range page.Entries {
		if err := board.Apply(e); err != nil {
			t.Fatal(err)
		}
		if task := board.Task(e.TaskID); task != nil {
			x.touch(task, nil)
		}
		order.follow(board, changedMsg{Entries: page.Entries[i : i+1]})
	}
	want := newIndex(board, nil)
	if x.Inbox != want.Inbox || x.Plans != want.Plans || len(x.Needs) != len(want.Needs) || len(x.Running) != len(want.Running) {
		t.Errorf("step by step: inbox %d plans %d needs %d running %d, at once: %d %d %d %d", x.Inbox, x.Plans, len(x.Needs), len(x.Running),
			want.Inbox, want.Plans, len(want.Needs), len(want.Running))
	}
	for i := range want.Needs {
		if x.Needs[i] != want.Needs[i] {
			t.Errorf("need %d = %+v, want %+v", i, x.Needs[i], want.Needs[i])
		}
	}
	for s, n := range want.ByStatus {
		if x.ByStatus[s] != n {
			t.Errorf("%d tasks are %s, want %d", x.ByStatus[s], s, n)
		}
	}
	fresh := taskOrder{by: byWork}
	fresh.rebuild(board)
	for i := range fresh.keys {
		if order.keys[i] != fresh.keys[i] {
			t.Errorf("place %d has %v, want %v", i, order.keys[i], fresh.keys[i])
		}
	}
}

package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// Button press, motion with the button held, and release, as terminals report them.
func dragBytes(fromX, toX, y int) string {
	return fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<32;%d;%dM\x1b[<0;%d;%dm", fromX+1, y+1, toX+1, y+1, toX+1, y+1)
}

func TestSplit_dragged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := tuitest.Scene()
	s := start(t, script, 160, 30)
	s.Press("2").WaitFor("[2 Tasks").WaitGone("reading …")
	at := func() (x int) {
		s.Do(func(*env) tea.Cmd { return nil }) // draws
		s.Do(func(*env) tea.Cmd { x = s.model.divide(); return nil })
		return x
	}
	before := at()
	s.Burst(dragBytes(before, before+15, 10))
	if got := at(); got != before+15 {
		t.Errorf("the line went from %d to %d", before, got)
	}
	s.Burst(dragBytes(before, before+40, 10)) // not on the line any more: a click on the right pane
	if got := at(); got != before+15 {
		t.Errorf("a drag elsewhere moved the line to %d", got)
	}
	s.Press("<")
	moved := at()
	if moved >= before+15 {
		t.Errorf("< left the line at %d", moved)
	}
	s.Press(">", ">")
	if got := at(); got <= moved {
		t.Errorf("> left the line at %d", got)
	}
	if n := len(script.Sent()); n != 0 {
		t.Errorf("%d commands were sent", n)
	}
	s.Burst(dragBytes(at(), 1, 10)) // it stops where the pane needs its room
	s.Shows("T-2026-005")

	m := stillWith(t, tuitest.Scene(), 160, 30, theme.Default(), func(p *parts) { p.state = openState(dir, "/data/a") })
	visit(t, m, Place{Kind: KindTasks})
	m.moveSplit(90)
	m.gate.urgent()
	m.Update(nil)
	want := m.divide()
	if err := rest(t, m); err != nil {
		t.Fatal(err)
	}
	m = stillWith(t, tuitest.Scene(), 160, 30, theme.Default(), func(p *parts) { p.state = openState(dir, "/data/a") })
	if got := m.divide(); got != want || want < 80 {
		t.Errorf("it comes back at %d, was %d", got, want)
	}
}

func TestSplit_off(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Press("<").Shows("is off: there are no two panes beside each")
}

func TestWheel_overHelp(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 80, 24)
	s.Press("?").WaitFor("Help · now")
	before := s.Snapshot()
	drawn := func(*env) tea.Cmd { return nil }
	s.Wheel(40, 12, true)
	if s.Do(drawn); s.Snapshot() == before {
		t.Error("the wheel does not scroll the help")
	}
	s.Wheel(40, 12, false)
	if s.Do(drawn); s.Snapshot() != before {
		t.Error("the wheel does not scroll back")
	}
	s.Click(40, 12).Shows("Help · now")
}

// What is on the screen after a change of the theme is what a program draws that began with it.
func TestTheme_changed(t *testing.T) {
	t.Parallel()
	for _, name := range theme.Names() {
		light, err := theme.New(name, theme.TrueColor, theme.UTF8)
		if err != nil {
			t.Fatal(err)
		}
		m := stillWith(t, tuitest.Scene(), 140, 40, must(theme.New("dark", theme.TrueColor, theme.UTF8)), func(*parts) {})
		fresh := stillWith(t, tuitest.Scene(), 140, 40, light, func(*parts) {})
		places := []Place{{Kind: KindNow}, {Kind: KindTasks}, {Kind: KindInbox}, {Kind: KindPlans}, {Kind: KindTask, ID: "T-2026-005"}}
		for _, at := range places {
			visit(t, m, at)
		}
		m.setTheme(name)
		m.env.toasts.Clear()
		for _, at := range places {
			visit(t, m, at)
			visit(t, fresh, at)
			got, want := strings.Split(m.View(), "\n"), strings.Split(fresh.View(), "\n")
			for y := range want[1 : len(want)-1] { // the clock is in the first and the last row
				if y > 0 && got[y] != want[y] {
					t.Errorf("row %d of %s in %s is not that of a program that began with it:\n%q\n%q", y, at.Kind, name, got[y], want[y])
				}
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestTheme_chosen(t *testing.T) {
	t.Parallel()
	s := startThemed(t, tuitest.Scene(), must(theme.New("dark", theme.TrueColor, theme.UTF8)), 100, 30)
	before := s.Snapshot()
	s.Press(":")
	s.Burst("theme")
	s.Press("enter").WaitFor("high-contrast")
	s.Burst("light")
	s.Press("enter").WaitFor(`tui.theme = "light" in config.toml keeps it`)
	if s.Snapshot() == before {
		t.Error("nothing changed")
	}
}

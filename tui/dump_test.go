package tui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/tuitest"
)

func TestDump(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "dump")
	d, write, err := newDumper(file)
	if err != nil {
		t.Fatal(err)
	}
	m := still(t, tuitest.Scene(), 80, 24)
	m.dump = d
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); write(ctx) }()
	press(m, "2", "/", "s", "e", "c", "r", "e", "t", "enter", "j")
	m.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("pasted secret"), Paste: true})
	m.Update(tea.WindowSizeMsg{Width: 90, Height: 20})
	for len(d.lines) > 0 {
		select {
		case <-t.Context().Done():
			t.Fatal("nothing is written")
		default:
		}
	}
	cancel()
	<-done
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`key: "2"`, `key: "/"`, "key: text of 1 characters", `key: "enter"`, `key: "j"`, "key: text of 13 characters", "size: 90x20"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("it has no %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), `"s"`) || strings.Contains(string(text), "secret") {
		t.Errorf("it holds what was typed:\n%s", text)
	}
	if _, _, err := newDumper(filepath.Join(file, "below")); err == nil {
		t.Error("a file that can not be written is no error")
	}
}

// A full queue never holds up the program, and says what is missing.
func TestDump_full(t *testing.T) {
	t.Parallel()
	d := &dumper{lines: make(chan string, 1)}
	for range 5 {
		d.note(tuitest.SceneEnd, stateMsg{}, false)
	}
	<-d.lines
	d.note(tuitest.SceneEnd, stateMsg{}, false)
	if got := <-d.lines; !strings.HasPrefix(got, "4 lines are missing here\n") {
		t.Errorf("it says %q", got)
	}
}

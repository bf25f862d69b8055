package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// wisher is a seat in front of the form; prepare looks at the repository.
func wisher(t *testing.T, prepare func(context.Context, *amp.Wish) error) *seat {
	t.Helper()
	s := start(t, tuitest.NewScript(begin), 80, 24, func(c *Config) { c.Repo, c.Prepare = "/src/relay", prepare })
	s.Shows("No task yet. n states a wish.").Press("n").WaitFor("New wish").Shows("/src/relay", "[planner says]")
	return s
}

func TestWish(t *testing.T) {
	t.Parallel()
	s := wisher(t, func(_ context.Context, w *amp.Wish) error {
		w.Executor = "codex" // what the repository's own configuration sets
		return nil
	})
	s.Burst("Count the ")
	s.typeText("words right")
	s.Press("enter")
	s.Paste("in every\rfile").Shows("│ Count the words right", "│ in every", "│ file")
	s.wantCommands("")
	s.Press("tab", "tab")
	s.typeText("feature/count")
	s.Press("tab", "right", "right")
	tuitest.Golden(t, "wish/80x24-truecolor-dark-utf8", s.Settle())
	s.Press("ctrl+s").WaitFor("T-2026-001 is entry #1")
	s.Hides("New wish")
	s.wantCommands("submit")
	want := amp.Wish{Text: "Count the words right\nin every\nfile", Repo: "/src/relay", Branch: "feature/count", Risk: amp.Medium, Executor: "codex"}
	if c := s.last(); c.Args.Wish == nil || *c.Args.Wish != want || c.By != "mira" || c.ID == "" {
		t.Errorf("command = %+v, wish %+v", c, c.Args.Wish)
	}
	s.Press("n").WaitFor("New wish").Shows("/src/relay").Hides("│ Count the words", "feature/count")
}

// What is wrong is said at its field, before anything is stored, and the words stay.
func TestWish_wrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err   error
		after string
	}{
		"repository": {&amp.GuardError{Type: amp.UnknownEscalation, Repo: "/src/relay", Why: "it is no git repository"}, "repository /src/relay"},
		"branch":     {&amp.GuardError{Type: amp.BranchViolation, Repo: "/src/relay", Branch: "main", Why: "it is protected"}, "branch"},
		"else":       {errors.New("the disk is on fire"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := wisher(t, func(context.Context, *amp.Wish) error { return tc.err })
			s.typeText("Count")
			s.Press("ctrl+s")
			why := tc.err.Error()
			if g, ok := errors.AsType[*amp.GuardError](tc.err); ok {
				why = g.Why
			}
			s.WaitFor(why).Shows("│ Count")
			s.wantCommands("")
			for line := range strings.SplitSeq(s.Text(), "\n") {
				if strings.Contains(line, why) && !strings.Contains(line, "!") && !strings.Contains(line, tc.after) {
					t.Errorf("%q stands at %q, want it at the field %q", why, line, tc.after)
				}
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		s := wisher(t, nil)
		s.Press("ctrl+s").Shows("say what you want done")
		s.wantCommands("")
	})
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		s := wisher(t, nil)
		s.script.Refuse(&amp.RefusedError{What: "submit", Problems: []amp.Problem{{Rule: "plan", Field: "executor", Message: "agent \"x\" is not configured"}}})
		s.typeText("Count")
		s.Press("ctrl+s").WaitFor("is not configured").Shows("│ Count", "New wish")
	})
}

// The words of a wish survive esc and a broken connection; sent again unchanged it is the same wish.
func TestWish_kept(t *testing.T) {
	t.Parallel()
	s := wisher(t, nil)
	s.typeText("Count q 1 X")
	s.Press("esc").Hides("New wish")
	s.wantCommands("")
	s.Press("n").WaitFor("│ Count q 1 X")
	s.script.Refuse(errors.New("the socket was closed"))
	s.Press("ctrl+s").WaitFor("the socket was closed")
	s.script.Refuse(nil)
	s.Press("ctrl+s").WaitFor("T-2026-001 is entry")
	if sent := s.script.Sent(); len(sent) != 2 || sent[0].ID != sent[1].ID {
		t.Errorf("sent %+v", sent)
	}
}

func TestWish_editor(t *testing.T) {
	t.Parallel()
	s := wisher(t, nil)
	s.editWith(func(text string, _ int) (string, error) { return text + " in every file\n", nil })
	s.typeText("Count")
	s.Press("ctrl+o").WaitFor("│ Count in every file")
}

// Whatever is typed at whatever size: the frame is exact, and only ctrl+s sends.
func TestWish_everySize(t *testing.T) {
	t.Parallel()
	m := still(t, tuitest.NewScript(begin), 80, 24)
	rapid.Check(t, func(r *rapid.T) {
		m.Update(key("n"))
		for range rapid.IntRange(1, 8).Draw(r, "steps") {
			m.Update(tea.WindowSizeMsg{Width: rapid.IntRange(1, 220).Draw(r, "w"), Height: rapid.IntRange(1, 70).Draw(r, "h")})
			checkFrame(r, m, "wish")
			m.Update(key(rapid.SampledFrom([]string{"tab", "shift+tab", "a", "漢", "enter", "right", "left", "backspace", " "}).Draw(r, "key")))
			checkFrame(r, m, "wish after a key")
		}
		m.Update(tea.WindowSizeMsg{Width: 100, Height: 30})
		m.Update(key("esc"))
		if m.env.sheet != nil {
			r.Fatal("esc does not leave the form")
		}
		if len(m.env.Session.(*tuitest.Script).Sent()) > 0 {
			r.Fatal("it was sent")
		}
	})
}

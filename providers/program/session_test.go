package program

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"arbiter/providers"
	"arbiter/providers/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient are limits that no program here reaches on a slow machine.
var patient = providers.Limits{Silence: time.Minute, Total: 2 * time.Minute, Grace: 20 * time.Second, Output: 1 << 20}

// shell is a session with a program of a few lines of shell, and the lines that it wrote.
type shell struct {
	Session
	lines []string
}

func start(t *testing.T, limits providers.Limits, script string, line func(s *shell, text string)) *shell {
	t.Helper()
	p, err := sandbox.Start(t.Context(), sandbox.Spec{
		Argv: []string{"/bin/sh", "-c", script}, Dir: t.TempDir(), Home: t.TempDir(), Turn: "program-" + rand.Text(), Talk: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{}
	s.Session = Session{Process: p, Limits: limits, Line: func(raw []byte) {
		text := strings.TrimSpace(string(raw))
		s.lines = append(s.lines, text)
		line(s, text)
	}}
	return s
}

func (s *shell) say(text string) { s.Process.Send([]byte(text + "\n")) }

func exitOf(e End) int {
	if e.Exit == nil {
		return -1
	}
	return *e.Exit
}

// TestAsk: what the program writes is read on while a person decides; the decision reaches the program.
func TestAsk(t *testing.T) {
	t.Parallel()
	more := make(chan struct{})
	turn := &providers.Turn{Ask: func(ctx context.Context, p providers.Permission) providers.Decision {
		select {
		case <-more:
			return providers.Decision{Allow: p.Command == "make"}
		case <-ctx.Done():
			return providers.Decision{}
		}
	}}
	s := start(t, patient, `echo ask; echo more; read -r answer; echo "got $answer"`, func(s *shell, text string) {
		switch text {
		case "ask":
			s.Ask(turn, providers.Permission{Command: "make"}, func(d providers.Decision) {
				if d.Allow {
					s.say("yes")
				}
			})
		case "more":
			close(more)
		}
	})
	end := s.Run(t.Context())
	if end.Failed != nil || exitOf(end) != 0 || !slices.Equal(s.lines, []string{"ask", "more", "got yes"}) {
		t.Errorf("end = %+v, lines %q", end, s.lines)
	}
}

func TestAsk_nobody(t *testing.T) {
	t.Parallel()
	var got providers.Decision
	s := start(t, patient, `echo ask; read -r _`, func(s *shell, _ string) {
		s.Ask(&providers.Turn{}, providers.Permission{}, func(d providers.Decision) { got = d })
		s.say("go on")
	})
	if end := s.Run(t.Context()); end.Failed != nil || got.Allow || got.Reason == "" {
		t.Errorf("end = %+v, decision %+v", end, got)
	}
}

// TestAsk_clocksStand: a person may take longer than the program may be silent, and longer than the turn may take.
func TestAsk_clocksStand(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*providers.Limits){
		"silence": func(l *providers.Limits) { l.Silence = time.Second },
		"total":   func(l *providers.Limits) { l.Total = time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			limits := patient
			change(&limits)
			turn := &providers.Turn{Ask: func(ctx context.Context, _ providers.Permission) providers.Decision {
				select {
				case <-time.After(2500 * time.Millisecond):
					return providers.Decision{Allow: true}
				case <-ctx.Done():
					return providers.Decision{}
				}
			}}
			s := start(t, limits, `echo ask; read -r answer; echo "$answer"`, func(s *shell, text string) {
				if text == "ask" {
					s.Ask(turn, providers.Permission{}, func(providers.Decision) { s.say("yes") })
				}
			})
			if end := s.Run(t.Context()); end.Failed != nil || !slices.Equal(s.lines, []string{"ask", "yes"}) {
				t.Errorf("end = %+v, lines %q", end.Failed, s.lines)
			}
		})
	}
}

// TestAsk_programEnds: nobody is asked any more once the program has ended, and the answer is not heard.
func TestAsk_programEnds(t *testing.T) {
	t.Parallel()
	told := make(chan error, 1)
	turn := &providers.Turn{Ask: func(ctx context.Context, _ providers.Permission) providers.Decision {
		<-ctx.Done()
		told <- ctx.Err()
		return providers.Decision{Allow: true}
	}}
	s := start(t, patient, `echo ask; read -r _; exit 4`, func(s *shell, _ string) {
		s.Ask(turn, providers.Permission{}, func(providers.Decision) { t.Error("the decision was heard") })
		s.say("go on")
	})
	if end := s.Run(t.Context()); end.Failed != nil || exitOf(end) != 4 {
		t.Errorf("end = %+v", end)
	}
	if err := <-told; !errors.Is(err, context.Canceled) {
		t.Errorf("the request ended with %v", err)
	}
}

// TestAsk_takenBack: a request that the program takes back ends, and the program goes on.
func TestAsk_takenBack(t *testing.T) {
	t.Parallel()
	turn := &providers.Turn{Ask: func(ctx context.Context, _ providers.Permission) providers.Decision {
		<-ctx.Done()
		return providers.Decision{}
	}}
	var forget func()
	s := start(t, patient, `echo ask; echo back; read -r answer; echo "$answer"`, func(s *shell, text string) {
		switch text {
		case "ask":
			forget = s.Ask(turn, providers.Permission{}, func(providers.Decision) { s.say("on") })
		case "back":
			forget()
		}
	})
	if end := s.Run(t.Context()); end.Failed != nil || !slices.Equal(s.lines, []string{"ask", "back", "on"}) {
		t.Errorf("end = %+v, lines %q", end.Failed, s.lines)
	}
}

// TestDone: the program has the end of its input and time to end by itself.
func TestDone(t *testing.T) {
	t.Parallel()
	s := start(t, patient, `echo answer; while read -r _; do :; done; echo bye; exit 7`, func(s *shell, text string) {
		if text == "answer" {
			s.Done()
		}
	})
	if end := s.Run(t.Context()); end.Failed != nil || exitOf(end) != 7 || !slices.Equal(s.lines, []string{"answer", "bye"}) {
		t.Errorf("end = %+v, lines %q", end, s.lines)
	}
}

// TestDone_stays: a program that does not mind the end of its input is ended.
func TestDone_stays(t *testing.T) {
	t.Parallel()
	limits := patient
	limits.Grace = 200 * time.Millisecond
	s := start(t, limits, `echo answer; exec sleep 1000`, func(s *shell, _ string) { s.Done() })
	if end := s.Run(t.Context()); end.Failed != nil || exitOf(end) != 128+15 {
		t.Errorf("end = %+v, exit %d", end, exitOf(end))
	}
}

// TestInterrupt: a program is asked in its own words to end, and what it says to that is heard.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	s := start(t, patient, `echo ready; read -r word; echo "stopped by $word"; while read -r _; do :; done; exit 3`, func(s *shell, text string) {
		if text == "ready" {
			cancel(errors.New("the test stops it"))
		} else {
			s.Done()
		}
	})
	s.Interrupt = func() { s.say("stop") }
	end := s.Run(ctx)
	if end.Failed == nil || end.Failed.Failure != providers.FailKilled || !strings.Contains(end.Failed.Text, "the test stops it") || exitOf(end) != 3 {
		t.Errorf("end = %+v", end)
	}
	if !slices.Equal(s.lines, []string{"ready", "stopped by stop"}) {
		t.Errorf("lines %q", s.lines)
	}
}

// TestFail_afterDone: what the program says after its answer can still spoil it.
func TestFail_afterDone(t *testing.T) {
	t.Parallel()
	s := start(t, patient, `echo answer; while read -r _; do :; done; echo answer`, func(s *shell, _ string) {
		if len(s.lines) > 1 {
			s.Fail(providers.FailOutput, "two answers")
		}
		s.Done()
	})
	if end := s.Run(t.Context()); end.Failed == nil || end.Failed.Text != "two answers" {
		t.Errorf("end = %+v", end)
	}
}

// TestRun_manyLines: a program that writes faster than it is read loses nothing.
func TestRun_manyLines(t *testing.T) {
	t.Parallel()
	s := start(t, patient, `i=0; while [ $i -lt 2000 ]; do echo "$i"; i=$((i+1)); done; printf last`, func(*shell, string) {})
	if end := s.Run(t.Context()); end.Failed != nil || len(s.lines) != 2001 || s.lines[1999] != "1999" || s.lines[2000] != "last" {
		t.Errorf("end = %+v, %d lines", end, len(s.lines))
	}
}

package tui

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/tuitest"
)

// stalling is a coordinator that does not answer queries while it stalls, until it is told to or they are cancelled.
type stalling struct {
	*tuitest.Script
	on   atomic.Bool
	free chan struct{}
}

func newStalling(s *tuitest.Script) *stalling { return &stalling{Script: s, free: make(chan struct{})} }

func (s *stalling) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	if s.on.Load() {
		select {
		case <-s.free:
		case <-ctx.Done():
			return amp.Page{}, ctx.Err()
		}
	}
	return s.Script.Query(ctx, q)
}

func TestRequest_saysWhoAndHowLong(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	slow := newStalling(script)
	s := start(t, script, 100, 24, func(c *Config) { c.Session = slow })
	slow.on.Store(true)
	s.Press("2").Press("enter")
	s.Hides("waiting for")
	script.Advance(3 * time.Second)
	s.Press("j").Shows("entries of T-2026-005: waiting for the coordinator, 3 s · esc cancels")
	slow.on.Store(false)
	close(slow.free)
	s.WaitGone("waiting for").WaitFor("review_request")
}

func TestRequest_cancelled(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	slow := newStalling(script)
	s := start(t, script, 100, 24, func(c *Config) { c.Session = slow })
	slow.on.Store(true)
	s.Press(":")
	s.Burst("#99")
	s.Press("enter")
	script.Advance(2 * time.Second)
	s.Press("j").Shows("entry #99: waiting for the coordinator, 2 s · esc cancels")
	s.Press("esc").WaitGone("waiting for").Shows("[1 Now]")
	s.Do(func(e *env) tea.Cmd {
		if len(e.requests) != 0 {
			t.Errorf("%d requests are left", len(e.requests))
		}
		return nil
	})
}

// The sign turns four times a second and only while something is waited for.
func TestRequest_spinsOnlyThen(t *testing.T) {
	t.Parallel()
	m := still(t, tuitest.NewScript(tuitest.SceneEnd), 80, 24)
	m.env.wake = time.Time{}
	m.draw()
	idle := m.env.wake
	if idle.IsZero() || idle.Sub(m.env.Now) < time.Second {
		t.Errorf("an idle screen wakes after %v", idle.Sub(m.env.Now))
	}
	_, r := m.env.begin(t.Context(), theCoordinator, "the diff")
	defer r.cancel()
	m.draw()
	if got := m.env.wake.Sub(m.env.Now); got != patience {
		t.Errorf("it is drawn again after %v", got)
	}
	var signs []string
	for i := range 4 {
		m.env.Now = r.since.Add(patience + time.Duration(i)*spinEvery)
		m.draw()
		if got := m.env.wake.Sub(m.env.Now); got <= 0 || got > spinEvery {
			t.Errorf("it turns after %v", got)
		}
		row := m.requestRow()
		signs = append(signs, row[strings.IndexAny(row, "◐◓◑◒"):][:3])
	}
	if strings.Join(signs, "") == strings.Repeat(signs[0], 4) {
		t.Errorf("the sign stands still: %v", signs)
	}
	r.say("row %d of %d", 5, 9)
	if row := m.requestRow(); !strings.Contains(row, "the diff: row 5 of 9, 0 s") {
		t.Errorf("it says %q", row)
	}
}

func TestUp(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	fail := true
	s := start(t, script, 100, 30, func(c *Config) {
		c.Up = func(context.Context) error {
			if fail {
				return errors.New("the disk is full")
			}
			script.Cut(nil)
			return nil
		}
	})
	up := func() {
		s.Press(":")
		s.Burst("up")
		s.Press("enter")
	}
	up()
	s.WaitFor("start the coordinator is off: the coordinator answers")
	s.Press("esc")
	script.Cut(errors.New("no coordinator answers"))
	s.WaitFor("◌ retry")
	up()
	s.WaitFor("the disk is full")
	fail = false
	up()
	s.WaitFor("● live").Shows("the coordinator is back")
}

func TestUp_notFromHere(t *testing.T) {
	t.Parallel()
	s := start(t, tuitest.Scene(), 100, 30)
	s.Press(":")
	s.Burst("up")
	s.Press("enter").Shows("is off: the coordinator is not started from this screen")
}

// News that the board was read anew stand longer than a toast, and stay among the messages.
func TestResync_banner(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	s := start(t, script, 100, 30)
	s.model.pump.resync("the screen was asleep")
	s.WaitFor("! The board was read anew: the screen lost its place in the journal: the screen was asleep")
	script.Advance(5 * time.Second)
	s.Press("j").Shows("! The board was read anew")
	script.Advance(11 * time.Second)
	s.Press("j").Hides("The board was read anew")
	s.Press("ctrl+o").Shows("The board was read anew")
}

// A coordinator of another version, there or put in place under an open screen, is said to be one, once.
func TestVersion_another(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	other := func(version string) {
		script.SetState(func(c *amp.CoordinatorState) { c.Version = version })
	}
	other("next")
	const said = "! The coordinator is version next, this screen test."
	s := start(t, script, 100, 30)
	s.WaitFor(said)
	script.Advance(bannerFor + time.Second)
	s.Press("j").Hides(said)
	s.model.pump.resync("the screen was asleep")
	s.WaitFor("! The board was read anew")
	s.Press("ctrl+o", "j").Shows("The coordinator is version next, this screen test.", "arbiter down,")
	other("test")
	s.model.pump.resync("the screen was asleep again")
	s.WaitFor("asleep again")
	other("\x1b[2Jthird")
	s.model.pump.resync("the screen was asleep")
	s.WaitFor("! The coordinator is version ␛[2Jthird, this screen test.")
}

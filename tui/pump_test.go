package tui

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// read returns the pump's next message.
func read(t *testing.T, p *pump) tea.Msg {
	t.Helper()
	return p.next(t.Context())()
}

func want[T any](t *testing.T, p *pump) T {
	t.Helper()
	for {
		msg := read(t, p)
		if got, ok := msg.(T); ok {
			return got
		}
		if _, ok := msg.(connMsg); !ok {
			t.Fatalf("the pump sent %T, want %T", msg, *new(T))
		}
	}
}

func runPump(t *testing.T, s Session) *pump {
	t.Helper()
	p := newPump(s, time.Now)
	done := make(chan struct{})
	ctx := t.Context()
	go func() { defer close(done); p.run(ctx) }()
	t.Cleanup(func() { <-done }) // t.Context ends before the cleanups
	return p
}

// livePump is a pump that has read its first board and is live.
func livePump(t *testing.T, s Session) *pump {
	t.Helper()
	p := runPump(t, s)
	want[syncedMsg](t, p)
	if c := want[connMsg](t, p); c.phase != live {
		t.Fatalf("phase %v, want live", c.phase)
	}
	return p
}

func TestPump(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tuitest.Scene()
		p := runPump(t, s)
		first := want[syncedMsg](t, p)
		if first.board.Head != s.Board().Head || len(first.recent) != recentEntries || first.why != "" || first.state == nil {
			t.Errorf("synchronised at %d with %d entries, why %q", first.board.Head.Seq, len(first.recent), first.why)
		}
		if c := want[connMsg](t, p); c.phase != live {
			t.Errorf("phase = %v, want live", c.phase)
		}
		// many entries, few batches: all in order, none twice
		task := s.NewTask("busy").Propose().Approve().Dispatch()
		for range 3000 {
			task.Says("x")
		}
		next, batches := first.board.Head.Seq+1, 0
		for next <= s.Board().Head.Seq {
			b := want[batchMsg](t, p)
			if b.gen != first.gen || len(b.entries) > maxBatch {
				t.Fatalf("batch of generation %d with %d entries", b.gen, len(b.entries))
			}
			for _, e := range b.entries {
				if e.Seq != next {
					t.Fatalf("entry #%d came where #%d was due", e.Seq, next)
				}
				next++
			}
			batches++
		}
		if batches > 20 {
			t.Errorf("3,000 entries came in %d batches", batches)
		}
	})
}

func TestPump_gap(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tuitest.Scene()
		p := livePump(t, s)
		synctest.Wait()
		s.Lose(1)
		s.NewTask("one").Propose()
		synctest.Wait()
		again := want[syncedMsg](t, p)
		if again.why == "" || again.gen != 2 || again.board.Head != s.Board().Head {
			t.Errorf("synchronised anew at %d, generation %d, because %q", again.board.Head.Seq, again.gen, again.why)
		}
	})
}

func TestPump_asked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := livePump(t, tuitest.Scene())
		p.resync("a fold failed")
		p.resync("and again") // one is enough, and it never blocks
		if again := want[syncedMsg](t, p); again.gen != 2 {
			t.Errorf("generation = %d, want 2", again.gen)
		}
	})
}

func TestPump_overflow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tuitest.Scene()
		p := livePump(t, s)
		task := s.NewTask("flood").Propose().Approve().Dispatch()
		for range 2 * maxPending { // nobody reads the pump: the script must not wait for it
			task.Says("x")
		}
		synctest.Wait()
		resynced, at := false, uint64(0)
		for at < s.Board().Head.Seq { // the board is read anew, and what came since follows it
			switch m := read(t, p).(type) {
			case syncedMsg:
				resynced, at = true, m.board.Head.Seq
			case batchMsg:
				if resynced && m.entries[0].Seq != at+1 {
					t.Fatalf("entry #%d came after #%d", m.entries[0].Seq, at)
				}
				if resynced {
					at = m.entries[len(m.entries)-1].Seq
				}
			}
		}
	})
}

func TestPump_away(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tuitest.Scene().Cut(errors.New("no coordinator"))
		p := runPump(t, s)
		begin := time.Now()
		var waits []time.Duration
		for {
			c, ok := read(t, p).(connMsg)
			if !ok {
				t.Fatal("a board came from nowhere")
			}
			waits = append(waits, time.Until(c.next))
			if c.since != begin || c.err == nil {
				t.Errorf("away since %v: %v", c.since, c.err)
			}
			if c.phase == offline {
				break
			}
		}
		if took := time.Since(begin); took < lostAfter || took > 2*lostAfter {
			t.Errorf("offline after %v", took)
		}
		for i, w := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second} {
			if waits[i] != w {
				t.Errorf("wait %d = %v, want %v", i, waits[i], w)
			}
		}
		s.Cut(nil)
		want[syncedMsg](t, p)
	})
}

func TestGate(t *testing.T) {
	t.Parallel()
	script := tuitest.Scene()
	m := still(t, script, 100, 30)
	drawn := m.gate.drawn
	var after []amp.Entry
	head := m.env.Board.Head.Seq
	task := script.NewTask("busy").Propose().Approve().Dispatch()
	for range 500 {
		task.Says("x")
	}
	page, err := script.Query(t.Context(), amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{After: head}})
	if err != nil {
		t.Fatal(err)
	}
	after = page.Entries
	frame := m.View()
	for i := range after {
		m.Update(batchMsg{1, after[i : i+1]})
	}
	if m.gate.drawn != drawn || m.View() != frame {
		t.Errorf("%d entries drew %d frames before the tick", len(after), m.gate.drawn-drawn)
	}
	m.Update(frameMsg{})
	if m.gate.drawn != drawn+1 {
		t.Errorf("the tick drew %d frames, want 1", m.gate.drawn-drawn)
	}
	m.Update(frameMsg{})
	if m.gate.drawn != drawn+1 {
		t.Error("a tick without a change drew a frame")
	}
	if m.env.Board.Head != script.Board().Head {
		t.Errorf("the board is at %d, the journal at %d", m.env.Board.Head.Seq, script.Board().Head.Seq)
	}
	m.Update(key("j"))
	if m.gate.drawn != drawn+2 {
		t.Error("a key did not draw in the same turn")
	}
	// a batch from before the board that is shown changes nothing
	m.Update(batchMsg{0, after[:1]})
	if m.gate.dirty {
		t.Error("a batch of an old generation changed something")
	}
}

func TestIdle_writesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		script := tuitest.NewScript(time.Now())
		script.NewTask("waits").Propose()
		s := startIdle(t, script)
		s.WaitFor("live")
		time.Sleep(time.Minute) // ages of under a minute have passed
		s.Settle()
		before := s.Bytes()
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if got := s.Bytes() - before; got != 0 {
			t.Errorf("%d bytes were written in 5 s without a deadline on the screen", got)
		}
	})
}

func startIdle(t *testing.T, s *tuitest.Script) *seat {
	t.Helper()
	t.Cleanup(func() { time.Sleep(25 * time.Hour) }) // timers of the program end after it; time is free here
	return startThemed(t, s, theme.Default(), 80, 24)
}

// mute is a coordinator that takes questions and answers none while it is held.
type mute struct {
	*tuitest.Script
	mu   sync.Mutex
	held chan struct{} // nil: it answers
}

func (s *mute) hold() (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{})
	s.held = ch
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held = nil
		close(ch)
	}
}

func (s *mute) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return amp.Page{}, ctx.Err()
		}
	}
	return s.Script.Query(ctx, q)
}

// A coordinator that takes the question and never answers is away, not forever tried again; when it answers, all goes on.
func TestPump_mute(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &mute{Script: tuitest.Scene()}
		p := livePump(t, s)
		release := s.hold()
		begin := time.Now()
		s.Cut(errors.New("broken"))
		synctest.Wait()
		s.Cut(nil)
		asked := 0
		for {
			c := want[connMsg](t, p)
			if c.phase == retrying {
				asked++
				continue
			}
			if c.phase != offline || !errors.Is(c.err, errMute) || c.since != begin {
				t.Fatalf("phase %v since %v, because %v", c.phase, c.since, c.err)
			}
			break
		}
		if took := time.Since(begin); asked != 1 || took < lostAfter || took > lostAfter+2*time.Second {
			t.Errorf("asked %d times, given up after %v", asked, took)
		}
		time.Sleep(3 * answerWithin) // questions are asked anew: the answer to an old one may be lost
		release()
		for {
			switch msg := read(t, p).(type) {
			case connMsg:
				if msg.phase == live {
					return
				}
			case syncedMsg:
			}
		}
	})
}

// A coordinator that was started anew in a moment may be another version, with other agents: what it says of itself is read again.
func TestPump_restarted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tuitest.Scene()
		p := livePump(t, s)
		synctest.Wait()
		s.Cut(errors.New("gone"))
		synctest.Wait()
		s.Cut(nil)
		if c := want[connMsg](t, p); c.phase != retrying {
			t.Fatalf("phase %v, want retrying", c.phase)
		}
		if c := want[connMsg](t, p); c.phase != live { // the same one: nothing is read anew
			t.Fatalf("phase %v, want live", c.phase)
		}
		synctest.Wait()
		s.SetState(func(c *amp.CoordinatorState) { c.Version, c.Started = "next", time.Now() })
		s.Cut(errors.New("gone"))
		synctest.Wait()
		s.Cut(nil)
		again := want[syncedMsg](t, p)
		if again.state == nil || again.state.Version != "next" || again.why != "" {
			t.Errorf("synchronised with %+v, because %q", again.state, again.why)
		}
	})
}

// Why the board was read anew is said once: a connection that breaks later is no reason of then.
func TestPump_reasonOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tuitest.Scene()
		p := livePump(t, s)
		p.resync("a fold failed")
		if again := want[syncedMsg](t, p); again.why == "" {
			t.Error("no reason")
		}
		want[connMsg](t, p)
		s.Cut(errors.New("gone"))
		for range 3 {
			want[connMsg](t, p)
		}
		s.Cut(nil)
		if again := want[syncedMsg](t, p); again.why != "" {
			t.Errorf("the board is read anew because %q, long ago", again.why)
		}
	})
}

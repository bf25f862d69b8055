package bus

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"

	"github.com/go-json-experiment/json/jsontext"
)

// mendable lets a bus read its state anew, and counts how often it did. What it logs is in log.
type mendable struct {
	mu   sync.Mutex
	n    int
	log  bytes.Buffer
	read chan struct{} // one for each time
}

func (m *mendable) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.Write(p)
}

func (m *mendable) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.log.String()
}

func (m *mendable) replays() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.n
}

// startMendable runs a bus that reads its state from j after a fault.
func startMendable(t *testing.T, j *journal, change func(*Config)) (*Bus, *mendable) {
	t.Helper()
	m := &mendable{read: make(chan struct{}, 100)}
	b, _ := start(t, j, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(m, nil))
		c.Replay = func(context.Context) (*State, error) {
			m.mu.Lock()
			m.n++
			m.mu.Unlock()
			m.read <- struct{}{}
			return j.state(t), nil
		}
		if change != nil {
			change(c)
		}
	})
	return b, m
}

// damage does something to the memory of a bus that no code does.
func damage(b *Bus, f func(s *State)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b.state)
}

// A fault while facts are folded: what is in the journal holds, what was under way is answered, nothing is lost, and sessions go on.
func TestRun_faultOfTheWriter(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, m := startMendable(t, j, nil)
	enlist(t, b, "x://a", "x://b", "x://c")
	for _, id := range []string{"msg_1_a", "msg_2_a", "msg_3_a"} {
		send(t, b, note(id, "x://a", "x://b", nil))
	}
	s, other := open(t, b, "x://b"), open(t, b, "x://c")
	_, keys := next(t, s, 2)
	damage(b, func(s *State) { delete(s.queues, "x://b") })
	if err := s.Confirm(t.Context(), keys[0]); !errors.Is(err, ErrClosed) {
		t.Errorf("what was under way ended with %v", err)
	}
	send(t, b, note("msg_4_a", "x://a", "x://c", nil)) // the bus goes on
	if ids, _ := next(t, other, 10); strings.Join(ids, " ") != "msg_4_a" {
		t.Errorf("another session got %q", ids)
	}
	if ids, _ := next(t, s, 10); strings.Join(ids, " ") != "msg_3_a" { // the second is the session's own until it is confirmed
		t.Errorf("the session goes on with %q", ids)
	}
	if err := s.Confirm(t.Context(), keys...); err != nil { // the first one's confirmation is in the journal, once more is no harm
		t.Error(err)
	}
	s.Close()
	if ids, _ := next(t, open(t, b, "x://b"), 10); strings.Join(ids, " ") != "msg_3_a" {
		t.Errorf("what waits after that: %q", ids)
	}
	for _, word := range []string{"the bus broke off with a panic", "writing to the journal", "bus.(*State).remove", "the bus goes on with its state from the journal"} {
		if !strings.Contains(m.String(), word) {
			t.Errorf("the log does not say %q:\n%s", word, m)
		}
	}
	if m.replays() != 1 {
		t.Errorf("the state was read %d times", m.replays())
	}
}

// A message whose fold broke off is in the journal: its sender tries again and is told that it is there.
func TestRun_faultOfAMessage(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, _ := startMendable(t, j, nil)
	enlist(t, b, "x://a", "x://b")
	damage(b, func(s *State) { s.items = nil })
	raw := note("msg_1_a", "x://a", "x://b", nil)
	if _, err := b.Send(t.Context(), anyone, raw); !errors.Is(err, ErrClosed) {
		t.Fatalf("sent: %v", err)
	}
	if r := send(t, b, raw); !r.Duplicate {
		t.Errorf("sent again: %+v", r)
	}
	if ids, _ := next(t, open(t, b, "x://b"), 10); strings.Join(ids, " ") != "msg_1_a" {
		t.Errorf("it waits as %q", ids)
	}
	if len(b.pending) != 0 || len(b.reserved) != 0 {
		t.Errorf("room stays reserved: %v, %v", b.pending, b.reserved)
	}
}

// A fault of the clocks: they go on, with the state of the journal.
func TestRun_faultOfTheClocks(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, m := startMendable(t, j, nil)
	enlist(t, b, "x://a", "x://b")
	send(t, b, note("msg_1_a", "x://a", "x://b", nil))
	for _, id := range []string{"x://c", "x://d", "x://e"} { // as many as are borne
		damage(b, func(s *State) { s.items[Key{1}] = nil })
		b.hurry()
		<-m.read
		enlist(t, b, id) // written behind the mending
		damage(b, func(s *State) {
			if _, there := s.items[Key{1}]; there {
				t.Error("the state is the damaged one")
			}
		})
	}
	if ids, _ := next(t, open(t, b, "x://b"), 10); strings.Join(ids, " ") != "msg_1_a" {
		t.Errorf("it waits as %q", ids)
	}
}

// Who waits for a delivery hears of it, also when the delivery was all that the fault left in the journal.
func TestRun_faultConfirms(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, _ := startMendable(t, j, nil)
	enlist(t, b, "x://a", "x://b")
	r := send(t, b, note("msg_1_a", "x://a", "x://b", nil))
	s := open(t, b, "x://b")
	_, keys := next(t, s, 1)
	damage(b, func(s *State) { s.seen = nil })
	if err := s.Confirm(t.Context(), keys...); !errors.Is(err, ErrClosed) {
		t.Errorf("confirmed: %v", err)
	}
	<-r.Confirmed
}

// A turn waits for its answer through a fault.
func TestRun_faultUnderTurn(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, m := startMendable(t, j, func(c *Config) { c.Members = map[string]Member{"x://b": {Name: "b"}} })
	enlist(t, b, "x://b")
	a, err := b.Agent(AgentConfig{Name: "b", AgentID: "x://b"})
	if err != nil {
		t.Fatal(err)
	}
	type end struct {
		out providers.Outcome
		err error
	}
	ended := make(chan end, 1)
	go func() {
		out, err := a.Run(t.Context(), providers.Turn{ID: "t1", Task: "T-2026-001", Role: amp.Executor, Prompt: &providers.Prompt{Text: "Say it."}}, func(providers.Event) {})
		ended <- end{out, err}
	}()
	s := open(t, b, "x://b")
	got, err := s.Next(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	damage(b, func(s *State) { s.items[Key{1}] = nil })
	b.hurry()
	<-m.read
	request := got[0].Message
	if err := s.Confirm(t.Context(), got[0].Key); err != nil {
		t.Fatal(err)
	}
	send(t, b, note("msg_1_b", "x://b", Coordinator, func(m *Message) {
		m.Type, m.Payload = TaskResponse, []byte(`{"output":"said"}`)
		m.Metadata = map[string]jsontext.Value{"task_id": quote("T-2026-001"), "original_message_id": quote(request.MessageID)}
	}))
	if e := <-ended; e.err != nil || e.out.Text != "said" {
		t.Errorf("the turn ended with %+v, %v", e.out, e.err)
	}
}

// A bus that breaks again and again ends, and says so.
func TestRun_faultsTooOften(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
		faults int
	}{
		"again and again":       {func(*Config) {}, "the bus broke off 4 times in 10m0s", maxFaults + 1},
		"no journal to read":    {func(c *Config) { c.Replay = nil }, "a fault of the program", 1},
		"the journal is broken": {func(c *Config) { c.Replay = func(context.Context) (*State, error) { return nil, errors.New("torn") } }, "read the state of the bus anew: torn", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := &journal{}
			cfg := Config{
				Open: true, Append: func(context.Context, []amp.Record) error { panic("no") },
				Replay: func(context.Context) (*State, error) { return j.state(t), nil },
			}
			tc.change(&cfg)
			b := New(cfg, nil)
			ran := make(chan error, 1)
			go func() { ran <- b.Run(t.Context()) }()
			for range tc.faults {
				if err := b.fact(t.Context(), Fact{Event: Removed, AgentID: "x://a"}); !errors.Is(err, ErrClosed) {
					t.Errorf("what was under way ended with %v", err)
				}
			}
			if err := <-ran; err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the bus ended with %v", err)
			}
			if err := b.fact(t.Context(), Fact{Event: Removed, AgentID: "x://a"}); !errors.Is(err, ErrClosed) {
				t.Errorf("after that: %v", err)
			}
		})
	}
}

// Faults long ago do not count.
func TestMend_span(t *testing.T) {
	t.Parallel()
	b := New(Config{Open: true, Replay: func(context.Context) (*State, error) { return NewState(), nil }}, nil)
	for range maxFaults {
		b.faults = append(b.faults, time.Now().Add(-faultSpan-time.Second))
	}
	if err := b.mend(t.Context()); err != nil || len(b.faults) != 1 {
		t.Errorf("mended: %v, %d faults counted", err, len(b.faults))
	}
}

// An entry that the fold breaks off at is left out whole, whatever half of it was folded; the others count.
func TestReplay(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, stop := start(t, j, nil)
	enlist(t, b, "x://a", "x://b", "x://c")
	stop()
	read := func(after uint64) (page []amp.Entry, err error) { // two on each page
		for i := after; i < min(after+2, uint64(len(j.records))); i++ {
			page = append(page, amp.Entry{Seq: i + 1, Record: j.records[i]})
		}
		return page, nil
	}
	log := &mendable{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	state, err := replay(read, func(s *State, e *amp.Entry) error {
		switch err := s.ApplyEntry(e); {
		case e.Seq == 2:
			panic("half of it is in the state")
		case e.Seq == 3:
			return errors.Join(err, errors.New("strange"))
		default:
			return err
		}
	}, logger)
	if err != nil || len(state.agents) != 2 || state.agents["x://b"] != nil {
		t.Errorf("the state has %d agents, %v", len(state.agents), err)
	}
	if said := log.String(); !strings.Contains(said, "folding entry 2, which is left out") || !strings.Contains(said, "is not understood\" seq=3 err=strange") {
		t.Errorf("the log says\n%s", said)
	}
	if state, err := Replay(read, logger); err != nil || len(state.agents) != 3 {
		t.Errorf("the state has %d agents, %v", len(state.agents), err)
	}
	if _, err := Replay(func(uint64) ([]amp.Entry, error) { return nil, errors.New("torn") }, logger); err == nil {
		t.Error("what cannot be read is no error")
	}
}

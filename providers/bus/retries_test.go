package bus

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// The tries of an adapter of others when its connection is lost or refused.
const (
	adapterTries = 5
	adapterPause = 5 * time.Second
)

// An adapter that loses its connection, or comes before it is registered, tries five times, five seconds apart. It is welcome at each of them, and
// what came for it meanwhile is there, in its order and once: neither given up nor another agent's, which stands ready (BUS-074, B03).
func TestSession_fiveTries_BUS074(t *testing.T) {
	t.Parallel()
	for success := 1; success <= adapterTries; success++ {
		for _, how := range []string{"before it is registered", "while the bus is away"} {
			t.Run(fmt.Sprintf("%s, at try %d", how, success), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { comeBack(t, how == "while the bus is away", success) })
			})
		}
	}
}

func comeBack(t *testing.T, away bool, success int) {
	t.Helper()
	j := &journal{}
	members := func(c *Config) { c.Members = map[string]Member{bob: {Name: "bob"}} }
	b, stop := start(t, j, members)
	defer func() { stop() }()
	enlist(t, b, ada, cyd)
	if away {
		enlist(t, b, bob)
		open(t, b, bob).Close()
	}
	defer open(t, b, cyd).Close() // the other agent is there all the time
	policy := func(m *Message) {
		m.Routing.RetryPolicy, m.Routing.FallbackAgents = RetryPolicy{MaxRetries: adapterTries, Backoff: Exponential}, []string{cyd}
	}
	var want []string
	post := func() {
		id := fmt.Sprintf("m%d", len(want))
		want = append(want, id)
		send(t, b, note(id, ada, bob, policy))
	}
	post()
	for try := 1; ; try++ {
		if away && try == 1 {
			stop()
		}
		time.Sleep(adapterPause)
		if try == success {
			break
		}
		if _, err := b.Open(anyone, bob); !away && !errors.Is(err, ErrNotRegistered) {
			t.Fatalf("try %d: %v", try, err)
		}
		if !away {
			post()
		}
	}
	if away {
		b, stop = start(t, j, members)
		defer open(t, b, cyd).Close()
	} else {
		enlist(t, b, bob)
	}
	s := open(t, b, bob)
	defer s.Close()
	got, keys := next(t, s, 100)
	if !slices.Equal(got, want) {
		t.Errorf("it got %q, want %q", got, want)
	}
	if err := s.Confirm(t.Context(), keys...); err != nil {
		t.Error(err)
	}
	if m := b.Metrics(); m.Dead != 0 || m.Queued != 0 {
		t.Errorf("%d dead letters, %d wait", m.Dead, m.Queued)
	}
	stop()
}

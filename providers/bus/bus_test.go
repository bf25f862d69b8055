package bus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
)

const (
	ada = "opencode://ada"
	bob = "codex://bob"
	cyd = "claude-code://cyd"
)

// A queue hands out by priority, and first in, first out within each (B14); what was confirmed is gone (BUS-069), also after a restart.
func TestQueue_priorityAndRestart_B14(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, stop := start(t, j, nil)
	enlist(t, b, ada, bob)
	for i, p := range []Priority{Low, Medium, Critical, High, Medium, Critical} {
		send(t, b, note(fmt.Sprintf("m%d", i), ada, bob, func(m *Message) { m.Priority = p }))
	}
	s := open(t, b, bob)
	ids, keys := next(t, s, 2)
	if want := []string{"m2", "m5"}; !slices.Equal(ids, want) {
		t.Fatalf("first = %q, want %q", ids, want)
	}
	if err := s.Confirm(t.Context(), keys[0]); err != nil {
		t.Fatal(err)
	}
	stop()
	b, _ = start(t, j, nil)
	s = open(t, b, bob) // BUS-073: what was not confirmed comes again
	if ids, _ = next(t, s, 10); !slices.Equal(ids, []string{"m5", "m3", "m1", "m4", "m0"}) {
		t.Errorf("after the restart = %q", ids)
	}
}

// A message that came before is dropped, also after a restart and after its delivery (BUS-010, B13), and after a day it may come again.
func TestDuplicates_B13(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		b, stop := start(t, j, nil)
		enlist(t, b, ada, bob)
		raw := note("m1", ada, bob, nil)
		if r := send(t, b, raw); r.Duplicate {
			t.Error("the first one is a duplicate")
		}
		if r := send(t, b, raw); !r.Duplicate {
			t.Error("the second one is none")
		}
		s := open(t, b, bob)
		_, keys := next(t, s, 10)
		if err := s.Confirm(t.Context(), keys...); err != nil {
			t.Fatal(err)
		}
		stop()
		b, _ = start(t, j, nil)
		if r := send(t, b, raw); !r.Duplicate {
			t.Error("it is none after a restart")
		}
		if r := send(t, b, note("m1", bob, ada, nil)); r.Duplicate {
			t.Error("another sender has the same id: that is another message")
		}
		time.Sleep(24*time.Hour + time.Second)
		if r := send(t, b, raw); r.Duplicate {
			t.Error("it is one after a day")
		}
	})
}

// A delivery that fails is tried again after 2 and 4 s, then goes to a fallback agent, then to the dead letters (BUS-038, B13).
func TestRetries_BUS038(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := start(t, &journal{}, nil)
		enlist(t, b, ada, bob, cyd)
		send(t, b, note("m1", ada, bob, func(m *Message) { m.Routing.FallbackAgents = []string{cyd} }))
		s, c := open(t, b, bob), open(t, b, cyd)
		began := time.Now()
		for i, want := range []time.Duration{0, 2 * time.Second, 6 * time.Second} {
			_, keys := next(t, s, 1)
			if at := time.Since(began).Round(time.Millisecond); at != want {
				t.Errorf("try %d after %s, want %s", i, at, want)
			}
			s.Fail(keys...)
		}
		got, err := c.Next(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		m := got[0].Message
		if m.Recipient.AgentID != cyd || m.Recipient.Framework != "claude-code" || textOf(m.Metadata["original_recipient"]) != bob {
			t.Errorf("the fallback gets %s", m.Raw)
		}
		for range 3 {
			c.Fail(got[0].Key)
			synctest.Wait()
			if d := b.DeadLetters(); len(d) > 0 {
				break
			}
			if got, err = c.Next(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		dead := b.DeadLetters()
		if len(dead) != 1 || dead[0].MessageID != "m1" || !strings.Contains(dead[0].Why, "3 deliveries") {
			t.Fatalf("dead letters = %+v", dead)
		}
		if err := b.Resend(t.Context(), "mira", []Key{dead[0].Key}); err != nil {
			t.Fatal(err)
		}
		if ids, _ := next(t, s, 1); ids[0] != "m1" || len(b.DeadLetters()) != 0 {
			t.Errorf("resent: %q, dead %v", ids, b.DeadLetters())
		}
		if err := b.Resend(t.Context(), "mira", []Key{dead[0].Key}); ruleOf(err) != "BUS-038" {
			t.Errorf("a letter that is not dead was resent: %v", err)
		}
	})
}

// A dead letter that an admin gave up is gone for good, also after a restart, and its id stays known.
func TestDrop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		b, stop := start(t, j, nil)
		enlist(t, b, ada, bob)
		raw := note("m1", ada, bob, nil)
		send(t, b, raw)
		send(t, b, note("m2", ada, bob, nil))
		time.Sleep(12*time.Hour + time.Minute)
		send(t, b, note("m3", ada, bob, nil))
		time.Sleep(12 * time.Hour)
		dead := b.DeadLetters()
		if len(dead) != 2 {
			t.Fatalf("dead letters = %+v", dead)
		}
		if err := b.Drop(t.Context(), "mira", []Key{dead[0].Key, {}}); ruleOf(err) != "BUS-038" || len(b.DeadLetters()) != 2 {
			t.Errorf("one that is none was dropped, and %d are left: %v", len(b.DeadLetters()), err)
		}
		if err := b.Drop(t.Context(), "mira", []Key{dead[0].Key}); err != nil {
			t.Fatal(err)
		}
		if err := b.Resend(t.Context(), "mira", []Key{dead[0].Key}); ruleOf(err) != "BUS-038" {
			t.Errorf("what was given up was sent again: %v", err)
		}
		stop()
		b, _ = start(t, j, nil)
		if d := b.DeadLetters(); len(d) != 1 || d[0].MessageID != "m2" {
			t.Errorf("after a restart: %+v", d)
		}
		if q := b.Queue(bob); len(q) != 1 || q[0].MessageID != "m3" {
			t.Errorf("the queue: %+v", q)
		}
	})
}

// A fallback agent takes over when the primary is not there, and not before its retries are over (BUS-035). Without one the message waits.
func TestFallback_BUS035(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := start(t, &journal{}, nil)
		enlist(t, b, ada, bob, cyd)
		send(t, b, note("m1", ada, bob, func(m *Message) { m.Routing.FallbackAgents = []string{"x://nobody", cyd} }))
		send(t, b, note("m2", ada, bob, nil))
		c := open(t, b, cyd)
		began := time.Now()
		if ids, _ := next(t, c, 9); !slices.Equal(ids, []string{"m1"}) || time.Since(began) < 6*time.Second {
			t.Errorf("the fallback got %q after %s", ids, time.Since(began))
		}
		if ids, _ := next(t, open(t, b, bob), 9); !slices.Equal(ids, []string{"m2"}) {
			t.Errorf("the primary got %q", ids)
		}
	})
}

// What goes to a fallback agent in the same moment, or is given up then, stays in the order in which it came (B14).
func TestFallback_order(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := start(t, &journal{}, nil)
		enlist(t, b, ada, bob, cyd)
		var want []string
		for i := range 20 {
			id := fmt.Sprint("m", i)
			send(t, b, note(id, ada, bob, func(m *Message) { m.Routing.FallbackAgents = []string{cyd} }))
			want = append(want, id)
		}
		c := open(t, b, cyd)
		time.Sleep(time.Minute)
		if ids, _ := next(t, c, 99); !slices.Equal(ids, want) {
			t.Errorf("the fallback got %q", ids)
		}
	})
}

// An agent that sends no heartbeat is unhealthy (BUS-044), and a fallback agent takes its messages; heartbeats are consumed (B10).
func TestHealth_BUS044(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := start(t, &journal{}, nil)
		enlist(t, b, ada, bob, cyd)
		open(t, b, bob)
		healthy := func(id string) bool {
			for _, a := range b.Agents() {
				if a.AgentID == id {
					return a.Healthy
				}
			}
			t.Fatalf("%s is not there", id)
			return false
		}
		beat := func(status string) {
			r := send(t, b, note("h"+time.Now().String(), bob, "communication-bus", func(m *Message) {
				m.Type, m.Payload = Heartbeat, []byte(`{"status":"`+status+`","active_tasks":1,"cpu":0.41,"memory":512}`)
			}))
			if !r.Consumed {
				t.Error("a heartbeat was routed")
			}
		}
		for range 3 {
			time.Sleep(80 * time.Second)
			beat("healthy")
		}
		if !healthy(bob) {
			t.Error("unhealthy with heartbeats")
		}
		time.Sleep(91 * time.Second)
		if healthy(bob) {
			t.Error("healthy without heartbeats")
		}
		beat("healthy")
		if !healthy(bob) {
			t.Error("unhealthy after a heartbeat")
		}
		beat("degraded")
		if healthy(bob) {
			t.Error("healthy, though it says that it is degraded")
		}
		if n := len(b.Queue("")); n != 0 {
			t.Errorf("%d messages wait", n)
		}
	})
}

// What nobody takes in a day is a dead letter. A message that was fetched and not acknowledged is handed out again.
func TestLeaseAndAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := start(t, &journal{}, nil)
		enlist(t, b, ada, bob)
		send(t, b, note("m1", ada, bob, nil))
		fetch := func() int {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			got, err := b.Fetch(ctx, anyone, bob, 10)
			if err != nil {
				t.Fatal(err)
			}
			return len(got)
		}
		if n := fetch(); n != 1 {
			t.Fatalf("%d messages", n)
		}
		if n := fetch(); n != 0 {
			t.Errorf("it was handed out twice")
		}
		time.Sleep(33 * time.Second)
		if n := fetch(); n != 1 {
			t.Errorf("%d messages after the lease", n)
		}
		if n, err := b.Acknowledge(t.Context(), anyone, bob, []string{"m1"}); n != 1 || err != nil {
			t.Errorf("Acknowledge = %d, %v", n, err)
		}
		send(t, b, note("m2", ada, bob, nil))
		time.Sleep(24*time.Hour + time.Minute)
		if d := b.DeadLetters(); len(d) != 1 || d[0].MessageID != "m2" {
			t.Errorf("dead letters = %+v", d)
		}
	})
}

// Who may send, and to whom.
func TestSend_refuses(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, _ := start(t, j, func(c *Config) {
		c.Open = false
		c.Members = map[string]Member{"x://member": {Name: "member", Roles: []amp.Role{amp.Executor}, Bearer: "coder"}}
	})
	coder, critic := Caller{Name: "coder", Role: amp.Executor}, Caller{Name: "critic", Role: amp.Reviewer}
	register := func(who Caller, id string) error {
		_, err := b.Register(t.Context(), who, fmt.Appendf(nil, `{"agent_descriptor":{"agent_id":%q,"framework":"x"},"authentication":{"type":"api_key","credentials":{"key":"secret-1"}}}`, id))
		return err
	}
	for _, tc := range []struct {
		who  Caller
		id   string
		want string
	}{
		{critic, "x://member", "BUS-066"},
		{Caller{Name: "other", Role: amp.Executor}, "x://member", "BUS-066"},
		{coder, "x://member", ""},
		{coder, "x://member", "BUS-061"},
		{critic, "x://critic", ""},
		{coder, "amp://coordinator", "BUS-060"},
		{coder, "system", "BUS-060"},
		{coder, "", "BUS-015"},
	} {
		if err := register(tc.who, tc.id); ruleOf(err) != tc.want {
			t.Errorf("%s registers %s: %v, want %s", tc.who.Name, tc.id, err, tc.want)
		}
	}
	for name, tc := range map[string]struct {
		who  Caller
		raw  []byte
		want string
	}{
		"good":              {coder, note("1", "x://member", "x://critic", nil), ""},
		"unknown recipient": {coder, note("2", "x://member", "x://nobody", nil), "BUS-072"},
		"another's name":    {coder, note("3", "x://critic", "x://member", nil), "BUS-066"},
		"not registered":    {coder, note("4", "x://ghost", "x://critic", nil), "BUS-015"},
		"the coordinator":   {coder, note("5", Coordinator, "x://critic", nil), "BUS-015"},
		"unasked":           {coder, note("6", "x://member", Coordinator, func(m *Message) { m.Type = TaskResponse }), "BUS-045"},
		"no message":        {coder, []byte(`{"a":1}`), "BUS-002"},
		"no JSON":           {coder, []byte("garbage\xff"), "BUS-001"},
	} {
		if _, err := b.Send(t.Context(), tc.who, tc.raw); ruleOf(err) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
	if got := j.refusals(t); len(got) != 13 {
		t.Errorf("%d refusals are kept: %q", len(got), got)
	}
	for i := range j.records {
		if strings.Contains(string(j.records[i].Body), "secret-1") {
			t.Errorf("a secret is in the journal: %s", j.records[i].Body)
		}
	}
	if _, err := b.Open(critic, "x://member"); ruleOf(err) != "BUS-066" {
		t.Errorf("another token opened a connection: %v", err)
	}
	if _, err := b.Open(critic, "x://ghost"); !errors.Is(err, ErrNotRegistered) {
		t.Errorf("Open of a stranger = %v", err)
	}
	if _, err := b.Remove(t.Context(), critic, "x://member"); ruleOf(err) != "BUS-066" {
		t.Errorf("another token removed an agent: %v", err)
	}
}

// What is full is refused, and what was accepted stays; the error log does not grow with a flood.
func TestFlood(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, stop := start(t, j, func(c *Config) { c.QueueMessages = 100 })
	enlist(t, b, ada, bob)
	taken, full := 0, 0
	for i := range 500 {
		_, err := b.Send(t.Context(), anyone, note(fmt.Sprint(i), ada, bob, nil))
		if _, ok := errors.AsType[*FullError](err); ok {
			full++
		} else if err == nil {
			taken++
		}
		_, err = b.Send(t.Context(), anyone, []byte("garbage"))
		if ruleOf(err) != "BUS-001" {
			t.Fatal(err)
		}
	}
	if taken != 100 || full != 400 {
		t.Errorf("%d taken, %d refused", taken, full)
	}
	if n := len(j.refusals(t)); n > 2*maxRefusals {
		t.Errorf("%d refusals are kept", n)
	}
	stop()
	if _, err := b.Send(t.Context(), anyone, note("late", ada, bob, nil)); err == nil {
		t.Error("a bus that ended took a message")
	}
	b, _ = start(t, j, nil)
	if n := len(b.Queue(bob)); n != 100 {
		t.Errorf("%d wait after the restart", n)
	}
}

// A message whose entry cannot be written was not taken.
func TestSend_journalFails(t *testing.T) {
	t.Parallel()
	j := &journal{}
	b, _ := start(t, j, nil)
	enlist(t, b, ada, bob)
	j.mu.Lock()
	j.fail = errors.New("the disk is full")
	j.mu.Unlock()
	if _, err := b.Send(t.Context(), anyone, note("1", ada, bob, nil)); err == nil {
		t.Fatal("it was taken")
	}
	j.mu.Lock()
	j.fail = nil
	j.mu.Unlock()
	if r := send(t, b, note("1", ada, bob, nil)); r.Duplicate {
		t.Error("what was not taken counts as a duplicate")
	}
	if n := len(b.Queue(bob)); n != 1 {
		t.Errorf("%d wait", n)
	}
}

// sync waits for the response to a task_request, and the response is then not delivered again (BUS-039).
func TestSync_BUS039(t *testing.T) {
	t.Parallel()
	b, _ := start(t, &journal{}, nil)
	enlist(t, b, ada, bob)
	s := open(t, b, bob)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		got, err := s.Next(ctx, 1)
		if err != nil {
			return
		}
		_ = s.Confirm(ctx, got[0].Key)
		_, _ = b.Send(ctx, anyone, note("r1", bob, ada, func(m *Message) {
			m.Type, m.Payload = TaskResponse, []byte(`{"status":"completed"}`)
			m.Metadata = map[string]amp.Raw{"task_id": quote("t1")}
		}))
	}()
	a, err := b.SendSync(t.Context(), anyone, note("q1", ada, bob, func(m *Message) {
		m.Routing.DeliveryMode = Sync
		m.Metadata = map[string]amp.Raw{"task_id": quote("t1")}
	}), time.Minute)
	if err != nil || a.Reply == nil || a.Reply.MessageID != "r1" {
		t.Fatalf("SendSync = %+v, %v", a, err)
	}
	if err := a.Close(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if n := len(b.Queue(ada)); n != 0 {
		t.Errorf("%d wait for the sender", n)
	}
}

// What the bus counts for an operator: what waits and since when, what was delivered, failed and died, and how agents are.
func TestMetrics_operator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, _ := start(t, &journal{}, func(c *Config) { c.Members = map[string]Member{"x://absent": {Name: "absent"}} })
		enlist(t, b, ada, bob)
		s := open(t, b, bob)
		for i, id := range []string{"1", "2", "3"} {
			send(t, b, note(id, ada, bob, func(m *Message) { m.Routing.RetryPolicy.MaxRetries = i % 2 })) // the second is tried twice
			time.Sleep(time.Second)
		}
		m := b.Metrics()
		if m.Longest != 3 || m.Oldest != 3000 || m.Queued != 3 || m.Healthy != 1 || m.Absent != 2 || m.Unhealthy != 0 {
			t.Errorf("while they wait: %+v", m)
		}
		_, keys := next(t, s, 3)
		if err := s.Confirm(t.Context(), keys[0], keys[0]); err != nil {
			t.Fatal(err)
		}
		s.Fail(keys[1:]...)
		synctest.Wait()
		m = b.Metrics()
		if m.Delivered != 1 || m.Failures != 2 || m.Buried != 1 || m.Dead != 1 || m.Longest != 1 {
			t.Errorf("one delivered, one dead, one tried again: %+v", m)
		}
		time.Sleep(2 * time.Minute)
		if m = b.Metrics(); m.Unhealthy != 1 || m.Healthy != 0 {
			t.Errorf("without a heartbeat: %+v", m)
		}
	})
}

// Who waits for a delivery is told how it ended: at once when the bus itself took the message, and as no delivery when it is a dead letter.
func TestSync_delivery_BUS039(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, func(c *Config) { c.Keep = time.Minute })
		defer stop()
		enlist(t, b, ada, bob)
		tell := func(id, to string) (bool, time.Duration) {
			began := time.Now()
			a, err := b.SendSync(t.Context(), anyone, note(id, ada, to, func(m *Message) { m.Type, m.Routing.DeliveryMode = StatusUpdate, Sync }), time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			return a.Delivered, time.Since(began)
		}
		if yes, took := tell("m1", "communication-bus"); !yes || took != 0 {
			t.Errorf("to the bus itself: %v after %s", yes, took)
		}
		if yes, took := tell("m2", bob); yes || took != time.Minute {
			t.Errorf("a dead letter: %v after %s", yes, took)
		}
		if len(b.DeadLetters()) != 1 {
			t.Errorf("dead letters: %+v", b.DeadLetters())
		}
		s := open(t, b, bob)
		go func() {
			if got, err := s.Next(t.Context(), 1); err == nil {
				_ = s.Confirm(t.Context(), got[0].Key)
			}
		}()
		if yes, took := tell("m3", bob); !yes || took != 0 {
			t.Errorf("a delivery: %v after %s", yes, took)
		}
		if yes, took := tell("m3", bob); !yes || took != 0 {
			t.Errorf("the same once more: %v after %s", yes, took)
		}
		stop()
	})
}

// A dead letter whose id came again after a day, and waits, is not put beside it by a resend.
func TestResend_whatWaits_B13(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, stop := start(t, &journal{}, nil)
		defer stop()
		enlist(t, b, ada, bob)
		send(t, b, note("m1", ada, bob, nil))
		time.Sleep(24*time.Hour + time.Minute)
		dead := b.DeadLetters()
		if len(dead) != 1 {
			t.Fatalf("dead letters: %+v", dead)
		}
		if r := send(t, b, note("m1", ada, bob, nil)); r.Duplicate {
			t.Fatal("it is a duplicate after a day")
		}
		if err := b.Resend(t.Context(), "mira", []Key{dead[0].Key}); err != nil {
			t.Fatal(err)
		}
		s := open(t, b, bob)
		ids, keys := next(t, s, 10)
		if err := s.Confirm(t.Context(), keys...); err != nil {
			t.Fatal(err)
		}
		if m := b.Metrics(); len(ids) != 1 || len(b.Queue("")) != 0 || m.Queued != 0 || m.Bytes != 0 || m.Dead != 0 {
			t.Errorf("handed out %q; left %+v", ids, m)
		}
		stop()
	})
}

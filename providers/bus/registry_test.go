package bus

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

// An agent that connects or fetches in the moment in which its registration, or its removal, has just been written down finds a bus that goes on.
func TestRegister_atOnceThere_B03(t *testing.T) {
	t.Parallel()
	b, _ := start(t, &journal{}, nil)
	written := func(f Fact) { // as the writer does, before whoever asked for it goes on
		b.mu.Lock()
		defer b.mu.Unlock()
		b.apply(&f, time.Now())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	written(Fact{Event: Registered, AgentID: bob, Agent: &Descriptor{AgentID: bob, Framework: "codex"}})
	if _, err := b.Fetch(ctx, anyone, bob, 1); err != nil {
		t.Errorf("Fetch = %v", err)
	}
	s := open(t, b, bob)
	written(Fact{Event: Removed, AgentID: bob})
	select {
	case <-s.Ended():
	default:
		t.Error("the connection of an agent that was removed goes on")
	}
	written(Fact{Event: Registered, AgentID: bob, Agent: &Descriptor{AgentID: bob, Framework: "codex"}})
	fresh := open(t, b, bob)
	select {
	case <-fresh.Ended():
		t.Errorf("the connection after the next registration ended: %v", fresh.Why())
	default:
	}
}

// Of two tokens that register the same agent at the same moment one has it (BUS-061).
func TestRegister_once_BUS061(t *testing.T) {
	t.Parallel()
	j := &journal{}
	entered, goOn := make(chan bool, 8), make(chan bool)
	b, _ := start(t, j, func(c *Config) {
		c.Open = false
		c.Append = func(ctx context.Context, records []amp.Record) error {
			entered <- true
			<-goOn
			return j.append(ctx, records)
		}
	})
	done := make(chan error, 2)
	register := func(who string) {
		_, err := b.Register(t.Context(), Caller{Name: who, Role: amp.Executor}, []byte(`{"agent_descriptor":{"agent_id":"`+bob+`","framework":"codex"}}`))
		done <- err
	}
	go register("first")
	<-entered
	go register("second")
	close(goOn)
	good := 0
	for range 2 {
		if err := <-done; err == nil {
			good++
		} else if !strings.Contains(err.Error(), "Agent "+bob+" already registered") {
			t.Error(err)
		}
	}
	if got := b.Agents()[0].Bearer; good != 1 || got != "first" {
		t.Errorf("%d registrations were taken; the agent is %s's", good, got)
	}
}

// An agent whose registration is in the journal counts once, also before who registered it was told (BUS-060).
func TestRegister_countsOnce(t *testing.T) {
	t.Parallel()
	b := New(Config{AgentsEach: 2}, nil)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.entering["x://a"] = "greedy"
	d := &Descriptor{AgentID: "x://a", Bearer: "greedy"}
	b.apply(&Fact{Event: Registered, Agent: d, AgentID: d.AgentID, By: "greedy"}, time.Now())
	if n := b.agentsOf("greedy"); n != 1 {
		t.Errorf("the token has %d agents, want 1", n)
	}
	if err := b.mayRegister(Caller{Name: "greedy"}, &Descriptor{AgentID: "x://b", Bearer: "greedy"}); err != nil {
		t.Error(err)
	}
}

// One token has so many agents and no more, however many come at once; another one has its own, and who removes one may register again (BUS-060).
func TestRegister_each_BUS060(t *testing.T) {
	t.Parallel()
	j := &journal{}
	const most = 5
	b, stop := start(t, j, func(c *Config) { c.Open, c.AgentsEach = false, most })
	register := func(b *Bus, who string, n int) error {
		_, err := b.Register(t.Context(), Caller{Name: who, Role: amp.Executor}, fmt.Appendf(nil, `{"agent_descriptor":{"agent_id":"x://%s-%d","framework":"x"}}`, who, n))
		return err
	}
	done := make(chan error, 4*most)
	for n := range 4 * most {
		go func() { done <- register(b, "greedy", n) }()
	}
	good := 0
	for range 4 * most {
		if err := <-done; err == nil {
			good++
		} else if ruleOf(err) != "BUS-060" || !strings.Contains(err.Error(), "this token has registered 5 agents; remove some first") {
			t.Error(err)
		}
	}
	if good != most {
		t.Errorf("%d agents were registered, want %d", good, most)
	}
	if err := register(b, "modest", 1); err != nil {
		t.Error(err)
	}
	stop()
	b, _ = start(t, j, func(c *Config) { c.Open, c.AgentsEach = false, most })
	if err := register(b, "greedy", 100); ruleOf(err) != "BUS-060" {
		t.Errorf("after a restart: %v", err)
	}
	for _, a := range b.Agents() {
		if a.Bearer == "greedy" {
			if was, err := b.Remove(t.Context(), Caller{Name: "greedy"}, a.AgentID); !was || err != nil {
				t.Fatal(was, err)
			}
			break
		}
	}
	if err := register(b, "greedy", 101); err != nil {
		t.Error(err)
	}
}

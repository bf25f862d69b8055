package bus

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Delivery is a message that was handed out, and is to be confirmed.
type Delivery struct {
	Key     Key
	Message *Message
	// At is when it was taken in.
	At time.Time
}

// Session hands out the messages of one agent. What it handed out stays its own until it is confirmed or given back; nothing is lost when
// neither happens before it is closed.
type Session struct {
	bus   *Bus
	agent string
	via   string
	match func(*item) bool
	wake  chan struct{}
	// lease bounds how long a message is its own; 0 is as long as it is open.
	lease time.Duration
	held  map[Key]*item
	// ended is closed when another session takes its place, or when the agent is removed; why says which.
	ended chan struct{}
	why   error
}

// ErrReplaced says that the agent opened another connection, ErrRemoved that it was removed.
var (
	ErrReplaced = errors.New("replaced by a newer connection of the same agent")
	ErrRemoved  = errors.New("the agent was removed")
)

// Open opens the connection of an agent; one that is open already ends. It is [ErrNotRegistered] when it has not registered.
func (b *Bus) Open(who Caller, agent string) (*Session, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := b.state.agents[agent]
	if d == nil {
		return nil, ErrNotRegistered
	}
	if !who.owns(d) {
		return nil, refusal("BUS-066", "agent_id", "agent %s is registered by another token", quoted(agent))
	}
	b.end(agent, ErrReplaced)
	b.live[agent].since = time.Now()
	s := b.session(agent, "websocket", nil, 0)
	b.count.sessions++
	return s, nil
}

// session adds a session. The lock is held.
func (b *Bus) session(agent, via string, match func(*item) bool, lease time.Duration) *Session {
	s := &Session{
		bus: b, agent: agent, via: via, match: match, lease: lease, wake: make(chan struct{}, 1), held: map[Key]*item{}, ended: make(chan struct{}),
	}
	b.sessions[agent] = append(b.sessions[agent], s)
	s.signal()
	return s
}

// end ends the connection of an agent. The lock is held.
func (b *Bus) end(agent string, why error) {
	for _, s := range b.sessions[agent] {
		if s.via == "websocket" && s.why == nil {
			s.why = why
			close(s.ended)
		}
	}
}

// Agent is whose messages the session hands out.
func (s *Session) Agent() string { return s.agent }

// Ended is closed when the session has to be closed; Why says why then.
func (s *Session) Ended() <-chan struct{} { return s.ended }

// Why is why the session ended, nil while it has not.
func (s *Session) Why() error {
	s.bus.mu.Lock()
	defer s.bus.mu.Unlock()
	return s.why
}

func (s *Session) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// maxTaken is how many bytes of messages are handed out at once.
const maxTaken = 1 << 20

// Next waits for messages and returns at most n of them, in the order of the queue. It fails when ctx or the session ends.
func (s *Session) Next(ctx context.Context, n int) ([]Delivery, error) {
	for {
		if got := s.take(n); len(got) > 0 {
			return got, nil
		}
		select {
		case <-s.wake:
		case <-s.ended:
			return nil, s.Why()
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.bus.closed:
			return nil, ErrClosed
		}
	}
}

func (s *Session) take(n int) (out []Delivery) {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.state.queues[s.agent]
	if q == nil || s.why != nil {
		return nil
	}
	now, size := time.Now(), int64(0)
	q.each(func(it *item) bool {
		if it.holder != nil || it.due.After(now) || !b.suits(s, it) {
			return true
		}
		if size += it.size(); len(out) > 0 && size > maxTaken {
			return false
		}
		it.holder = s
		if s.lease > 0 {
			it.until = now.Add(s.lease)
		}
		s.held[it.key] = it
		out = append(out, Delivery{it.key, it.message, it.first})
		return len(out) < n
	})
	if s.lease > 0 {
		b.hurry()
	}
	return out
}

// suits reports whether a message is for a session: one that waits for certain messages goes before one that takes all.
func (b *Bus) suits(s *Session, it *item) bool {
	if s.match != nil {
		return s.match(it)
	}
	return !slices.ContainsFunc(b.sessions[s.agent], func(other *Session) bool { return other.match != nil && other.match(it) })
}

// Confirm writes down that the recipient has the messages, and forgets them.
func (s *Session) Confirm(ctx context.Context, keys ...Key) error {
	if len(keys) == 0 {
		return nil
	}
	return s.bus.fact(ctx, Fact{Event: Delivered, Keys: keys, Via: s.via, AgentID: s.agent})
}

// Fail gives messages back whose delivery failed: they are tried again as their routing says, then go to another agent or to the dead letters.
func (s *Session) Fail(keys ...Key) {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range keys {
		if it := s.held[k]; it != nil {
			delete(s.held, k)
			b.failed(it, time.Now())
		}
	}
}

// failed counts a delivery that failed. The lock is held.
func (b *Bus) failed(it *item, now time.Time) {
	it.holder = nil
	it.attempts++
	it.due = now.Add(it.message.Routing.RetryPolicy.wait(it.attempts))
	b.count.failures++
	b.hurry()
}

// Close gives back what was not confirmed, and ends the session.
func (s *Session) Close() {
	b := s.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, it := range s.held {
		it.holder = nil
	}
	clear(s.held)
	b.sessions[s.agent] = slices.DeleteFunc(b.sessions[s.agent], func(o *Session) bool { return o == s })
	if len(b.sessions[s.agent]) == 0 {
		delete(b.sessions, s.agent)
	}
	if s.why == nil {
		s.why = ErrClosed
		close(s.ended)
	}
	b.signal(s.agent)
	b.hurry()
}

// Fetch returns at most n messages that wait for an agent, and waits for the first one until ctx ends. Those that are not acknowledged within
// the lease are handed out again.
func (b *Bus) Fetch(ctx context.Context, who Caller, agent string, n int) ([]Delivery, error) {
	b.mu.Lock()
	d := b.state.agents[agent]
	if d == nil || !who.owns(d) {
		b.mu.Unlock()
		if d == nil {
			return nil, ErrNotRegistered
		}
		return nil, refusal("BUS-066", "agent_id", "agent %s is registered by another token", quoted(agent))
	}
	b.live[agent].polled = time.Now()
	s := b.session(agent, "poll", nil, b.cfg.Lease)
	b.mu.Unlock()
	got, err := s.Next(ctx, n)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.alive(agent).polled = time.Now()
	b.sessions[agent] = slices.DeleteFunc(b.sessions[agent], func(o *Session) bool { return o == s })
	if err != nil && ctx.Err() != nil {
		return nil, nil
	}
	return got, err
}

// alive is what is known of an agent now, also when it was removed meanwhile. The lock is held.
func (b *Bus) alive(agent string) *live {
	if l := b.live[agent]; l != nil {
		return l
	}
	return &live{}
}

// Acknowledge confirms messages that an agent fetched, by their message ids, and returns how many there were.
func (b *Bus) Acknowledge(ctx context.Context, who Caller, agent string, ids []string) (int, error) {
	named := make(map[string]bool, len(ids))
	for _, id := range ids {
		named[id] = true
	}
	b.mu.Lock()
	d := b.state.agents[agent]
	var keys []Key
	if d != nil && who.owns(d) && b.state.queues[agent] != nil {
		b.state.queues[agent].each(func(it *item) bool {
			if it.holder != nil && it.holder.via == "poll" && named[it.message.MessageID] {
				keys = append(keys, it.key)
			}
			return true
		})
	}
	b.mu.Unlock()
	switch {
	case d == nil:
		return 0, ErrNotRegistered
	case !who.owns(d):
		return 0, refusal("BUS-066", "agent_id", "agent %s is registered by another token", quoted(agent))
	case len(keys) == 0:
		return 0, nil
	}
	return len(keys), b.fact(ctx, Fact{Event: Delivered, Keys: keys, Via: "poll", AgentID: agent})
}

package bus

import (
	"context"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
)

// Receipt says what became of a message.
type Receipt struct {
	Message *Message
	// Duplicate is a message that came before: nothing happens (B13).
	Duplicate bool
	// Consumed is a heartbeat, which the bus itself takes.
	Consumed bool
	Warnings []amp.Problem
	// Confirmed is closed when the recipient has it, or when it became a dead letter; nil of what the bus itself took.
	Confirmed <-chan struct{}
}

// Send takes a message from outside. When it returns without an error the message is in the journal, and will be delivered or shown as a dead
// letter. A [*RefusedError] names the rules that it breaks, and is kept in the error log; a [*FullError] says that there is no room.
func (b *Bus) Send(ctx context.Context, who Caller, raw []byte) (Receipt, error) {
	s, err := b.Submit(ctx, who, raw)
	if err != nil {
		return Receipt{}, err
	}
	return s.Wait()
}

// Submitted is a message on its way to the journal.
type Submitted struct {
	receipt Receipt
	bus     *Bus
	op      *op
	first   bool
}

// Submit is the first half of [Bus.Send]: messages that one goroutine submits are queued in that order.
func (b *Bus) Submit(ctx context.Context, who Caller, raw []byte) (*Submitted, error) {
	m, warnings, err := Decode(raw)
	return b.judged(ctx, who, raw, m, warnings, err)
}

// judged submits a message that [Decode] has seen, with what that says of it.
func (b *Bus) judged(ctx context.Context, who Caller, raw []byte, m *Message, warnings []amp.Problem, err error) (*Submitted, error) {
	if err != nil {
		inv := err.(*amp.InvalidError) //nolint:errorlint,forcetypeassert // the door returns it as it is
		return nil, b.refuse(ctx, who, raw, &RefusedError{Problems: inv.Problems})
	}
	if refused := b.may(who, m); refused != nil {
		return nil, b.refuse(ctx, who, raw, refused)
	}
	consumed := &Submitted{receipt: Receipt{Message: m, Consumed: true, Warnings: warnings}}
	if m.Type == Heartbeat {
		b.beat(m)
		return consumed, nil
	}
	to := m.Recipient.AgentID
	if selves[to] {
		if b.unasked(m) {
			if to != Coordinator && m.Type == StatusUpdate { // to everybody and nobody
				return consumed, nil
			}
			return nil, b.refuse(ctx, who, raw, refusal("BUS-045", "metadata.task_id", "nothing was asked of %s about %s",
				quoted(m.Sender.AgentID), quoted(m.Link())))
		}
		to = Coordinator
	}
	s, err := b.submit(ctx, m, to)
	if refused, ok := err.(*RefusedError); ok { //nolint:errorlint // submit returns it as it is
		return nil, b.refuse(ctx, who, raw, refused)
	}
	if err != nil {
		return nil, err
	}
	s.receipt.Warnings = warnings
	return s, nil
}

// submit hands a message to the writer.
func (b *Bus) submit(ctx context.Context, m *Message, to string) (*Submitted, error) {
	o, first, r, err := b.reserve(m, to)
	if err != nil {
		return nil, err
	}
	s := &Submitted{receipt: r, bus: b, op: o, first: first}
	if first {
		err = b.hand(ctx, o)
	}
	return s, err
}

// Wait is the second half: it returns when the message is in the journal. Of a message that is on its way already, it waits for that one.
func (s *Submitted) Wait() (Receipt, error) {
	if s.op == nil {
		return s.receipt, nil
	}
	b := s.bus
	if err := b.outcome(s.op); err != nil {
		return s.receipt, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.first {
		b.count.took(s.receipt.Message, time.Now())
	}
	s.receipt.Confirmed = b.confirmation(s.op.key)
	return s.receipt, nil
}

// confirmation is closed when a message waits no more. The lock is held.
func (b *Bus) confirmation(k Key) <-chan struct{} {
	it := b.state.items[k]
	if it == nil {
		return over
	}
	if it.confirm == nil {
		it.confirm = make(chan struct{})
	}
	return it.confirm
}

// over is the confirmation of what waits no more.
var over = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// may says why a caller must not send a message, nil when it may.
func (b *Bus) may(who Caller, m *Message) *RefusedError {
	b.mu.Lock()
	defer b.mu.Unlock()
	from := m.Sender.AgentID
	if strings.HasPrefix(from, Framework+"://") {
		return refusal("BUS-015", "sender.agent_id", "%s is the coordinator's own name", quoted(from))
	}
	d := b.state.agents[from]
	if d == nil {
		return refusal("BUS-015", "sender.agent_id", "agent %s is not registered", quoted(from))
	}
	if !who.owns(d) {
		return refusal("BUS-066", "sender.agent_id", "agent %s is registered by another token", quoted(from))
	}
	return nil
}

// unasked reports whether Arbiter asked the sender nothing that a message to it could answer.
func (b *Bus) unasked(m *Message) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.state.asked[link{m.Sender.AgentID, m.Link()}]
	return !ok
}

// owns reports whether a caller speaks for an agent.
func (c Caller) owns(d *Descriptor) bool { return c.Admin || c.Name == d.Bearer }

// accept writes a message down for a recipient.
func (b *Bus) accept(ctx context.Context, m *Message, to string) (Receipt, error) {
	s, err := b.submit(ctx, m, to)
	if err != nil {
		return Receipt{}, err
	}
	return s.Wait()
}

// maxUnheard is how many messages of one agent wait for Arbiter itself: none keeps the others from being heard.
const maxUnheard = 1000

// reserve finds out whether a message is new, and keeps room for it.
func (b *Bus) reserve(m *Message, to string) (o *op, first bool, r Receipt, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := KeyOf(m)
	r.Message = m
	if o := b.pending[k]; o != nil {
		b.count.duplicates++
		r.Duplicate = true
		return o, false, r, nil
	}
	if _, came := b.state.seen.get(k, b.cfg.Keep, time.Now()); came || b.state.items[k] != nil {
		b.count.duplicates++
		r.Duplicate, r.Confirmed = true, b.confirmation(k)
		return nil, false, r, nil
	}
	if !b.known(to) {
		return nil, false, r, refusal("BUS-072", "recipient.agent_id", "agent %s is not registered", quoted(to))
	}
	size := int64(len(m.Raw)) + 512
	q, held := b.state.queues[to], b.reserved[to]
	n, bytes := held.n, held.bytes
	if q != nil {
		n, bytes = n+q.n, bytes+q.bytes
	}
	all := b.state.bytes
	for _, r := range b.reserved {
		all += r.bytes
	}
	switch {
	case n >= b.cfg.QueueMessages || bytes+size > b.cfg.QueueBytes:
		b.count.full++
		return nil, false, r, &FullError{What: "the queue of " + clip(to, 100)}
	case to == Coordinator && q != nil && q.by[m.Sender.AgentID] >= maxUnheard:
		b.count.full++
		return nil, false, r, &FullError{What: "what Arbiter holds of " + clip(m.Sender.AgentID, 100)}
	case all+size > b.cfg.TotalBytes:
		b.count.full++
		return nil, false, r, &FullError{What: "the bus"}
	}
	b.reserved[to] = room{n: held.n + 1, bytes: held.bytes + size}
	o = &op{facts: []Fact{{Event: Queued, AgentID: to, Message: string(m.Raw), By: m.Sender.AgentID, decoded: m}}, key: k, size: size, done: make(chan struct{})}
	b.pending[k] = o
	return o, true, r, nil
}

// known reports whether an agent can get messages. The lock is held.
func (b *Bus) known(id string) bool {
	_, member := b.cfg.Members[id]
	return member || id == Coordinator || b.state.agents[id] != nil
}

// budget bounds how many refusals of one caller are kept: what is refused fast is not to fill the disk.
type budget struct {
	since time.Time
	n     int
}

const (
	// maxRefusals is how many refusals of one caller are kept, and logged, in a minute, maxRefused how many callers are counted.
	maxRefusals = 60
	maxRefused  = 4096
	// maxRaw is how much of a refused message is kept.
	maxRaw = 64 << 10
)

// refuse keeps a refused message in the error log and returns why it was refused.
func (b *Bus) refuse(ctx context.Context, who Caller, raw []byte, refused *RefusedError) error {
	b.mu.Lock()
	b.count.refused++
	now := time.Now()
	bud := b.complain[who.Name]
	if bud == nil || now.Sub(bud.since) > time.Minute {
		if len(b.complain) >= maxRefused {
			clear(b.complain)
		}
		bud = &budget{since: now}
		b.complain[who.Name] = bud
	}
	bud.n++
	n := bud.n
	b.mu.Unlock()
	if n > maxRefusals {
		if n == maxRefusals+1 {
			b.cfg.Logger.Warn("the bus refuses more of one caller than it keeps; the others of this minute are counted alone", "from", who.Name, "source", who.Source)
		}
		return refused
	}
	b.cfg.Logger.Warn("the bus refused a message", "from", who.Name, "source", who.Source, "rule", refused.Problems[0].Rule)
	role := who.Role
	if role == "" {
		role = amp.System
	}
	name := who.Name
	if name == "" {
		name = "bus"
	}
	cut := raw[:min(len(raw), maxRaw)]
	err := b.do(ctx, &op{records: []amp.Record{{Kind: amp.KindRefusal, Role: role, Actor: name, Body: amp.EncodeBody(amp.Refusal{
		What: "agentmessage", Source: who.Source, Problems: slices.Clone(refused.Problems), Raw: cut, RawLen: len(raw),
	})}}})
	if err != nil {
		b.cfg.Logger.Error("a refusal was not kept", "err", err)
	}
	return refused
}

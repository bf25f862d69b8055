package bus

import (
	"context"
	"slices"
	"time"

	"arbiter/amp"
)

// delegation is a request of ours that waits for its answer.
type delegation struct {
	bus     *Bus
	session *Session
	message *Message
	key     Key
	role    amp.Role
	// at is when the request went out; what came before is no answer to it.
	at time.Time
	// settled is closed when the request was delivered, or became a dead letter.
	settled <-chan struct{}
}

// delegate sends a request and listens for what comes back. One that was sent before, by a turn that was lost, is not sent again while it still
// waits, or when its answer is already here.
func (b *Bus) delegate(ctx context.Context, m *Message, role amp.Role) (*delegation, error) {
	d := &delegation{bus: b, message: m, key: KeyOf(m), role: role}
	b.mu.Lock()
	d.session = b.session(Coordinator, "here", d.answers, 0)
	t, sent := b.state.seen.get(d.key, b.cfg.Keep, time.Now())
	waits := b.state.items[d.key] != nil
	if sent {
		d.at = t.since()
	}
	answered := false
	if q := b.state.queues[Coordinator]; q != nil && sent {
		q.each(func(it *item) bool {
			final := it.message.Type == TaskResponse || it.message.Type == ErrorMessage // a sign of life of an earlier turn promises nothing
			answered = final && it.holder == nil && d.answers(it)
			return !answered
		})
	}
	b.mu.Unlock()
	if sent && (waits || answered) {
		d.watch()
		return d, nil
	}
	if err := d.send(ctx, m, m.Recipient.AgentID); err != nil {
		d.session.Close()
		return nil, err
	}
	return d, nil
}

// send sends the request, again when it was sent before.
func (d *delegation) send(ctx context.Context, m *Message, to string) error {
	b := d.bus
	b.mu.Lock()
	_, before := b.state.seen.get(d.key, b.cfg.Keep, time.Now())
	b.mu.Unlock()
	if before {
		if err := b.fact(ctx, Fact{Event: Withdrawn, Keys: []Key{d.key}, Why: "it is sent again"}); err != nil {
			return err
		}
	}
	if _, err := b.accept(ctx, m, to); err != nil {
		return err
	}
	d.watch()
	return nil
}

// watch notes since when the request is out, and watches its delivery.
func (d *delegation) watch() {
	b := d.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if t, sent := b.state.seen.get(d.key, b.cfg.Keep, time.Now()); sent {
		d.at = t.since()
	}
	d.settled = nil
	if b.state.items[d.key] != nil {
		d.settled = b.confirmation(d.key)
	}
}

// answers reports whether a message answers the request: it comes from the agent that has it, in the right role, for the same task, and after
// it. The lock is held.
func (d *delegation) answers(it *item) bool {
	m := it.message
	holder, sent := d.bus.state.seen.holder(d.key)
	if !sent || it.first.Before(d.at) || m.Sender.AgentID != holder || m.Link() != d.message.Link() {
		return false
	}
	if of := textOf(m.Metadata["original_message_id"]); of != "" && of != d.message.MessageID {
		return false
	}
	return d.bus.speaks(holder, d.role)
}

// speaks reports whether an agent may speak for a role: its token says so, or nothing is known of it. The lock is held.
func (b *Bus) speaks(agent string, role amp.Role) bool {
	if m, ok := b.cfg.Members[agent]; ok && len(m.Roles) > 0 && !slices.Contains(m.Roles, role) {
		return false
	}
	d := b.state.agents[agent]
	return d == nil || d.Role == "" || d.Role == role
}

// dead is why the request could not be delivered, "" when it is no dead letter.
func (d *delegation) dead() string {
	b := d.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.state.dead.all {
		if l := &b.state.dead.all[i]; l.key == d.key {
			return l.why
		}
	}
	return ""
}

// withdraw takes the request back when nobody has it yet, and reports whether that was so.
func (d *delegation) withdraw(why string) bool {
	b := d.bus
	b.mu.Lock()
	waits := b.state.items[d.key] != nil
	b.mu.Unlock()
	if !waits {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.fact(ctx, Fact{Event: Withdrawn, Keys: []Key{d.key}, Why: why}); err != nil {
		b.cfg.Logger.Warn("a request was not withdrawn", "err", err)
	}
	return true
}

// keepAnswer is how long an answer stays after its turn has ended: a coordinator that dies before it wrote the end of the turn down finds it again.
const keepAnswer = time.Minute

// settle lets go of the answer later.
func (d *delegation) settle(k Key) {
	b := d.bus
	b.mu.Lock()
	defer b.mu.Unlock()
	if it := d.session.held[k]; it != nil {
		delete(d.session.held, k)
		it.holder, it.until = b.late, time.Now().Add(keepAnswer)
		b.hurry()
	}
}

package bus

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Shown is what the admin is shown of a message: one that waits, or a dead letter.
type Shown struct {
	Key       Key         `json:"key"`
	MessageID string      `json:"message_id"`
	Type      MessageType `json:"message_type"`
	Priority  Priority    `json:"priority"`
	From      string      `json:"from"`
	To        string      `json:"to"`
	Task      string      `json:"task_id,omitzero"`
	Bytes     int         `json:"bytes"`
	At        time.Time   `json:"at"`
	// Tries is how many deliveries failed since the bus was started; Out says that it was handed out and is not confirmed yet.
	Tries int  `json:"tries,omitzero"`
	Out   bool `json:"out,omitzero"`
	// Why and Dead are of a dead letter: why it is one, and since when.
	Why  string    `json:"why,omitzero"`
	Dead time.Time `json:"dead_at,omitzero"`
}

func (it *item) waiting() Shown {
	m := it.message
	return Shown{
		Key: it.key, MessageID: m.MessageID, Type: m.Type, Priority: m.Priority, From: m.Sender.AgentID, To: it.to, Task: m.Link(),
		Bytes: len(m.Raw), At: it.first, Tries: it.attempts, Out: it.holder != nil,
	}
}

// maxShown is how many messages are shown of one queue, and of the dead letters.
const maxShown = 1000

// Queue is what waits for an agent, or with "" for every one, in the order in which each gets it; at most 1,000 of each.
func (b *Bus) Queue(agent string) []Shown {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []Shown{}
	for _, id := range slices.Sorted(maps.Keys(b.state.queues)) {
		if agent != "" && id != agent {
			continue
		}
		n := 0
		b.state.queues[id].each(func(it *item) bool {
			out = append(out, it.waiting())
			n++
			return n < maxShown
		})
	}
	return out
}

// DeadLetters are the newest messages that could not be delivered, oldest first.
func (b *Bus) DeadLetters() []Shown {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []Shown{}
	for i := range b.state.dead.all {
		l := &b.state.dead.all[i]
		w := l.waiting()
		w.Why, w.Dead = l.why, l.on
		out = append(out, w)
	}
	return out
}

// Resend puts dead letters back into the queues of their first recipients, on behalf of an admin. It is all of them, or none and an error that
// names the one that is no dead letter.
func (b *Bus) Resend(ctx context.Context, by string, keys []Key) error {
	err := b.eachLetter(keys, func(l *letter) error {
		if to := recipientOf(l.sent); !b.known(to) {
			return refusal("BUS-072", "recipient.agent_id", "agent %s is not registered any more", quoted(to))
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	if err := b.fact(ctx, Fact{Event: Resent, Keys: keys, By: by}); err != nil {
		return fmt.Errorf("resend: %w", err)
	}
	return nil
}

// Drop gives dead letters up, on behalf of an admin: they stay in the journal, are not shown any more, and cannot be sent again. It is all of
// them, or none and an error that names the one that is no dead letter.
func (b *Bus) Drop(ctx context.Context, by string, keys []Key) error {
	if err := b.eachLetter(keys, func(*letter) error { return nil }); err != nil || len(keys) == 0 {
		return err
	}
	if err := b.fact(ctx, Fact{Event: Dropped, Keys: keys, By: by}); err != nil {
		return fmt.Errorf("drop: %w", err)
	}
	return nil
}

// eachLetter finds dead letters, until one is none or is refused.
func (b *Bus) eachLetter(keys []Key, judge func(*letter) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, k := range keys {
		i := slices.IndexFunc(b.state.dead.all, func(l letter) bool { return l.key == k })
		if i < 0 {
			return refusal("BUS-038", "", "%s is no dead letter", k)
		}
		if err := judge(&b.state.dead.all[i]); err != nil {
			return err
		}
	}
	return nil
}

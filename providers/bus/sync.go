package bus

import (
	"context"
	"time"
)

// Answer is the reply to a message that was sent with delivery_mode sync.
type Answer struct {
	Receipt
	// Reply is the response, nil when none came in time; Delivered says whether the recipient has the message.
	Reply     *Message
	Delivered bool
	session   *Session
	key       Key
}

// Close lets go of the reply: it is confirmed when taken is true, else it waits in the queue of the sender.
func (a *Answer) Close(ctx context.Context, taken bool) error {
	if a.session == nil {
		return nil
	}
	defer a.session.Close()
	if !taken || a.Reply == nil {
		return nil
	}
	return a.session.Confirm(ctx, a.key)
}

// maxSyncs is how many senders wait at once for one agent's replies.
const maxSyncs = 128

// SendSync takes a message in as [Bus.Send] does. When its delivery_mode is sync it waits until routing.timeout, at most most: for the response to
// a task_request, for the delivery of any other. The caller closes the answer.
func (b *Bus) SendSync(ctx context.Context, who Caller, raw []byte, most time.Duration) (*Answer, error) {
	a := &Answer{}
	m, warnings, err := Decode(raw)
	wants := err == nil && m.Routing.DeliveryMode == Sync && m.Type != Heartbeat
	if wants && m.Type == TaskRequest && b.may(who, m) == nil {
		since := time.Now().Truncate(time.Millisecond)
		from, to := m.Sender.AgentID, m.Link()
		b.mu.Lock()
		if len(b.sessions[from]) < maxSyncs {
			a.session = b.session(from, "sync", func(it *item) bool {
				of := textOf(it.message.Metadata["original_message_id"])
				return (it.message.Type == TaskResponse || it.message.Type == ErrorMessage) && !it.first.Before(since) &&
					(of == m.MessageID || of == "" && it.message.Link() == to && to != "")
			}, 0)
		}
		full := a.session == nil
		b.mu.Unlock()
		if full {
			return nil, &FullError{What: "the list of those who wait for answers"}
		}
	}
	s, err := b.judged(ctx, who, raw, m, warnings, err)
	if err == nil {
		a.Receipt, err = s.Wait()
	}
	if err != nil || !wants {
		return a, joinClose(ctx, a, err)
	}
	if a.Consumed {
		a.Delivered = true
		return a, joinClose(ctx, a, nil)
	}
	limit, err := ParseTimeout(m.Routing.Timeout)
	if err != nil || limit > most {
		limit = most
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if a.session == nil {
		select {
		case <-a.Confirmed:
			a.Delivered = b.delivered(KeyOf(m))
		case <-ctx.Done():
		case <-b.closed:
		}
		return a, nil
	}
	if got, err := a.session.Next(ctx, 1); err == nil {
		a.Reply, a.key, a.Delivered = got[0].Message, got[0].Key, true
	}
	return a, nil
}

// delivered reports whether a message that waits no more was delivered; else it is a dead letter.
func (b *Bus) delivered(k Key) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state.seen.delivered(k)
}

func joinClose(ctx context.Context, a *Answer, err error) error {
	if a.session != nil {
		_ = a.Close(ctx, false) // nothing is confirmed, so nothing can fail
		a.session = nil
	}
	return err
}

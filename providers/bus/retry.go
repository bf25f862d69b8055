package bus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The times between tries (B13).
const (
	maxRetries = 100
	retryBase  = time.Second
	retryCap   = 30 * time.Second
)

// wait is how long to wait before the n-th retry: linear n × 1 s, exponential 2ⁿ × 1 s, 30 s at most.
func (p RetryPolicy) wait(n int) time.Duration {
	n = max(n, 1)
	if p.Backoff == Exponential {
		if n > 10 {
			return retryCap
		}
		return min(retryCap, retryBase<<n)
	}
	return min(retryCap, time.Duration(n)*retryBase)
}

// patience is how long all retries take together: so long an unavailable agent is waited for before another one gets its message.
func (p RetryPolicy) patience() (sum time.Duration) {
	for n := 1; n <= p.MaxRetries; n++ {
		sum += p.wait(n)
	}
	return sum
}

// idle is how long the clocks are not looked at when nothing is due. Whoever asks for a look sooner waits restOf times as long as the last look
// took, so that looking through long queues is a small part of all work.
const (
	idle   = time.Minute
	restOf = 20
)

// keepWatch watches the clocks until ctx ends. After a fault it waits until the state is mended.
func (b *Bus) keepWatch(ctx context.Context, broken chan<- chan struct{}) {
	for ctx.Err() == nil {
		if b.sound("watching the clocks", func() { b.watch(ctx) }) {
			continue
		}
		mended := make(chan struct{})
		select {
		case broken <- mended:
			<-mended
		case <-ctx.Done():
		}
	}
}

// watch looks at the clocks.
func (b *Bus) watch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var rest time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-b.kick:
			if wait := time.Until(rest); wait > 0 {
				timer.Reset(wait)
				continue
			}
		}
		began := time.Now()
		facts, next := b.due(began)
		rest = time.Now().Add(restOf * time.Since(began))
		if len(facts) > 0 {
			if err := b.fact(ctx, facts...); err != nil {
				b.cfg.Logger.Error("the bus could not go on with messages that failed", "err", err)
				next = max(next, retryBase)
			} else {
				next = 0
			}
		}
		timer.Reset(next)
	}
}

// due gives back what was not confirmed in time, and says what is to be handed over or given up now, and when to look again.
func (b *Bus) due(now time.Time) (facts []Fact, next time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	next = idle
	at := func(t time.Time) bool {
		if !t.After(now) {
			return true
		}
		next = min(next, t.Sub(now))
		return false
	}
	for _, it := range b.state.items {
		if it.holder == b.late {
			if at(it.until) {
				facts = append(facts, Fact{Event: Delivered, Keys: []Key{it.key}, Via: "here", AgentID: Coordinator})
			}
			continue
		}
		if it.holder != nil {
			if !it.until.IsZero() && at(it.until) {
				delete(it.holder.held, it.key)
				it.until = time.Time{}
				b.failed(it, now)
			} else {
				continue
			}
		}
		switch p := it.message.Routing.RetryPolicy; {
		case at(it.at.Add(b.cfg.Keep)):
			facts = append(facts, Fact{Event: DeadLetter, Keys: []Key{it.key}, AgentID: it.to, Why: fmt.Sprintf("nobody took it in %s", b.cfg.Keep)})
		case it.attempts > p.MaxRetries:
			facts = append(facts, b.giveUp(it, now))
		case len(it.message.Routing.FallbackAgents) > 0 && !b.available(it.to, now):
			if other := b.other(it, now, true); other != "" && at(it.at.Add(p.patience())) {
				facts = append(facts, Fact{Event: HandedOver, Keys: []Key{it.key}, AgentID: other, Why: it.to + " is not available"})
				continue
			}
			next = min(next, retryCap)
		case !it.due.IsZero() && at(it.due):
			it.due = time.Time{}
			b.signal(it.to)
		}
	}
	// What is due in the same moment stays in the order in which it came (B14).
	slices.SortFunc(facts, func(x, y Fact) int {
		return cmp.Compare(b.state.items[x.Keys[0]].order, b.state.items[y.Keys[0]].order)
	})
	return facts, next
}

// giveUp is what becomes of a message whose delivery failed too often. The lock is held.
func (b *Bus) giveUp(it *item, now time.Time) Fact {
	why := fmt.Sprintf("%d deliveries to %s failed", it.attempts, it.to)
	other := b.other(it, now, true)
	if other == "" {
		other = b.other(it, now, false)
	}
	if other == "" {
		return Fact{Event: DeadLetter, Keys: []Key{it.key}, AgentID: it.to, Why: why}
	}
	return Fact{Event: HandedOver, Keys: []Key{it.key}, AgentID: other, Why: why}
}

// other is the next fallback agent of a message that has not had it, "" when there is none. The lock is held.
func (b *Bus) other(it *item, now time.Time, available bool) string {
	for _, id := range it.message.Routing.FallbackAgents {
		if id != it.to && !slices.Contains(it.passed, id) && b.known(id) && (!available || b.available(id, now)) {
			return id
		}
	}
	return ""
}

// readdress is a message as a fallback agent gets it: recipient is that one, and metadata.original_recipient the first. Everything else stays.
func readdress(m *Message, to string) *Message {
	top := members(m.Raw)
	meta := members(top["metadata"])
	if meta == nil {
		meta = map[string]jsontext.Value{}
	}
	if meta["original_recipient"] == nil {
		meta["original_recipient"] = quote(m.Recipient.AgentID)
	}
	out := *m
	out.Recipient = Identifier{AgentID: to, Framework: FrameworkOf(to)}
	out.Metadata = meta
	top["recipient"], top["metadata"] = value(out.Recipient), value(meta)
	out.Raw = value(top)
	return &out
}

// value is v as JSON.
func value(v any) jsontext.Value {
	raw, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		panic(fmt.Sprintf("write %T: %v", v, err)) // maps of valid values
	}
	return raw
}

func quote(s string) jsontext.Value { return value(s) }

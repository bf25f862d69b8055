package bus

import (
	"slices"
	"time"
)

// Metrics are what the bus counts (BUS-064). Times are in milliseconds.
type Metrics struct {
	TotalMessages       uint64  `json:"total_messages"`
	ActiveSessions      int     `json:"active_sessions"`
	RegisteredAgents    int     `json:"registered_agents"`
	AverageResponseTime float64 `json:"average_response_time"`
	// ErrorRate is the part of all messages that were errors or became dead letters.
	ErrorRate float64 `json:"error_rate"`
	Uptime    int64   `json:"uptime"`
	// Throughput is messages a second, over the last minute.
	Throughput float64 `json:"throughput"`

	Queued     int    `json:"queued"`
	Bytes      int64  `json:"queued_bytes"`
	Dead       int    `json:"dead_letters"`
	Duplicates uint64 `json:"duplicates"`
	Refused    uint64 `json:"refused"`
	Full       uint64 `json:"refused_full"`
	Failures   uint64 `json:"failed_deliveries"`
	Heartbeats uint64 `json:"heartbeats"`

	// Delivered are the messages that their recipients have, HandedOver those that went to a fallback agent, Buried those that became dead letters.
	Delivered  uint64 `json:"delivered"`
	HandedOver uint64 `json:"handed_over"`
	Buried     uint64 `json:"dead_letters_total"`
	// Longest is how many messages wait in the longest queue, Oldest since when the oldest one of all queues waits, in milliseconds.
	Longest int   `json:"longest_queue"`
	Oldest  int64 `json:"oldest_waits"`
	// Healthy, Unhealthy and Absent are agents: registered and reached with heartbeats in time; without; not there, of the configured ones too.
	Healthy   int `json:"agents_healthy"`
	Unhealthy int `json:"agents_unhealthy"`
	Absent    int `json:"agents_absent"`
}

// counts are what happened since the bus was started.
type counts struct {
	total, errors, duplicates, refused, full, failures, heartbeats, sessions uint64

	delivered, handedOver, buried uint64
	// asked is when requests came, by the sender and what links a reply to it.
	asked    map[link]time.Time
	answered int
	spent    time.Duration
	second   [60]struct {
		at int64
		n  int
	}
}

// link is what joins a reply to its request.
type link struct{ agent, task string }

// maxAsked bounds the requests whose answers are timed.
const maxAsked = 10_000

func newCounts() counts { return counts{asked: map[link]time.Time{}} }

// took counts a message that was accepted.
func (c *counts) took(m *Message, now time.Time) {
	c.total++
	s := &c.second[now.Unix()%60]
	if s.at != now.Unix() {
		s.at, s.n = now.Unix(), 0
	}
	s.n++
	switch m.Type {
	case TaskRequest:
		if len(c.asked) >= maxAsked {
			clear(c.asked)
		}
		c.asked[link{m.Sender.AgentID, m.Link()}] = now
	case TaskResponse, ErrorMessage:
		if m.Type == ErrorMessage {
			c.errors++
		}
		l := link{m.Recipient.AgentID, m.Link()}
		if at, ok := c.asked[l]; ok {
			delete(c.asked, l)
			c.answered++
			c.spent += now.Sub(at)
		}
	case StatusUpdate, Heartbeat:
	}
}

// happened counts what a fact did to the messages that wait, of which there were some before it. The lock is held.
func (b *Bus) happened(f *Fact, before int) {
	gone := uint64(max(0, before-len(b.state.items)))
	switch f.Event {
	case Delivered:
		b.count.delivered += gone
	case HandedOver:
		b.count.handedOver += uint64(len(f.Keys))
	case DeadLetter:
		b.count.buried += gone
	case Registered, Removed, Queued, Resent, Withdrawn, Dropped:
	}
}

// waiting is how many messages the longest queue has, and for how long the oldest message of all has waited, in milliseconds. Only the first of
// each priority is looked at: those behind it came later, or were handed over. The lock is held.
func (b *Bus) waiting(now time.Time) (longest int, oldest int64) {
	for _, q := range b.state.queues {
		longest = max(longest, q.n)
		for _, rank := range q.rank {
			if i := slices.IndexFunc(rank, func(it *item) bool { return !it.gone }); i >= 0 {
				oldest = max(oldest, now.Sub(rank[i].first).Milliseconds())
			}
		}
	}
	return longest, oldest
}

// health counts the agents by how they are. The lock is held.
func (b *Bus) health(now time.Time) (healthy, unhealthy, absent int) {
	for id := range b.state.agents {
		switch l := b.live[id]; {
		case l == nil || !b.reached(id, l, now):
			absent++
		case b.healthy(l, now):
			healthy++
		default:
			unhealthy++
		}
	}
	for id := range b.cfg.Members {
		if b.state.agents[id] == nil {
			absent++
		}
	}
	return healthy, unhealthy, absent
}

// Uptime is since when the bus is there.
func (b *Bus) Uptime() time.Duration { return time.Since(b.started) }

// Metrics are the counts of now.
func (b *Bus) Metrics() Metrics {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	c := &b.count
	m := Metrics{
		TotalMessages: c.total, RegisteredAgents: len(b.state.agents), Uptime: now.Sub(b.started).Milliseconds(), Queued: len(b.state.items),
		Bytes: b.state.bytes, Dead: len(b.state.dead.all), Duplicates: c.duplicates, Refused: c.refused, Full: c.full, Failures: c.failures,
		Heartbeats: c.heartbeats, Delivered: c.delivered, HandedOver: c.handedOver, Buried: c.buried,
	}
	m.Longest, m.Oldest = b.waiting(now)
	m.Healthy, m.Unhealthy, m.Absent = b.health(now)
	for _, all := range b.sessions {
		for _, s := range all {
			if s.match == nil {
				m.ActiveSessions++
			}
		}
	}
	if c.answered > 0 {
		m.AverageResponseTime = float64(c.spent.Milliseconds()) / float64(c.answered)
	}
	if c.total > 0 {
		m.ErrorRate = min(1, float64(c.errors+uint64(m.Dead))/float64(c.total))
	}
	sum := 0
	for _, s := range c.second {
		if now.Unix()-s.at < 60 {
			sum += s.n
		}
	}
	m.Throughput = float64(sum) / 60
	return m
}

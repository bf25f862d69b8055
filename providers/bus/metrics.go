package bus

import (
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
}

// counts are what happened since the bus was started.
type counts struct {
	total, errors, duplicates, refused, full, failures, heartbeats, sessions uint64
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

// Metrics are the counts of now.
func (b *Bus) Metrics() Metrics {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	c := &b.count
	m := Metrics{
		TotalMessages: c.total, RegisteredAgents: len(b.state.agents), Uptime: now.Sub(b.started).Milliseconds(), Queued: len(b.state.items),
		Bytes: b.state.bytes, Dead: len(b.state.dead.all), Duplicates: c.duplicates, Refused: c.refused, Full: c.full, Failures: c.failures,
		Heartbeats: c.heartbeats,
	}
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

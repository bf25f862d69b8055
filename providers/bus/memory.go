package bus

import (
	"time"
	"unique"
)

// memory remembers which messages came (B13). It keeps the newest ones.
type memory struct {
	all  map[Key]trace
	ring []Key
	at   int
}

// trace is what is remembered of a message. It holds nothing of the message itself, and shares the name of its recipient with the others.
type trace struct {
	at        int64 // in milliseconds since 1970
	to        unique.Handle[string]
	delivered bool
}

// since is when the message came.
func (t trace) since() time.Time { return time.UnixMilli(t.at) }

// maxSeen is how many message ids are remembered: at most 30 MB, see BenchmarkMemory.
const maxSeen = 250_000

func newMemory() *memory { return &memory{all: map[Key]trace{}} }

func (m *memory) add(k Key, to string, at time.Time) {
	if _, again := m.all[k]; !again {
		if len(m.ring) < maxSeen {
			m.ring = append(m.ring, k)
			m.at = len(m.ring) % maxSeen
		} else {
			delete(m.all, m.ring[m.at])
			m.ring[m.at] = k
			m.at = (m.at + 1) % maxSeen
		}
	}
	m.all[k] = trace{at: at.UnixMilli(), to: unique.Make(to)}
}

// get is the trace of a message that came less than window ago.
func (m *memory) get(k Key, window time.Duration, now time.Time) (t trace, known bool) {
	t, known = m.all[k]
	if !known || now.Sub(t.since()) > window {
		return trace{}, false
	}
	return t, true
}

// holder is who has a message of which there is a trace.
func (m *memory) holder(k Key) (agent string, known bool) {
	t, known := m.all[k]
	if !known {
		return "", false
	}
	return t.to.Value(), true
}

// mark notes whether a message was delivered.
func (m *memory) mark(k Key, delivered bool) { m.change(k, func(t *trace) { t.delivered = delivered }) }

// delivered reports whether a message was delivered and waits no more.
func (m *memory) delivered(k Key) bool { return m.all[k].delivered }

// moved notes who has a message now.
func (m *memory) moved(k Key, to string) { m.change(k, func(t *trace) { t.to = unique.Make(to) }) }

// forget lets the id be used again. Its place in the ring stays, and is overwritten in its turn.
func (m *memory) forget(k Key) { m.change(k, func(t *trace) { t.at = 0 }) }

func (m *memory) change(k Key, f func(*trace)) {
	if t, known := m.all[k]; known {
		f(&t)
		m.all[k] = t
	}
}

package events

import (
	"sync"
	"time"
)

// Webhook is a receiver of events over HTTP.
type Webhook struct {
	// Name is that of its files and in lists.
	Name string
	URL  string
	// Secret signs each request; empty leaves it out.
	Secret []byte
	// Types select events, as [Match] says.
	Types []string
	// Batch is how many events one request may carry, as a batch message; 0 and 1 send each by itself.
	Batch int
}

// SinkState is how a receiver stands.
type SinkState struct {
	Name  string   `json:"name"`
	Types []string `json:"types,omitzero"`
	Position
	// Delivered counts events since the process began, Dead those in the list of dead letters.
	Delivered int `json:"delivered"`
	Dead      int `json:"dead"`
	// Failing is since when nothing could be delivered, Why the last cause, Next when it is tried again; empty when all is well.
	Failing time.Time `json:"failing,omitzero"`
	Why     string    `json:"why,omitzero"`
	Next    time.Time `json:"next,omitzero"`
}

type sink struct {
	Webhook
	mu    sync.Mutex
	state SinkState
	dead  []DeadLetter
	saved uint64 // the seq in its file
	noted uint64 // the seq that the others know of
}

func (s *sink) position() Position {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Position
}

// fits is how many events the next request carries.
func (s *sink) fits(all []Delivery) int {
	n, size := 0, 0
	for n < len(all) && n < max(s.Batch, 1) {
		data, err := all[n].Encode()
		if err != nil {
			break
		}
		if size += len(data); n > 0 && size > maxBatchSize {
			break
		}
		n++
	}
	return max(n, 1)
}

func (s *sink) fails(why string, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Failing.IsZero() {
		s.state.Failing = time.Now()
	}
	s.state.Why, s.state.Next = why, next
}

// States are how the receivers stand, in the order of the configuration.
func (o *Outbox) States() []SinkState {
	out := []SinkState{}
	for _, s := range o.sinks {
		s.mu.Lock()
		out = append(out, s.state)
		s.mu.Unlock()
	}
	return out
}

// Followers are the receivers as followers of the journal, by name.
func (o *Outbox) Followers() map[string]interface{ Position() (uint64, time.Time) } {
	out := map[string]interface{ Position() (uint64, time.Time) }{}
	for _, s := range o.sinks {
		out[s.Name] = follower{s}
	}
	return out
}

type follower struct{ s *sink }

// Position is the entry that the receiver has come to, and since when it fails.
func (f follower) Position() (uint64, time.Time) {
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	return f.s.state.Seq, f.s.state.Failing
}

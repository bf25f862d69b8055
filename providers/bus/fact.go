package bus

import (
	"maps"
	"slices"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json/jsontext"
)

// Event is what happened on the bus.
type Event string

// The events. A fact with another one is not the bus's, and is skipped.
const (
	Registered Event = "agent_registered"
	Removed    Event = "agent_removed"
	Queued     Event = "message_queued"
	Delivered  Event = "message_delivered"
	HandedOver Event = "message_handed_over"
	DeadLetter Event = "message_dead"
	Resent     Event = "message_resent"
	Withdrawn  Event = "message_withdrawn"
	// Dropped is a dead letter that an admin gave up: it is not shown any more, and its id stays known.
	Dropped Event = "message_dropped"
)

// Fact is the body of a bus entry. Nothing has happened on the bus before its fact is stored, and its state is the fold of them. It holds
// no credentials.
type Fact struct {
	Event Event `json:"event"`
	// Agent is who registered, AgentID who was removed or who gets a message.
	Agent   *Descriptor `json:"agent,omitzero"`
	AgentID string      `json:"agent_id,omitzero"`
	// Keys are the messages that it is about, see [KeyOf].
	Keys []Key `json:"keys,omitzero"`
	// Message is what was queued, byte for byte.
	Message string `json:"message,omitzero"`
	// Via is how a message was handed out: websocket, poll or here.
	Via string `json:"via,omitzero"`
	Why string `json:"why,omitzero"`
	// By is who did it: the bearer of a token, or an admin.
	By string `json:"by,omitzero"`

	// decoded is Message as it was judged when it came, nil of a fact that was read.
	decoded *Message
}

// Descriptor is an agent as it described itself (BUS-060), without what it authenticates with.
type Descriptor struct {
	AgentID      string         `json:"agent_id"`
	Framework    string         `json:"framework"`
	Capabilities jsontext.Value `json:"capabilities,omitzero"`
	Endpoints    jsontext.Value `json:"endpoints,omitzero"`
	Metadata     jsontext.Value `json:"metadata,omitzero"`
	HealthURL    string         `json:"health_check_url,omitzero"`
	StatusURL    string         `json:"status_endpoint,omitzero"`
	// Bearer is the name on the token that registered it, Role what that token allows; both are empty without authentication.
	Bearer string   `json:"bearer,omitzero"`
	Role   amp.Role `json:"role,omitzero"`
}

// State is the fold of the bus's facts: who is registered, and what waits for whom. It is not safe for concurrent use.
type State struct {
	agents map[string]*Descriptor
	queues map[string]*queue
	items  map[Key]*item
	dead   letters
	seen   *memory
	// asked is when Arbiter asked an agent about a task: only who was asked is heard.
	asked map[link]time.Time
	bytes int64
	next  uint64
}

// NewState is an empty bus.
func NewState() *State {
	return &State{agents: map[string]*Descriptor{}, queues: map[string]*queue{}, items: map[Key]*item{}, seen: newMemory(), asked: map[link]time.Time{}}
}

// ApplyEntry takes an entry of the journal in. One that is no fact of the bus changes nothing; the error says what the entry lacks.
func (s *State) ApplyEntry(e *amp.Entry) error {
	if e.Kind != amp.KindBus {
		return nil
	}
	f, err := amp.DecodeBody[Fact](e)
	if err != nil {
		return err
	}
	return s.Apply(&f, e.At)
}

// Apply takes one fact in.
func (s *State) Apply(f *Fact, at time.Time) error {
	switch f.Event {
	case Registered:
		if f.Agent != nil {
			s.agents[f.Agent.AgentID] = f.Agent
		}
	case Removed:
		delete(s.agents, f.AgentID)
	case Queued:
		m := f.decoded
		if m == nil {
			var err error
			if m, _, err = decode([]byte(f.Message), false, maxOwn); err != nil {
				return err
			}
		}
		s.queue(m, f.AgentID, at)
	case Delivered:
		for _, k := range f.Keys {
			s.remove(k)
			s.seen.mark(k, true)
		}
	case HandedOver:
		for _, k := range f.Keys {
			if it := s.items[k]; it != nil {
				s.remove(k)
				next := it.again(at, append(slices.Clone(it.passed), f.AgentID))
				next.message = readdress(it.message, f.AgentID)
				s.put(next, f.AgentID)
				s.seen.moved(k, f.AgentID)
			}
		}
	case DeadLetter:
		for _, k := range f.Keys {
			if it := s.items[k]; it != nil {
				s.remove(k)
				s.dead.add(it, f.Why, at)
			}
		}
	case Resent:
		for _, k := range f.Keys {
			if it := s.dead.take(k); it != nil && s.items[k] == nil { // else it came again, and waits
				next := it.again(at, nil)
				next.message = it.sent
				s.put(next, recipientOf(it.sent))
				s.seen.moved(k, next.to)
				s.seen.mark(k, false)
			}
		}
	case Dropped:
		for _, k := range f.Keys {
			s.dead.take(k)
		}
	case Withdrawn:
		for _, k := range f.Keys {
			s.remove(k)
			s.dead.take(k)
			s.seen.forget(k)
		}
	}
	return nil
}

// queue puts a new message into a queue.
func (s *State) queue(m *Message, to string, at time.Time) {
	k := KeyOf(m)
	if s.items[k] != nil {
		return
	}
	s.put(&item{key: k, message: m, sent: m, first: at, at: at}, to)
	s.seen.add(k, to, at)
}

// recipientOf is whose queue a message is for.
func recipientOf(m *Message) string {
	if selves[m.Recipient.AgentID] {
		return Coordinator
	}
	return m.Recipient.AgentID
}

func (s *State) put(it *item, to string) {
	q := s.queues[to]
	if q == nil {
		q = &queue{}
		s.queues[to] = q
	}
	s.next++
	it.to, it.order = to, s.next
	s.items[it.key] = it
	if it.message.Sender.AgentID == Coordinator {
		if len(s.asked) >= maxAsked {
			maps.DeleteFunc(s.asked, func(_ link, since time.Time) bool { return it.at.Sub(since) > 24*time.Hour })
		}
		s.asked[link{to, it.message.Link()}] = it.at
	}
	s.bytes += it.size()
	q.push(it)
}

func (s *State) remove(k Key) {
	it := s.items[k]
	if it == nil {
		return
	}
	delete(s.items, k)
	s.bytes -= it.size()
	q := s.queues[it.to]
	if q.drop(it); q.n == 0 {
		delete(s.queues, it.to)
	}
}

// maxOwn is how many bytes a message may have that Arbiter writes itself: an AMP message of 1 MiB crosses three times, and with its prompt.
const maxOwn = 14 << 20

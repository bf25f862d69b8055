package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// teller sends what an agent says while it works, in its order. Signs of life may be lost, and only the last one is kept while there is no
// connection; an ACK and an escalation are sent until they are taken.
type teller struct {
	w *Worker
	t *task
	// of is the run that it speaks of.
	of string

	mu       sync.Mutex
	queue    []*bus.Message
	progress *bus.Message
	spoke    time.Time
	ack      *amp.Ack
	session  string
	// silent is set until the ACK: the coordinator takes the first word of an agent for one.
	silent bool
	// pleas are the requests for permissions that are not decided, by their ids.
	pleas  map[string]*plea
	wake   chan struct{}
	done   chan struct{}
	closed bool
}

const (
	// maxTold bounds what waits to be sent.
	maxTold = 256
	// progressEvery is the time between two signs of life.
	progressEvery = 2 * time.Second
)

func (w *Worker) newTeller(ctx context.Context, t *task, run string, acks bool) *teller {
	s := &teller{w: w, t: t, of: run, silent: acks, pleas: map[string]*plea{}, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		s.run(ctx)
	}()
	return s
}

// close waits until everything is sent, or ctx has ended.
func (s *teller) close() {
	s.mu.Lock()
	s.closed, s.progress = true, nil
	s.mu.Unlock()
	s.signal()
	<-s.done
}

func (s *teller) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *teller) run(ctx context.Context) {
	var p patience
	for {
		s.mu.Lock()
		m, last, closed := s.progress, true, s.closed
		if len(s.queue) > 0 {
			m, last = s.queue[0], false
		}
		if last {
			s.progress = nil
		}
		s.mu.Unlock()
		if m == nil {
			if closed {
				return
			}
			select {
			case <-s.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		err := s.w.link(s.t.Agent).send(ctx, m)
		switch {
		case err == nil, refused(err):
			if err != nil {
				s.w.cfg.Logger.Warn("the coordinator refused a message", "task", s.t.Task, "type", m.Type, "err", err)
				s.turnedAway(m.MessageID, err)
			}
			p.n = 0
			s.mu.Lock()
			if !last {
				s.queue = s.queue[1:]
			}
			s.mu.Unlock()
		case ctx.Err() != nil:
			return
		default:
			if last {
				continue // a newer one says more
			}
			if !p.wait(ctx, nil) {
				return
			}
		}
	}
}

// heard takes what the agent says.
func (s *teller) heard(e providers.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Type {
	case providers.EventAck:
		s.ack, s.silent = e.Ack, false
		s.push(s.ackMessage())
	case providers.EventEscalation:
		s.push(s.reply(bus.ErrorMessage, carry(e.Payload)))
	case providers.EventStarted, providers.EventProgress, providers.EventChain:
		if e.Text == "" {
			e.Text = "the agent runs"
		}
		named := e.Session != "" && e.Session != s.session
		if named {
			s.session = e.Session
		}
		if s.silent || time.Since(s.spoke) < progressEvery && !named {
			return
		}
		s.spoke = time.Now()
		m := s.reply(bus.StatusUpdate, map[string]any{"message": e.Text})
		m.Sender.SessionID = e.Session
		if s.progress = m; named && len(s.queue) < maxTold/2 { // half of the room is for what may not be lost
			s.progress = nil
			s.push(m)
		}
		s.signal()
	}
}

// push queues a message, and reports whether there was room. The lock is held.
func (s *teller) push(m *bus.Message) bool {
	if len(s.queue) >= maxTold {
		return false
	}
	s.queue = append(s.queue, m)
	s.signal()
	return true
}

// again tells another turn of the coordinator what the one before was told: the ACK, and what is asked.
func (s *teller) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ack != nil {
		s.push(s.ackMessage())
	}
	s.pleadAgain()
}

func (s *teller) ackMessage() *bus.Message {
	payload := map[string]any{"status": s.ack.Status, "ack_for": s.t.MessageID}
	if s.ack.Reason != "" {
		payload["reason"] = s.ack.Reason
	}
	if len(s.ack.EchoedAcceptanceCriteria) > 0 {
		payload["echoed_acceptance_criteria"] = s.ack.EchoedAcceptanceCriteria
	}
	m := s.reply(bus.StatusUpdate, payload)
	m.Sender.SessionID = s.session
	return m
}

// carry is an AMP payload or a whole AMP message as the payload of a message on the bus.
func carry(raw json.RawMessage) map[string]any {
	var probe struct {
		Version *string `json:"protocol_version"`
	}
	if json.Unmarshal(raw, &probe) == nil && probe.Version != nil {
		return map[string]any{"amp": raw}
	}
	return map[string]any{"payload": raw}
}

// reply is a message about the request that names its run: the coordinator knows by it when another one has begun.
func (s *teller) reply(typ bus.MessageType, payload any) *bus.Message {
	m := s.w.reply(s.t, typ, newID(), payload)
	m.Metadata["run"] = jsonOf(s.of)
	return m
}

// reply is a message about a request.
func (w *Worker) reply(t *task, typ bus.MessageType, id string, payload any) *bus.Message {
	raw, err := json.Marshal(payload)
	if err != nil {
		raw = fmt.Appendf(nil, `{"message":%q}`, "what the agent said cannot be written down")
	}
	m := message(t.Agent, bus.Coordinator, typ, id, raw)
	m.Metadata = map[string]amp.Raw{"task_id": jsonOf(t.Task), "original_message_id": jsonOf(t.MessageID)}
	return m
}

func jsonOf(v any) amp.Raw {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("write %T: %v", v, err)) // texts and numbers
	}
	return raw
}

// answerID is the id of the answer to a turn of the coordinator: the same each time, so that the bus drops a second one.
func answerID(j *Job) string {
	sum := sha256.Sum256([]byte(j.MessageID + "\x00" + j.Turn + "\x00" + string(j.Answer.Type) + "\x00" + j.Run))
	return fmt.Sprintf("msg_%d_%s", j.Answer.At.UnixMilli(), hex.EncodeToString(sum[:12]))
}

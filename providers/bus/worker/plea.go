package worker

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// plea is a request of the agent for a permission that waits for its decision. It is of one run: when that ends it is gone, and no decision is
// for another one.
type plea struct {
	id     string
	what   amp.Permission
	answer chan providers.Decision
	// sent is the message that asked last.
	sent string
}

// maxPleas is how many requests of a run wait at once.
const maxPleas = 16

// ask puts a request of the agent to the coordinator and waits for the decision. No answer is no.
func (s *teller) ask(ctx context.Context, dir string, p amp.Permission) providers.Decision {
	one := &plea{id: uuid.NewString(), what: abroad(p, dir), answer: make(chan providers.Decision, 1)}
	s.mu.Lock()
	kept := !s.closed && len(s.pleas) < maxPleas && s.plead(one)
	if kept {
		s.pleas[one.id] = one
	}
	s.mu.Unlock()
	if !kept {
		return providers.Decision{Reason: "too much waits for the coordinator; nothing was asked"}
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.pleas, one.id)
	}()
	patience := time.NewTimer(s.w.cfg.Keep)
	defer patience.Stop()
	select {
	case d := <-one.answer:
		return d
	case <-patience.C:
		return providers.Decision{Reason: "nobody answered in time"}
	case <-ctx.Done():
		return providers.Decision{Reason: "the turn ends"}
	}
}

// plead queues a request, and reports whether there was room. The lock is held.
func (s *teller) plead(p *plea) bool {
	m := s.reply(bus.StatusUpdate, map[string]any{"status": "permission_requested", "permission_id": p.id, "permission": p.what})
	p.sent = m.MessageID
	return s.push(m)
}

// pleadAgain asks anew, for another turn of the coordinator, what is not decided. The lock is held.
func (s *teller) pleadAgain() {
	for _, p := range s.pleas {
		if !s.plead(p) {
			p.tell(providers.Decision{Reason: "too much waits for the coordinator"})
		}
	}
}

// turnedAway answers no to the request that the coordinator refused to take.
func (s *teller) turnedAway(messageID string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.pleas {
		if p.sent == messageID {
			p.tell(providers.Decision{Reason: "the coordinator refused the request: " + why.Error()})
		}
	}
}

// decided gives a decision to the request that it is for. One that is for none, or that came before, is not heard.
func (s *teller) decided(raw []byte) {
	var said struct {
		ID     string `json:"permission_id"`
		Allow  bool   `json:"allow"`
		Reason string `json:"reason"`
	}
	if json.Unmarshal(raw, &said) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.pleas[said.ID]; p != nil {
		p.tell(providers.Decision{Allow: said.Allow, Reason: said.Reason})
	}
}

// tell gives the first answer.
func (p *plea) tell(d providers.Decision) {
	select {
	case p.answer <- d:
	default:
	}
}

// abroad is a request as the coordinator is told of it: what is below the worktree is named relative to that, wherever links lead.
func abroad(p amp.Permission, dir string) amp.Permission {
	within := func(f string) string {
		if rel, err := filepath.Rel(dir, f); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return rel
		}
		return f
	}
	p = providers.Resolved(p, dir)
	for i, f := range p.Paths {
		p.Paths[i] = within(f)
	}
	if p.Dir != "" {
		p.Dir = within(p.Dir)
	}
	return p
}

package server

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"

	"arbiter/amp"
)

func (s *Server) message(r *http.Request) (any, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, maxMessage))
	if err != nil {
		return nil, badRequest("read the request: %v", err)
	}
	if len(raw) == maxMessage {
		_, _ = io.CopyN(io.Discard, r.Body, maxRest) // however it ends, the answer is the same
	}
	q := r.URL.Query()
	in := amp.Received{Raw: raw, As: amp.Role(q.Get("as")), Actor: q.Get("actor"), Source: q.Get("source")}
	if in.Source == "" {
		in.Source = "socket"
	}
	if v := q.Get("strict"); v != "" {
		if in.Strict, err = strconv.ParseBool(v); err != nil {
			return nil, badRequest("strict is %q, want true or false", v)
		}
	}
	p := peerOf(r.Context())
	if role := p.scope.role(); role != "" {
		if in.As != "" && in.As != role {
			return nil, &Error{
				Code: "forbidden", What: fmt.Sprintf("a token with the role %s may not speak for the %s", p.scope, clip(string(in.As), 40)),
				Means: "Nothing was done.", Next: "Leave out as, or use a token of that role.",
			}
		}
		in.As, in.Actor = role, p.name
	}
	if p.remote() {
		in.Source = "tcp"
	}
	if in.Turn, err = s.turn(r.Context(), p); err != nil {
		return nil, err
	}
	switch in.As {
	case amp.Coordinator, amp.Executor, amp.Reviewer:
	case amp.Admin: // only to acknowledge: a message from admin is refused by the protocol on every channel
		if err := s.person(p, "speak for the admin"); err != nil {
			return nil, err
		}
		if p.known {
			in.Actor = p.name
		}
	default:
		return nil, badRequest("as is %q, want coordinator, executor or reviewer", in.As)
	}
	if in.Actor == "" {
		in.Actor = p.name
	}
	return s.cfg.Coordinator.Receive(r.Context(), in)
}

func (s *Server) agent(pid int) bool {
	if !s.cfg.AllowChildren && below(pid, os.Getpid()) {
		return true
	}
	if s.cfg.Marker == "" {
		return false
	}
	mark := marker(pid, s.cfg.Marker)
	return mark != "" && mark != os.Getenv(s.cfg.Marker)
}

// turn is the turn whose process speaks, "" when it is none that the coordinator started.
func (s *Server) turn(ctx context.Context, p peer) (turn string, err error) {
	if p.remote() || !p.known || !s.agent(p.pid) {
		return "", nil
	}
	if s.cfg.TurnOf != nil {
		turn, err = s.cfg.TurnOf(ctx, func(pid int) bool { return pid == p.pid || below(p.pid, pid) })
	}
	if turn == "" && err == nil {
		err = &Error{
			Code: "forbidden", What: fmt.Sprintf("process %d may not send messages: the coordinator started it, and it is of no turn that runs", p.pid),
			Means: "An agent speaks for the role of its own turn, by a process that stays below its own. Nothing was done.",
			Next:  "Send the message before the turn ends, from the agent's own process or one that it starts.",
		}
	}
	return turn, err
}

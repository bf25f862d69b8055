package server

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The limits of those who come over TCP. A token bucket holds what may come at once; a failed try costs as much as many requests.
const (
	tokenRate, tokenBurst     = 200, 400
	addressRate, addressBurst = 400, 800
	failureCost               = 40
	// maxStreams is how many streams one token may keep open.
	maxStreams = 128
)

// Access is who may use a route.
type Access int

// Who may use a route. The owner of the socket may always; the others bear a token.
const (
	// Anyone is every token.
	Anyone Access = iota
	// People are admins and readers.
	People
	// Admins are admins.
	Admins
	// Speakers are agents and admins.
	Speakers
	// Local is the owner of the socket alone.
	Local
	// Signed is whoever signs the request with a secret of the route's, which its Answer checks. No token opens it.
	Signed
)

func (a Access) allows(s Scope) bool {
	switch a {
	case Anyone:
		return true
	case People:
		return s == ScopeAdmin || s == ScopeReader
	case Admins:
		return s == ScopeAdmin
	case Speakers:
		return s == ScopeAdmin || s.role() != ""
	case Local, Signed:
	}
	return false
}

// scopes are the scopes of tokens that a has, in words.
func (a Access) scopes() []string {
	var out []string
	for _, s := range Scopes() {
		if a.allows(s) {
			out = append(out, string(s))
		}
	}
	return out
}

// admit finds out who asks over TCP, and refuses browsers, strangers and floods.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, p peer) (peer, error) {
	now := time.Now()
	if s.signed(r) { // who calls it by which name decides nothing: the signature does
		return p, s.charge(w, s.hooks, p.addr, 1, now)
	}
	if err := s.charge(w, s.addresses, p.addr, 1, now); err != nil {
		return p, err
	}
	if s.cfg.Hosts != nil && !s.cfg.Hosts(r.Host) {
		return p, &Error{
			Code: "forbidden", What: fmt.Sprintf("%q is no name of this coordinator", clip(r.Host, 80)), Means: "Nothing was done.",
			Next: "Use its IP address, or a name that its certificate says.",
		}
	}
	if r.Header.Get("Origin") != "" {
		return p, &Error{Code: "forbidden", What: "pages in a browser may not use this coordinator", Means: "Nothing was done.", Next: "Use the program, or another client."}
	}
	secret, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || s.cfg.Tokens == nil {
		w.Header().Set("WWW-Authenticate", `Bearer realm="arbiter"`)
		return p, unauthorized("a token is needed")
	}
	t, err := s.cfg.Tokens.Check(strings.TrimSpace(secret), now)
	if err != nil {
		return p, err
	}
	if t == nil {
		s.addresses.drain(p.addr, failureCost, now)
		w.Header().Set("WWW-Authenticate", `Bearer realm="arbiter", error="invalid_token"`)
		return p, unauthorized("the token is not known, was revoked, or has expired")
	}
	p.known, p.name, p.scope, p.token = true, t.Name, t.Scope, t.ID
	return p, s.charge(w, s.bearers, t.ID, 1, now)
}

func unauthorized(what string) *Error {
	return &Error{Code: "unauthorized", What: what, Means: "Nothing was done.", Next: "An admin makes a token on the coordinator's machine: arbiter token new NAME --role ROLE"}
}

func (s *Server) charge(w http.ResponseWriter, from *rates, name string, n float64, now time.Time) error {
	ok, after := from.take(name, n, now)
	if ok {
		return nil
	}
	seconds := max(1, int(math.Ceil(after.Seconds())))
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	return &Error{Code: "limited", What: "too many requests", Means: "Nothing was done.", Next: fmt.Sprintf("Try again in %d s.", seconds)}
}

// allowed refuses what the peer's token does not allow.
func allowed(p peer, a Access, what string) error {
	if !p.remote() || a == Signed || a.allows(p.scope) {
		return nil
	}
	next := "Ask an admin for a token with the role " + strings.Join(a.scopes(), " or ") + "."
	if a == Local {
		next = "Do it on the coordinator's own machine."
	}
	return &Error{Code: "forbidden", What: fmt.Sprintf("a token with the role %s may not use %s", p.scope, what), Means: "Nothing was done.", Next: next}
}

// holdStream counts a stream of a token, and ends it when the token does. release must be called.
func (s *Server) holdStream(ctx context.Context, p peer) (_ context.Context, release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	if !p.remote() {
		return ctx, cancel, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[p.token] >= maxStreams {
		cancel()
		return nil, nil, &Error{Code: "limited", What: fmt.Sprintf("the token has %d streams open", maxStreams), Means: "Nothing was done.", Next: "Close one."}
	}
	s.streams[p.token]++
	watched := make(chan struct{})
	go func() { // a stream ends with its token
		defer close(watched)
		tick := time.NewTicker(s.cfg.Heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case now := <-tick.C:
				if !s.cfg.Tokens.valid(p.token, now) {
					cancel()
					return
				}
			}
		}
	}()
	return ctx, func() {
		cancel()
		<-watched
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.streams[p.token]--; s.streams[p.token] <= 0 {
			delete(s.streams, p.token)
		}
	}, nil
}

func clip(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}

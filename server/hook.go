package server

import (
	"errors"
	"net/http"
	"time"
)

// The limits of those who sign instead of bearing a token, by address. A forged request costs as much as several.
const (
	hookRate, hookBurst = 50, 200
	hookForged          = 5
)

// WithStatus is an answer with another status than 200.
type WithStatus struct {
	Status int
	Value  any
}

// Body is the body of a request, or a too_large [*Error] when it has more bytes than limit.
func Body(r *http.Request, limit int64) ([]byte, error) { return readAll(r, limit) }

// signed reports whether a request goes to a route that asks for a signature instead of a token.
func (s *Server) signed(r *http.Request) bool {
	for i := range s.cfg.Routes {
		if rt := &s.cfg.Routes[i]; rt.Access == Signed && rt.Method == r.Method && rt.Path == r.URL.Path {
			return true
		}
	}
	return false
}

// answerSigned answers a request whose signature the route checks, and notes who forged one.
func (s *Server) answerSigned(rt *Route) http.Handler {
	return s.answer(func(r *http.Request) (any, error) {
		v, err := rt.Answer(r)
		if e, ok := errors.AsType[*Error](err); ok && e.Code == "unauthorized" {
			s.hooks.drain(peerOf(r.Context()).addr, hookForged, time.Now())
		}
		return v, err
	})
}

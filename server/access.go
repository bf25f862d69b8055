package server

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"arbiter/amp"
)

func (s *Server) me(r *http.Request) (any, error) {
	p := peerOf(r.Context())
	m := Me{Name: p.name, Role: "owner", Token: p.token}
	if p.remote() {
		m.Role = string(p.scope)
		all, err := s.cfg.Tokens.List()
		if err != nil {
			return nil, err
		}
		for i := range all {
			if all[i].ID == p.token {
				m.Expires = all[i].Expires
			}
		}
	}
	return m, nil
}

// tokens are those of this coordinator, an error where there are none.
func (s *Server) tokens(r *http.Request) (*Tokens, peer, error) {
	p := peerOf(r.Context())
	if s.cfg.Tokens == nil {
		return nil, p, &Error{Code: "not_found", What: "this coordinator keeps no tokens", Means: "Nothing was done."}
	}
	return s.cfg.Tokens, p, nil
}

func (s *Server) listTokens(r *http.Request) (any, error) {
	tokens, _, err := s.tokens(r)
	if err != nil {
		return nil, err
	}
	return tokens.List()
}

// newToken makes a token. The journal knows of it before its secret is shown; when it cannot be told, there is no token.
func (s *Server) newToken(r *http.Request) (any, error) {
	tokens, p, err := s.tokens(r)
	if err != nil {
		return nil, err
	}
	var in NewToken
	if err := readJSON(r, &in); err != nil {
		return nil, err
	}
	made, secret, err := tokens.New(in.Name, in.Scope, p.name, time.Now(), in.Expires)
	if err != nil {
		return nil, err
	}
	if err := s.note(r, amp.AccessGranted, p.name, made); err != nil {
		_, undone := tokens.Revoke(made.ID)
		return nil, errors.Join(fmt.Errorf("note the token in the journal: %w", err), undone)
	}
	return MadeToken{Token: made, Secret: secret}, nil
}

// revokeToken ends tokens at once, and notes it afterwards: what must not be used any more does not wait for a full disk.
func (s *Server) revokeToken(r *http.Request) (any, error) {
	tokens, p, err := s.tokens(r)
	if err != nil {
		return nil, err
	}
	ended, err := tokens.Revoke(r.PathValue("token"))
	if err != nil {
		return nil, err
	}
	for i := range ended {
		if err := s.note(r, amp.AccessRevoked, p.name, ended[i]); err != nil {
			return nil, fmt.Errorf("the token is revoked, but the journal could not be told: %w", err)
		}
	}
	return ended, nil
}

func (s *Server) note(r *http.Request, event amp.AccessEvent, by string, t Token) error {
	if s.cfg.Note == nil {
		return nil
	}
	return s.cfg.Note(r.Context(), by, amp.Access{Event: event, Token: t.ID, Name: t.Name, Role: string(t.Scope), Expires: t.Expires})
}

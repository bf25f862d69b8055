package server

import (
	"context"
	"net/http"
	"time"

	"arbiter/amp"
)

// Route is one operation of the API. What the OpenAPI document says of it stands here too, so that the two cannot differ.
type Route struct {
	Method, Path string
	Access       Access
	// Tag groups routes in the document; Summary is one sentence, Text says more.
	Tag, Summary, Text string
	Params             []Param
	// In and Out are values of the types that are read and answered; nil is nothing. A media type that is not JSON has no type.
	In, Out         any
	InType, OutType string
	// Answer returns what is written as JSON. Stream writes the answer itself; its request ends when the server stops.
	Answer func(*http.Request) (any, error)
	Stream http.HandlerFunc
}

// Fail answers with an error in the form that every error of the API has; for a Stream that cannot begin.
func Fail(w http.ResponseWriter, err *Error) { (&Server{}).fail(w, err) }

// Param is a parameter in the query, a header or the path.
type Param struct {
	In, Name, Text string
	Required       bool
	// Enum are the values that it may have; empty is any text.
	Enum []string
}

// Caller is who asks: the name that the journal knows, the role of the token, and its id; the last two are empty on a socket.
func Caller(ctx context.Context) (name string, scope Scope, token string) {
	p := peerOf(ctx)
	return p.name, p.scope, p.token
}

// Me is what a client is told of itself.
type Me struct {
	Name string `json:"name"`
	// Role is that of the token, "owner" on the socket.
	Role    string     `json:"role"`
	Token   string     `json:"token,omitzero"`
	Expires *time.Time `json:"expires,omitzero"`
}

// NewToken asks for a token.
type NewToken struct {
	Name  string `json:"name"`
	Scope Scope  `json:"role"`
	// Expires is when it ends; left out is never.
	Expires *time.Time `json:"expires,omitzero"`
}

// MadeToken is a new token with its secret, which is shown this once.
type MadeToken struct {
	Token
	Secret string `json:"secret"`
}

// Ended is the answer to a shutdown.
type Ended struct {
	PID int `json:"pid"`
}

// routes are all operations.
func (s *Server) routes() []Route {
	own := []Route{
		{
			Method: "POST", Path: "/v1/commands", Access: Admins, Tag: "decisions", Summary: "Store a decision of an admin and return its entry.",
			Text: "by is who the socket's owner or the token is; what the request says is not believed. The same id with the same content " +
				"is one decision however often it is sent.",
			In: amp.Command{}, Out: amp.Entry{}, Answer: s.command,
		},
		{
			Method: "POST", Path: "/v1/messages", Access: Speakers, Tag: "messages", Summary: "Hand in an AMP message or an ACK, byte for byte.",
			Text: "The from of a message must be the role of the token. What breaks a rule is refused with every problem, and kept in the journal.",
			Params: []Param{
				{In: "query", Name: "as", Text: "the role that is spoken for; with an agent's token its own", Enum: []string{"coordinator", "executor", "reviewer", "admin"}},
				{In: "query", Name: "actor", Text: "the agent's name; with a token its bearer's"},
				{In: "query", Name: "source", Text: "the door it came through, for the error log"},
				{In: "query", Name: "strict", Text: "refuse unknown properties", Enum: []string{"true", "false"}},
			},
			In: amp.Raw(nil), Out: amp.Receipt{}, Answer: s.message,
		},
		{
			Method: "POST", Path: "/v1/query", Access: Anyone, Tag: "reading", Summary: "Ask for the board, entries, a difference, a log, a checklist or the status.",
			Text: "Logs are for people: agents' tokens are refused.", In: amp.Query{}, Out: amp.Page{}, Answer: s.query,
		},
		{
			Method: "GET", Path: "/v1/journal", Access: Anyone, Tag: "reading", Summary: "Follow the journal as server-sent events, one per entry, in order and without gaps.",
			Text: "The id of an event is the entry's seq, its data the entry on one line. A stream that is silent sends a comment every 15 s. An event " +
				"named fault says why the stream ends. Who leaves a batch unread for 30 s is cut off, and resumes with Last-Event-ID.",
			Params: []Param{
				{In: "query", Name: "after", Text: "the seq after which to begin; left out is the beginning"},
				{In: "header", Name: "Last-Event-ID", Text: "the same, as a reconnecting reader sets it by itself; it wins"},
			},
			Out: amp.Entry{}, OutType: "text/event-stream", Stream: s.journal,
		},
		{
			Method: "GET", Path: "/v1/status", Access: Anyone, Tag: "reading", Summary: "Say what runs, and how it is configured.",
			Out: amp.CoordinatorState{}, Answer: s.status,
		},
		{Method: "GET", Path: "/v1/me", Access: Anyone, Tag: "access", Summary: "Say who the caller is.", Out: Me{}, Answer: s.me},
		{
			Method: "GET", Path: "/v1/tokens", Access: Local, Tag: "access", Summary: "List the tokens, without their secrets.",
			Out: []Token{}, Answer: s.listTokens,
		},
		{
			Method: "POST", Path: "/v1/tokens", Access: Local, Tag: "access", Summary: "Make a token; its secret is in this answer and nowhere else.",
			In: NewToken{}, Out: MadeToken{}, Answer: s.newToken,
		},
		{
			Method: "DELETE", Path: "/v1/tokens/{token}", Access: Local, Tag: "access", Summary: "Revoke a token by its id, or every one of a bearer by name.",
			Params: []Param{{In: "path", Name: "token", Text: "the id of a token, or the name of its bearer", Required: true}},
			Out:    []Token{}, Answer: s.revokeToken,
		},
		{
			Method: "GET", Path: "/v1/openapi.json", Access: Anyone, Tag: "access", Summary: "This document.", OutType: "application/json",
			Stream: s.openapi,
		},
		{Method: "POST", Path: "/v1/shutdown", Access: Local, Tag: "access", Summary: "End the coordinator.", Out: Ended{}, Answer: s.shutdown},
	}
	return append(own, s.cfg.Routes...)
}

// may refuses who may not use a route: a token without the right, and an agent what only a person may do.
func (s *Server) may(p peer, rt *Route) error {
	what := rt.Method + " " + rt.Path
	if err := allowed(p, rt.Access, what); err != nil {
		return err
	}
	if rt.Access == Admins || rt.Access == Local {
		if rt.Tag == "decisions" {
			what = "decide"
		} else {
			what = "use " + what
		}
		return s.person(p, what)
	}
	return nil
}

// guarded serves a route for those who may use it.
func (s *Server) guarded(streams context.Context, rt *Route) http.Handler {
	if rt.Access == Signed {
		return s.answerSigned(rt)
	}
	if rt.Stream == nil {
		return s.answer(func(r *http.Request) (any, error) {
			if err := s.may(peerOf(r.Context()), rt); err != nil {
				return nil, err
			}
			return rt.Answer(r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := peerOf(r.Context())
		if err := s.may(p, rt); err != nil {
			s.fail(w, err)
			return
		}
		ctx, release, err := s.holdStream(r.Context(), p)
		if err != nil {
			s.fail(w, err)
			return
		}
		defer release()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(streams, cancel)()
		rt.Stream(w, r.WithContext(ctx))
	})
}

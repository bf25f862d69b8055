package claude

import (
	"cmp"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The names of our requests.
const (
	callInitialize = "arbiter-initialize"
	callInterrupt  = "arbiter-interrupt"
)

// outgoing is what we write.
type outgoing struct {
	Type      string    `json:"type"`
	RequestID string    `json:"request_id,omitzero"`
	Request   any       `json:"request,omitzero"`
	Response  *response `json:"response,omitzero"`
	Message   *userText `json:"message,omitzero"`
}

type subtype struct {
	Subtype string `json:"subtype"`
}

type response struct {
	Subtype   string  `json:"subtype"`
	RequestID string  `json:"request_id"`
	Response  *answer `json:"response,omitzero"`
	Error     string  `json:"error,omitzero"`
}

// answer is the answer to a request for permission.
type answer struct {
	Behavior string         `json:"behavior"`
	Input    jsontext.Value `json:"updatedInput,omitzero"`
	Message  string         `json:"message,omitzero"`
}

type userText struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (r *run) send(o outgoing) {
	line, err := json.Marshal(o, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		r.session.Fail(providers.FailConfig, "what claude is to be told cannot be written: %v", err)
		return
	}
	r.session.Process.Send(append(line, '\n'))
}

// greet begins the conversation.
func (r *run) greet() {
	r.send(outgoing{Type: "control_request", RequestID: callInitialize, Request: subtype{"initialize"}})
}

// replied gives the prompt when claude is ready for it.
func (r *run) replied(e *event) {
	if e.id != callInitialize {
		return
	}
	if e.problem != "" {
		r.session.Fail(providers.FailConfig, "claude cannot begin: it %s", e.problem)
		return
	}
	r.send(outgoing{Type: "user", Message: &userText{"user", r.words()}})
}

// asked puts a request of claude to the turn's Ask, or refuses what has no form here.
func (r *run) asked(e *event) {
	deny := func(why string) { r.decide(e, providers.Decision{Reason: why}) }
	switch {
	case e.subtype != canUse:
		r.send(outgoing{Type: "control_response", Response: &response{Subtype: "error", RequestID: e.id, Error: "not supported"}})
		return
	case e.ask.Tool == questionTool:
		deny("Nobody sits at a terminal. End with an answer of status clarification_needed that asks the question.")
		return
	case len(e.ask.Request) > program.MaxRequest:
		deny("The request is too long to be shown to a person.")
		return
	}
	e.ask.Dir = r.turn.Dir
	r.asks[e.id] = r.session.Ask(r.turn, e.ask, func(d providers.Decision) {
		delete(r.asks, e.id)
		r.decide(e, d)
	})
}

// decide answers a request, once.
func (r *run) decide(e *event, d providers.Decision) {
	a := &answer{Behavior: "allow", Input: e.input}
	if !d.Allow {
		a = &answer{Behavior: "deny", Message: cmp.Or(d.Reason, "The admin does not allow it.")}
	}
	r.send(outgoing{Type: "control_response", Response: &response{Subtype: "success", RequestID: e.id, Response: a}})
}

// interrupt asks claude to end its turn; the result that it then gives ends the conversation.
func (r *run) interrupt() {
	if !r.acked || r.result != nil {
		r.session.Done()
		return
	}
	r.send(outgoing{Type: "control_request", RequestID: callInterrupt, Request: subtype{"interrupt"}})
}

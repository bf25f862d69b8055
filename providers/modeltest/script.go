package modeltest

import (
	"encoding/json"
	"net/http"
)

// Script is what the model says.
type Script struct {
	// Match holds when it occurs in the body of a request as it was sent; an empty one always holds. The first script that holds is
	// played.
	Match string `json:"match,omitzero"`
	// Plain says that requests without tools belong to the conversation, as they do for adapters that call an API.
	Plain bool   `json:"plain,omitzero"`
	Steps []Step `json:"steps"`
}

// Step is one answer of the model. What follows the last step is a text that says so.
type Step struct {
	// Text is said before a call, or alone. TextFrom, when it is not nil, makes it from the request; the same request must give the
	// same text.
	Text     string               `json:"text,omitzero"`
	TextFrom func(Request) string `json:"-"`
	// Calls are alternatives: the first whose tool the request offers is called. When none is offered, the answer is a text with the
	// names that are.
	Calls []Call `json:"calls,omitzero"`
	// Status, when it is not 0, is the answer's HTTP status; Body is then the whole answer, and an error in the dialect's own form when
	// it is empty. Header is added to the answer in any case.
	Status int         `json:"status,omitzero"`
	Body   string      `json:"body,omitzero"`
	Header http.Header `json:"header,omitzero"`
	// Message is the text of the error that Status makes.
	Message string `json:"message,omitzero"`
	// Hang sends nothing, or with Cut the first half, and then waits until the client goes. Cut sends the first half and breaks the
	// connection.
	Hang bool `json:"hang,omitzero"`
	Cut  bool `json:"cut,omitzero"`
	// Times is how often Status, Hang or Cut happen before the next step is played; 0 is for ever.
	Times int `json:"times,omitzero"`
	// Finish replaces the reason to stop, as the dialect writes it.
	Finish string `json:"finish,omitzero"`
	// Usage is 200 tokens in, 20 of them cached, and 40 out when it is zero.
	Usage Usage `json:"usage,omitzero"`
	// Until, when it is not nil, holds the answer back until it is closed.
	Until <-chan struct{} `json:"-"`
}

// Usage is what the model says that an answer took. Input holds Cached.
type Usage struct {
	Input  int `json:"input"`
	Cached int `json:"cached"`
	Output int `json:"output"`
}

// Call is one call of a tool.
type Call struct {
	// Tool is the name as it is offered. A tool in a namespace is also found as namespace__name.
	Tool string `json:"tool"`
	// Input are the arguments as JSON. Text is the input of a tool that takes free text.
	Input json.RawMessage `json:"input,omitzero"`
	Text  string          `json:"text,omitzero"`
}

// fails reports whether the step breaks an answer instead of giving one.
func (s *Step) fails() bool { return s.Status != 0 || s.Hang || s.Cut }

func (s *Step) usage() Usage {
	if s.Usage == (Usage{}) {
		return Usage{Input: 200, Cached: 20, Output: 40}
	}
	return s.Usage
}

// Say is a step that says a text.
func Say(text string) Step { return Step{Text: text} }

// Fail is a step that answers with an HTTP error so many times, with headers given as name, value pairs.
func Fail(times, status int, header ...string) Step {
	s := Step{Status: status, Times: times, Header: http.Header{}}
	for i := 0; i+1 < len(header); i += 2 {
		s.Header.Add(header[i], header[i+1])
	}
	return s
}

// Hang is a step that never answers.
func Hang() Step { return Step{Hang: true} }

// Cut is a step whose answer is cut in the middle of the text so many times.
func Cut(times int, text string) Step { return Step{Cut: true, Times: times, Text: text} }

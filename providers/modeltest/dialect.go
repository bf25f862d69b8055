package modeltest

import (
	"encoding/json"
	"net/http"
	"strings"
)

// heard is a request in the words of this package.
type heard struct {
	model   string
	stream  bool
	offered []offer
	said    []said // by the model, in order
}

// offer is a tool that the request offers.
type offer struct {
	name, namespace string
	free            bool // takes free text
}

func (o offer) is(name string) bool {
	return name == o.name || o.namespace != "" && name == o.namespace+"__"+o.name
}

// said is something that the model said earlier: a text, or a call. An id is empty where the dialect has none.
type said struct {
	text  string
	id    string
	name  string
	input json.RawMessage
}

// reply is a whole answer in the words of this package.
type reply struct {
	id     string
	model  string
	text   string
	call   *Call
	tool   offer
	callID string
	finish string
	usage  Usage
}

// event is one event of a stream.
type event struct {
	name string // "" where the dialect names no events
	data any    // a string is sent as it is
}

// dialect is one model API.
type dialect interface {
	hear(r *http.Request, body []byte) (heard, error)
	whole(a *reply) any
	stream(a *reply) []event
	fail(status int, message string) any
}

// half cuts a text in two, so that a stream has something to be cut between.
func half(text string) [2]string {
	runes := []rune(text)
	n := (len(runes) + 1) / 2
	return [2]string{string(runes[:n]), string(runes[n:])}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// textOf is the text of a content that is a string or a list of parts.
func textOf(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

type object = map[string]any

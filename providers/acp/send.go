package acp

import (
	"arbiter/providers"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The numbers of our requests; from callPrompt on they are prompts.
const (
	callInitialize = 1 + iota
	callLoad
	callNew
	callMode
	callPrompt
)

// version is the one of the protocol that is spoken.
const version = 1

// outgoing is what we send: a request, a notification without a number, or an answer to the program's own request.
type outgoing struct {
	Version string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id,omitzero"`
	Method  string         `json:"method,omitzero"`
	Params  any            `json:"params,omitempty"`
	Result  any            `json:"result,omitempty"`
	Error   *refusal       `json:"error,omitzero"`
}

type refusal struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type initializeParams struct {
	Version      int       `json:"protocolVersion"`
	Capabilities struct{}  `json:"clientCapabilities"`
	Client       agentName `json:"clientInfo"`
}

type agentName struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type sessionParams struct {
	Meta    object   `json:"_meta,omitempty"`
	Session string   `json:"sessionId,omitzero"`
	Cwd     string   `json:"cwd"`
	Servers []server `json:"mcpServers"`
}

// server is an MCP server that the program is to start.
type server struct {
	Name    string     `json:"name"`
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []variable `json:"env"`
}

type variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type modeParams struct {
	Session string `json:"sessionId"`
	Mode    string `json:"modeId"`
}

type promptParams struct {
	Session string `json:"sessionId"`
	Prompt  []text `json:"prompt"`
}

type text struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// outcome answers a request for permission.
type outcome struct {
	Outcome chosen `json:"outcome"`
}

type chosen struct {
	Outcome string `json:"outcome"`
	Option  string `json:"optionId,omitzero"`
}

func cancelled() outcome { return outcome{chosen{Outcome: "cancelled"}} }

// send writes one message to the program.
func (r *run) send(m outgoing) {
	m.Version = "2.0"
	line, err := json.Marshal(m, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		r.session.Fail(providers.FailConfig, "what the program is to be told cannot be written: %v", err)
		return
	}
	r.session.Process.Send(append(line, '\n'))
}

// request sends a numbered request.
func (r *run) request(n int, method string, params any) {
	id, err := json.Marshal(n)
	if err != nil {
		panic("acp: unreachable: a number has a JSON form: " + err.Error())
	}
	r.send(outgoing{ID: id, Method: method, Params: params})
}

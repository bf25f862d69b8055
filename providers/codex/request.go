package codex

import (
	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// The requests of codex that a person can decide.
const (
	askCommand = "item/commandExecution/requestApproval"
	askChange  = "item/fileChange/requestApproval"
)

// request understands what codex asks of us. Only requests to run and to change have a form that holds once.
func request(id jsontext.Value, method string, params []byte) event {
	var p struct {
		ItemID    string `json:"itemId"`
		Command   string `json:"command"`
		Cwd       string `json:"cwd"`
		Reason    string `json:"reason"`
		GrantRoot string `json:"grantRoot"`
		Network   *struct {
			Host     string `json:"host"`
			Protocol string `json:"protocol"`
		} `json:"networkApprovalContext"`
	}
	e := event{kind: isRequest, id: id.Clone(), method: method}
	if method != askCommand && method != askChange {
		return e
	}
	if err := program.Read(params, &p); err != nil {
		e.method = "" // refused: what cannot be read cannot be shown
		return e
	}
	e.item.id = p.ItemID
	e.ask = providers.Permission{Type: providers.PermitRun, Tool: "command", Command: p.Command, Dir: p.Cwd, Reason: p.Reason, Request: string(params)}
	switch {
	case method == askChange:
		e.ask.Type, e.ask.Tool, e.ask.Command = providers.PermitWrite, "file change", ""
		if p.GrantRoot != "" {
			e.ask.Paths = []string{p.GrantRoot}
		}
	case p.Network != nil:
		e.ask.Type, e.ask.Tool = providers.PermitFetch, "network"
		e.ask.Paths = []string{p.Network.Protocol + "://" + p.Network.Host}
	}
	return e
}

package claude

import (
	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// Tools of claude that are not what they look like: one holds the answer, one asks the person at a terminal that is not there.
const (
	outputTool   = "StructuredOutput"
	questionTool = "AskUserQuestion"
)

// canUse is the request for permission.
const canUse = "can_use_tool"

// request understands what claude asks of us, and what it takes back.
func request(typ string, raw []byte) (event, error) {
	var c struct {
		ID      string         `json:"request_id"`
		Request jsontext.Value `json:"request"`
	}
	if err := program.Read(raw, &c); err != nil {
		return event{}, err
	}
	if typ == "control_cancel_request" {
		return event{kind: isForget, id: c.ID}, nil
	}
	var q struct {
		Subtype string         `json:"subtype"`
		Tool    string         `json:"tool_name"`
		Input   jsontext.Value `json:"input"`
		Reason  jsontext.Value `json:"decision_reason"`
	}
	e := event{kind: isRequest, id: c.ID}
	if err := program.Read(c.Request, &q); err != nil {
		return e, nil // it is refused: what cannot be read cannot be shown
	}
	e.subtype, e.input = q.Subtype, q.Input
	if q.Subtype == canUse {
		e.ask = permission(q.Tool, q.Input)
		e.ask.Request = string(c.Request)
		var why string
		if e.ask.Reason == "" && program.Read(q.Reason, &why) == nil {
			e.ask.Reason = why
		}
	}
	return e, nil
}

// permission is what a call of a tool needs.
func permission(tool string, input []byte) providers.Permission {
	p := providers.Permission{Type: providers.PermitTool, Tool: tool}
	fields := map[string]jsontext.Value{}
	if program.Read(input, &fields) != nil {
		return p
	}
	text := func(name string) string {
		var s string
		if program.Read(fields[name], &s) != nil {
			return ""
		}
		return s
	}
	path := func(names ...string) {
		for _, n := range names {
			if s := text(n); s != "" {
				p.Paths = append(p.Paths, s)
			}
		}
	}
	switch tool {
	case "Bash", "PowerShell":
		p.Type, p.Command, p.Reason = providers.PermitRun, text("command"), text("description")
		if p.Command == "" {
			p.Type = providers.PermitTool
		}
	case "Edit", "Write", "MultiEdit", "NotebookEdit":
		p.Type = providers.PermitWrite
		path("file_path", "notebook_path")
	case "Read", "NotebookRead":
		p.Type = providers.PermitRead
		path("file_path", "notebook_path")
	case "Grep", "Glob", "LS":
		p.Type = providers.PermitRead
		path("path")
		if len(p.Paths) == 0 {
			path("pattern")
		}
	case "WebFetch", "WebSearch":
		p.Type = providers.PermitFetch
		path("url", "query")
	}
	return p
}

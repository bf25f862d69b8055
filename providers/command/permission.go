package command

import (
	"slices"

	"arbiter/amp"
	"arbiter/providers"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// request reads a request for a permission.
func request(fields map[string]jsontext.Value) line {
	p := &amp.Permission{
		Type: amp.PermissionType(text(fields["type"])), Tool: text(fields["tool"]), Command: text(fields["command"]),
		Dir: text(fields["dir"]), Request: text(fields["request"]), Reason: text(fields["reason"]),
	}
	if raw, there := fields["paths"]; there && json.Unmarshal(raw, &p.Paths) != nil {
		return broken("permission: paths is no list of texts")
	}
	id := text(fields["id"])
	switch {
	case id == "":
		return broken("permission: no id is given")
	case !slices.Contains(amp.PermissionTypes(), p.Type):
		return broken("permission: type is none of run, write, read, fetch, tool")
	case p.Command == "" && len(p.Paths) == 0 && p.Request == "":
		return broken("permission: neither command nor paths nor request says what is asked")
	}
	return line{event: isPermission, text: id, permission: p}
}

// decision is the line that the program reads.
func decision(id string, d providers.Decision) []byte {
	raw, err := json.Marshal(struct {
		Event  string `json:"event"`
		ID     string `json:"id"`
		Allow  bool   `json:"allow"`
		Reason string `json:"reason,omitzero"`
	}{"decision", id, d.Allow, d.Reason}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // plain fields always have a JSON form
		panic(err)
	}
	return append(raw, '\n')
}

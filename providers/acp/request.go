package acp

import (
	"strings"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// askPermission is the request of a program that a person can decide.
const askPermission = "session/request_permission"

// permits are the types of permission of the kinds of calls; every other kind is a tool.
var permits = map[string]providers.PermissionType{
	"execute": providers.PermitRun, "edit": providers.PermitWrite, "delete": providers.PermitWrite, "move": providers.PermitWrite,
	"read": providers.PermitRead, "search": providers.PermitRead, "fetch": providers.PermitFetch,
}

// request understands what the program asks of us.
func request(id jsontext.Value, method string, params []byte) event {
	e := event{kind: isRequest, id: id.Clone(), method: method}
	if method != askPermission {
		return e
	}
	var p struct {
		Session string   `json:"sessionId"`
		Options []option `json:"options"`
		Call    rawCall  `json:"toolCall"`
	}
	if err := program.Read(params, &p); err != nil {
		e.method = "" // what cannot be read cannot be shown
		return e
	}
	e.session, e.options, e.call = p.Session, p.Options, p.Call.call()
	e.ask = providers.Permission{Request: string(params)}
	var in input
	if program.Read(p.Call.Input, &in) == nil {
		e.ask.Dir, e.ask.Reason = in.Cwd, in.Description
	}
	if e.ask.Reason == "" {
		e.ask.Reason = said(p.Call.Content)
	}
	return e
}

// said is the text that a program puts beside a request.
func said(content []byte) string {
	var parts []struct {
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	if program.Read(content, &parts) != nil {
		return ""
	}
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Content.Text)
	}
	return b.String()
}

// fill completes a request with what is known of its call.
func fill(p providers.Permission, c *call, dir string) providers.Permission {
	p.Type, p.Tool, p.Paths = permits[c.kind], c.kind, c.paths
	switch p.Type {
	case providers.PermitRun:
		p.Command, p.Paths = c.command, nil
		if p.Command == "" {
			p.Command = c.title
		}
	case "":
		p.Type, p.Tool = providers.PermitTool, c.title
	case providers.PermitWrite, providers.PermitRead, providers.PermitFetch, providers.PermitTool:
	}
	if p.Dir == "" {
		p.Dir = dir
	}
	return p
}

// choose is the first option of a kind, "" when none is offered. Ids differ between programs; kinds do not.
func choose(options []option, kind string) string {
	for _, o := range options {
		if o.Kind == kind {
			return o.ID
		}
	}
	return ""
}

package acp

import (
	"slices"
	"strings"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// result is what replies to our requests say; each says a part.
type result struct {
	Version      int `json:"protocolVersion"`
	Capabilities struct {
		Load bool `json:"loadSession"`
	} `json:"agentCapabilities"`
	Session string `json:"sessionId"`
	Modes   struct {
		Current string `json:"currentModeId"`
	} `json:"modes"`
	Models struct {
		Current string `json:"currentModelId"`
	} `json:"models"`
	Stop  string `json:"stopReason"`
	usage providers.Usage
}

// decode understands one line. It never fails: what is no message of the protocol is text.
func decode(raw []byte) event {
	var top struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params jsontext.Value `json:"params"`
		Result jsontext.Value `json:"result"`
		Error  jsontext.Value `json:"error"`
	}
	if words, ok := program.Object(raw, &top); !ok {
		return event{kind: isText, text: words}
	}
	switch {
	case top.Method != "" && len(top.ID) > 0:
		return request(top.ID, top.Method, top.Params)
	case top.Method == "session/update":
		return update(top.Params)
	case top.Method != "" || len(top.ID) == 0:
		return event{kind: isUnknown}
	}
	e := event{kind: isReply}
	if program.Read(top.ID, &e.reply) != nil {
		return event{kind: isUnknown}
	}
	if len(top.Error) > 0 && top.Error.Kind() != 'n' {
		e.failed, e.code, e.text = true, 0, string(top.Error)
		var said struct {
			Code    int            `json:"code"`
			Message string         `json:"message"`
			Data    jsontext.Value `json:"data"`
		}
		if program.Read(top.Error, &said) == nil {
			e.code, e.text = said.Code, said.Message
			if details(said.Data) != "" {
				e.text += ": " + details(said.Data)
			}
		}
		return e
	}
	if len(top.Result) > 0 && top.Result.Kind() == '{' {
		if err := program.Read(top.Result, &e.result); err != nil {
			return broken("a reply", err)
		}
		e.result.usage = usageOf(top.Result)
	}
	return e
}

func broken(what string, err error) event {
	return event{kind: isText, text: program.Broken(what, err)}
}

// details are the words that some programs put beside the message of an error.
func details(data []byte) string {
	var d struct {
		Details string `json:"details"`
		Message string `json:"message"`
	}
	if program.Read(data, &d) != nil {
		return ""
	}
	return strings.TrimSpace(d.Details + " " + d.Message)
}

// usageOf is the usage that a reply to a prompt tells, in one of the forms that programs have for it.
func usageOf(reply []byte) providers.Usage {
	var plain struct {
		Usage struct {
			Input   program.Count `json:"inputTokens"`
			Output  program.Count `json:"outputTokens"`
			Total   program.Count `json:"totalTokens"`
			Cached  program.Count `json:"cachedReadTokens"`
			Written program.Count `json:"cachedWriteTokens"`
		} `json:"usage"`
	}
	if u := &plain.Usage; program.Read(reply, &plain) == nil && u.Total+u.Input+u.Output > 0 {
		out := providers.Usage{Input: int(u.Input), Cached: int(u.Cached), CacheWrite: int(u.Written), Output: int(u.Output)}
		if u.Total >= u.Input+u.Output+u.Cached+u.Written { // what came from a cache is not in the input
			out.Input += out.Cached + out.CacheWrite
		}
		out.Output = max(out.Output, int(u.Total)-out.Input)
		out.Tokens = out.Input + out.Output
		return out
	}
	var quota struct {
		Meta struct {
			Quota struct {
				Count struct {
					Input  program.Count `json:"input_tokens"`
					Output program.Count `json:"output_tokens"`
				} `json:"token_count"`
			} `json:"quota"`
		} `json:"_meta"`
	}
	if program.Read(reply, &quota) != nil {
		return providers.Usage{}
	}
	in, out := int(quota.Meta.Quota.Count.Input), int(quota.Meta.Quota.Count.Output)
	return providers.Usage{Input: in, Output: out, Tokens: in + out}
}

// update understands a session/update.
func update(params []byte) event {
	var p struct {
		Session string `json:"sessionId"`
		Update  struct {
			rawCall
			Is      string         `json:"sessionUpdate"`
			Message string         `json:"messageId"`
			Cost    jsontext.Value `json:"cost"`
			Mode    string         `json:"currentModeId"`
		} `json:"update"`
	}
	if err := program.Read(params, &p); err != nil {
		return broken("an update", err)
	}
	e := event{kind: isUnknown, session: p.Session}
	switch u := &p.Update; u.Is {
	case "agent_message_chunk":
		var piece struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := program.Read(u.Content, &piece); err != nil {
			return broken("a piece of a message", err)
		}
		if piece.Type == "text" {
			e.kind, e.text, e.message = isPiece, piece.Text, u.Message
		}
	case "tool_call", "tool_call_update":
		e.kind, e.call = isCall, u.call()
	case "usage_update":
		var c struct {
			Amount   float64 `json:"amount"`
			Currency string  `json:"currency"`
		}
		if program.Read(u.Cost, &c) == nil && c.Currency == "USD" && c.Amount > 0 {
			e.kind, e.cost = isUsage, c.Amount
		}
	case "current_mode_update":
		e.kind, e.text = isMode, u.Mode
	}
	return e
}

// rawCall is a call of a tool as programs write it.
type rawCall struct {
	ID        string         `json:"toolCallId"`
	Title     string         `json:"title"`
	Kind      string         `json:"kind"`
	Status    string         `json:"status"`
	Locations jsontext.Value `json:"locations"`
	Content   jsontext.Value `json:"content"`
	Input     jsontext.Value `json:"rawInput"`
}

// input is what tools of known programs are given.
type input struct {
	Command     jsontext.Value `json:"command"`
	Cwd         string         `json:"cwd"`
	Description string         `json:"description"`
	File        string         `json:"file_path"`
	FilePath    string         `json:"filePath"`
	Filepath    string         `json:"filepath"`
}

func (r *rawCall) call() call {
	c := call{id: r.ID, title: r.Title, kind: r.Kind, status: r.Status}
	var places []struct {
		Path string `json:"path"`
	}
	var contents []struct {
		Type string `json:"type"`
		Path string `json:"path"`
	}
	var in input
	if program.Read(r.Locations, &places) == nil && r.Kind != "execute" { // the place of a command is its folder
		for _, p := range places {
			c.paths = appendNew(c.paths, p.Path)
		}
	}
	if program.Read(r.Content, &contents) == nil {
		for _, p := range contents {
			if p.Type == "diff" {
				c.paths = appendNew(c.paths, p.Path)
			}
		}
	}
	if program.Read(r.Input, &in) == nil {
		c.command = command(in.Command)
		for _, p := range []string{in.File, in.FilePath, in.Filepath} {
			c.paths = appendNew(c.paths, p)
		}
	}
	return c
}

func appendNew(paths []string, p string) []string {
	if p == "" || slices.Contains(paths, p) {
		return paths
	}
	return append(paths, p)
}

// command is a command line that is a text or a list of words; words are quoted so that the line means the same to a shell.
func command(raw []byte) string {
	var line string
	if program.Read(raw, &line) == nil {
		return line
	}
	var words []string
	if program.Read(raw, &words) != nil {
		return ""
	}
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !plain(r) }) {
			words[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// plain reports whether a character means itself to a shell.
func plain(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./=:,@+%", r)
}

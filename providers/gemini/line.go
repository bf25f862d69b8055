package gemini

import (
	"bytes"
	"cmp"
	"strings"

	"arbiter/providers"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// event is one line of gemini's output, understood.
type event struct {
	kind kind
	// text is what a person reads of it, or a piece of what the model says; of a failed result why.
	text string
	// model and session are of isInit; call names the call of isCall and isCalled.
	model, session string
	call           string
	// failed is of isCalled and isResult, usage of isResult.
	failed bool
	usage  providers.Usage
}

// kind is what a line says.
type kind string

const (
	isEmpty   kind = ""
	isText    kind = "text"    // no event
	isUnknown kind = "unknown" // skipped
	isInit    kind = "init"
	isPiece   kind = "piece"
	isCall    kind = "call"
	isCalled  kind = "called"
	isResult  kind = "result"
)

// shortText is the most bytes of a name or a command in a line of progress.
const shortText = 300

// decode understands one line. It never fails: what is no event is text.
func decode(raw []byte) event {
	var top struct {
		Type    string         `json:"type"`
		Model   string         `json:"model"`
		Session string         `json:"session_id"`
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
		Tool    string         `json:"tool_name"`
		ID      string         `json:"tool_id"`
		Input   jsontext.Value `json:"parameters"`
		Status  string         `json:"status"`
		Error   jsontext.Value `json:"error"`
		Message string         `json:"message"`
		Stats   jsontext.Value `json:"stats"`
	}
	if text, ok := program.Object(raw, &top); !ok {
		return event{kind: isText, text: text}
	}
	switch top.Type {
	case "init":
		return event{kind: isInit, model: top.Model, session: top.Session}
	case "message":
		e := event{kind: isPiece}
		if top.Role != "assistant" || program.Read(top.Content, &e.text) != nil {
			return event{kind: isUnknown}
		}
		return e
	case "tool_use":
		return event{kind: isCall, call: top.ID, text: strings.TrimSpace(program.Short([]byte(top.Tool), shortText) + " " + subject(top.Input))}
	case "tool_result":
		return event{kind: isCalled, call: top.ID, failed: top.Status == "error"}
	case "error": // a warning or an error that need not be the end
		return event{kind: isText, text: "warning: " + program.Short([]byte(top.Message), shortText)}
	case "result":
		return event{kind: isResult, failed: top.Status != "success", text: reason(top.Error, top.Status), usage: stats(top.Stats)}
	}
	return event{kind: isUnknown}
}

// subject is what a call is about.
func subject(input []byte) string {
	var in struct {
		Command string `json:"command"`
		File    string `json:"file_path"`
		Dir     string `json:"dir_path"`
		Pattern string `json:"pattern"`
	}
	if program.Read(input, &in) != nil {
		return ""
	}
	return program.Short([]byte(cmp.Or(in.Command, in.File, in.Pattern, in.Dir)), shortText)
}

// advice is what gemini appends to each error of status 429.
const advice = "Please wait and try again later. To increase your limits"

// reason is why a result is no success.
func reason(failed []byte, status string) string {
	var e struct {
		Message string `json:"message"`
	}
	if program.Read(failed, &e) == nil && e.Message != "" {
		said, _, _ := strings.Cut(e.Message, advice) // it names quotas where only the rate is too high
		return strings.TrimSpace(said)
	}
	return "the turn ended with status " + cmp.Or(program.Short([]byte(status), shortText), "none")
}

func stats(raw []byte) providers.Usage {
	var s struct {
		Input  program.Count `json:"input_tokens"`
		Output program.Count `json:"output_tokens"`
		Cached program.Count `json:"cached"`
	}
	if program.Read(raw, &s) != nil {
		return providers.Usage{}
	}
	return providers.Usage{Input: int(s.Input), Output: int(s.Output), Cached: int(s.Cached), Tokens: int(s.Input) + int(s.Output)}
}

// lastError is the error that gemini writes as the last JSON object of standard error when it fails before its first event.
func lastError(tail string) (message string, code int) {
	for at := len(tail); ; {
		at = strings.LastIndexByte(tail[:at], '{')
		if at < 0 {
			return "", 0
		}
		var o struct {
			Error struct {
				Message string         `json:"message"`
				Code    jsontext.Value `json:"code"`
			} `json:"error"`
		}
		value, err := jsontext.NewDecoder(bytes.NewReader([]byte(tail[at:])), jsontext.AllowInvalidUTF8(true)).ReadValue()
		if err == nil && program.Read(value, &o) == nil && o.Error.Message != "" {
			var n program.Count
			_ = program.Read(o.Error.Code, &n) // 0 of what is no number
			return o.Error.Message, int(n)
		}
	}
}

package codex

import (
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// decodeExec understands one line of the simple mode. It never fails: what is no event is text.
func decodeExec(raw []byte) event {
	var top struct {
		Type     string         `json:"type"`
		ThreadID string         `json:"thread_id"`
		Message  string         `json:"message"`
		Item     jsontext.Value `json:"item"`
		Usage    struct {
			Input      program.Count `json:"input_tokens"`
			Cached     program.Count `json:"cached_input_tokens"`
			CacheWrite program.Count `json:"cache_write_input_tokens"`
			Output     program.Count `json:"output_tokens"`
		} `json:"usage"`
		Error *turnError `json:"error"`
	}
	if text, ok := program.Object(raw, &top); !ok {
		return event{kind: isText, text: text}
	}
	switch top.Type {
	case "thread.started":
		return event{kind: isThread, thread: top.ThreadID}
	case "turn.started":
		return event{kind: isTurn}
	case "item.started", "item.completed":
		return execItem(top.Type, top.Item)
	case "error":
		return event{kind: isRetry, trouble: &program.Trouble{Words: top.Message}}
	case "turn.completed":
		u := top.Usage
		return event{kind: isEnd, status: completed, total: usage{int(u.Input), int(u.Cached), int(u.CacheWrite), int(u.Output)}}
	case "turn.failed":
		e := event{kind: isEnd, status: "failed", trouble: top.Error.trouble()}
		if e.trouble == nil {
			e.trouble = &program.Trouble{Words: "no reason is given"}
		}
		return e
	}
	return event{kind: isUnknown}
}

func execItem(typ string, raw []byte) event {
	var r struct {
		rawItem
		Exit    *int   `json:"exit_code"`
		Message string `json:"message"`
	}
	if err := program.Read(raw, &r); err != nil {
		return broken("an item", err)
	}
	e := event{kind: isStarted, item: r.item()}
	if typ == "item.completed" {
		e.kind = isItem
	}
	e.item.exit = r.Exit
	if r.Type == "error" {
		e.item.what, e.item.text = aWarning, program.Text([]byte(r.Message))
	}
	return e
}

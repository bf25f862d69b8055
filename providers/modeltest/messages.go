package modeltest

import (
	"encoding/json"
	"net/http"
)

// messages is the Messages API of Anthropic.
type messages struct{}

func (messages) hear(_ *http.Request, body []byte) (heard, error) {
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Name string `json:"name"`
		} `json:"tools"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return heard{}, err
	}
	h := heard{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		h.offered = append(h.offered, offer{name: t.Name})
	}
	for _, m := range in.Messages {
		if m.Role != "assistant" {
			continue
		}
		var blocks []struct {
			Type  string          `json:"type"`
			Text  string          `json:"text"`
			ID    string          `json:"id"`
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(m.Content, &blocks) != nil {
			h.said = append(h.said, said{text: textOf(m.Content)})
			continue
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				h.said = append(h.said, said{text: b.Text})
			case "tool_use":
				h.said = append(h.said, said{id: b.ID, name: b.Name, input: b.Input})
			}
		}
	}
	return h, nil
}

func (messages) finish(a *reply) string {
	if a.call != nil {
		return first(a.finish, "tool_use")
	}
	return first(a.finish, "end_turn")
}

func (messages) usage(a *reply) object {
	return object{
		"input_tokens": a.usage.Input - a.usage.Cached, "cache_read_input_tokens": a.usage.Cached, "cache_creation_input_tokens": 0,
		"output_tokens": a.usage.Output,
	}
}

func (messages) blocks(a *reply) []object {
	var blocks []object
	if a.text != "" || a.call == nil {
		blocks = append(blocks, object{"type": "text", "text": a.text})
	}
	if a.call != nil {
		blocks = append(blocks, object{"type": "tool_use", "id": a.callID, "name": a.tool.name, "input": a.call.Input})
	}
	return blocks
}

func (d messages) envelope(a *reply, content []object) object {
	return object{
		"id": "msg_" + a.id, "type": "message", "role": "assistant", "model": a.model, "content": content,
		"stop_reason": nil, "stop_sequence": nil, "usage": d.usage(a),
	}
}

func (d messages) whole(a *reply) any {
	out := d.envelope(a, d.blocks(a))
	out["stop_reason"] = d.finish(a)
	return out
}

func (d messages) stream(a *reply) []event {
	var events []event
	add := func(name string, data object) {
		data["type"] = name
		events = append(events, event{name, data})
	}
	add("message_start", object{"message": d.envelope(a, []object{})})
	for i, block := range d.blocks(a) {
		if block["type"] == "text" {
			add("content_block_start", object{"index": i, "content_block": object{"type": "text", "text": ""}})
			for _, part := range half(a.text) {
				add("content_block_delta", object{"index": i, "delta": object{"type": "text_delta", "text": part}})
			}
		} else {
			add("content_block_start", object{"index": i, "content_block": object{
				"type": "tool_use", "id": a.callID, "name": a.tool.name, "input": object{},
			}})
			for _, part := range half(string(a.call.Input)) {
				add("content_block_delta", object{"index": i, "delta": object{"type": "input_json_delta", "partial_json": part}})
			}
		}
		add("content_block_stop", object{"index": i})
	}
	add("message_delta", object{"delta": object{"stop_reason": d.finish(a), "stop_sequence": nil}, "usage": d.usage(a)})
	add("message_stop", object{})
	return events
}

func (messages) fail(status int, message string) any {
	kind := "api_error"
	switch status {
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusForbidden:
		kind = "permission_error"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case 529:
		kind = "overloaded_error"
	}
	return object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_modeltest"}
}

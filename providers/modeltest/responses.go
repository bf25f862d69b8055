package modeltest

import (
	"encoding/json"
	"maps"
	"net/http"
)

// responses is the Responses API of OpenAI.
type responses struct{}

type responsesTool struct {
	Type  string          `json:"type"`
	Name  string          `json:"name"`
	Tools []responsesTool `json:"tools"`
}

func (responses) hear(_ *http.Request, body []byte) (heard, error) {
	var in struct {
		Model  string          `json:"model"`
		Stream bool            `json:"stream"`
		Tools  []responsesTool `json:"tools"`
		Input  json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return heard{}, err
	}
	h := heard{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		h.offer("", t)
	}
	var items []struct {
		Type      string          `json:"type"`
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		CallID    string          `json:"call_id"`
		Name      string          `json:"name"`
		Arguments string          `json:"arguments"`
	}
	if json.Unmarshal(in.Input, &items) != nil {
		return h, nil // a text alone
	}
	for _, i := range items {
		switch i.Type {
		case "function_call", "custom_tool_call":
			h.said = append(h.said, said{id: i.CallID, name: i.Name, input: json.RawMessage(i.Arguments)})
		case "message", "":
			if i.Role == "assistant" {
				h.said = append(h.said, said{text: textOf(i.Content)})
			}
		}
	}
	return h, nil
}

func (h *heard) offer(namespace string, t responsesTool) {
	if t.Type == "namespace" {
		for _, inner := range t.Tools {
			h.offer(t.Name, inner)
		}
		return
	}
	h.offered = append(h.offered, offer{name: first(t.Name, t.Type), namespace: namespace, free: t.Type == "custom"})
}

func (responses) items(a *reply) []object {
	var items []object
	if a.text != "" || a.call == nil {
		items = append(items, object{
			"id": "msg_" + a.id, "type": "message", "role": "assistant", "status": "completed",
			"content": []object{{"type": "output_text", "text": a.text, "annotations": []any{}}},
		})
	}
	switch {
	case a.call == nil:
	case a.tool.free:
		items = append(items, object{
			"id": "ctc_" + a.id, "type": "custom_tool_call", "status": "completed",
			"call_id": a.callID, "name": a.tool.name, "input": a.call.Text,
		})
	default:
		item := object{
			"id": "fc_" + a.id, "type": "function_call", "status": "completed",
			"call_id": a.callID, "name": a.tool.name, "arguments": string(a.call.Input),
		}
		if a.tool.namespace != "" {
			item["namespace"] = a.tool.namespace
		}
		items = append(items, item)
	}
	return items
}

func (responses) envelope(a *reply, status string, items []object) object {
	return object{
		"id": "resp_" + a.id, "object": "response", "created_at": 1767225600, "model": a.model, "status": status,
		"output": items, "error": nil, "incomplete_details": nil, "parallel_tool_calls": false, "tools": []any{},
	}
}

func (d responses) whole(a *reply) any {
	out := d.envelope(a, first(a.finish, "completed"), d.items(a))
	if a.finish == "incomplete" {
		out["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	out["usage"] = object{
		"input_tokens": a.usage.Input, "input_tokens_details": object{"cached_tokens": a.usage.Cached},
		"output_tokens": a.usage.Output, "output_tokens_details": object{"reasoning_tokens": 10},
		"total_tokens": a.usage.Input + a.usage.Output,
	}
	return out
}

func (d responses) stream(a *reply) []event {
	n := 0
	var events []event
	add := func(name string, data object) {
		data["type"], data["sequence_number"] = name, n
		events = append(events, event{name, data})
		n++
	}
	add("response.created", object{"response": d.envelope(a, "in_progress", []object{})})
	for i, item := range d.items(a) {
		begun := object{}
		maps.Copy(begun, item)
		begun["status"] = "in_progress"
		if item["type"] == "message" {
			begun["content"] = []any{}
			add("response.output_item.added", object{"output_index": i, "item": begun})
			for _, part := range half(a.text) {
				add("response.output_text.delta", object{"output_index": i, "content_index": 0, "item_id": item["id"], "delta": part})
			}
		} else {
			add("response.output_item.added", object{"output_index": i, "item": begun})
		}
		add("response.output_item.done", object{"output_index": i, "item": item})
	}
	add("response."+first(a.finish, "completed"), object{"response": d.whole(a)})
	return events
}

func (responses) fail(status int, message string) any { return openAIError(status, message) }

func openAIError(status int, message string) any {
	kind, code := "server_error", any(nil)
	switch status {
	case http.StatusUnauthorized:
		kind, code = "invalid_request_error", "invalid_api_key"
	case http.StatusTooManyRequests:
		kind, code = "requests", "rate_limit_exceeded"
	case http.StatusPaymentRequired:
		kind, code = "insufficient_quota", "insufficient_quota"
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}

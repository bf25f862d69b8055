package modeltest

import (
	"encoding/json"
	"net/http"
)

// chat is chat completions, as OpenAI, DeepSeek and local servers speak them.
type chat struct{}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (chat) hear(_ *http.Request, body []byte) (heard, error) {
	var in struct {
		Model  string `json:"model"`
		Stream bool   `json:"stream"`
		Tools  []struct {
			Function function `json:"function"`
		} `json:"tools"`
		Messages []struct {
			Role      string          `json:"role"`
			Content   json.RawMessage `json:"content"`
			ToolCalls []struct {
				ID       string   `json:"id"`
				Function function `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return heard{}, err
	}
	h := heard{model: in.Model, stream: in.Stream}
	for _, t := range in.Tools {
		h.offered = append(h.offered, offer{name: t.Function.Name})
	}
	for _, m := range in.Messages {
		if m.Role != "assistant" {
			continue
		}
		if text := textOf(m.Content); text != "" {
			h.said = append(h.said, said{text: text})
		}
		for _, c := range m.ToolCalls {
			h.said = append(h.said, said{id: c.ID, name: c.Function.Name, input: json.RawMessage(c.Function.Arguments)})
		}
	}
	return h, nil
}

func (chat) calls(a *reply) []object {
	return []object{{
		"index": 0, "id": a.callID, "type": "function", "function": object{"name": a.tool.name, "arguments": string(a.call.Input)},
	}}
}

func (chat) finish(a *reply) string {
	if a.call != nil {
		return first(a.finish, "tool_calls")
	}
	return first(a.finish, "stop")
}

func (chat) usage(a *reply) object {
	return object{
		"prompt_tokens": a.usage.Input, "completion_tokens": a.usage.Output, "total_tokens": a.usage.Input + a.usage.Output,
		"prompt_tokens_details": object{"cached_tokens": a.usage.Cached},
	}
}

func (d chat) whole(a *reply) any {
	message := object{"role": "assistant", "content": a.text}
	if a.call != nil {
		message["tool_calls"] = d.calls(a)
	}
	return object{
		"id": "chatcmpl-" + a.id, "object": "chat.completion", "created": 1767225600, "model": a.model,
		"choices": []object{{"index": 0, "message": message, "finish_reason": d.finish(a)}}, "usage": d.usage(a),
	}
}

func (d chat) stream(a *reply) []event {
	chunk := func(choices []object) object {
		return object{"id": "chatcmpl-" + a.id, "object": "chat.completion.chunk", "created": 1767225600, "model": a.model, "choices": choices}
	}
	delta := func(delta object, finish any) event {
		return event{data: chunk([]object{{"index": 0, "delta": delta, "finish_reason": finish}})}
	}
	events := []event{delta(object{"role": "assistant", "content": ""}, nil)}
	if a.text != "" {
		for _, part := range half(a.text) {
			events = append(events, delta(object{"content": part}, nil))
		}
	}
	if a.call != nil {
		events = append(events, delta(object{"tool_calls": d.calls(a)}, nil))
	}
	last := chunk([]object{})
	last["usage"] = d.usage(a)
	return append(events, delta(object{}, d.finish(a)), event{data: last}, event{data: "[DONE]"})
}

func (chat) fail(status int, message string) any { return openAIError(status, message) }

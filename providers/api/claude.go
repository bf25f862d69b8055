package api

import (
	"encoding/json"
	"net/http"
	"strings"

	"arbiter/providers"
)

// claude is the Messages API of Anthropic.
type claude struct{}

func (claude) home() string { return "https://api.anthropic.com" }

func (claude) path(base, _ string) string { return join(base, "/v1", "/messages") }

func (claude) sign(h http.Header, key string) {
	h.Set("Anthropic-Version", "2023-06-01")
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

func (claude) body(c *Config, t *talk) any {
	messages := make([]object, len(t.said))
	for i, text := range t.said {
		messages[i] = object{"role": t.role(i, "assistant"), "content": []object{{"type": "text", "text": text}}}
	}
	out := object{"model": c.Model, "max_tokens": c.answerTokens(), "messages": messages}
	if t.system != "" {
		out["system"] = t.system
	}
	if c.Enforcement == JSONSchema && len(t.exact) > 0 {
		out["output_config"] = object{"format": object{"type": "json_schema", "schema": t.exact}}
	}
	return out
}

func (claude) read(body []byte) (reply, error) {
	var in struct {
		Model   string `json:"model"`
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		StopReason string `json:"stop_reason"`
		Usage      struct {
			Input  int `json:"input_tokens"`
			Write  int `json:"cache_creation_input_tokens"`
			Cached int `json:"cache_read_input_tokens"`
			Output int `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return reply{}, err
	}
	var text strings.Builder
	for _, c := range in.Content {
		if c.Type == "text" {
			text.WriteString(c.Text)
		}
	}
	u := in.Usage
	return reply{
		text: text.String(), finish: in.StopReason, well: in.StopReason == "end_turn" || in.StopReason == "stop_sequence",
		refused: in.StopReason == "refusal",
		usage:   used(in.Model, u.Input+u.Write+u.Cached, u.Cached, u.Write, u.Output),
	}, nil
}

// used is a usage from a service's numbers, none of them below zero.
func used(model string, input, cached, write, output int) providers.Usage {
	input, output = max(input, 0), max(output, 0)
	cached = min(max(cached, 0), input)
	return providers.Usage{
		Model: model, Input: input, Cached: cached, CacheWrite: min(max(write, 0), input-cached), Output: output, Tokens: input + output,
	}
}

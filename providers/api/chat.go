package api

import (
	"encoding/json"
	"net/http"
	"strings"
)

// chat is chat completions.
type chat struct{}

func (chat) home() string { return "" }

func (chat) path(base, _ string) string { return strings.TrimRight(base, "/") + "/chat/completions" }

func (chat) sign(h http.Header, key string) { bearer(h, key) }

func (chat) body(c *Config, t *talk) any {
	var messages []object
	if t.system != "" {
		messages = append(messages, object{"role": "system", "content": t.system})
	}
	for i, text := range t.said {
		messages = append(messages, object{"role": t.role(i, "assistant"), "content": text})
	}
	out := object{"model": c.Model, "messages": messages, "stream": false}
	if c.MaxTokens > 0 {
		out["max_tokens"] = c.MaxTokens
	}
	switch {
	case len(t.schema) == 0:
	case c.Enforcement == JSONSchema:
		out["response_format"] = object{"type": "json_schema", "json_schema": t.format()}
	case c.Enforcement == JSONObject && t.saysJSON(): // without the word the service refuses the request
		out["response_format"] = object{"type": "json_object"}
	}
	return out
}

func (t *talk) saysJSON() bool {
	return strings.Contains(strings.ToLower(t.system), "json") || strings.Contains(strings.ToLower(t.said[0]), "json")
}

func (chat) read(body []byte) (reply, error) {
	var in struct {
		Model   string `json:"model"`
		Choices []struct {
			Message struct {
				Content *string `json:"content"`
				Refusal string  `json:"refusal"`
			} `json:"message"`
			FinishReason string `json:"finish_reason"`
		} `json:"choices"`
		Error *serviceError `json:"error"`
		Usage struct {
			Prompt  int `json:"prompt_tokens"`
			Hit     int `json:"prompt_cache_hit_tokens"` // DeepSeek's word
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
			Completion int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return reply{}, err
	}
	u := in.Usage
	out := reply{failed: in.Error, usage: used(in.Model, u.Prompt, max(u.Hit, u.Details.Cached), 0, u.Completion)}
	if len(in.Choices) == 0 {
		return out, nil
	}
	c := in.Choices[0]
	if c.Message.Content != nil {
		out.text = *c.Message.Content
	}
	out.finish, out.well, out.refused = c.FinishReason, c.FinishReason == "stop", c.FinishReason == "content_filter"
	if c.Message.Refusal != "" {
		out.text, out.finish, out.well, out.refused = c.Message.Refusal, "refusal", false, true
	}
	return out, nil
}

package api

import (
	"encoding/json"
	"net/http"
	"strings"
)

// responses is the Responses API of OpenAI.
type responses struct{}

func (responses) home() string { return "https://api.openai.com/v1" }

func (responses) path(base, _ string) string { return strings.TrimRight(base, "/") + "/responses" }

func (responses) sign(h http.Header, key string) { bearer(h, key) }

func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

func (responses) body(c *Config, t *talk) any {
	input := make([]object, len(t.said))
	for i, text := range t.said {
		role := t.role(i, "assistant")
		kind := "input_text"
		if role == "assistant" {
			kind = "output_text"
		}
		input[i] = object{"type": "message", "role": role, "content": []object{{"type": kind, "text": text}}}
	}
	out := object{"model": c.Model, "input": input, "store": false}
	if t.system != "" {
		out["instructions"] = t.system
	}
	if c.MaxTokens > 0 {
		out["max_output_tokens"] = c.MaxTokens
	}
	if c.Enforcement == JSONSchema && len(t.schema) > 0 {
		format := t.format()
		format["type"] = "json_schema"
		out["text"] = object{"format": format}
	}
	return out
}

// format is the named schema of OpenAI's dialects: strict when it can be.
func (t *talk) format() object {
	if len(t.exact) > 0 {
		return object{"name": "answer", "strict": true, "schema": t.exact}
	}
	return object{"name": "answer", "strict": false, "schema": t.schema}
}

func (responses) read(body []byte) (reply, error) {
	var in struct {
		Model  string `json:"model"`
		Status string `json:"status"`
		Output []struct {
			Type    string `json:"type"`
			Content []struct {
				Type    string `json:"type"`
				Text    string `json:"text"`
				Refusal string `json:"refusal"`
			} `json:"content"`
		} `json:"output"`
		Incomplete struct {
			Reason string `json:"reason"`
		} `json:"incomplete_details"`
		Error *serviceError `json:"error"`
		Usage struct {
			Input   int `json:"input_tokens"`
			Details struct {
				Cached int `json:"cached_tokens"`
			} `json:"input_tokens_details"`
			Output int `json:"output_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return reply{}, err
	}
	out := reply{
		finish: in.Status, well: in.Status == "completed", failed: in.Error,
		usage: used(in.Model, in.Usage.Input, in.Usage.Details.Cached, 0, in.Usage.Output),
	}
	if in.Incomplete.Reason != "" {
		out.finish, out.refused = in.Incomplete.Reason, in.Incomplete.Reason == "content_filter"
	}
	var text strings.Builder
	for _, o := range in.Output {
		if o.Type != "message" {
			continue
		}
		for _, c := range o.Content {
			if c.Type == "refusal" {
				out.refused, out.well, out.finish = true, false, "refusal"
				text.WriteString(c.Refusal)
			}
			if c.Type == "output_text" {
				text.WriteString(c.Text)
			}
		}
	}
	out.text = text.String()
	return out, nil
}

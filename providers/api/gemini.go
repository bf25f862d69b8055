package api

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
)

// gemini is the Gemini API of Google.
type gemini struct{}

func (gemini) home() string { return "https://generativelanguage.googleapis.com" }

func (gemini) path(base, model string) string {
	return join(base, "/v1beta", "/models/"+url.PathEscape(strings.TrimPrefix(model, "models/"))+":generateContent")
}

func (gemini) sign(h http.Header, key string) {
	if key != "" {
		h.Set("X-Goog-Api-Key", key)
	}
}

func (gemini) body(c *Config, t *talk) any {
	contents := make([]object, len(t.said))
	for i, text := range t.said {
		contents[i] = object{"role": t.role(i, "model"), "parts": []object{{"text": text}}}
	}
	generation := object{}
	if c.MaxTokens > 0 {
		generation["maxOutputTokens"] = c.MaxTokens
	}
	if c.Enforcement == JSONSchema && len(t.schema) > 0 {
		generation["responseMimeType"] = "application/json"
		if len(t.exact) > 0 {
			generation["responseJsonSchema"] = t.exact
		}
	}
	out := object{"contents": contents, "generationConfig": generation}
	if t.system != "" {
		out["systemInstruction"] = object{"parts": []object{{"text": t.system}}}
	}
	return out
}

func (gemini) read(body []byte) (reply, error) {
	var in struct {
		ModelVersion string `json:"modelVersion"`
		Candidates   []struct {
			Content struct {
				Parts []struct {
					Text    string `json:"text"`
					Thought bool   `json:"thought"`
				} `json:"parts"`
			} `json:"content"`
			FinishReason string `json:"finishReason"`
		} `json:"candidates"`
		PromptFeedback struct {
			BlockReason string `json:"blockReason"`
		} `json:"promptFeedback"`
		Usage struct {
			Input    int `json:"promptTokenCount"`
			Cached   int `json:"cachedContentTokenCount"`
			Output   int `json:"candidatesTokenCount"`
			Thoughts int `json:"thoughtsTokenCount"`
		} `json:"usageMetadata"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return reply{}, err
	}
	u := in.Usage
	out := reply{usage: used(in.ModelVersion, u.Input, u.Cached, 0, max(u.Output, 0)+max(u.Thoughts, 0))}
	if len(in.Candidates) == 0 {
		out.finish, out.refused = in.PromptFeedback.BlockReason, in.PromptFeedback.BlockReason != ""
		return out, nil
	}
	var text strings.Builder
	for _, p := range in.Candidates[0].Content.Parts {
		if !p.Thought {
			text.WriteString(p.Text)
		}
	}
	out.text, out.finish = text.String(), in.Candidates[0].FinishReason
	switch out.finish {
	case "STOP":
		out.well = true
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE":
		out.refused = true
	}
	return out, nil
}

package modeltest

import (
	"encoding/json"
	"net/http"
	"path"
	"strings"
)

// gemini is the Gemini API of Google.
type gemini struct{}

func (gemini) hear(r *http.Request, body []byte) (heard, error) {
	var in struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text         string `json:"text"`
				Thought      bool   `json:"thought"`
				FunctionCall *struct {
					ID   string          `json:"id"`
					Name string          `json:"name"`
					Args json.RawMessage `json:"args"`
				} `json:"functionCall"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return heard{}, err
	}
	model, method, _ := strings.Cut(path.Base(r.URL.Path), ":")
	h := heard{model: model, stream: method == "streamGenerateContent"}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			h.offered = append(h.offered, offer{name: f.Name})
		}
	}
	for _, c := range in.Contents {
		if c.Role != "model" {
			continue
		}
		for _, p := range c.Parts {
			switch {
			case p.FunctionCall != nil:
				h.said = append(h.said, said{id: p.FunctionCall.ID, name: p.FunctionCall.Name, input: p.FunctionCall.Args})
			case p.Text != "" && !p.Thought:
				h.said = append(h.said, said{text: p.Text})
			}
		}
	}
	return h, nil
}

func (gemini) candidate(a *reply, parts []object, finish string) object {
	c := object{"index": 0, "content": object{"role": "model", "parts": parts}}
	if finish != "" {
		c["finishReason"] = finish
	}
	return object{"responseId": a.id, "modelVersion": a.model, "candidates": []object{c}}
}

func (gemini) usage(a *reply) object {
	return object{
		"promptTokenCount": a.usage.Input, "cachedContentTokenCount": a.usage.Cached, "candidatesTokenCount": a.usage.Output,
		"totalTokenCount": a.usage.Input + a.usage.Output,
	}
}

func (gemini) call(a *reply) object {
	return object{"functionCall": object{"id": a.callID, "name": a.tool.name, "args": a.call.Input}}
}

func (d gemini) whole(a *reply) any {
	var parts []object
	if a.text != "" || a.call == nil {
		parts = append(parts, object{"text": a.text})
	}
	if a.call != nil {
		parts = append(parts, d.call(a))
	}
	out := d.candidate(a, parts, first(a.finish, "STOP"))
	out["usageMetadata"] = d.usage(a)
	return out
}

func (d gemini) stream(a *reply) []event {
	var parts []object
	if a.text != "" || a.call == nil {
		for _, part := range half(a.text) {
			parts = append(parts, object{"text": part})
		}
	}
	if a.call != nil {
		parts = append(parts, d.call(a))
	}
	var events []event
	for i, part := range parts {
		finish := ""
		if i == len(parts)-1 {
			finish = first(a.finish, "STOP")
		}
		chunk := d.candidate(a, []object{part}, finish)
		if finish != "" {
			chunk["usageMetadata"] = d.usage(a)
		}
		events = append(events, event{data: chunk})
	}
	return events
}

func (gemini) fail(status int, message string) any {
	word := "INTERNAL"
	switch status {
	case http.StatusUnauthorized:
		word = "UNAUTHENTICATED"
	case http.StatusForbidden:
		word = "PERMISSION_DENIED"
	case http.StatusTooManyRequests:
		word = "RESOURCE_EXHAUSTED"
	case http.StatusBadRequest:
		word = "INVALID_ARGUMENT"
	case http.StatusServiceUnavailable:
		word = "UNAVAILABLE"
	}
	return object{"error": object{"code": status, "message": message, "status": word}}
}

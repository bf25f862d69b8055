package worker

import (
	"bytes"
	"encoding/json"
	"errors"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// succeeded is the answer of a turn that ended well.
func succeeded(out *providers.Outcome, p *amp.Parcel) *Answer {
	a := &Answer{Type: bus.TaskResponse, Session: out.Session, Usage: usageOf(out.Usage), Parcel: p}
	switch {
	case out.Question != "":
		a.Payload = json.RawMessage(jsonOf(carry(question(out))))
	case out.Text != "" && len(out.Final) == 0:
		a.Payload = json.RawMessage(jsonOf(map[string]any{"text": out.Text}))
	case holds(out.Answer, out.Final):
		a.Payload = json.RawMessage(jsonOf(carry(out.Answer)))
	default:
		a.Payload = json.RawMessage(jsonOf(carry(out.Final)))
	}
	return a
}

// question is the SACP object that asks the admin.
func question(out *providers.Outcome) json.RawMessage {
	if len(out.Answer) > 0 {
		return out.Answer
	}
	return json.RawMessage(jsonOf(map[string]any{
		"thought": "", "status": "clarification_needed", "data": map[string]any{}, "message": out.Question,
	}))
}

// holds reports whether a SACP object is what the answer was read from: it then goes as it is, with the agent's thought.
func holds(answer, final json.RawMessage) bool {
	var whole struct {
		Data json.RawMessage `json:"data"`
	}
	return json.Unmarshal(answer, &whole) == nil && len(final) > 0 && bytes.Equal(bytes.TrimSpace(whole.Data), bytes.TrimSpace(final))
}

// failed is the answer of a turn that gave none.
func failed(e *providers.TurnError) *Answer {
	said := map[string]any{"code": e.Failure, "message": e.Text}
	if e.Tail != "" {
		said["details"] = e.Tail
	}
	if e.Retry > 0 {
		said["retry_after_seconds"] = int(e.Retry.Seconds())
	}
	return &Answer{Type: bus.ErrorMessage, Payload: json.RawMessage(jsonOf(said)), Usage: usageOf(e.Usage)}
}

// failedBy is the same of any error.
func failedBy(err error) *Answer {
	if e, ok := errors.AsType[*providers.TurnError](err); ok {
		return failed(e)
	}
	if e, ok := errors.AsType[*amp.ParcelError](err); ok {
		return failed(&providers.TurnError{Failure: providers.FailAnswer, Text: e.Why})
	}
	return failed(&providers.TurnError{Failure: providers.FailCrashed, Text: err.Error()})
}

func usageOf(u providers.Usage) usage {
	return usage{Model: u.Model, Input: u.Input, Output: u.Output, Tokens: u.Tokens, CostUSD: u.CostUSD}
}

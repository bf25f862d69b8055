package bus

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/program"

	"github.com/go-json-experiment/json/jsontext"
)

// bodyOf is what a payload says: of one that nests it under payload, that with the flat fields (B05).
func bodyOf(m *Message) map[string]jsontext.Value {
	flat := members(m.Payload)
	if flat == nil {
		return map[string]jsontext.Value{}
	}
	for name, v := range members(flat["payload"]) {
		if flat[name] == nil {
			flat[name] = v
		}
	}
	return flat
}

// ampOf is the whole AMP message that a payload holds, nil when there is none.
func ampOf(m *Message) jsontext.Value {
	body := bodyOf(m)
	for _, v := range []jsontext.Value{body["amp"], body["amp_message"], m.Payload} {
		if member(v, "protocol_version") != nil {
			return v
		}
	}
	return nil
}

// ackOf is the ACK that a status_update is, nil when it is none.
func ackOf(m *Message) (ack *amp.Ack, of string) {
	body := bodyOf(m)
	status := amp.AckStatus(textOf(body["status"]))
	if status == "rejected" {
		status = amp.AckRefused
	}
	if status != amp.AckAccepted && status != amp.AckRefused {
		return nil, ""
	}
	ack = &amp.Ack{Status: status, Reason: textOf(body["reason"])}
	if v := body["echoed_acceptance_criteria"]; v != nil {
		_ = json.Unmarshal(v, &ack.EchoedAcceptanceCriteria) // what is no list of texts repeats nothing
	}
	return ack, textOf(body["ack_for"])
}

// escalationOf is the AMP escalation that a message carries, whole or its payload, nil when it is none.
func escalationOf(m *Message) json.RawMessage {
	if whole := ampOf(m); whole != nil {
		if textOf(member(whole, "type")) == string(amp.EscalationMsg) {
			return json.RawMessage(whole)
		}
		return nil
	}
	for _, v := range []jsontext.Value{member(m.Payload, "escalation"), member(m.Payload, "payload"), m.Payload} {
		if member(v, "escalation_type") != nil {
			return json.RawMessage(v)
		}
	}
	return nil
}

// progressOf is one line of what a status_update says.
func progressOf(m *Message) string {
	body := bodyOf(m)
	var parts []string
	for _, name := range []string{"phase", "status", "percent_complete", "notes", "message", "progress"} {
		switch v := body[name]; kindOf(v) {
		case "string":
			parts = append(parts, textOf(v))
		case "number":
			unit := ""
			if name == "percent_complete" {
				unit = " %"
			}
			parts = append(parts, string(v)+unit)
		}
	}
	if len(parts) == 0 {
		parts = []string{string(m.Payload)}
	}
	return program.Text([]byte(strings.Join(parts, ": ")))
}

// Trouble is an error payload in the form of the specification (B07).
type Trouble struct {
	Code      string
	Message   string
	Details   string
	Retryable bool
	// Retry is how long to wait before the next try, when it says so.
	Retry time.Duration
}

// Failure is the class of the failure: the one that the code names, as a worker's does, else crashed.
func (t Trouble) Failure() providers.Failure {
	switch f := providers.Failure(t.Code); f {
	case providers.FailConfig, providers.FailCrashed, providers.FailSilent, providers.FailTotal, providers.FailOutput, providers.FailRefused,
		providers.FailAnswer, providers.FailAuth, providers.FailQuota, providers.FailRate, providers.FailOverloaded, providers.FailTransport,
		providers.FailModel:
		return f
	case providers.FailKilled: // only a coordinator kills
	}
	return providers.FailCrashed
}

// TroubleOf normalises an error's payload: {code, message, details}, {error_code, error_message, details, recovery_suggestions} and
// {task_id, error, status, agent_id}. It is retryable unless metadata.retryable is false.
func TroubleOf(m *Message) Trouble {
	body := bodyOf(m)
	first := func(names ...string) string {
		for _, name := range names {
			if v := body[name]; textOf(v) != "" {
				return program.Text([]byte(textOf(v)))
			} else if v != nil && kindOf(v) != "null" {
				return program.Text(v)
			}
		}
		return ""
	}
	t := Trouble{
		Code: first("code", "error_code"), Message: first("message", "error_message", "error"), Details: first("details", "recovery_suggestions"),
		Retryable: string(m.Metadata["retryable"]) != "false",
	}
	var wait float64
	if json.Unmarshal(body["retry_after_seconds"], &wait) == nil && wait > 0 && wait < 7*24*3600 {
		t.Retry = time.Duration(wait * float64(time.Second))
	}
	if t.Message == "" {
		t.Message = "it reported an error without a word"
	}
	return t
}

// String is the code and the message.
func (t Trouble) String() string {
	if t.Code == "" {
		return t.Message
	}
	return t.Code + ": " + t.Message
}

// extras are the members of a flat answer that are the bus's and not the payload's.
var extras = []string{"status", "task_id", "task_type", "ack_for", "agent_id", "prompt", "original_message_id"}

// readAnswer takes a task_response into the outcome: a whole AMP message, a SACP object, the AMP payload nested or flat, or a text that holds
// one of them. Nothing is guessed: what holds none of them is a failure.
func readAnswer(turn *providers.Turn, m *Message, out *providers.Outcome) *providers.TurnError {
	if whole := ampOf(m); whole != nil && turn.Prompt == nil {
		out.Final = json.RawMessage(whole)
		return nil
	}
	body := members(m.Payload)
	nested := m.Payload
	for _, name := range []string{"payload", "data", "result", "output"} {
		if v := body[name]; v.Kind() == '{' && !isPayload(turn, nested) && !isSACP(nested) {
			nested = v
		}
	}
	switch {
	case isSACP(nested):
		return brief.Read(turn, string(nested), out)
	case turn.Prompt == nil && isPayload(turn, nested):
		out.Final = withoutExtras(nested)
		return nil
	}
	for _, name := range []string{"output", "result", "text", "content", "response", "message"} {
		for _, in := range []map[string]jsontext.Value{body, members(body["payload"])} {
			if text := textOf(in[name]); text != "" {
				return brief.Read(turn, text, out)
			}
		}
	}
	if turn.Prompt == nil && len(members(body["payload"])) > 0 { // said to be the payload: what is wrong with it is judged where all are
		out.Final = json.RawMessage(body["payload"])
		return nil
	}
	if text := textOf(m.Payload); text != "" {
		return brief.Read(turn, text, out)
	}
	if status := textOf(body["status"]); slices.Contains([]string{"failed", "error", "failure"}, status) {
		return &providers.TurnError{Failure: providers.FailAnswer, Text: "it gave up: " + TroubleOf(m).String()}
	}
	return &providers.TurnError{Failure: providers.FailAnswer, Text: fmt.Sprintf("its task_response holds no %s", wanted(turn))}
}

// isPayload reports whether an object is the AMP payload that a role answers with.
func isPayload(turn *providers.Turn, v jsontext.Value) bool {
	mark := map[amp.Role]string{amp.Executor: "completion_status", amp.Reviewer: "decision", amp.Coordinator: "subtasks"}[turn.Role]
	return member(v, mark) != nil
}

func isSACP(v jsontext.Value) bool {
	in := members(v)
	return in["thought"] != nil && in["status"] != nil && in["data"] != nil
}

func withoutExtras(v jsontext.Value) json.RawMessage {
	in := members(v)
	found := false
	for _, name := range extras {
		if in[name] != nil {
			delete(in, name)
			found = true
		}
	}
	if !found {
		return json.RawMessage(v) // byte for byte
	}
	return json.RawMessage(value(in))
}

func wanted(turn *providers.Turn) string {
	switch {
	case turn.Prompt != nil:
		return "text"
	case turn.Role == amp.Executor:
		return "payload of a task_result"
	case turn.Role == amp.Reviewer:
		return "payload of a review_verdict"
	}
	return "plan"
}

// usageOf is what a message says that the work took, in metadata.usage.
func usageOf(m *Message) (u providers.Usage) {
	var said struct {
		Model   string  `json:"model"`
		Input   int     `json:"input_tokens"`
		Output  int     `json:"output_tokens"`
		Tokens  int     `json:"tokens"`
		CostUSD float64 `json:"cost_usd"`
	}
	if json.Unmarshal(m.Metadata["usage"], &said) != nil || said.Input < 0 || said.Output < 0 || said.Tokens < 0 || said.CostUSD < 0 {
		return u
	}
	u = providers.Usage{Model: program.Short([]byte(said.Model), 100), Input: said.Input, Output: said.Output, Tokens: said.Tokens, CostUSD: said.CostUSD}
	if u.Tokens == 0 {
		u.Tokens = providers.Usage{Tokens: u.Input}.Plus(providers.Usage{Tokens: u.Output}).Tokens // bounded
	}
	return u
}

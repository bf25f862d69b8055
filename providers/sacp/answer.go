package sacp

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
)

// Status is what an answer says of itself; it drives the routing (SACP-005).
type Status string

// The statuses of an answer (SACP-004). Completed is a success that ends the chain (P02).
const (
	Success       Status = "success"
	Failure       Status = "failure"
	Clarification Status = "clarification_needed"
	Completed     Status = "completed"
)

// Answer is one SACP object. Its JSON has the names of the specification.
type Answer struct {
	// Thought is the reasoning, for people. The next agent never gets it (SACP-012).
	Thought string `json:"thought"`
	Status  Status `json:"status"`
	// Data is an object with any keys, as the model wrote it: numbers keep their digits (SACP-009).
	Data jsontext.Value `json:"data"`
	// Message is what a person sees (SACP-011).
	Message string `json:"message"`
	// NextStepHint is a suggestion, used only where routing is dynamic (SACP-013).
	NextStepHint string `json:"next_step_hint,omitzero"`
	// Unknown are the other properties, kept as they are (SACP-014).
	Unknown jsontext.Value `json:",embed"`
}

// required are the properties that every answer has (SACP-002).
var required = []string{"thought", "status", "data", "message"}

// Decode reads text that is exactly one SACP object. Problems are all that is wrong with it, with the rule and the property; with a problem the
// answer is the zero one. Warnings are properties that are not known (SACP-014). Text that is no JSON has the one problem
// SACP-001.
func Decode(text []byte) (a Answer, problems, warnings []amp.Problem) {
	value := jsontext.Value(bytes.TrimSpace(text))
	if len(value) == 0 {
		return Answer{}, []amp.Problem{{Rule: "SACP-001", Message: "is empty, expected a JSON object"}}, nil
	}
	var members map[string]jsontext.Value
	if kind := value.Kind(); kind != '{' && value.IsValid() {
		return Answer{}, []amp.Problem{{Rule: "SACP-001", Message: "is " + KindName(kind) + ", expected a JSON object"}}, nil
	}
	if err := json.Unmarshal(value, &members); err != nil {
		return Answer{}, []amp.Problem{{Rule: "SACP-001", Message: "is not valid JSON: " + err.Error()}}, nil
	}
	problems = check(members)
	if len(problems) > 0 {
		return Answer{}, problems, nil
	}
	if err := json.Unmarshal(value, &a); err != nil {
		return Answer{}, []amp.Problem{{Rule: "SACP-001", Message: "cannot be read: " + err.Error()}}, nil
	}
	return a, nil, unknown(a)
}

// check names everything that is wrong with the members of an object.
func check(members map[string]jsontext.Value) []amp.Problem {
	var out []amp.Problem
	for _, name := range required {
		v, ok := members[name]
		rule := map[string]string{"thought": "SACP-003", "status": "SACP-004", "data": "SACP-009", "message": "SACP-011"}[name]
		want := jsontext.Kind('"')
		if name == "data" {
			want = '{'
		}
		switch {
		case !ok:
			out = append(out, amp.Problem{Rule: "SACP-002", Field: name, Message: "is missing"})
		case v.Kind() != want:
			out = append(out, amp.Problem{Rule: rule, Field: name, Message: "is " + KindName(v.Kind()) + ", expected " + KindName(want)})
		case name == "status":
			out = append(out, checkStatus(v)...)
		}
	}
	if v, ok := members["next_step_hint"]; ok && v.Kind() != '"' && v.Kind() != 'n' {
		out = append(out, amp.Problem{Rule: "SACP-013", Field: "next_step_hint", Message: "is " + KindName(v.Kind()) + ", expected a string"})
	}
	return out
}

func checkStatus(v jsontext.Value) []amp.Problem {
	var s Status
	if err := json.Unmarshal(v, &s); err != nil {
		return []amp.Problem{{Rule: "SACP-004", Field: "status", Message: "cannot be read: " + err.Error()}}
	}
	switch s {
	case Success, Failure, Clarification, Completed:
		return nil
	case "needs_input": // P01
		return []amp.Problem{{Rule: "SACP-004", Field: "status", Message: `is "needs_input", did you mean "clarification_needed"?`}}
	}
	return []amp.Problem{{
		Rule: "SACP-004", Field: "status",
		Message: fmt.Sprintf("is %q, expected success, failure, clarification_needed or completed", clip(string(s))),
	}}
}

// unknown are warnings for properties that the specification does not name.
func unknown(a Answer) []amp.Problem {
	var out []amp.Problem
	for name := range members(a.Unknown) {
		out = append(out, amp.Problem{Rule: "SACP-014", Field: name, Message: "is not known; it is kept"})
	}
	return out
}

// Encode returns the answer as compact JSON.
func (a Answer) Encode() ([]byte, error) {
	if len(a.Data) == 0 {
		a.Data = jsontext.Value("{}")
	}
	b, err := json.Marshal(&a)
	if err != nil {
		return nil, fmt.Errorf("encode an answer: %w", err)
	}
	return b, nil
}

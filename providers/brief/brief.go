package brief

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/sacp"
)

//go:embed schemas/plan.json
var planSchema []byte

// Write is the prompt of a turn: the role's standing instruction with the protocol of answers (SACP-015), the messages verbatim, and the
// schema of the answer. Of a turn with a Prompt it is that one. An error names what the turn lacks.
func Write(turn *providers.Turn) (providers.Prompt, error) {
	if turn.Prompt != nil {
		return *turn.Prompt, nil
	}
	r, ok := roles[turn.Role]
	if !ok {
		return providers.Prompt{}, fmt.Errorf("a turn of the %s has no brief", turn.Role)
	}
	if turn.Role != amp.Coordinator && len(turn.Message) == 0 {
		return providers.Prompt{}, fmt.Errorf("turn %s of the %s has no message", turn.ID, turn.Role)
	}
	payload, err := payloadSchema(turn.Role)
	if err != nil {
		return providers.Prompt{}, err
	}
	schema, err := answerSchema(payload)
	if err != nil {
		return providers.Prompt{}, err
	}
	var b strings.Builder
	for i, c := range turn.Context {
		Block(&b, r.context(i), c)
	}
	if len(turn.Message) > 0 {
		Block(&b, "Your message, "+turn.ID+" of task "+string(turn.Task), turn.Message)
	}
	if turn.Role == amp.Executor && turn.Subtask != "" {
		fmt.Fprintf(&b, "Work on subtask %s now; give that id as subtask_id.\n\n", turn.Subtask)
	}
	if turn.Reply != nil {
		Block(&b, "Your question", []byte(turn.Reply.Question))
		Block(&b, "The admin's answer to it", []byte(turn.Reply.Answer))
	}
	if len(turn.Refused) > 0 {
		b.WriteString("Your last answer was refused and counts for nothing. What was wrong with it:\n\n")
		for _, what := range turn.Refused {
			fmt.Fprintf(&b, "- %s\n", strings.Join(strings.Fields(what), " "))
		}
		b.WriteString("\nWhat you changed in the folder is still there. Answer again, without these faults.\n\n")
	}
	b.WriteString(r.task)
	b.WriteString("\n\nThe property data of your answer is one object that follows this JSON Schema:\n\n")
	b.Write(compact(payload))
	b.WriteByte('\n')
	return providers.Prompt{System: sacp.Prompt(r.system), Text: b.String(), Schema: schema}, nil
}

// Accept is the ack of a message that an agent was given and that knows nothing of ACKs, with the acceptance criteria repeated; nil when the
// turn has no message.
func Accept(turn *providers.Turn) *amp.Ack {
	if len(turn.Message) == 0 {
		return nil
	}
	return &amp.Ack{Status: amp.AckAccepted, EchoedAcceptanceCriteria: criteria(turn.Message)}
}

// Criteria are the acceptance criteria that a reviewer is to judge: those of the last task_dispatch before its message.
func Criteria(turn *providers.Turn) []string {
	for _, message := range slices.Backward(turn.Context) {
		if list := criteria(message); len(list) > 0 {
			return list
		}
	}
	return nil
}

// criteria are the acceptance criteria of a task_dispatch, nil of any other message.
func criteria(message []byte) []string {
	var m struct {
		Type    amp.MessageType `json:"type"`
		Payload struct {
			AcceptanceCriteria []string `json:"acceptance_criteria"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(message, &m); err != nil || m.Type != amp.TaskDispatch {
		return nil
	}
	return m.Payload.AcceptanceCriteria
}

// Block writes a text under a heading. What is in it is data: the fence around it is not in the text.
func Block(b *strings.Builder, heading string, text []byte) {
	text = bytes.TrimSpace(text)
	fence := strings.Repeat("`", max(3, ticks(text)+1))
	if len(fence) > maxFence {
		fence = "-----" + rand.Text() + "-----"
	}
	fmt.Fprintf(b, "%s:\n\n%s\n%s\n%s\n\n", heading, fence, text, fence)
}

// maxFence is the longest fence of backticks; a text that wants a longer one means harm.
const maxFence = 64

// ticks is the longest run of backticks.
func ticks(text []byte) int {
	longest, run := 0, 0
	for _, c := range text {
		if c != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

func payloadSchema(role amp.Role) ([]byte, error) {
	switch role {
	case amp.Executor:
		return amp.Schema(string(amp.TaskResult))
	case amp.Reviewer:
		return amp.Schema(string(amp.ReviewVerdict))
	default:
		return planSchema, nil
	}
}

// answerSchema is the schema of a SACP object with the payload's in place of data. Data may be empty: a failure and a question have none.
func answerSchema(payload []byte) ([]byte, error) {
	var data map[string]any
	if err := json.Unmarshal(payload, &data); err != nil {
		return nil, fmt.Errorf("read the schema of a payload: %w", err)
	}
	delete(data, "$schema")
	delete(data, "$id")
	text := map[string]any{"type": "string"}
	return json.Marshal(map[string]any{
		"type": "object", "required": []string{"thought", "status", "data", "message"}, "additionalProperties": false,
		"properties": map[string]any{
			"thought": text, "message": text,
			"status": map[string]any{"enum": []sacp.Status{sacp.Success, sacp.Failure, sacp.Clarification}},
			"data":   map[string]any{"anyOf": []any{data, map[string]any{"type": "object", "maxProperties": 0}}},
		},
	})
}

func compact(text []byte) []byte {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return text
	}
	return b.Bytes()
}

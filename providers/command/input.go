package command

import (
	"fmt"

	"arbiter/amp"
	"arbiter/providers"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Protocol is the name and version of what stands on standard input and output.
const Protocol = "arbiter-command/1"

// Input is the object that the program reads.
type Input struct {
	Protocol string    `json:"protocol"`
	Turn     InputTurn `json:"turn"`
	// Message is the AMP message, null for a planning turn.
	Message jsontext.Value   `json:"message"`
	Context []jsontext.Value `json:"context"`
	// Prompt, when it is there, is asked instead of Message and Context.
	Prompt *InputPrompt `json:"prompt,omitzero"`
	Dir    string       `json:"dir"`
	Home   string       `json:"home"`
	// Reply is the admin's answer to the question that the last turn ended with.
	Reply *amp.Reply `json:"reply,omitzero"`
	// Refused is what was wrong with the answer of the last turn for this message.
	Refused []string `json:"refused,omitzero"`
	// Session continues an earlier turn.
	Session string `json:"session,omitzero"`
}

// InputTurn names the turn.
type InputTurn struct {
	ID        string     `json:"id"`
	TaskID    amp.TaskID `json:"task_id"`
	Role      amp.Role   `json:"role"`
	Epoch     int        `json:"epoch"`
	SubtaskID string     `json:"subtask_id,omitzero"`
}

// InputPrompt is a text to be answered.
type InputPrompt struct {
	System string `json:"system"`
	Text   string `json:"text"`
	// Schema is the JSON Schema that the answer is to follow, when there is one.
	Schema jsontext.Value `json:"schema,omitzero"`
}

// input is the line that the program reads, newline included. The messages keep their texts and numbers as they were written;
// only space between them goes, so that all is one line.
func input(turn *providers.Turn) ([]byte, error) {
	in := Input{
		Protocol: Protocol,
		Turn:     InputTurn{ID: turn.ID, TaskID: turn.Task, Role: turn.Role, Epoch: turn.Epoch, SubtaskID: turn.Subtask},
		Message:  jsontext.Value("null"), Context: make([]jsontext.Value, len(turn.Context)),
		Dir: turn.Dir, Home: turn.Home, Session: turn.Session, Reply: turn.Reply, Refused: turn.Refused,
	}
	if p := turn.Prompt; p != nil {
		in.Prompt = &InputPrompt{System: p.System, Text: p.Text, Schema: jsontext.Value(p.Schema)}
	}
	if len(turn.Message) > 0 {
		in.Message = jsontext.Value(turn.Message)
	}
	for i, c := range turn.Context {
		in.Context[i] = jsontext.Value(c)
	}
	line, err := json.Marshal(in, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("write the input of turn %s: %w", turn.ID, err)
	}
	return append(line, '\n'), nil
}

package worker

import (
	"encoding/json"
	"errors"
	"fmt"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// order is a request of the coordinator, read.
type order struct {
	message *bus.Message
	about   about
	task    amp.TaskID
	body    body
}

// about is what the coordinator says of the turn.
type about struct {
	Turn      string         `json:"turn_id"`
	Role      amp.Role       `json:"role"`
	Epoch     int            `json:"epoch"`
	Subtask   string         `json:"subtask_id"`
	Session   string         `json:"session"`
	Workspace *amp.Workspace `json:"workspace"`
	Reply     *amp.Reply     `json:"reply"`
	Refused   []string       `json:"refused"`
	// Asks says that the coordinator takes requests for permissions.
	Asks bool `json:"asks"`
}

// body is what the message carries.
type body struct {
	Kind    string `json:"task_type"`
	Payload struct {
		AMP     json.RawMessage   `json:"amp"`
		Context []json.RawMessage `json:"context"`
		Prompt  string            `json:"prompt"`
	} `json:"payload"`
}

// readOrder reads a request. The error says what it lacks.
func readOrder(raw []byte) (*order, error) {
	m, err := bus.DecodeRequest(raw)
	if err != nil {
		return nil, err
	}
	o := &order{message: m}
	if m.Sender.AgentID != bus.Coordinator {
		return nil, fmt.Errorf("it is from %q, not from the coordinator", m.Sender.AgentID)
	}
	if err := json.Unmarshal(m.Metadata["task_id"], &o.task); err != nil || !o.task.Valid() || len(o.task) > 64 { // it names folders here
		return nil, errors.New("metadata.task_id names no task")
	}
	if err := json.Unmarshal(m.Metadata["arbiter"], &o.about); err != nil || o.about.Turn == "" {
		return nil, errors.New("metadata.arbiter names no turn: the coordinator is older than this worker, or none of Arbiter's")
	}
	if m.Type != bus.TaskRequest {
		return o, nil
	}
	if err := json.Unmarshal(m.Payload, &o.body); err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	if o.about.Workspace == nil {
		return nil, errors.New("metadata.arbiter names no workspace: the coordinator is older than this worker")
	}
	if o.about.Workspace.TaskID != o.task { // one worktree for two of them
		return nil, fmt.Errorf("its workspace is one of %q, and it is about %s", o.about.Workspace.TaskID, o.task)
	}
	return o, nil
}

// turn is the request as a turn of an agent.
func (o *order) turn() providers.Turn {
	t := providers.Turn{
		Task: o.task, Role: o.about.Role, Epoch: o.about.Epoch, Work: *o.about.Workspace, Message: o.body.Payload.AMP,
		Context: o.body.Payload.Context, Subtask: o.about.Subtask, Session: o.about.Session, Reply: o.about.Reply, Refused: o.about.Refused,
	}
	if o.body.Kind == "prompt" {
		t.Prompt = &providers.Prompt{Text: o.body.Payload.Prompt}
	}
	return t
}

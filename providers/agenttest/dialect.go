package agenttest

import (
	"bufio"
	"encoding/json"
	"io"
)

// Dialect is the protocol that the program of a script speaks.
type Dialect interface {
	Name() string
	// Greet plays what comes before the first step, up to the prompt where the program reads it first. read then says how many bytes
	// the program was given.
	Greet(s Script, in *bufio.Reader, out io.Writer) (read func() (int, error), err error)
	// Lines are what the program writes for a step of kind AckMessage, RefuseMessage, Say, NameSession, Use, Escalate or Answer, each
	// without its newline; none when the protocol says it in another place.
	Lines(step Step) [][]byte
}

// commands is the protocol of providers/command.
type commands struct{}

func (commands) Name() string { return "" }

func (commands) Greet(_ Script, in *bufio.Reader, _ io.Writer) (func() (int, error), error) {
	return func() (int, error) {
		all, err := io.ReadAll(in)
		return len(all), err
	}, nil
}

func (commands) Lines(step Step) [][]byte {
	line := map[Action]map[string]any{
		AckMessage:    {"event": "ack", "status": "accepted", "echoed_acceptance_criteria": []string{step.Text}},
		RefuseMessage: {"event": "ack", "status": "refused", "reason": step.Text},
		Say:           {"event": "progress", "text": step.Text},
		NameSession:   {"event": "session", "session": step.Text},
		Use:           {"event": "usage", "tokens": step.N, "cost_usd": float64(step.N) / 100},
		Escalate:      {"event": "escalation", "payload": step.Payload},
		Answer:        {"event": "final", "payload": step.Payload},
	}[step.Do]
	return [][]byte{JSON(line)}
}

// JSON is v on one line. It panics when v cannot be written.
func JSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic("agenttest: " + err.Error())
	}
	return raw
}

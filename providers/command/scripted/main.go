package scripted

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"arbiter/amp"
)

// Main runs one agent of the demo for one turn: --role coordinator, executor or reviewer, and --pace, a duration that every step
// takes at least. It returns the exit code: 0 after a final answer, 1 when the turn failed, 2 for wrong arguments or input.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("demo-agent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	role := flags.String("role", "", "coordinator, executor or reviewer")
	pace := flags.Duration("pace", 0, "how long every step takes at least")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	a, err := newAgent(stdin, stdout, *pace)
	if err != nil {
		fmt.Fprintln(stderr, "demo-agent:", err)
		return 2
	}
	if flags.NArg() > 0 || a.in.Turn.Role != amp.Role(*role) {
		fmt.Fprintf(stderr, "demo-agent: started as %q for a turn of the %q\n", *role, a.in.Turn.Role)
		return 2
	}
	switch a.in.Turn.Role {
	case amp.Coordinator:
		err = a.plan()
	case amp.Executor:
		err = a.execute()
	case amp.Reviewer:
		err = a.review()
	default:
		fmt.Fprintf(stderr, "demo-agent: there is no agent for the role %q\n", *role)
		return 2
	}
	if err = errors.Join(err, a.writeErr); err != nil {
		fmt.Fprintln(stderr, "demo-agent:", err)
		return 1
	}
	return 0
}

// turn is what stands on standard input.
type turn struct {
	Protocol string `json:"protocol"`
	Turn     struct {
		ID        string     `json:"id"`
		TaskID    amp.TaskID `json:"task_id"`
		Role      amp.Role   `json:"role"`
		SubtaskID string     `json:"subtask_id"`
	} `json:"turn"`
	Message json.RawMessage   `json:"message"`
	Context []json.RawMessage `json:"context"`
	Dir     string            `json:"dir"`
	Home    string            `json:"home"`
}

// agent is one turn at work.
type agent struct {
	in       turn
	out      io.Writer
	writeErr error
	pace     time.Duration
	log      []amp.WorkItem
}

func newAgent(stdin io.Reader, stdout io.Writer, pace time.Duration) (*agent, error) {
	raw, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read the turn: %w", err)
	}
	a := &agent{out: stdout, pace: pace}
	if err := json.Unmarshal(raw, &a.in); err != nil {
		return nil, fmt.Errorf("read the turn: %w", err)
	}
	if !strings.HasPrefix(a.in.Protocol, "arbiter-command/1") {
		return nil, fmt.Errorf("the turn speaks %q, this agent speaks arbiter-command/1", a.in.Protocol)
	}
	return a, nil
}

// say writes one line of output.
func (a *agent) say(v map[string]any) {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = a.out.Write(append(line, '\n'))
	}
	if a.writeErr == nil {
		a.writeErr = err
	}
}

// step tells what comes next and takes its time.
func (a *agent) step(format string, args ...any) {
	a.say(map[string]any{"event": "progress", "text": fmt.Sprintf(format, args...)})
	time.Sleep(a.pace)
}

// note tells what came and puts it into the work log.
func (a *agent) note(action, file, detail string) {
	a.log = append(a.log, amp.WorkItem{Timestamp: amp.FormatTime(time.Now()), Action: action, File: file, Detail: detail})
	a.step("%s %s: %s", action, file, detail)
}

// ack takes the message on.
func (a *agent) ack(criteria []string) {
	v := map[string]any{"event": "ack", "status": amp.AckAccepted}
	if criteria != nil {
		v["echoed_acceptance_criteria"] = criteria
	}
	a.say(v)
}

// refuse does not take the message on; the turn ends with it.
func (a *agent) refuse(format string, args ...any) error {
	a.say(map[string]any{"event": "ack", "status": amp.AckRefused, "reason": fmt.Sprintf(format, args...)})
	return nil
}

// final gives the answer.
func (a *agent) final(payload any) {
	time.Sleep(a.pace)
	a.say(map[string]any{"event": "final", "payload": payload})
}

// message is the part of an AMP message that the agents read.
type message struct {
	MsgID   string          `json:"msg_id"`
	Type    amp.MessageType `json:"type"`
	Payload json.RawMessage `json:"payload"`
}

// messages are those of a type in the context, oldest first.
func (a *agent) messages(typ amp.MessageType) []message {
	var found []message
	for _, raw := range a.in.Context {
		var m message
		if json.Unmarshal(raw, &m) == nil && m.Type == typ {
			found = append(found, m)
		}
	}
	return found
}

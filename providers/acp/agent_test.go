package acp

import (
	"bufio"
	"encoding/json"
	"io"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/program"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) }, &dialect{})
}

// adapter is a program without a preset, as the suite drives it.
var adapter = &agenttest.Adapter{
	Dialect: "acp", New: func(c program.Config) (providers.Agent, error) { return New(Config{Config: c}) },
	Lacks: map[agenttest.Action]string{
		agenttest.RefuseMessage: "ACP has no form to refuse a message: the adapter accepts it when it is handed over",
		agenttest.Escalate:      "ACP has no form for an escalation: a failed answer or a question says it",
		agenttest.IgnoreStdin:   "ACP says nothing before it has read its prompt",
	},
}

// TestConformance: a program that speaks ACP and plays the script of each case.
func TestConformance(t *testing.T) {
	t.Parallel()
	adapter.Conform(t)
}

// fields is a JSON object.
type fields = map[string]any

// dialect is a program that speaks ACP.
type dialect struct {
	session string
	prompt  json.RawMessage // the number of the prompt
	calls   int
	tokens  int
}

func (*dialect) Name() string { return "acp" }

// Greet answers what comes before the prompt.
func (d *dialect) Greet(s agenttest.Script, in *bufio.Reader, out io.Writer) (func() (int, error), error) {
	d.session = "session-1"
	for _, step := range s.Steps {
		if step.Do == agenttest.NameSession {
			d.session = step.Text
		}
	}
	results := map[string]fields{
		"initialize":  {"protocolVersion": 1, "agentCapabilities": fields{"loadSession": true}},
		"session/new": {"sessionId": d.session},
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var call struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(line, &call); err != nil {
			return nil, err
		}
		if result, ok := results[call.Method]; ok {
			out.Write(append(agenttest.JSON(fields{"jsonrpc": "2.0", "id": call.ID, "result": result}), '\n'))
		}
		if call.Method == "session/prompt" {
			d.prompt = call.ID
			return func() (int, error) { return len(line), nil }, nil
		}
	}
}

func (d *dialect) update(update fields) []byte {
	return agenttest.JSON(fields{"jsonrpc": "2.0", "method": "session/update", "params": fields{"sessionId": d.session, "update": update}})
}

// Lines are updates; the answer comes in pieces, and the reply to the prompt behind it.
func (d *dialect) Lines(step agenttest.Step) [][]byte {
	switch step.Do {
	case agenttest.Say:
		d.calls++
		return [][]byte{d.update(fields{"sessionUpdate": "tool_call", "toolCallId": strconv.Itoa(d.calls), "title": step.Text, "kind": "other", "status": "completed"})}
	case agenttest.Use:
		d.tokens += step.N
		return nil
	case agenttest.Answer:
		text := string(agenttest.JSON(fields{"thought": "t", "status": "success", "data": step.Payload, "message": "m"}))
		piece := func(text string) []byte {
			return d.update(fields{"sessionUpdate": "agent_message_chunk", "content": fields{"type": "text", "text": text}})
		}
		end := fields{"stopReason": "end_turn", "usage": fields{"inputTokens": d.tokens, "outputTokens": 0, "totalTokens": d.tokens}}
		return [][]byte{piece(text[:10]), piece(text[10:]), agenttest.JSON(fields{"jsonrpc": "2.0", "id": d.prompt, "result": end})}
	default:
		return nil
	}
}

package gemini

import (
	"bufio"
	"context"
	"io"
	"strconv"
	"testing"

	"go.uber.org/goleak"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/program"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) }, &dialect{})
}

// reviews turns the suite's executors into reviewers: gemini runs none of the others without anybody to ask.
type reviews struct{ *Agent }

func (a reviews) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	if turn.Role == amp.Executor {
		turn.Role = amp.Reviewer
	}
	return a.Agent.Run(ctx, turn, emit)
}

// adapter is gemini, as the suite drives it.
var adapter = &agenttest.Adapter{
	Dialect: "gemini",
	New: func(c program.Config) (providers.Agent, error) {
		a, err := New(Config{c})
		return reviews{a}, err
	},
	Lacks: map[agenttest.Action]string{
		agenttest.RefuseMessage: "gemini has no form to refuse a message: the adapter accepts it when gemini begins",
		agenttest.Escalate:      "gemini has no form for an escalation: a failed answer or a question says it",
	},
}

// TestConformance: a program that speaks gemini's protocol and plays the script of each case.
func TestConformance(t *testing.T) {
	t.Parallel()
	adapter.Conform(t)
}

// fields is a JSON object.
type fields = map[string]any

// dialect is gemini's stream-json.
type dialect struct{ calls, tokens int }

func (*dialect) Name() string { return "gemini" }

func (*dialect) Greet(s agenttest.Script, in *bufio.Reader, out io.Writer) (func() (int, error), error) {
	session := "session-1"
	for _, step := range s.Steps {
		if step.Do == agenttest.NameSession {
			session = step.Text
		}
	}
	out.Write(append(agenttest.JSON(fields{"type": "init", "session_id": session, "model": "m"}), '\n'))
	return func() (int, error) {
		all, err := io.ReadAll(in)
		return len(all), err
	}, nil
}

// Lines are events; tokens come with the last one.
func (d *dialect) Lines(step agenttest.Step) [][]byte {
	switch step.Do {
	case agenttest.Say:
		d.calls++
		return [][]byte{agenttest.JSON(fields{"type": "tool_use", "tool_name": step.Text, "tool_id": strconv.Itoa(d.calls), "parameters": fields{}})}
	case agenttest.Use:
		d.tokens += step.N
		return nil
	case agenttest.Answer:
		text := string(agenttest.JSON(fields{"thought": "t", "status": "success", "data": step.Payload, "message": "m"}))
		piece := func(text string) []byte {
			return agenttest.JSON(fields{"type": "message", "role": "assistant", "content": text, "delta": true})
		}
		end := fields{"type": "result", "status": "success", "stats": fields{"input_tokens": d.tokens, "output_tokens": 0}}
		return [][]byte{piece(text[:10]), piece(text[10:]), agenttest.JSON(end)}
	default:
		return nil
	}
}

// TestRun_executor: who is to change files is told where that works.
func TestRun_executor(t *testing.T) {
	t.Parallel()
	_, err := adapter.Fake(t, agenttest.Script{}, "").(reviews).Agent.Run(t.Context(), providers.Turn{ID: "t-1", Role: amp.Executor}, func(providers.Event) { t.Error("it began") })
	if agenttest.ClassOf(err) != providers.FailConfig {
		t.Errorf("Run = %v", err)
	}
}

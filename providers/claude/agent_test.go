package claude

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/program"
)

func TestMain(m *testing.M) {
	agenttest.Main(m, func(m *testing.M) { goleak.VerifyTestMain(m) }, &dialect{})
}

// adapter is claude, as the suite drives it.
var adapter = &agenttest.Adapter{
	Dialect: "claude", New: func(c program.Config) (providers.Agent, error) { return New(Config{c}) },
	Lacks: map[agenttest.Action]string{
		agenttest.RefuseMessage: "claude has no form to refuse a message: the adapter accepts it when claude begins",
		agenttest.Escalate:      "claude has no form for an escalation: a failed answer or a question says it",
		agenttest.IgnoreStdin:   "claude says nothing before it has read its prompt",
	},
}

// TestConformance: a program that speaks claude's protocol and plays the script of each case.
func TestConformance(t *testing.T) {
	t.Parallel()
	adapter.Conform(t)
}

// fields is a JSON object.
type fields = map[string]any

// dialect is claude's protocol.
type dialect struct{ tokens int }

func (*dialect) Name() string { return "claude" }

// Greet answers the first request and takes the prompt.
func (d *dialect) Greet(s agenttest.Script, in *bufio.Reader, out io.Writer) (func() (int, error), error) {
	session := "session-1"
	for _, step := range s.Steps {
		if step.Do == agenttest.NameSession {
			session = step.Text
		}
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return nil, err
		}
		var m struct {
			Type string `json:"type"`
			ID   string `json:"request_id"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		answer := fields{"type": "control_response", "response": fields{"subtype": "success", "request_id": m.ID, "response": fields{}}}
		if m.Type == "user" {
			answer = fields{"type": "system", "subtype": "init", "session_id": session, "model": "m"}
		}
		out.Write(append(agenttest.JSON(answer), '\n'))
		if m.Type == "user" {
			return func() (int, error) { return len(line), nil }, nil
		}
	}
}

// Lines are events; tokens and cost come with the result.
func (d *dialect) Lines(step agenttest.Step) [][]byte {
	switch step.Do {
	case agenttest.Say:
		text := []fields{{"type": "text", "text": step.Text}}
		return [][]byte{agenttest.JSON(fields{"type": "assistant", "message": fields{"content": text}})}
	case agenttest.Use:
		d.tokens += step.N
		return nil
	case agenttest.Answer:
		return [][]byte{agenttest.JSON(fields{
			"type": "result", "subtype": "success", "is_error": false, "result": "",
			"structured_output": fields{"thought": "t", "status": "success", "data": step.Payload, "message": "m"},
			"usage":             fields{"input_tokens": d.tokens}, "total_cost_usd": float64(d.tokens) / 100,
		})}
	default:
		return nil
	}
}

func TestSessionOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"01a20184-c0da-7030-8f2d-54668f3f78e7":         "01a20184-c0da-7030-8f2d-54668f3f78e7",
		"01a20184-c0da-7030-8f2d-54668f3f78e7+1.2.3.4": "", "--dangerously-skip-permissions": "", "": "",
	} {
		if got := sessionOf(in); got != want {
			t.Errorf("sessionOf(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestSpec: what a reader is started with holds no tool that writes, and what is long goes another way than an argument.
func TestSpec(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxArgument)
	r := &run{agent: adapter.Fake(t, agenttest.Script{}, "").(*Agent), turn: &providers.Turn{Role: "reviewer"}, prompt: providers.Prompt{System: long, Text: "do", Schema: []byte(long)}}
	args := strings.Join(r.spec("http://u").Argv, " ")
	if !strings.Contains(args, "--permission-mode dontAsk --tools Read,Grep,Glob") || strings.Contains(args, "xxx") || len(args) > 1000 {
		t.Errorf("args of a reviewer: %.300s", args)
	}
	if r.words() != long+"\n\ndo" {
		t.Errorf("the prompt lacks the long instruction: %.100s", r.words())
	}
	r.turn.Role, r.prompt = "executor", providers.Prompt{System: "be good", Text: "do", Schema: []byte(`{"a":1}`)}
	args = strings.Join(r.spec("http://u").Argv, " ")
	if !strings.Contains(args, "--permission-mode acceptEdits") || !strings.Contains(args, `--json-schema {"a":1} --append-system-prompt be good`) ||
		strings.Contains(args, "--tools") || r.words() != "do" {
		t.Errorf("args of an executor: %s", args)
	}
}

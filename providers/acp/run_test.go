package acp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// play runs a fake program that writes these lines behind its prompt, which has number 5, in session-1.
func play(t *testing.T, change func(*Agent, *providers.Turn), lines ...string) (providers.Outcome, []string, error) {
	t.Helper()
	script := agenttest.Script{Dialect: "acp", Steps: []agenttest.Step{{Do: agenttest.WriteOut, Raw: []byte(strings.Join(lines, "\n") + "\n")}, {Do: agenttest.Pause, N: 500}}}
	a := adapter.Fake(t, script, "").(*Agent)
	dir := t.TempDir()
	turn := providers.Turn{
		ID: "run-" + rand.Text(), Task: "T-2026-001", Role: amp.Executor, Dir: dir, Home: filepath.Join(dir, "home"),
		Message: json.RawMessage(`{"type":"task_dispatch","payload":{}}`), Subtask: "T-2026-001-S1",
	}
	if change != nil {
		change(a, &turn)
	}
	var said []string
	out, err := a.Run(t.Context(), turn, func(e providers.Event) {
		if e.Type == providers.EventProgress && e.Session == "" {
			said = append(said, e.Text)
		}
	})
	return out, said, err
}

func ends(reason string) string {
	return `{"jsonrpc":"2.0","id":5,"result":{"stopReason":"` + reason + `"}}`
}

func note(update string) string {
	return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"session-1","update":` + update + `}}`
}

func TestRun_ends(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		line  string
		fails providers.Failure
		words string
	}{
		"max tokens":    {ends("max_tokens"), providers.FailModel, "limit of tokens"},
		"max requests":  {ends("max_turn_requests"), providers.FailQuota, "requests"},
		"refusal":       {ends("refusal"), providers.FailModel, "refused"},
		"cancelled":     {ends("cancelled"), providers.FailCrashed, "cancelled"},
		"new reason":    {ends("bored"), providers.FailModel, "bored"},
		"no answer":     {ends("end_turn"), providers.FailAnswer, "without an answer"},
		"no key":        {`{"id":5,"error":{"code":-32000,"message":"Authentication required"}}`, providers.FailAuth, "Authentication required"},
		"limit":         {`{"id":5,"error":{"code":429,"message":"slow down, try again in 7 s"}}`, providers.FailRate, "slow down"},
		"internal":      {`{"id":5,"error":{"code":-32603,"message":"Internal error","data":{"details":"credit balance is too low"}}}`, providers.FailQuota, "credit"},
		"another reply": {`{"id":6,"result":{"stopReason":"end_turn"}}`, providers.FailOutput, "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := play(t, nil, tc.line)
			failed, ok := errors.AsType[*providers.TurnError](err)
			if !ok || failed.Failure != tc.fails || !strings.Contains(failed.Text, tc.words) {
				t.Errorf("Run = %v, want %s with %q", err, tc.fails, tc.words)
			}
		})
	}
}

// TestRun_shows: each call once, what the model says beside its answer, and nothing of other sessions.
func TestRun_shows(t *testing.T) {
	t.Parallel()
	out, said, err := play(t, nil,
		note(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I look "}}`),
		note(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"first."}}`),
		note(`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}`),
		note(`{"sessionUpdate":"tool_call","toolCallId":"a","title":"read","kind":"read","status":"pending"}`),
		note(`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"in_progress","locations":[{"path":"/x/y.go"}]}`),
		note(`{"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed"}`),
		note(`{"sessionUpdate":"tool_call","toolCallId":"b","title":"sh","kind":"execute","status":"in_progress","rawInput":{"command":["sh","-c","make 'it'"]}}`),
		note(`{"sessionUpdate":"tool_call_update","toolCallId":"b","status":"failed"}`),
		strings.Replace(note(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"not ours"}}`), "session-1", "session-2", 1),
		note(`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"x"}}`),
		note(`{"sessionUpdate":"usage_update","used":1,"cost":{"amount":0.25,"currency":"USD"}}`),
		note(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"thought\":\"t\",\"status\":\"success\",\"data\":{\"a\":1},\"message\":\"m\"}"}}`),
		ends("end_turn"))
	want := []string{"I look first.", "reads /x/y.go", `runs sh -c 'make '\''it'\'''`, `failed: runs sh -c 'make '\''it'\'''`}
	if err != nil || strings.Join(said, "|") != strings.Join(want, "|") || string(out.Final) != `{"a":1}` || out.CostUSD != 0.25 {
		t.Errorf("Run = %+v, %v\nsaid %q\nwant %q", out, err, said, want)
	}
}

// TestRun_asks: a request is filled from its call; one that cannot be allowed once is denied, and what was not offered is refused.
func TestRun_asks(t *testing.T) {
	t.Parallel()
	var asked []providers.Permission
	ask := `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"session-1","toolCall":{"toolCallId":"a","title":"run it"},` +
		`"options":[{"optionId":"x","kind":"allow_always"},{"optionId":"y","kind":"KIND"},{"optionId":"n","kind":"reject_once"}]}}`
	_, said, err := play(t, func(_ *Agent, turn *providers.Turn) {
		turn.Ask = func(_ context.Context, p providers.Permission) providers.Decision {
			asked = append(asked, p)
			return providers.Decision{Allow: true}
		}
	},
		note(`{"sessionUpdate":"tool_call","toolCallId":"a","title":"sh","kind":"execute","status":"pending","rawInput":{"command":"make it"}}`),
		strings.Replace(ask, "KIND", "allow_once", 1),
		strings.Replace(strings.Replace(ask, "KIND", "allow_always", 1), `"id":7`, `"id":8`, 1),
		`{"jsonrpc":"2.0","id":9,"method":"terminal/create","params":{}}`,
		note(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"thought\":\"t\",\"status\":\"success\",\"data\":{\"a\":1},\"message\":\"m\"}"}}`))
	if len(asked) != 1 || asked[0].Type != providers.PermitRun || asked[0].Command != "make it" || asked[0].Dir == "" || !strings.Contains(asked[0].Request, "allow_always") {
		t.Errorf("asked %+v", asked)
	}
	if len(said) != 1 || said[0] != "was not allowed to run make it" {
		t.Errorf("said %q", said)
	}
	if failed, ok := errors.AsType[*providers.TurnError](err); !ok || failed.Failure != providers.FailCrashed {
		t.Errorf("Run = %v, want a crash: the turn had no end", err)
	}
}

// TestRun_reads: who reviews is not put before the admin.
func TestRun_reads(t *testing.T) {
	t.Parallel()
	_, said, _ := play(t, func(_ *Agent, turn *providers.Turn) {
		turn.Role = amp.Reviewer
		turn.Ask = func(context.Context, providers.Permission) providers.Decision {
			t.Error("a reviewer asked")
			return providers.Decision{Allow: true}
		}
	}, `{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"session-1","toolCall":{"toolCallId":"a","title":"f.go","kind":"edit",`+
		`"locations":[{"path":"f.go"}]},"options":[{"optionId":"y","kind":"allow_once"},{"optionId":"n","kind":"reject_once"}]}}`, ends("end_turn"))
	if len(said) != 1 || said[0] != "was not allowed to write f.go" {
		t.Errorf("said %q", said)
	}
}

// TestRun_mode: a program that would ask nobody is not prompted.
func TestRun_mode(t *testing.T) {
	t.Parallel()
	_, _, err := play(t, func(a *Agent, turn *providers.Turn) {
		a.preset.mode = "default"
		turn.Limits.Silence = 1
	}, ends("end_turn"))
	if failed, ok := errors.AsType[*providers.TurnError](err); !ok || failed.Failure != providers.FailSilent {
		t.Errorf("Run = %v: it was prompted before it was in its mode", err)
	}
}

func TestPresets(t *testing.T) {
	t.Parallel()
	for _, name := range Programs() {
		set := presets[name].settle(&setting{model: "the-model", url: "http://127.0.0.1:1/v1", home: "/home/t", writes: true})
		var all strings.Builder
		all.WriteString(strings.Join(append(set.env, set.args...), "\n"))
		for _, text := range set.files {
			all.WriteString(string(text))
		}
		for _, want := range []string{"the-model", "http://127.0.0.1:1/v1", "kept-by-arbiter"} {
			if !strings.Contains(all.String(), want) {
				t.Errorf("%s is not told %q:\n%s", name, want, all.String())
			}
		}
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config Config
		want   string
	}{
		"nothing":      {Config{}, "give the command line"},
		"unknown":      {Config{Preset: "vim"}, `"vim" is none of`},
		"arguments":    {Config{Preset: "gemini", Args: []string{"-x"}}, "arguments of gemini are known"},
		"no model":     {Config{Preset: "opencode"}, "must be told which"},
		"no address":   {Config{Preset: "gemini"}, "address of the model"},
		"its own":      {own("/bin/true"), ""},
		"relative":     {own("./x"), "neither an absolute path"},
		"its own name": {own("goose"), ""},
	} {
		_, err := New(tc.config)
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: New = %v, want %q", name, err, tc.want)
		}
	}
}

func own(program string) Config {
	c := Config{Args: []string{"acp"}}
	c.Program = program
	return c
}

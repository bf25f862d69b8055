package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/modeltest"
	"arbiter/providers/sandbox"
)

// realVar names the folder whose .bin holds the real programs.
const realVar = "ARBITER_REAL_AGENTS"

// bench is a real codex with a scripted model.
type bench struct {
	agent *Agent
	model *modeltest.Server
	turn  providers.Turn
	log   bytes.Buffer

	mu     sync.Mutex
	events []providers.Event
}

// realProgram is the path of the real codex; without one the test is skipped.
func realProgram(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(realVar)
	if dir == "" {
		t.Skip(realVar + " is not set: the real codex was not run")
	}
	path, err := exec.LookPath(filepath.Join(dir, ".bin", "codex"))
	if err != nil {
		t.Fatalf("the real codex is absent: %v; run make agents-test", err)
	}
	return path
}

func newBench(t *testing.T, mode Mode, steps func(work string) []modeltest.Step) *bench {
	t.Helper()
	path := realProgram(t)
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	b := &bench{model: modeltest.Start(t, modeltest.Script{Steps: steps(work)})}
	agent, err := New(Config{Program: path, Mode: mode, Model: "scripted", Leash: sandbox.Leash{Model: sandbox.Model{URL: b.model.URL() + "/v1"}}, Env: map[string]string{"NO_PROXY": "127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	b.agent = agent
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", work).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.turn = providers.Turn{
		ID: "real-" + filepath.Base(filepath.Dir(dir)) + "-" + filepath.Base(dir), Task: "T-2026-001", Role: amp.Executor, Epoch: 1, Dir: work, Home: filepath.Join(dir, "home"),
		Message: json.RawMessage(`{"protocol_version":"AMP/1.0","type":"task_dispatch","payload":{"description":"make made.txt","acceptance_criteria":["it is there"]}}`),
		Subtask: "T-2026-001-S1", Log: &b.log,
		Limits: providers.Limits{Silence: time.Minute, Total: 2 * time.Minute, Grace: 5 * time.Second},
	}
	return b
}

func (b *bench) run(t *testing.T) (providers.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := b.agent.Run(ctx, b.turn, func(e providers.Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.events = append(b.events, e)
	})
	for _, e := range b.events {
		t.Logf("%s %s %v", e.Type, e.Text, e.Ack)
	}
	t.Logf("outcome %+v, %v", out, err)
	t.Logf("log\n%s", b.log.String())
	return out, err
}

// said reports whether a line of progress holds the text.
func (b *bench) said(text string) bool {
	for _, e := range b.events {
		if strings.Contains(e.Text, text) {
			return true
		}
	}
	return false
}

// sacpAnswer is what a model that was asked well answers with.
const sacpAnswer = `{"thought":"t","status":"success","data":{"subtask_id":"T-2026-001-S1"},"message":"done"}`

func failureOf(err error) providers.Failure {
	if failed, ok := errors.AsType[*providers.TurnError](err); ok {
		return failed.Failure
	}
	return ""
}

// files are steps that end with a good answer.
func answering(steps ...modeltest.Step) func(string) []modeltest.Step {
	return func(string) []modeltest.Step { return append(steps, modeltest.Say(sacpAnswer)) }
}

// TestReal_works: a file is changed, the answer is read, tokens are counted, nothing is left, in both modes.
func TestReal_works(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{ModeServer, ModeExec} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mode, func(work string) []modeltest.Step {
				return []modeltest.Step{modeltest.WriteFile(filepath.Join(work, "made.txt"), "made\n"), modeltest.Say(sacpAnswer)}
			})
			out, err := b.run(t)
			if err != nil || string(out.Final) != `{"subtask_id":"T-2026-001-S1"}` {
				t.Fatalf("Run = %s, %v", out.Final, err)
			}
			made, err := os.ReadFile(filepath.Join(b.turn.Dir, "made.txt"))
			if err != nil || string(made) != "made\n" {
				t.Errorf("made.txt = %q, %v", made, err)
			}
			if out.Input != 400 || out.Cached != 40 || out.Output != 80 || out.Tokens != 480 || out.Model != "scripted" || *out.Exit != 0 {
				t.Errorf("outcome = %+v, exit %d", out, *out.Exit)
			}
			first := b.model.Requests()[0]
			if !bytes.Contains(first.Body, []byte("You are the executor")) || !bytes.Contains(first.Body, []byte("json_schema")) {
				t.Errorf("the request has no instruction or no schema: %.2000s", first.Body)
			}
			b.resumes(t, out)
		})
	}
}

// resumes runs a second turn on the session of the first: the model is given its history, and usage is of the turn alone.
func (b *bench) resumes(t *testing.T, first providers.Outcome) {
	t.Helper()
	b.turn.ID += "-again"
	b.turn.Session = first.Session
	before := len(b.model.Requests())
	out, err := b.run(t)
	if err == nil || failureOf(err) != providers.FailAnswer { // the script is over: the model says so in prose
		t.Errorf("second turn = %+v, %v", out, err)
	}
	requests := b.model.Requests()
	if len(requests) <= before || requests[len(requests)-1].Step < 2 {
		t.Fatalf("the second turn began the conversation anew: %d requests", len(requests))
	}
	failed, _ := errors.AsType[*providers.TurnError](err)
	if got := failed.Usage; got.Input != 200 || got.Output != 40 {
		t.Errorf("usage of the second turn = %+v, want that of one request", got)
	}
}

func TestReal_lostSession(t *testing.T) {
	t.Parallel()
	for _, mode := range []Mode{ModeServer, ModeExec} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mode, answering())
			b.turn.Session = "01a20184-c0da-7030-8f2d-54668f3f78e7"
			out, err := b.run(t)
			if err != nil || !b.said("is not known any more") || out.Session == b.turn.Session || out.Session == "" {
				t.Errorf("Run = %+v, %v", out, err)
			}
		})
	}
}

// TestReal_asks: a command beyond codex's own sandbox asks; the answer holds once, and the reason of a no reaches the model.
func TestReal_asks(t *testing.T) {
	t.Parallel()
	for name, decision := range map[string]providers.Decision{"allow": {Allow: true}, "deny": {Reason: "not on a Sunday"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outside := filepath.Join(t.TempDir(), "outside.txt")
			b := newBench(t, ModeServer, answering(
				modeltest.UseTool("exec_command", map[string]any{"cmd": "echo hi > " + outside, "sandbox_permissions": "require_escalated", "justification": "because"}),
			))
			var asked []providers.Permission
			b.turn.Ask = func(_ context.Context, p providers.Permission) providers.Decision {
				asked = append(asked, p)
				return decision
			}
			if _, err := b.run(t); err != nil {
				t.Errorf("Run = %v", err)
			}
			if len(asked) != 1 || asked[0].Type != providers.PermitRun || !strings.Contains(asked[0].Command, outside) || asked[0].Reason != "because" || asked[0].Dir == "" {
				t.Errorf("asked %+v", asked)
			}
			if _, err := os.Stat(outside); (err == nil) != decision.Allow {
				t.Errorf("outside.txt: %v, want it to be there: %v", err, decision.Allow)
			}
			requests := b.model.Requests()
			if told := bytes.Contains(requests[len(requests)-1].Body, []byte("not on a Sunday")); told == decision.Allow {
				t.Errorf("the model was told the reason: %v", told)
			}
		})
	}
}

// TestReal_readsOnly: who reviews cannot write, and nobody is asked.
func TestReal_readsOnly(t *testing.T) {
	t.Parallel()
	b := newBench(t, ModeServer, func(work string) []modeltest.Step {
		return []modeltest.Step{modeltest.WriteFile(filepath.Join(work, "made.txt"), "made\n"), modeltest.Say(sacpAnswer)}
	})
	b.turn.Role = amp.Reviewer
	b.turn.Ask = func(context.Context, providers.Permission) providers.Decision {
		t.Error("a reviewer asked")
		return providers.Decision{Allow: true}
	}
	if _, err := b.run(t); err != nil {
		t.Errorf("Run = %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.turn.Dir, "made.txt")); err == nil {
		t.Error("a reviewer wrote a file")
	}
}

func TestReal_troubles(t *testing.T) {
	t.Parallel()
	quota := modeltest.Step{Status: 429, Body: `{"error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}`}
	for name, tc := range map[string]struct {
		step  modeltest.Step
		fails providers.Failure
	}{
		"401":        {modeltest.Fail(0, 401), providers.FailAuth},
		"429":        {modeltest.Fail(0, 429, "retry-after", "1"), providers.FailRate},
		"quota":      {quota, providers.FailQuota},
		"503":        {modeltest.Fail(0, 503), providers.FailOverloaded},
		"500 once":   {modeltest.Fail(1, 500), ""},
		"400":        {modeltest.Fail(0, 400), providers.FailModel},
		"cut":        {modeltest.Cut(0, sacpAnswer), providers.FailTransport},
		"cut once":   {modeltest.Cut(1, sacpAnswer), ""},
		"prose":      {modeltest.Say("I have done it."), providers.FailAnswer},
		"bad schema": {modeltest.Step{Status: 400, Times: 1, Body: `{"error":{"message":"Invalid schema for response_format 'codex_output_schema'","type":"invalid_request_error","code":"invalid_json_schema"}}`}, ""},
	} {
		for _, mode := range []Mode{ModeServer, ModeExec} {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, mode, answering(tc.step))
				if _, err := b.run(t); failureOf(err) != tc.fails || (err == nil) != (tc.fails == "") {
					t.Errorf("Run = %v, want class %q", err, tc.fails)
				}
			})
		}
	}
}

// TestReal_hangs: codex has no clock of its own; ours end it, and nothing is left.
func TestReal_hangs(t *testing.T) {
	t.Parallel()
	b := newBench(t, ModeServer, answering(modeltest.Hang()))
	b.turn.Limits.Silence = 5 * time.Second
	if _, err := b.run(t); failureOf(err) != providers.FailSilent {
		t.Errorf("Run = %v", err)
	}
}

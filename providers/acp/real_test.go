package acp

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
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// realVar names the folder whose .bin holds the real programs.
const realVar = "ARBITER_REAL_AGENTS"

// reals are the real programs that are run, and where their model's address ends.
var reals = map[string]string{"opencode": "/v1", "gemini": ""}

// bench is a real program with a scripted model.
type bench struct {
	agent *Agent
	model *modeltest.Server
	turn  providers.Turn
	log   bytes.Buffer

	mu     sync.Mutex
	events []providers.Event
}

// realProgram is the path of a real program; without the folder the test is skipped.
func realProgram(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv(realVar)
	if dir == "" {
		t.Skip(realVar + " is not set: the real programs were not run")
	}
	if name == "opencode" { // without its launcher in JavaScript
		if path, err := exec.LookPath(filepath.Join(dir, "opencode-linux-x64", "bin", "opencode")); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(filepath.Join(dir, ".bin", name))
	if err != nil {
		t.Fatalf("the real program is absent: %v; run make agents-test", err)
	}
	return path
}

func newBench(t *testing.T, name string, steps func(work string) []modeltest.Step) *bench {
	t.Helper()
	path := realProgram(t, name)
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	b := &bench{model: modeltest.Start(t, modeltest.Script{Steps: steps(work)})}
	agent, err := New(Config{Preset: name, Config: program.Config{
		Program: path, Model: "scripted", Leash: sandbox.Leash{Model: sandbox.Model{
			URL: b.model.URL() + reals[name], Key: func() (string, error) { return "the-real-key", nil },
		}},
	}})
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
		Limits: providers.Limits{Silence: time.Minute, Total: 3 * time.Minute, Grace: 5 * time.Second},
		Ask:    func(context.Context, providers.Permission) providers.Decision { return providers.Decision{Allow: true} },
	}
	return b
}

func (b *bench) run(t *testing.T) (providers.Outcome, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
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

// answering are steps that end with a good answer.
func answering(steps ...modeltest.Step) func(string) []modeltest.Step {
	return func(string) []modeltest.Step { return append(steps, modeltest.Say(sacpAnswer)) }
}

// each runs a test with each real program.
func each(t *testing.T, run func(t *testing.T, name string)) {
	t.Helper()
	for name := range reals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, name)
		})
	}
}

// TestReal_works: a file is changed after it was asked for, the answer is read, tokens are counted, the key stays with the proxy.
func TestReal_works(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, name string) {
		b := newBench(t, name, func(work string) []modeltest.Step {
			return []modeltest.Step{modeltest.WriteFile(filepath.Join(work, "made.txt"), "made\n"), modeltest.Say(sacpAnswer)}
		})
		var asked []providers.Permission
		b.turn.Ask = func(_ context.Context, p providers.Permission) providers.Decision {
			asked = append(asked, p)
			return providers.Decision{Allow: true}
		}
		out, err := b.run(t)
		if err != nil || string(out.Final) != `{"subtask_id":"T-2026-001-S1"}` {
			t.Fatalf("Run = %s, %v", out.Final, err)
		}
		made, err := os.ReadFile(filepath.Join(b.turn.Dir, "made.txt"))
		if err != nil || string(made) != "made\n" {
			t.Errorf("made.txt = %q, %v", made, err)
		}
		if len(asked) != 1 || asked[0].Type != providers.PermitWrite || len(asked[0].Paths) != 1 || asked[0].Paths[0] != filepath.Join(b.turn.Dir, "made.txt") {
			t.Errorf("asked %+v", asked)
		}
		if out.Input < 400 || out.Cached != 40 || out.Output < 80 || out.Tokens != out.Input+out.Output || out.Model != "scripted" || *out.Exit != 0 {
			t.Errorf("outcome = %+v, exit %d", out, *out.Exit)
		}
		if first := b.model.Requests()[0]; !bytes.Contains(first.Body, []byte("You are the executor")) {
			t.Errorf("the request has no instruction: %.2000s", first.Body)
		}
		if strings.Contains(b.log.String(), "the-real-key") {
			t.Error("the key is in the log")
		}
	})
}

package agenttest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// RealVar names the folder of node_modules that holds the real programs.
const RealVar = "ARBITER_REAL_AGENTS"

// Real is a real program behind an adapter, with a scripted model.
type Real struct {
	// Program is its path below node_modules.
	Program string
	// New makes an agent. The leash names the address of the model, ending in Suffix, and Header carries its key.
	New    func(program.Config) (providers.Agent, error)
	Suffix string
	Header string
	// Ask is a call that needs a permission and writes "hi" to the file outside of the turn's folder. A nil one has no form to ask.
	Ask func(outside string) modeltest.Step
	// Answer is a step that gives the answer; nil says it.
	Answer func(text string) modeltest.Step
	// Schema occurs in a request that asks for an answer by a schema; empty when none does.
	Schema string
	// AsksAlways says that it asks before it changes a file of its folder too. Forgets says that it continues no session. CountsAll says that
	// its usage holds what it asked the model beside the conversation, such as titles.
	AsksAlways, Forgets, CountsAll bool
	// GivesUp says that a stream that is cut once ends its turn, NoReasons that the model is not told why something was denied.
	GivesUp, NoReasons bool
	// Ends are further classes of troubles, by their name: where a program tells less than others, or not each time.
	Ends map[string]providers.Failure
	// Stays says that the program does not end by itself.
	Stays bool
	// NoTools says that it gets no tools of ours.
	NoTools bool
	// Env is added to the program's environment.
	Env map[string]string
	// Record, when it is not nil, is given the raw output of the turns that are kept as transcripts.
	Record func(name string, raw []byte)

	tools func() []string // the command of the server of our tools
}

// Path is where the real program is. Without [RealVar] the test is skipped; a program that is absent all the same is an error.
func Path(t *testing.T, below string) string {
	t.Helper()
	dir := os.Getenv(RealVar)
	if dir == "" {
		t.Skip(RealVar + " is not set: the real program was not run, make agents-test does")
	}
	path, err := exec.LookPath(filepath.Join(dir, below))
	if err != nil {
		t.Fatalf("the real program is absent: %v", err)
	}
	return path
}

// Matrix runs what every real program is put through.
func Matrix(t *testing.T, r Real) {
	t.Helper()
	r.Program = Path(t, r.Program)
	r.tools = sync.OnceValue(func() []string { return arbiter(t) })
	for name, test := range map[string]func(*testing.T, *Real){
		"works and resumes": works, "lost session": lostSession, "only reads": onlyReads, "hangs": hangs, "stopped": stopped, "300 KB": bigTurn,
		"in a cage": caged, "bad schema": badSchema, "hands in": handsIn, "hands in from a cage": handsInCaged, "lost network": lostNetwork,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, &r)
		})
	}
	for name, d := range map[string]providers.Decision{"allow": {Allow: true}, "deny": {Reason: "not on a Sunday"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asks(t, &r, name, d)
		})
	}
	for name, tc := range troubles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := []modeltest.Step{tc.step, r.answer()}
			if tc.fails == providers.FailAnswer {
				steps = steps[:1]
			}
			b := r.bench(t, steps...)
			if r.GivesUp && tc.step.Cut {
				tc.fails = providers.FailTransport
			}
			_, err := b.run(t)
			if class, ok := r.Ends[name]; ok && ClassOf(err) == class {
				tc.fails = class
			}
			if ClassOf(err) != tc.fails || (err == nil) != (tc.fails == "") {
				t.Errorf("Run = %v, want class %q", err, tc.fails)
			}
			if failed, ok := errors.AsType[*providers.TurnError](err); ok && name == "429" && failed.Retry != time.Second {
				t.Errorf("it is to be tried again in %s, want 1s as the service asked", failed.Retry)
			}
			b.record(name)
		})
	}
}

// answer is a step that gives the good answer of an executor, gives one that gives another.
func (r *Real) answer() modeltest.Step { return r.gives(goodAnswer) }

func (r *Real) gives(text string) modeltest.Step {
	if r.Answer == nil {
		return modeltest.Say(text)
	}
	return r.Answer(text)
}

// goodAnswer is what a model answers that does as it is asked.
const goodAnswer = `{"thought":"t","status":"success","data":` + goodData + `,"message":"done"}`

const goodData = `{"subtask_id":"T-2026-001-S1","completion_status":"complete","diff_summary":{"files_changed":["made.txt"],"lines_added":1,` +
	`"lines_removed":0},"self_assessment":{"criteria_met":[true],"notes":["seen"]},"work_log":[]}`

// ClassOf is the class of a failed turn, "" of any other error and of none.
func ClassOf(err error) providers.Failure {
	if failed, ok := errors.AsType[*providers.TurnError](err); ok {
		return failed.Failure
	}
	return ""
}

// troubles are the steps that come before a good answer, and how the turn ends.
var troubles = map[string]struct {
	step  modeltest.Step
	fails providers.Failure
}{
	"401": {modeltest.Fail(0, 401), providers.FailAuth},
	"429": {modeltest.Fail(0, 429, "retry-after", "1"), providers.FailRate},
	"quota": {modeltest.Step{
		Status: 429, Body: `{"type":"error","error":{"type":"insufficient_quota","code":"insufficient_quota","message":"You exceeded your current quota"}}`,
	}, providers.FailQuota},
	"cut":      {modeltest.Cut(0, goodAnswer), providers.FailTransport},
	"500 once": {modeltest.Fail(1, 500), ""},
	"503":      {modeltest.Fail(0, 503), providers.FailOverloaded},
	"400":      {modeltest.Fail(0, 400), providers.FailModel},
	"cut once": {modeltest.Cut(1, goodAnswer), ""},
	"prose":    {modeltest.Say("I have done all of it, and it is good."), providers.FailAnswer},
}

// makes are the steps that make a file, and answer twice.
func (r *Real) makes(work string) []modeltest.Step {
	return []modeltest.Step{modeltest.WriteFile(filepath.Join(work, "made.txt"), "made\n"), r.answer(), r.gives(strings.Replace(goodAnswer, "done", "done again", 1))}
}

// works: a file is made, the answer is read, usage is counted; a second turn goes on where the first ended.
func works(t *testing.T, r *Real) {
	b := r.benchWith(t, sandbox.Leash{}, r.makes)
	out, err := b.run(t)
	if err != nil || !jsonEqual(out.Final, []byte(goodData)) {
		t.Fatalf("Run = %s, %v", out.Final, err)
	}
	b.record("works")
	made, err := os.ReadFile(filepath.Join(b.turn.Dir, "made.txt"))
	if err != nil || string(made) != "made\n" {
		t.Errorf("made.txt = %q, %v", made, err)
	}
	in, written := b.took(0)
	if out.Input != in || out.Output != written || out.Tokens != in+written || out.Model == "" || out.Exit == nil || *out.Exit != 0 && !r.Stays {
		t.Errorf("outcome = %+v, want %d tokens in and %d out", out, in, written)
	}
	if !b.said("made.txt") {
		t.Error("no line of progress names the file")
	}
	if first := b.conversation(0); first == nil || !bytes.Contains(first.Body, []byte("You are the executor")) {
		t.Errorf("the request has no standing instruction: %.2000s", first.Body)
	}
	before := len(b.model.Requests())
	b.turn.ID += "-again"
	b.turn.Session = out.Session
	out, err = b.run(t)
	in, _ = b.took(before)
	if err != nil || !jsonEqual(out.Final, []byte(goodData)) || out.Input != in {
		t.Errorf("second turn = %+v, %v, want %d tokens in", out, err, in)
	}
	b.record("resumed")
	if first := b.conversation(before); first == nil || first.Step < 2 && !r.Forgets {
		t.Errorf("the second turn began the conversation anew")
	}
}

// lostSession: a session that is not known begins anew, and the progress says so.
func lostSession(t *testing.T, r *Real) {
	if r.Forgets {
		t.Skip("each turn begins a session of its own")
	}
	b := r.bench(t, r.answer())
	b.turn.Session = "01a20184-c0da-7030-8f2d-54668f3f78e7"
	out, err := b.run(t)
	if err != nil || !b.said("is not known any more") || out.Session == b.turn.Session || out.Session == "" {
		t.Errorf("Run = %+v, %v", out, err)
	}
	b.record("lost session")
}

// asks: what needs a permission asks; the answer holds once, and the reason of a no reaches the model.
func asks(t *testing.T, r *Real, name string, d providers.Decision) {
	if r.Ask == nil {
		t.Skip("this way to the program has no form to ask")
	}
	outside := filepath.Join(t.TempDir(), "outside.txt")
	b := r.bench(t, r.Ask(outside), r.answer())
	var asked []providers.Permission
	b.turn.Ask = func(_ context.Context, p providers.Permission) providers.Decision {
		asked = append(asked, p)
		return d
	}
	if _, err := b.run(t); err != nil {
		t.Errorf("Run = %v", err)
	}
	if len(asked) != 1 || asked[0].Type != providers.PermitRun || !strings.Contains(asked[0].Command, outside) || asked[0].Dir == "" || asked[0].Request == "" {
		t.Errorf("asked %+v", asked)
	}
	if _, err := os.Stat(outside); (err == nil) != d.Allow {
		t.Errorf("outside.txt: %v, want it to be there: %v", err, d.Allow)
	}
	requests := b.model.Requests()
	if told := bytes.Contains(requests[len(requests)-1].Body, []byte("not on a Sunday")); told != (!d.Allow && !r.NoReasons) {
		t.Errorf("the model was told the reason: %v", told)
	}
	b.record(name)
}

// badSchema: a service that does not take the schema is asked without it, and no turn after that sends it.
func badSchema(t *testing.T, r *Real) {
	if r.Schema == "" {
		t.Skip("this way to the program has no schema of the answer")
	}
	b := &bench{real: r, turn: newTurn(t, amp.Executor)}
	refuse := modeltest.Step{
		Status: 400, Body: `{"type":"error","error":{"type":"invalid_request_error","code":"invalid_json_schema","message":"Invalid schema for the answer"}}`,
	}
	b.model = modeltest.Start(t, modeltest.Script{Match: r.Schema, Steps: []modeltest.Step{refuse}},
		modeltest.Script{Steps: []modeltest.Step{modeltest.Say(goodAnswer), modeltest.Say(goodAnswer)}})
	b.agree(t, sandbox.Leash{})
	out, err := b.run(t)
	if err != nil || !b.said("does not take the schema") {
		t.Errorf("Run = %+v, %v", out, err)
	}
	b.record("bad schema")
	b.turn.ID += "-again"
	if _, err := b.run(t); err != nil || b.said("does not take the schema") {
		t.Errorf("the second turn sent the schema again: %v", err)
	}
}

// goodVerdict is the answer of a reviewer.
const goodVerdict = `{"thought":"t","status":"success","data":{"decision":"approved","criteria_results":[{"criterion":"it works","passed":true,` +
	`"evidence":"seen"}],"confidence":0.95},"message":"done"}`

// onlyReads: who reviews cannot write, and nobody is asked.
func onlyReads(t *testing.T, r *Real) {
	b := r.benchWith(t, sandbox.Leash{}, func(work string) []modeltest.Step {
		return []modeltest.Step{modeltest.WriteFile(filepath.Join(work, "made.txt"), "made\n"), r.gives(goodVerdict)}
	})
	b.turn.Role = amp.Reviewer
	b.turn.Ask = func(context.Context, providers.Permission) providers.Decision {
		t.Error("a reviewer asked")
		return providers.Decision{Allow: true}
	}
	if out, err := b.run(t); err != nil && !bytes.Contains(out.Answer, []byte("is offered")) { // the model says so of tools that it does not have
		t.Errorf("Run = %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.turn.Dir, "made.txt")); err == nil {
		t.Error("a reviewer wrote a file")
	}
	b.record("only reads")
}

// hangs: no program has a clock that helps; ours end it.
func hangs(t *testing.T, r *Real) {
	b := r.bench(t, modeltest.Hang())
	b.turn.Limits.Silence = 6 * time.Second
	if _, err := b.run(t); ClassOf(err) != providers.FailSilent {
		t.Errorf("Run = %v", err)
	}
	b.record("hangs")
}

// stopped: a program is stopped while its tool runs; the tool's own children go with it.
func stopped(t *testing.T, r *Real) {
	b := r.benchWith(t, sandbox.Leash{}, func(work string) []modeltest.Step {
		return []modeltest.Step{modeltest.RunCommand(fmt.Sprintf("tail -f /dev/null & setsid tail -f /dev/null & echo yes > %s/runs; wait", work))}
	})
	mark := filepath.Join(b.turn.Dir, "runs")
	b.turn.Ask = func(context.Context, providers.Permission) providers.Decision { return providers.Decision{Allow: true} }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(mark); err == nil {
				cancel()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	if _, err := b.runIn(ctx, t); ClassOf(err) != providers.FailKilled {
		t.Errorf("Run = %v", err)
	}
}

// bigTurn: a prompt that no argument could hold reaches the model whole.
func bigTurn(t *testing.T, r *Real) {
	b := r.bench(t, r.answer())
	b.turn.Message = json.RawMessage(`{"type":"task_dispatch","payload":{"description":"` + strings.Repeat("long ", 62<<10) + `the end"}}`)
	if _, err := b.run(t); err != nil {
		t.Errorf("Run = %v", err)
	}
	if last := b.model.Requests()[len(b.model.Requests())-1]; !bytes.Contains(last.Body, []byte("long long the end")) || len(last.Body) < 300<<10 {
		t.Errorf("the model got %d bytes", len(last.Body))
	}
}

// caged: in a cage the program works, and the key is nowhere but in the requests.
func caged(t *testing.T, r *Real) {
	if _, err := sandbox.Bubblewrap.Works(); err != nil {
		t.Skipf("NOT TESTED, since %v", err)
	}
	const key = "the-real-key-of-the-model"
	leash := sandbox.Leash{Mode: sandbox.Bubblewrap, Model: sandbox.Model{Key: func() (string, error) { return key, nil }, Header: r.Header}}
	b := r.benchWith(t, leash, func(work string) []modeltest.Step {
		return append([]modeltest.Step{modeltest.RunCommand("env > " + filepath.Join(work, "env.txt"))}, r.makes(work)...)
	})
	b.turn.Ask = func(context.Context, providers.Permission) providers.Decision { return providers.Decision{Allow: true} }
	if _, err := b.run(t); err != nil {
		t.Errorf("Run = %v", err)
	}
	for _, req := range b.model.Requests() {
		if !strings.Contains(req.Header.Get(cmp.Or(r.Header, "Authorization")), key) {
			t.Errorf("%s %s came without the key", req.Method, req.Path)
		}
	}
	for _, name := range []string{"env.txt", "made.txt"} {
		if _, err := os.Stat(filepath.Join(b.turn.Dir, name)); err != nil {
			last := b.model.Requests()[len(b.model.Requests())-1].Body
			t.Errorf("%v; the model was told %s", err, last[max(0, bytes.LastIndex(last, []byte("call_output"))-200):])
		}
	}
	out, err := exec.CommandContext(t.Context(), "grep", "-rl", key, filepath.Dir(b.turn.Dir)).Output()
	if len(out) > 0 || strings.Contains(b.log.String(), key) {
		t.Errorf("the key is in %s, in the log: %v (%v)", out, strings.Contains(b.log.String(), key), err)
	}
}

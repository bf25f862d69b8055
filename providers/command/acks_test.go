package command

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// play runs one turn with a script and returns the acks and progress texts.
func play(t *testing.T, acks Acks, turn providers.Turn, steps ...agenttest.Step) (got []string, err error) {
	t.Helper()
	turn.ID, turn.Dir, turn.Home = "acks-"+rand.Text(), t.TempDir(), filepath.Join(t.TempDir(), "home")
	turn.Limits.Grace = time.Millisecond
	_, err = programOf(t, agenttest.Script{Steps: steps}, acks).Run(t.Context(), turn, func(e providers.Event) {
		switch e.Type {
		case providers.EventAck:
			got = append(got, "ack "+strings.Join(append([]string{string(e.Ack.Status)}, e.Ack.EchoedAcceptanceCriteria...), " "))
		case providers.EventProgress:
			got = append(got, strings.Fields(e.Text)[0])
		case providers.EventStarted, providers.EventEscalation, providers.EventChain:
		}
	})
	return got, err
}

func TestAcks_auto(t *testing.T) {
	t.Parallel()
	final := agenttest.Step{Do: agenttest.Answer, Payload: json.RawMessage(`{}`)}
	dispatch := providers.Turn{Role: amp.Executor, Message: json.RawMessage(`{"type":"task_dispatch","payload":{"acceptance_criteria":["a","b"]}}`)}
	request := providers.Turn{Role: amp.Reviewer, Message: json.RawMessage(`{"type":"review_request","payload":{}}`)}
	for name, tc := range map[string]struct {
		turn  providers.Turn
		steps []agenttest.Step
		want  []string
	}{
		"after all was read, with the criteria": {dispatch, []agenttest.Step{{Do: agenttest.ReadStdin}, final}, []string{"ack accepted a b", "stdin"}},
		"a request has no criteria":             {request, []agenttest.Step{{Do: agenttest.ReadStdin}, final}, []string{"ack accepted", "stdin"}},
		"not before it was read":                {dispatch, []agenttest.Step{{Do: agenttest.Say, Text: "works"}, final}, []string{"works"}},
		"the program's own does not count":      {dispatch, []agenttest.Step{{Do: agenttest.RefuseMessage}, {Do: agenttest.ReadStdin}, final}, []string{"ack accepted a b", "stdin"}},
		"a planning turn has none":              {providers.Turn{Role: amp.Coordinator}, []agenttest.Step{{Do: agenttest.ReadStdin}, final}, []string{"stdin"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := play(t, AcksAuto, tc.turn, tc.steps...)
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("events = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

// TestAcks_autoWhileItWorks: the ack does not wait for the program's first word.
func TestAcks_autoWhileItWorks(t *testing.T) {
	t.Parallel()
	turn := providers.Turn{
		ID: "acks-" + rand.Text(), Role: amp.Executor, Dir: t.TempDir(), Home: filepath.Join(t.TempDir(), "home"),
		Message: json.RawMessage(`{"type":"task_dispatch","payload":{}}`), Limits: providers.Limits{Grace: time.Millisecond},
	}
	a, err := New(Config{Argv: []string{"sh", "-c", "cat >/dev/null; exec sleep 1000"}, Acks: AcksAuto})
	if err != nil {
		t.Fatal(err)
	}
	acked := errors.New("acknowledged")
	ctx, cancel := newCause(t)
	_, err = a.Run(ctx, turn, func(e providers.Event) {
		if e.Type == providers.EventAck {
			cancel(acked)
		}
	})
	failed, ok := errors.AsType[*providers.TurnError](err)
	if !ok || failed.Failure != providers.FailKilled || !strings.Contains(failed.Text, acked.Error()) {
		t.Errorf("Run = %v, want it stopped by the test after the ack", err)
	}
}

func TestAcks_agent(t *testing.T) {
	t.Parallel()
	final := agenttest.Step{Do: agenttest.Answer, Payload: json.RawMessage(`{}`)}
	ack := agenttest.Step{Do: agenttest.AckMessage, Text: "a"}
	turn := providers.Turn{Role: amp.Executor, Message: json.RawMessage(`{}`)}
	for name, tc := range map[string]struct {
		steps []agenttest.Step
		want  []string
	}{
		"one":                {[]agenttest.Step{ack, final}, []string{"ack accepted a"}},
		"none":               {[]agenttest.Step{final}, nil},
		"only the first":     {[]agenttest.Step{ack, {Do: agenttest.RefuseMessage}, final}, []string{"ack accepted a", "not"}},
		"not after a final":  {[]agenttest.Step{final, ack}, []string{"not"}},
		"not for a planning": {[]agenttest.Step{ack, final}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := turn
			if name == "not for a planning" {
				turn.Message = nil
			}
			got, err := play(t, AcksAgent, turn, tc.steps...)
			if err != nil || !slices.Equal(got, tc.want) {
				t.Errorf("events = %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

// TestConclude_unproven: what the sandbox could not end is never hidden behind a good answer, nor is the turn's own failure.
func TestConclude_unproven(t *testing.T) {
	t.Parallel()
	left := &sandbox.LeftError{Turn: "t", PIDs: []int{7}}
	for name, failed := range map[string]*providers.TurnError{"good answer": nil, "failed": {Failure: providers.FailTotal, Text: "long"}} {
		r := &run{outcome: providers.Outcome{Final: json.RawMessage(`{}`)}, answered: true}
		exit := 0
		out, err := r.conclude(program.End{Exit: &exit, Failed: failed, Left: left})
		unproven, ok := errors.AsType[*providers.UnprovenError](err)
		if !ok || !slices.Equal(unproven.PIDs, left.PIDs) || out.Final != nil {
			t.Errorf("%s: conclude = %+v, %v", name, out, err)
		}
		if te, ok := errors.AsType[*providers.TurnError](err); ok != (failed != nil) || ok && te != failed {
			t.Errorf("%s: the turn's own error is %v, want %v", name, te, failed)
		}
	}
}

func TestNew_refused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config Config
		want   []string
	}{
		"no program": {Config{}, []string{"argv"}},
		"all at once": {
			Config{Argv: []string{"./x"}, Acks: "maybe", Env: map[string]string{"A=B": ""}, Limits: providers.Limits{Total: -1}},
			[]string{"relative path", "acks", "env", "limits"},
		},
	} {
		_, err := New(tc.config)
		for _, want := range tc.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: New = %v, want %q in it", name, err, want)
			}
		}
	}
	a, err := New(Config{Argv: []string{"/opt/bin/agent"}})
	if err != nil || a.Name() != "agent" {
		t.Errorf("New = %v, %v", a, err)
	}
}

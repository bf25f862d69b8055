package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// answer is a final answer; what it says is not the adapter's business.
var answer = Step{Do: Answer, Payload: json.RawMessage(`{"decision":"approved","n":12345678901234567890}`)}

var ack = Step{Do: AckMessage, Text: "it works"}

func steps(s ...Step) Script { return Script{Steps: s} }

// cases are the suite.
var cases = []trial{
	{
		name: "executor", role: amp.Executor, limits: patient,
		script: steps(ack, Step{Do: Say, Text: "one"}, Step{Do: NameSession, Text: "s-1"}, Step{Do: Use, N: 300}, Step{Do: Say, Text: "two"}, Step{Do: Use, N: 200}, answer),
		want:   []string{"ack accepted it works", "progress one", "progress two"},
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			// An adapter may add what it needs to go on.
			if !strings.HasPrefix(r.outcome.Session, "s-1") || r.outcome.Tokens != 500 || r.processes && (r.outcome.Exit == nil || *r.outcome.Exit != 0) {
				t.Errorf("outcome = %+v", r.outcome)
			}
			if r.facts.ReportsCost && r.outcome.CostUSD != 5 {
				t.Errorf("cost = %v, want 5", r.outcome.CostUSD)
			}
			if !slices.Equal(r.sessions, []string{"s-1"}) {
				t.Errorf("sessions said: %q", r.sessions)
			}
			if !jsonEqual(r.outcome.Final, answer.Payload) {
				t.Errorf("final = %s, want %s byte for byte", r.outcome.Final, answer.Payload)
			}
		},
	},
	{
		name: "reviewer", role: amp.Reviewer, limits: patient,
		script: steps(Step{Do: AckMessage}, Step{Do: Say, Text: "reads the diff"}, answer),
		want:   []string{"ack accepted", "progress reads the diff"},
	},
	{
		name: "planner", role: amp.Coordinator, limits: patient,
		script: steps(Step{Do: Say, Text: "plans"}, answer),
		want:   []string{"progress plans"},
	},
	{
		name: "works in its folder and home", role: amp.Executor, limits: patient,
		script: steps(Step{Do: ShowDir}, Step{Do: ShowEnviron}, answer),
		change: func(turn *providers.Turn) { turn.Env = []string{"FROM_TURN=yes", "GIT_TOKEN=explicit"} },
		also: func(t *testing.T, turn providers.Turn, r *recording) {
			for _, want := range []string{"dir " + turn.Dir, "env HOME=" + turn.Home, "env TERM=dumb", "env FROM_TURN=yes", "env GIT_TOKEN=explicit"} {
				if !slices.Contains(r.events, "progress "+want) {
					t.Errorf("no line %q in %q", want, r.events)
				}
			}
		},
	},
	{
		name: "secrets of the coordinator are not visible", role: amp.Executor, limits: patient,
		script: steps(Step{Do: ShowEnviron}, answer),
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			if len(r.events) < 3 {
				t.Fatalf("the program showed no environment: %q", r.events)
			}
			for _, e := range r.events {
				if strings.Contains(e, SecretVar) {
					t.Errorf("visible: %s", e)
				}
			}
		},
	},
	{
		name: "a refused message", role: amp.Executor, limits: patient,
		script: steps(Step{Do: RefuseMessage, Text: "no criteria"}), fails: providers.FailRefused,
		want: []string{"ack refused no criteria"},
	},
	{
		name: "an escalation", role: amp.Executor, limits: patient,
		script: steps(ack, Step{Do: Escalate, Payload: json.RawMessage(`{"escalation_type":"conflict"}`)}, answer),
		want:   []string{"ack accepted it works", `escalation {"escalation_type":"conflict"}`},
	},
	{
		name: "stdin ends after the prompt", role: amp.Executor, limits: patient,
		script: steps(Step{Do: ReadStdin}, answer),
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			if len(r.events) != 1 || r.events[0] == "progress stdin 0" {
				t.Errorf("events = %q, want one line with the number of bytes", r.events)
			}
		},
	},
	{
		name: "a prompt of 300 KB", role: amp.Executor, limits: patient, change: bigPrompt,
		script: steps(Step{Do: ReadStdin}, answer),
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			n, err := strconv.Atoi(strings.TrimPrefix(strings.Join(r.events, ""), "progress stdin "))
			if err != nil || n < 300<<10 {
				t.Errorf("events = %q, want all of the prompt", r.events)
			}
		},
	},
	{
		name: "a prompt of 300 KB that nobody reads", role: amp.Executor, limits: patient, change: bigPrompt,
		script: steps(Step{Do: IgnoreStdin}, Step{Do: Say, Text: "does not read"}, answer),
	},
	{
		name: "silence", role: amp.Executor, limits: with(func(l *providers.Limits) { l.Silence = 300 * time.Millisecond }),
		script: steps(Step{Do: Hang}), fails: providers.FailSilent,
	},
	{
		name: "signs of life", role: amp.Executor, limits: with(func(l *providers.Limits) { l.Silence = 2 * time.Second }),
		script: Script{Steps: append(slices.Repeat([]Step{{Do: Say, Text: "alive"}, {Do: Pause, N: 100}}, 25), answer)},
	},
	{
		name: "signs of life on standard error", role: amp.Executor, limits: with(func(l *providers.Limits) { l.Silence = 2 * time.Second }),
		script: Script{Steps: append(slices.Repeat([]Step{{Do: WriteErr, Raw: []byte(".")}, {Do: Pause, N: 100}}, 25), answer)},
	},
	{
		name: "total time", role: amp.Executor, limits: with(func(l *providers.Limits) { l.Total = 400 * time.Millisecond }),
		script: Script{Steps: slices.Repeat([]Step{{Do: Say, Text: "busy"}, {Do: Pause, N: 50}}, 300)}, fails: providers.FailTotal,
	},
	{
		name: "too much output", role: amp.Executor, limits: with(func(l *providers.Limits) { l.Output = 1 << 20 }),
		script: steps(Step{Do: Flood, N: 8 << 20}, answer), fails: providers.FailOutput,
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			if len(r.log) > 1<<20 {
				t.Errorf("the log has %d bytes, more than the limit", len(r.log))
			}
		},
	},
	{
		name: "too much output without a newline", role: amp.Executor, limits: with(func(l *providers.Limits) { l.Output = 1 << 20 }),
		script: steps(Step{Do: LongLine, N: 8 << 20}, answer), fails: providers.FailOutput,
	},
	{
		name: "a line of 8 MiB", role: amp.Executor, limits: patient,
		script: steps(Step{Do: LongLine, N: 8 << 20}, answer),
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			if len(r.events) != 1 || len(r.events[0]) > 10_000 {
				t.Errorf("%d events, want one short one", len(r.events))
			}
			if len(r.log) < 8<<20 {
				t.Errorf("the log has %d bytes, want the whole line", len(r.log))
			}
		},
	},
	{
		name: "a crash before the answer", role: amp.Executor, limits: patient,
		script: Script{Steps: []Step{ack, {Do: WriteErr, Raw: []byte("out of memory\n")}}, Exit: 3}, fails: providers.FailCrashed,
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			failed, _ := errors.AsType[*providers.TurnError](r.err)
			if !strings.Contains(failed.Tail, "out of memory") || failed.Exit == nil || *failed.Exit != 3 {
				t.Errorf("failure = %+v, want the end of standard error and the exit code", failed)
			}
			if !bytes.Contains(r.log, []byte("out of memory")) {
				t.Error("standard error is not in the log")
			}
		},
	},
	{
		name: "a crash after the answer", role: amp.Executor, limits: patient,
		script: Script{Steps: []Step{ack, answer}, Exit: 3}, fails: providers.FailCrashed,
	},
	{
		name: "an end without an answer", role: amp.Executor, limits: patient,
		script: steps(ack, Step{Do: Say, Text: "done"}), fails: providers.FailCrashed,
	},
	{
		name: "two answers", role: amp.Executor, limits: patient,
		script: steps(ack, answer, answer), fails: providers.FailOutput,
	},
	{
		name: "garbage between the lines", role: amp.Executor, limits: patient,
		script: steps(ack, Step{Do: WriteOut, Raw: []byte("warning: \xff\xfe broken\n\n[1,2]\n{\"event\":\n{\"event\":\"weather\",\"x\":1}\n\x00\x1b[31m\n")}, answer),
		also: func(t *testing.T, _ providers.Turn, r *recording) {
			for _, e := range r.events {
				if !strings.HasPrefix(e, "progress output: ") && !strings.HasPrefix(e, "ack ") || strings.ToValidUTF8(e, "") != e {
					t.Errorf("event %q", e)
				}
			}
			if len(r.events) < 3 {
				t.Errorf("events = %q, want the garbage as progress", r.events)
			}
		},
	},
	{
		name: "an answer that is cut off", role: amp.Executor, limits: patient,
		script: steps(ack, Step{Do: CutAnswer, Payload: answer.Payload}), fails: providers.FailCrashed,
	},
	{
		name: "no newline after the answer", role: amp.Executor, limits: patient,
		script: steps(ack, Step{Do: BareAnswer, Payload: answer.Payload}),
	},
	{
		name: "a program that is not there", role: amp.Executor, limits: patient,
		script: Script{Missing: true}, fails: providers.FailConfig, want: []string{},
	},
	{
		name: "stopped", role: amp.Executor, limits: hasty,
		script: steps(ack, Step{Do: Stubborn}, Step{Do: Daemon}, Step{Do: Say, Text: "stop"}, Step{Do: Hang}), fails: providers.FailKilled,
		also: twoProcesses,
	},
	{
		name: "a daemon is ended with the turn", role: amp.Executor, limits: hasty,
		script: steps(ack, Step{Do: Daemon}, answer), also: twoProcesses,
	},
	{
		name: "a daemon is ended when time is over", role: amp.Executor, limits: with(func(l *providers.Limits) { l.Total = 3 * time.Second }),
		script: steps(ack, Step{Do: Daemon}, Step{Do: Hang}), fails: providers.FailTotal, also: twoProcesses,
	},
}

// twoProcesses checks that the daemon was seen; that it has gone is checked for every case.
func twoProcesses(t *testing.T, _ providers.Turn, r *recording) {
	t.Helper()
	if len(r.daemons) != 2 {
		t.Errorf("%d processes seen, want the program and its daemon", len(r.daemons))
	}
}

// bigPrompt makes the message larger than a pipe and than an argument may be.
func bigPrompt(turn *providers.Turn) {
	turn.Message = json.RawMessage(`{"type":"task_dispatch","payload":{"description":"` + strings.Repeat("long ", 60<<10) + `"}}`)
}

// jsonEqual compares two answers; an adapter may change the space between tokens, never a number or a text.
func jsonEqual(a, b []byte) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

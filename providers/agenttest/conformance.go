package agenttest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// Run is the conformance suite of agents that run a program. agent makes an agent whose program plays the script; it may skip the
// test when its protocol has no form for a step.
func Run(t *testing.T, agent func(t *testing.T, script Script) providers.Agent) {
	t.Helper()
	t.Run("a lost turn is reaped", func(t *testing.T) {
		t.Parallel()
		reap(t, agent(t, Script{}))
	})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			turn := newTurn(t, c.role)
			turn.Limits = c.limits
			var log bytes.Buffer
			turn.Log = &log
			if c.change != nil {
				c.change(&turn)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r := &recording{turn: turn.ID, cancel: cancel, daemons: map[int]uint64{}}
			a := agent(t, c.script)
			if d, ok := a.(providers.Describer); ok {
				r.facts = d.Describe(turn.Limits)
			}
			_, r.processes = a.(providers.Reaper)
			r.mute = r.facts.Acks == "auto" && !c.script.Has(AckMessage)
			r.outcome, r.err = a.Run(ctx, turn, r.emit)
			r.log = log.Bytes()
			r.close()
			check(t, turn, &c, r)
		})
	}
}

// reap leaves a process as a coordinator that died would leave it, and lets the agent end it.
func reap(t *testing.T, agent providers.Agent) {
	t.Helper()
	reaper, ok := agent.(providers.Reaper)
	if !ok {
		t.Skip("the agent's turns are no processes of this machine")
	}
	turn := newTurn(t, amp.Executor)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	script := Script{Steps: []Step{{Do: Stubborn}, {Do: Say, Text: "ready"}, {Do: Hang}}}
	cmd.Env = append(os.Environ(), sandbox.Marker+"="+turn.ID, scriptVar+"="+script.Env()[scriptVar])
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start, err := sandbox.StartTime(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{turn.ID + "0", turn.ID} {
		if sandbox.Gone(cmd.Process.Pid, start) {
			t.Error("the process of another turn was ended")
		}
		if err := reaper.Reap(t.Context(), id); err != nil {
			t.Errorf("Reap = %v", err)
		}
	}
	if !sandbox.Gone(cmd.Process.Pid, start) {
		t.Error("the process survived")
	}
	// It was reaped with its turn, or ended by a signal.
	if err := cmd.Wait(); err == nil {
		t.Error("the process ended by itself")
	}
	if err := reaper.Reap(t.Context(), turn.ID); err != nil {
		t.Errorf("Reap of nothing = %v", err)
	}
}

// trial is one case of the suite.
type trial struct {
	name   string
	role   amp.Role
	script Script
	limits providers.Limits
	change func(*providers.Turn)
	// fails is the class of the expected failure, empty for a turn that ends well.
	fails providers.Failure
	// want are the events after the start, as recording.say writes them; nil compares nothing.
	want []string
	// also checks more.
	also func(t *testing.T, turn providers.Turn, r *recording)
}

// check judges a turn by what holds for all and by the case's own expectations.
func check(t *testing.T, turn providers.Turn, c *trial, r *recording) {
	t.Helper()
	for _, problem := range r.problems {
		t.Error(problem)
	}
	if c.fails == "" && r.err != nil {
		t.Fatalf("Run = %v, want no error\nevents %q", r.err, r.events)
	}
	if c.fails == "" && len(r.outcome.Final) == 0 {
		t.Error("no error, but no final answer")
	}
	if c.fails != "" {
		failed, ok := errors.AsType[*providers.TurnError](r.err)
		if !ok || failed.Failure != c.fails {
			t.Fatalf("Run = %v, want a failure of class %s\nevents %q", r.err, c.fails, r.events)
		}
		if failed.Text == "" {
			t.Error("the failure has no sentence")
		}
		if len(r.outcome.Final) > 0 {
			t.Error("a failed turn has a final answer")
		}
	}
	for pid, start := range r.daemons {
		if !sandbox.Gone(pid, start) {
			t.Errorf("process %d of the turn still runs", pid)
		}
	}
	if c.want != nil && !slices.Equal(r.events, c.want) {
		t.Errorf("events\n got %q\nwant %q", r.events, c.want)
	}
	if c.also != nil {
		c.also(t, turn, r)
	}
}

// recording is what an agent said.
type recording struct {
	turn   string
	cancel context.CancelCauseFunc
	// daemons are the processes of the turn and when they began.
	daemons map[int]uint64
	facts   amp.AgentFacts
	// mute leaves acks out of the events: they are the adapter's own, and the script has none.
	mute bool
	// processes says that turns are processes of this machine.
	processes bool

	mu       sync.Mutex
	inside   bool
	closed   bool
	events   []string
	sessions []string // what was named; when, is the protocol's
	problems []string
	outcome  providers.Outcome
	err      error
	log      []byte
}

// emit records an event and watches that the contract's rules of calling are kept.
func (r *recording) emit(e providers.Event) {
	r.mu.Lock()
	if r.closed {
		r.problems = append(r.problems, fmt.Sprintf("emit after Run returned: %+v", e))
	}
	if r.inside {
		r.problems = append(r.problems, fmt.Sprintf("emit from two goroutines at once: %+v", e))
	}
	r.inside = true
	r.mu.Unlock()
	if e.Type == providers.EventStarted {
		r.watch(e.PID)
	} else {
		r.say(e)
	}
	r.mu.Lock()
	r.inside = false
	r.mu.Unlock()
}

func (r *recording) watch(pid int) {
	start, err := sandbox.StartTime(pid)
	if err != nil {
		start = 0 // it has gone by now, and no process began at 0
	}
	r.daemons[pid] = start
}

// outside is the id of a process of the turn that names itself by the id that it has in a PID namespace of its own: negative, and so of no
// process, when it has gone. Where there are no such namespaces it is the id itself.
func outside(turn string, inner int) int {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		environ, _ := os.ReadFile(filepath.Join(dir, "environ"))
		if !bytes.Contains(environ, []byte(sandbox.Marker+"="+turn+"\x00")) {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		for line := range strings.Lines(string(status)) {
			ids := strings.Fields(line)
			if len(ids) > 1 && ids[0] == "NSpid:" && ids[len(ids)-1] == strconv.Itoa(inner) {
				pid, _ := strconv.Atoi(filepath.Base(dir))
				return pid
			}
		}
	}
	if len(all) == 0 {
		return inner
	}
	return -inner
}

// say writes an event as a line; the word "stop" as progress ends the context.
func (r *recording) say(e providers.Event) {
	text := string(e.Type)
	switch {
	case e.Session != "":
		r.sessions = append(r.sessions, e.Session)
		return
	case e.Ack != nil && r.mute:
		return
	case e.Ack != nil:
		text += " " + string(e.Ack.Status) + " " + e.Ack.Reason + strings.Join(e.Ack.EchoedAcceptanceCriteria, ",")
	case e.Payload != nil:
		text += " " + string(e.Payload)
	default:
		text += " " + e.Text
	}
	r.events = append(r.events, strings.TrimSpace(text))
	if pid, err := strconv.Atoi(strings.TrimPrefix(e.Text, "daemon ")); err == nil {
		r.watch(outside(r.turn, pid))
	}
	if e.Text == "stop" {
		r.cancel(errors.New("the test stops the turn"))
	}
}

func (r *recording) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// newTurn is a turn of the role with folders of its own.
func newTurn(t *testing.T, role amp.Role) providers.Turn {
	t.Helper()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	turn := providers.Turn{ID: "turn-" + rand.Text(), Task: "T-2026-001", Role: role, Epoch: 1, Dir: work, Home: filepath.Join(dir, "home")}
	switch role {
	case amp.Executor:
		turn.Message = json.RawMessage(`{"protocol_version":"AMP/1.0","type":"task_dispatch","payload":{"description":"d","acceptance_criteria":["it works"]}}`)
		turn.Subtask = "T-2026-001-S1"
	case amp.Reviewer:
		turn.Message = json.RawMessage(`{"protocol_version":"AMP/1.0","type":"review_request","payload":{"review_scope":"full"}}`)
		turn.Context = []json.RawMessage{json.RawMessage(`{"type":"task_dispatch"}`), json.RawMessage(`{"type":"task_result"}`)}
	default:
		turn.Context = []json.RawMessage{json.RawMessage(`{"wish":{"text":"w"}}`)}
	}
	return turn
}

// patient are limits that no program of the suite reaches on a slow machine; hasty has no patience with what does not end.
var (
	patient = providers.Limits{Silence: time.Minute, Total: 2 * time.Minute, Grace: 10 * time.Second, Output: 64 << 20}
	hasty   = with(func(*providers.Limits) {})
)

// with is patient with a change; a limit that is reached ends the program hastily.
func with(change func(*providers.Limits)) providers.Limits {
	l := patient
	l.Grace = 50 * time.Millisecond
	change(&l)
	return l
}

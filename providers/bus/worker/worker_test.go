package worker

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// honest does the work.
func honest(text string) func(context.Context, int, providers.Turn, func(providers.Event)) (providers.Outcome, error) {
	return func(_ context.Context, _ int, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
		if _, err := commit(&turn, text); err != nil {
			return providers.Outcome{}, err
		}
		return result(&turn), nil
	}
}

// wantDone wants the turn to have ended well, and its work to be here as if it had been done here.
func (r *rig) wantDone(turn *providers.Turn, e ended, text string) {
	r.t.Helper()
	if e.err != nil {
		r.t.Fatalf("the turn failed: %v", e.err)
	}
	for _, name := range []string{"committed.txt", "left.txt"} {
		if got, err := os.ReadFile(filepath.Join(turn.Dir, name)); err != nil || string(got) != text+"\n" {
			r.t.Errorf("%s = %q, %v", name, got, err)
		}
	}
	c, err := r.git.Verify(r.t.Context(), turn.Work, turn.ID, &amp.Result{CompletionStatus: amp.Complete, DiffSummary: amp.DiffSummary{
		FilesChanged: []string{"committed.txt", "left.txt"}, LinesAdded: 2,
	}}, "msg")
	if err != nil || c.Blocked() || c.Escalate != "" {
		r.t.Errorf("check = %+v, %v", c, err)
	}
	if got := r.run("-C", r.repo, "rev-parse", "main"); got != r.base {
		r.t.Errorf("main moved to %s", got)
	}
}

// A turn runs on the worker and ends here with everything that a turn here ends with.
func TestWorker_turn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	var asked providers.Turn
	p.start(&fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		asked = turn
		emit(providers.Event{Type: providers.EventProgress, Text: "half of it is done", Session: "session-1"})
		return honest("hello")(ctx, n, turn, emit)
	}})
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	turn.Refused, turn.Context = []string{"it was wrong"}, nil
	e := wait(t, "the end of the turn", r.begin(t.Context(), turn))
	r.wantDone(&turn, e, "hello")
	if e.out.Session != "session-1" || e.out.Tokens != 15 || e.out.CostUSD != 0.25 || e.out.Model != "m" {
		t.Errorf("outcome = %+v", e.out)
	}
	if len(e.events) < 2 || e.events[0].Type != providers.EventAck || !slices.Equal(e.events[0].Ack.EchoedAcceptanceCriteria, []string{criterion}) {
		t.Errorf("events = %+v", e.events)
	}
	if !slices.ContainsFunc(e.events, func(ev providers.Event) bool { return strings.Contains(ev.Text, "half of it is done") }) {
		t.Errorf("no progress in %+v", e.events)
	}
	if asked.ID == turn.ID || asked.Dir == turn.Dir || asked.Subtask != turn.Subtask || string(asked.Message) == "" || !slices.Equal(asked.Refused, turn.Refused) {
		t.Errorf("the agent was asked %+v", asked)
	}
	if left, _ := filepath.Glob(filepath.Join(r.home, "parcels", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A worker that ends in the middle runs the turn again, from the same commit; there is one answer.
func TestWorker_interrupted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	began := make(chan struct{}, 1)
	agent := &fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		if n == 1 {
			if _, err := commit(&turn, "half"); err != nil {
				return providers.Outcome{}, err
			}
			began <- struct{}{}
			<-ctx.Done()
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "killed"}
		}
		if _, err := os.Stat(filepath.Join(turn.Dir, "committed.txt")); err == nil {
			return providers.Outcome{}, errors.New("the work of the run before is still there")
		}
		return honest("whole")(ctx, n, turn, emit)
	}}
	p.start(agent)
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	done := r.begin(t.Context(), turn)
	wait(t, "the turn", began)
	p.stop()
	if j := p.job(); j.State != Running {
		t.Errorf("the job is %s", j.State)
	}
	p.start(agent)
	r.wantDone(&turn, wait(t, "the end of the turn", done), "whole")
	if agent.count() != 2 {
		t.Errorf("%d runs", agent.count())
	}
}

// A coordinator that ends in the middle, or while the answer is on its way, asks again when it is back, and gets the answer of the one run.
func TestWorker_coordinatorRestarts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	began, goOn := make(chan struct{}, 1), make(chan struct{})
	agent := &fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		began <- struct{}{}
		<-goOn
		return honest("once")(ctx, n, turn, emit)
	}}
	p.start(agent)
	w := r.space("T-2026-001")
	ctx, cancel := context.WithCancel(t.Context())
	first := r.begin(ctx, r.turn(w, "turn-1"))
	wait(t, "the turn", began)
	cancel() // as a coordinator that ends does: nobody decided that the turn is not wanted
	if e := wait(t, "the end of the first turn", first); e.err == nil {
		t.Fatal("the turn ended well")
	}
	r.stopBus()
	close(goOn)
	r.startBus(nil)
	turn := r.turn(w, "turn-2")
	r.wantDone(&turn, wait(t, "the end of the second turn", r.begin(t.Context(), turn)), "once")
	if agent.count() != 1 {
		t.Errorf("%d runs", agent.count())
	}
}

// However often the connection breaks, while the agent works and while the commits are on their way, nothing is lost or done twice.
func TestWorker_cut(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	big := make([]byte, 3<<20)
	for i, x := 0, uint32(1); i < len(big); i++ { // nothing that a pack makes smaller
		x = x*1664525 + 1013904223
		big[i] = byte(x >> 24)
	}
	agent := &fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		for range 3 {
			r.wire.cut()
			emit(providers.Event{Type: providers.EventProgress, Text: "works"})
		}
		if err := os.WriteFile(filepath.Join(turn.Dir, "big.bin"), big, 0o600); err != nil {
			return providers.Outcome{}, err
		}
		r.wire.breakAfter(1 << 20) // the bundle needs four connections
		return honest("cut")(ctx, n, turn, emit)
	}}
	p.start(agent)
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	e := wait(t, "the end of the turn", r.begin(t.Context(), turn))
	if e.err != nil {
		t.Fatal(e.err)
	}
	if got, err := os.ReadFile(filepath.Join(turn.Dir, "big.bin")); err != nil || string(got) != string(big) {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	if agent.count() != 1 {
		t.Errorf("%d runs", agent.count())
	}
}

// A coordinator that was started anew asks again, and has the answer before that request arrives: the worker does not offer its commits for ever.
func TestWorker_askedBeforeItHadTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	agent := &fake{do: honest("one")}
	p.start(agent)
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	r.wantDone(&turn, wait(t, "the end of the turn", r.begin(t.Context(), turn)), "one")
	p.until(Told)
	raw, err := p.w.shelf.request(p.job())
	if err != nil {
		t.Fatal(err)
	}
	late := bytes.ReplaceAll(raw, []byte(`"turn-1"`), []byte(`"turn-2"`))
	if bytes.Equal(late, raw) {
		t.Fatalf("the request names no turn:\n%s", raw)
	}
	if err := p.w.take(t.Context(), self, late); err != nil {
		t.Fatal(err)
	}
	p.until(Told)
	if !p.job().Again || agent.count() != 1 {
		t.Errorf("%+v, %d runs", p.job(), agent.count())
	}
}

// The same request, delivered again, has no second run. A later turn for the same message gets the answer that there is.
func TestWorker_duplicate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	agent := &fake{do: honest("one")}
	p.start(agent)
	w := r.space("T-2026-001")
	turn := r.turn(w, "turn-1")
	r.wantDone(&turn, wait(t, "the end of the turn", r.begin(t.Context(), turn)), "one")
	raw, err := p.w.shelf.request(p.job())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := p.w.take(t.Context(), self, raw); err != nil {
			t.Fatal(err)
		}
	}
	again := r.turn(w, "turn-2") // its branch is back where it was: the first turn counts for nothing
	r.wantDone(&again, wait(t, "the end of the second turn", r.begin(t.Context(), again)), "one")
	if agent.count() != 1 {
		t.Errorf("%d runs", agent.count())
	}
}

// A turn that is not wanted any more ends on the worker too; asked for again, it runs again.
func TestWorker_withdrawn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	began, stopped := make(chan struct{}, 1), make(chan struct{}, 1)
	agent := &fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		if n > 1 {
			return honest("again")(ctx, n, turn, emit)
		}
		began <- struct{}{}
		<-ctx.Done()
		stopped <- struct{}{}
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "killed"}
	}}
	p.start(agent)
	w := r.space("T-2026-001")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := r.begin(ctx, r.turn(w, "turn-1"))
	wait(t, "the turn", began)
	cancel(&providers.StoppedError{Why: "the task was suspended"})
	wait(t, "the end of the turn on the worker", stopped)
	if e := wait(t, "the end of the turn", done); e.err == nil {
		t.Error("the turn ended well")
	}
	turn := r.turn(w, "turn-2")
	r.wantDone(&turn, wait(t, "the end of the second turn", r.begin(t.Context(), turn)), "again")
	if agent.count() != 2 {
		t.Errorf("%d runs", agent.count())
	}
}

// A failure keeps its class on the way, so that a limit pauses the task as it does here; the next turn runs.
func TestWorker_failure(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	agent := &fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		if n > 1 {
			return honest("second")(ctx, n, turn, emit)
		}
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailRate, Text: "too many requests", Tail: "429", Retry: time.Minute, Usage: providers.Usage{Tokens: 7}}
	}}
	p.start(agent)
	w := r.space("T-2026-001")
	e := wait(t, "the end of the turn", r.begin(t.Context(), r.turn(w, "turn-1")))
	te, ok := errors.AsType[*providers.TurnError](e.err)
	if !ok || te.Failure != providers.FailRate || te.Retry != time.Minute || te.Tail != "429" || te.Usage.Tokens != 7 || !strings.Contains(te.Text, "too many requests") {
		t.Fatalf("error = %+v", e.err)
	}
	turn := r.turn(w, "turn-2")
	r.wantDone(&turn, wait(t, "the end of the second turn", r.begin(t.Context(), turn)), "second")
}

// An agent that goes for other refs of the clone is reported: what it did there moved nothing here.
func TestWorker_violation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	p.start(&fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		at, err := commit(&turn, "evil")
		if err != nil {
			return providers.Outcome{}, err
		}
		if err := os.WriteFile(filepath.Join(turn.Work.Repo, ".git", "refs", "heads", "main"), []byte(at+"\n"), 0o600); err != nil {
			return providers.Outcome{}, err
		}
		return result(&turn), nil
	}})
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	e := wait(t, "the end of the turn", r.begin(t.Context(), turn))
	i := slices.IndexFunc(e.events, func(ev providers.Event) bool { return ev.Type == providers.EventEscalation })
	if i < 0 || !strings.Contains(string(e.events[i].Payload), `"escalation_type":"branch_violation"`) {
		t.Fatalf("no escalation in %+v, %v", e.events, e.err)
	}
	if got := r.run("-C", r.repo, "rev-parse", "main"); got != r.base {
		t.Errorf("main moved to %s", got)
	}
}

// late is git work whose worktree is ready just when the request is withdrawn.
type late struct {
	Git
	ready func()
}

func (l late) Prepare(ctx context.Context, w amp.Workspace, turnID string) (amp.Prepared, error) {
	p, err := l.Git.Prepare(ctx, w, turnID)
	l.ready()
	return p, err
}

// A request that is withdrawn in the moment in which its worktree is ready does not run, and runs when it is asked for again.
func TestWorker_withdrawnWhenReady(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	agent := &fake{do: honest("again")}
	first := true
	withdrawn := make(chan struct{}, 1)
	p.git = func(g Git) Git {
		return late{g, func() {
			if !first {
				return
			}
			first = false
			p.w.mu.Lock()
			defer p.w.mu.Unlock()
			for _, job := range p.w.jobs { // as control does
				if err := p.w.become(job, Withdrawn, ""); err != nil {
					t.Error(err)
				}
				job.stop()
			}
			withdrawn <- struct{}{}
		}}
	}
	p.start(agent)
	w := r.space("T-2026-001")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := r.begin(ctx, r.turn(w, "turn-1"))
	wait(t, "the worktree", withdrawn)
	cancel(&providers.StoppedError{Why: "the task was suspended"})
	wait(t, "the end of the turn", done)
	turn := r.turn(w, "turn-2")
	r.wantDone(&turn, wait(t, "the end of the second turn", r.begin(t.Context(), turn)), "again")
	if agent.count() != 1 {
		t.Errorf("%d runs", agent.count())
	}
}

// An agent takes over from another one of the same worker: it is asked the same, and answers itself.
func TestWorker_fallbackBesideIt_BUS035(t *testing.T) {
	t.Parallel()
	const second = "worker://box/other"
	r := newRig(t)
	r.stopBus()
	r.startBus(func(c *bus.Config) { c.Members[second] = bus.Member{Name: "other", Repository: true} })
	var err error
	if r.agent, err = r.bus.Agent(bus.AgentConfig{
		Name: "coder", AgentID: self, Fallback: []string{second}, Repository: r.git, Limits: providers.Limits{Silence: 10 * time.Minute, Total: time.Hour},
	}); err != nil {
		t.Fatal(err)
	}
	p := r.place()
	broken, sound := &fake{do: func(context.Context, int, providers.Turn, func(providers.Event)) (providers.Outcome, error) {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailModel, Text: "no such model"}
	}}, &fake{do: honest("two")}
	p.other = sound
	p.start(broken)
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	r.wantDone(&turn, wait(t, "the end of the turn", r.begin(t.Context(), turn)), "two")
	if broken.count() != 1 || sound.count() != 1 {
		t.Errorf("%d and %d runs", broken.count(), sound.count())
	}
}

// A request whose names would lead out of the worker's folder is not understood.
func TestReadOrder_hostile(t *testing.T) {
	t.Parallel()
	order := func(task, workspace string) []byte {
		m := message(bus.Coordinator, self, bus.TaskRequest, "msg_1_1", []byte(`{}`))
		m.Metadata = map[string]amp.Raw{
			"task_id": jsonOf(task),
			"arbiter": jsonOf(map[string]any{"turn_id": "turn-1", "role": amp.Executor, "workspace": amp.Workspace{TaskID: amp.TaskID(workspace)}}),
		}
		raw, err := m.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	if _, err := readOrder(order("T-2026-001", "T-2026-001")); err != nil {
		t.Fatal(err)
	}
	for _, task := range []string{"", "../../x", "T-2026-001/../../x", "/etc", "T-2026-" + strings.Repeat("1", 300)} {
		if o, err := readOrder(order(task, task)); err == nil {
			t.Errorf("%.40q is taken for a task: %s", task, o.task)
		}
	}
	if _, err := readOrder(order("T-2026-001", "T-2026-002")); err == nil {
		t.Error("the worktree of another task is taken")
	}
}

// An agent that names session after session while nobody is reached leaves room for what must not be lost, and one session is told once.
func TestTeller_keepsRoom(t *testing.T) {
	t.Parallel()
	w := &Worker{}
	s := &teller{w: w, t: &task{Job: Job{Agent: self, MessageID: "msg_1_1", Task: "T-2026-001"}}, wake: make(chan struct{}, 1)}
	for range 3 {
		s.heard(providers.Event{Type: providers.EventProgress, Text: "x", Session: "one"})
	}
	if len(s.queue) != 1 {
		t.Errorf("one session is told %d times", len(s.queue))
	}
	for i := range 10 * maxTold {
		s.heard(providers.Event{Type: providers.EventProgress, Text: "x", Session: strconv.Itoa(i)})
	}
	s.heard(providers.Event{Type: providers.EventEscalation, Payload: []byte(`{"escalation_type":"conflict"}`)})
	if last := s.queue[len(s.queue)-1]; len(s.queue) > maxTold || last.Type != bus.ErrorMessage {
		t.Errorf("%d messages wait; the last is a %s", len(s.queue), last.Type)
	}
}

// A repository that is larger than the coordinator sends is refused with what to do, and needs not be sent where the worker has a clone.
func TestWorker_largeRepository(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.stopBus()
	r.startBus(func(c *bus.Config) { c.MaxOffer = 10 })
	p := r.place()
	agent := &fake{do: honest("done")}
	p.start(agent)
	w := r.space("T-2026-001")
	e := wait(t, "the end of the turn", r.begin(t.Context(), r.turn(w, "turn-1")))
	if e.err == nil || !strings.Contains(e.err.Error(), "raise max_offer under [bus] on the coordinator") || agent.count() != 0 {
		t.Fatalf("the turn ended with %v after %d runs", e.err, agent.count())
	}
	p.stop()
	own := filepath.Join(t.TempDir(), "own")
	r.run("clone", "-q", "--no-local", r.repo, own)
	p.clones = map[string]string{r.repo: own}
	p.start(agent)
	turn := r.turn(w, "turn-2")
	r.wantDone(&turn, wait(t, "the end of the second turn", r.begin(t.Context(), turn)), "done")
}

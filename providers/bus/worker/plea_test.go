package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/bus"
)

// asker asks for one permission and does the work only when it is allowed.
func asker(what amp.Permission, heard chan<- providers.Decision) func(context.Context, int, providers.Turn, func(providers.Event)) (providers.Outcome, error) {
	return func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		d := turn.Ask(ctx, what)
		heard <- d
		if ctx.Err() != nil {
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "killed"}
		}
		if !d.Allow {
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailRefused, Text: "denied: " + d.Reason}
		}
		return honest("allowed")(ctx, n, turn, emit)
	}
}

var generate = amp.Permission{Type: amp.PermitRun, Tool: "sh", Command: "make gen", Reason: "mocks"}

// A request for a permission is decided at the coordinator as if the agent were there, and the decision goes back, also over connections that break.
func TestWorker_asks(t *testing.T) {
	t.Parallel()
	for name, allow := range map[string]bool{"allowed": true, "denied": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			p := r.place()
			heard := make(chan providers.Decision, 1)
			p.start(&fake{do: asker(generate, heard)})
			turn := r.turn(r.space("T-2026-001"), "turn-1")
			var asked []amp.Permission
			turn.Ask = func(_ context.Context, what amp.Permission) providers.Decision {
				asked = append(asked, what)
				r.wire.cut()
				return providers.Decision{Allow: allow, Reason: "as I say"}
			}
			e := wait(t, "the end of the turn", r.begin(t.Context(), turn))
			if d := wait(t, "the decision", heard); d.Allow != allow || d.Reason != "as I say" {
				t.Errorf("the agent heard %+v", d)
			}
			if len(asked) != 1 || !asked[0].Same(&generate) || asked[0].Reason != generate.Reason {
				t.Errorf("asked %+v", asked)
			}
			if allow {
				r.wantDone(&turn, e, "allowed")
			} else if te, ok := errors.AsType[*providers.TurnError](e.err); !ok || te.Failure != providers.FailRefused {
				t.Errorf("the turn ended with %v", e.err)
			}
		})
	}
}

// Files are named to the coordinator as they are in the worktree, wherever links there lead.
func TestWorker_asksAboutFiles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	out := t.TempDir()
	p.start(&fake{do: func(ctx context.Context, n int, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
		if err := os.Symlink(out, filepath.Join(turn.Dir, "link")); err != nil {
			return providers.Outcome{}, err
		}
		turn.Ask(ctx, amp.Permission{Type: amp.PermitWrite, Paths: []string{"src/a", filepath.Join(turn.Dir, "b"), "link/c", "/etc/passwd", "../d"}})
		if err := os.Remove(filepath.Join(turn.Dir, "link")); err != nil {
			return providers.Outcome{}, err
		}
		return honest("asked")(ctx, n, turn, emit)
	}})
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	var asked []string
	turn.Ask = func(_ context.Context, what amp.Permission) providers.Decision {
		asked = what.Paths
		return providers.Decision{}
	}
	r.wantDone(&turn, wait(t, "the end of the turn", r.begin(t.Context(), turn)), "asked")
	real, err := filepath.EvalSymlinks(out)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		filepath.Join(turn.Dir, "src/a"), filepath.Join(turn.Dir, "b"), "/elsewhere" + filepath.Join(real, "c"), "/elsewhere/etc/passwd",
		"/elsewhere" + filepath.Join(p.home, "worktrees", "d"),
	}
	if !slices.Equal(asked, want) {
		t.Errorf("asked about\n%q, want\n%q", asked, want)
	}
}

// A worker that ends while a permission is asked for asks again when it runs again: the first request is withdrawn then, and what is decided of it
// is for nobody.
func TestWorker_asksAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	heard := make(chan providers.Decision, 2)
	agent := &fake{do: asker(generate, heard)}
	p.start(agent)
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	asked, withdrawn := make(chan int, 2), make(chan struct{})
	n := 0
	turn.Ask = func(ctx context.Context, _ amp.Permission) providers.Decision {
		r.mu.Lock()
		n++
		mine := n
		r.mu.Unlock()
		asked <- mine
		if mine == 1 {
			<-ctx.Done()
			close(withdrawn)
			return providers.Decision{Allow: true, Reason: "the first"}
		}
		<-withdrawn
		if ctx.Err() != nil {
			t.Error("the second request was withdrawn too")
		}
		return providers.Decision{Reason: "the second"}
	}
	done := r.begin(t.Context(), turn)
	wait(t, "the first request", asked)
	p.stop()
	if d := wait(t, "the end of the first run", heard); d.Allow {
		t.Errorf("a run that was stopped heard %+v", d)
	}
	p.start(agent)
	wait(t, "the second request", asked)
	if d := wait(t, "the decision", heard); d.Allow || d.Reason != "the second" {
		t.Errorf("the second run heard %+v", d)
	}
	if e := wait(t, "the end of the turn", done); e.err == nil {
		t.Error("the turn ended well")
	}
}

// A coordinator that ends before it decided is asked again when it asks again: the agent waits meanwhile, and is allowed nothing.
func TestWorker_asksTheNextCoordinator(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	heard := make(chan providers.Decision, 1)
	agent := &fake{do: asker(generate, heard)}
	p.start(agent)
	w := r.space("T-2026-001")
	ctx, cancel := context.WithCancel(t.Context())
	first := r.turn(w, "turn-1")
	first.Ask = func(ctx context.Context, _ amp.Permission) providers.Decision {
		cancel()
		<-ctx.Done()
		return providers.Decision{Allow: true, Reason: "the turn has ended: this is for nobody"}
	}
	wait(t, "the end of the first turn", r.begin(ctx, first))
	r.stopBus()
	r.startBus(nil)
	turn := r.turn(w, "turn-2")
	turn.Ask = func(_ context.Context, what amp.Permission) providers.Decision {
		return providers.Decision{Allow: what.Same(&generate), Reason: "the second"}
	}
	r.wantDone(&turn, wait(t, "the end of the second turn", r.begin(t.Context(), turn)), "allowed")
	if d := wait(t, "the decision", heard); d.Reason != "the second" || agent.count() != 1 {
		t.Errorf("heard %+v in %d runs", d, agent.count())
	}
}

// A coordinator that does not say that it can be asked is not asked: the answer is no, at once.
func TestWorker_asksNobody(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.place()
	heard := make(chan providers.Decision, 1)
	p.start(&fake{do: asker(generate, heard)})
	turn := r.turn(r.space("T-2026-001"), "turn-1")
	turn.Ask = nil
	wait(t, "the end of the turn", r.begin(t.Context(), turn))
	if d := wait(t, "the decision", heard); d.Allow || !strings.Contains(d.Reason, "nobody can be asked") {
		t.Errorf("heard %+v", d)
	}
}

// Decisions are for the request that they name, once; whatever else comes decides nothing.
func TestTeller_decided(t *testing.T) {
	t.Parallel()
	s := &teller{w: &Worker{cfg: Config{Keep: 1 << 62}}, t: &task{Job: Job{Agent: self, MessageID: "msg_1_1", Task: "T-2026-001"}}, pleas: map[string]*plea{}, wake: make(chan struct{}, 1)}
	one := &plea{id: "one", answer: make(chan providers.Decision, 1)}
	s.pleas["one"] = one
	for _, raw := range []string{
		`{"permission_id":"two","allow":true}`, `{"allow":true}`, `{"permission_id":"one","allow":"yes"}`, `{"permission_id":["one"],"allow":true}`, `[]`, ``,
	} {
		if s.decided([]byte(raw)); len(one.answer) > 0 {
			t.Fatalf("%s decided", raw)
		}
	}
	s.decided([]byte(`{"permission_id":"one","allow":false,"reason":"no"}`))
	s.decided([]byte(`{"permission_id":"one","allow":true}`))
	if d := <-one.answer; d.Allow || d.Reason != "no" || len(one.answer) > 0 {
		t.Errorf("decided %+v", d)
	}
	// what waits is bounded, and what the coordinator refuses to take is denied
	for range maxTold {
		s.push(message(self, bus.Coordinator, bus.StatusUpdate, newID(), []byte(`{}`)))
	}
	if d := s.ask(t.Context(), "/w", generate); d.Allow || !strings.Contains(d.Reason, "nothing was asked") {
		t.Errorf("with a full queue: %+v", d)
	}
	one.sent = "msg_2_2"
	s.turnedAway("msg_2_2", errors.New("400"))
	if d := <-one.answer; d.Allow || !strings.Contains(d.Reason, "400") {
		t.Errorf("turned away: %+v", d)
	}
}

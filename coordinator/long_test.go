package coordinator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/ssot"
)

// AMP-175, design 4: an agent may say more than the journal takes as one entry. What it says is cut or refused: its turns are counted as any others,
// and do not repeat for ever because their end could not be written down.
func TestLong_words(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", ssot.MaxBody+1)
	done := func(turn providers.Turn) (providers.Outcome, error) {
		time.Sleep(time.Second)
		return agenttest.Final(resultOf(turn, amp.Complete)), nil
	}
	for name, tc := range map[string]struct {
		plan  bool
		says  func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error)
		want  amp.Status
		turns int
	}{
		"progress": {want: amp.StatusApproved, turns: 3, says: func(_ context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			emit(providers.Event{Type: providers.EventProgress, Text: big})
			return done(turn)
		}},
		"progress that is held": {want: amp.StatusApproved, turns: 3, says: func(_ context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			emit(providers.Event{Type: providers.EventProgress, Text: "begun"})
			emit(providers.Event{Type: providers.EventProgress, Text: big})
			return done(turn)
		}},
		"session": {want: amp.StatusApproved, turns: 3, says: func(_ context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			emit(providers.Event{Type: providers.EventProgress, Text: "s", Session: big})
			out, err := done(turn)
			out.Session = big
			return out, err
		}},
		"model": {want: amp.StatusApproved, turns: 3, says: func(_ context.Context, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
			out, err := done(turn)
			out.Usage.Model = big
			return out, err
		}},
		"question": {want: amp.Executing, turns: 2, says: func(context.Context, providers.Turn, func(providers.Event)) (providers.Outcome, error) {
			time.Sleep(time.Second)
			return providers.Outcome{Question: big}, nil
		}},
		"error": {want: amp.Suspended, turns: 3, says: func(context.Context, providers.Turn, func(providers.Event)) (providers.Outcome, error) {
			time.Sleep(time.Second)
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailCrashed, Text: "exit 1", Tail: big}
		}},
		"limit": {want: amp.Executing, turns: 2, says: func(context.Context, providers.Turn, func(providers.Event)) (providers.Outcome, error) {
			time.Sleep(time.Second)
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailAuth, Text: big}
		}},
		"answer": {want: amp.Suspended, turns: 3, says: func(_ context.Context, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
			time.Sleep(time.Second)
			m := resultOf(turn, amp.Complete)
			m["work_log"] = []any{map[string]any{"timestamp": "2000-01-01T00:00:00Z", "action": big, "file": "a", "detail": "b"}}
			return agenttest.Final(m), nil
		}},
		"plan": {plan: true, want: amp.Suspended, turns: 2, says: func(ctx context.Context, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
			time.Sleep(time.Second)
			out, err := plans(ctx, turn, 1, nil)
			m := withBudget(out, amp.Budget{})
			m["reasons"] = big
			return agenttest.Final(m), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				says := func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(agenttest.Accept(turn))
					return tc.says(ctx, turn, emit)
				}
				exec := play(works)
				if !tc.plan {
					exec = says
				}
				r := newRig(t, exec, judges(amp.Approved))
				if tc.plan {
					r.planner.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
						return tc.says(ctx, turn, emit)
					}
				}
				id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
				time.Sleep(10 * time.Second)
				if !tc.plan {
					r.submit(amp.Command{Command: amp.Approve, TaskID: id})
				}
				time.Sleep(30 * time.Second)
				synctest.Wait()
				task := r.want(id, tc.want)
				if task.Spent.Turns != tc.turns || task.Turn != nil {
					t.Errorf("%d turns, want %d; %+v is open", task.Spent.Turns, tc.turns, task.Turn)
				}
				if n := len(amp.EncodeBody(task)); n > 1<<18 {
					t.Errorf("the task's state has %d bytes", n)
				}
			})
		})
	}
}

// A07: an ACK is a line, and a reason of megabytes none.
func TestLong_ack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Refuse(strings.Repeat("x", amp.MaxMessage)))
			return idleTurn(ctx, turn, n, emit)
		}, judges(amp.Approved))
		id := r.task()
		r.want(id, amp.Dispatched)
		if f := r.refusals(id); len(f) != 1 || f[0].Problems[0].Rule != "A07" {
			t.Errorf("%d refusals, want one by A07", len(f))
		}
	})
}

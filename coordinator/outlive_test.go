package coordinator

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// AMP-088, AMP-089, design 1.6: a result may come past the turn that works, from its own process or from somebody else. Nothing is compared, and no
// check runs, while an agent may still write to the worktree: the turn is ended first, and the result compared with where that turn began.
func TestOutlive_result(t *testing.T) {
	t.Parallel()
	for name, from := range map[string]func(turn providers.Turn) amp.Received{
		"of its own process": func(turn providers.Turn) amp.Received {
			return amp.Received{Actor: "codex", Source: "socket", Turn: turn.ID}
		},
		"of somebody else": func(providers.Turn) amp.Received { return amp.Received{Actor: "outsider", Source: "cli"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var r *rig
				turnID, stopped := "", false
				r = newRig(t, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(providers.Event{Type: providers.EventStarted, PID: 4711})
					emit(agenttest.Accept(turn))
					in := from(turn)
					in.Raw, in.As, turnID = jsonOf(wholeResult(turn, turn.Task, time.Now())), amp.Executor, turn.ID
					if _, err := r.c.Receive(context.Background(), in); err != nil {
						t.Error(err)
					}
					select {
					case <-ctx.Done():
						time.Sleep(3 * time.Second) // it takes its time
						stopped = true
						return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
					case <-time.After(time.Hour):
						return agenttest.Final(resultOf(turn, amp.Complete)), nil
					}
				}, judges(amp.Approved))
				look := func(what string, w amp.Workspace) {
					if task := r.get(w.TaskID); !stopped || task.Turn != nil || task.LastTurn != turnID {
						t.Errorf("%s while the turn may still write (%v), after turn %q, want %q", what, task.Turn != nil, task.LastTurn, turnID)
					}
				}
				r.git.verify = func(w amp.Workspace, _ *amp.Result) (amp.Check, error) {
					look("it is compared", w)
					return r.git.good(w), nil
				}
				r.git.ci = func(_ context.Context, w amp.Workspace) (amp.Check, error) {
					look("the checks run", w)
					return amp.Check{Subject: amp.CheckCI, CI: map[string]string{"local": "passed"}}, nil
				}
				id := r.task()
				time.Sleep(time.Minute)
				synctest.Wait()
				r.want(id, amp.StatusApproved)
				if len(r.refusals(id)) != 0 || len(r.exec.Turns()) != 1 {
					t.Errorf("%d refusals, %d turns\n%s", len(r.refusals(id)), len(r.exec.Turns()), r.story(id))
				}
			})
		})
	}
}

// AMP-139: nor does a reviewer go on whose request somebody else has answered.
func TestOutlive_verdict(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return idleTurn(ctx, turn, n, emit)
		})
		id := r.task()
		m := wholeVerdict(id, r.want(id, amp.Reviewing).Request.MsgID, time.Now())
		m["payload"] = verdictOf(amp.Approved, 0.95)
		if err := r.handIn(amp.Reviewer, m); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if task := r.want(id, amp.StatusApproved); task.Turn != nil || r.rev.Live() != 0 {
			t.Errorf("turn %+v, %d live\n%s", task.Turn, r.rev.Live(), r.story(id))
		}
	})
}

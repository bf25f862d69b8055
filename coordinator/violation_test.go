package coordinator

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/ssot"
)

// wentForMain is what gitops finds of a turn that moved the default branch.
func wentForMain() amp.Check {
	return amp.Check{
		Subject: amp.CheckReview, Escalate: amp.BranchViolation, Text: "void",
		Claims: []amp.Claim{{Name: "refs", Finding: amp.Refuted, Blocking: true, Found: "refs/heads/main moved"}},
	}
}

// AMP-049, AMP-088, AMP-168, AMP-172: whatever the role of an agent and however its turn ends, the admin hears that it went for refs that are not
// its own, and the task stands still.
func TestViolation_ofAnyTurn(t *testing.T) {
	t.Parallel()
	answers := func(out providers.Outcome, err error) play {
		return func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return out, err
		}
	}
	crashed := &providers.TurnError{Failure: providers.FailCrashed, Text: "exit 1"}
	limited := &providers.TurnError{Failure: providers.FailRate, Text: "too many requests"}
	asks := providers.Outcome{Question: "Which port?"}
	for name, tc := range map[string]struct {
		role amp.Role
		play play
		// ends is what the admin does while the turn runs.
		ends amp.CommandName
		want amp.Status
		// again lets the first round be rejected.
		again bool
	}{
		"the planner plans":       {role: amp.Coordinator, play: plans},
		"the planner fails":       {role: amp.Coordinator, play: answers(providers.Outcome{}, crashed)},
		"the planner asks":        {role: amp.Coordinator, play: answers(asks, nil)},
		"the executor fails":      {role: amp.Executor, play: answers(providers.Outcome{}, crashed)},
		"the executor is limited": {role: amp.Executor, play: answers(providers.Outcome{}, limited)},
		"the executor asks":       {role: amp.Executor, play: answers(asks, nil)},
		"the executor did a part": {role: amp.Executor, play: func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return agenttest.Final(resultOf(turn, amp.Partial)), nil
		}},
		"the executor answers for another subtask": {role: amp.Executor, play: func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			turn.Subtask = "T-1999-001-S9"
			return agenttest.Final(resultOf(turn, amp.Complete)), nil
		}},
		"the executor uses an id again": {role: amp.Executor, again: true, play: func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return agenttest.Final(wholeResult(turn, turn.Task, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))), nil
		}},
		"the executor says nothing": {role: amp.Executor, play: answers(agenttest.Final("done"), nil)},
		"the executor is stopped":   {role: amp.Executor, play: idleTurn, ends: amp.Terminate, want: amp.Terminated},
		"the executor stands still": {role: amp.Executor, play: idleTurn, ends: amp.StopAll, want: amp.Suspended},
		"the reviewer judges":       {role: amp.Reviewer, play: judges(amp.Approved)},
		"the reviewer fails":        {role: amp.Reviewer, play: answers(providers.Outcome{}, crashed)},
		"the reviewer asks":         {role: amp.Reviewer, play: answers(asks, nil)},
		"the reviewer is stopped":   {role: amp.Reviewer, play: idleTurn, ends: amp.StopAll, want: amp.Suspended},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				exec, rev := play(works), judges(amp.Approved)
				if tc.role == amp.Executor {
					exec = tc.play
				} else if tc.role == amp.Reviewer {
					rev = tc.play
				}
				if tc.again {
					rev = judges(amp.Rejected)
				}
				r := newRig(t, exec, rev)
				if tc.role == amp.Coordinator {
					r.planner.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
						return tc.play(ctx, turn, 1, emit)
					}
				}
				if tc.role == amp.Executor {
					r.git.broke = wentForMain
				}
				r.git.review = func(w amp.Workspace, _ *amp.Verdict) (amp.Check, error) {
					if planner := w.Branch == "main"; planner == (tc.role == amp.Coordinator) && tc.role != amp.Executor {
						return wentForMain(), nil
					}
					return amp.Check{Subject: amp.CheckReview}, nil
				}
				id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
				synctest.Wait()
				if tc.role != amp.Coordinator {
					r.submit(amp.Command{Command: amp.Approve, TaskID: id})
					synctest.Wait()
				}
				switch tc.ends {
				case amp.Terminate:
					r.submit(amp.Command{Command: amp.Terminate, TaskID: id})
				case amp.StopAll:
					r.submit(amp.Command{Command: amp.StopAll})
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if tc.want == "" {
					tc.want = amp.Suspended
				}
				task := r.want(id, tc.want)
				told := 0
				for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindCheck}}) {
					if ck, err := amp.DecodeBody[amp.Check](&e); err == nil && ck.Escalate == amp.BranchViolation {
						told++
					}
				}
				if told != 1 {
					t.Errorf("%d checks say it, want one\n%s", told, r.story(id))
				}
				if e := task.Escalations; !task.Status.Ended() && (len(e) != 1 || e[0].Type != amp.BranchViolation || e[0].Severity != amp.Critical) {
					t.Errorf("escalations %+v", e)
				}
				if task.Plan != nil && tc.role == amp.Coordinator {
					t.Error("a plan of a planner that went for main waits for approval")
				}
			})
		})
	}
}

// dyingLog is a store that fails for ever once it is dead.
type dyingLog struct {
	ssot.Log
	dead atomic.Bool
}

func (l *dyingLog) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	if l.dead.Load() {
		return nil, errors.New("killed")
	}
	return l.Log.Append(ctx, records)
}

// As [TestViolation_ofAnyTurn], of a turn that died with its coordinator: the next one finds out.
func TestViolation_ofLostTurn(t *testing.T) {
	t.Parallel()
	for _, role := range []amp.Role{amp.Coordinator, amp.Reviewer} {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				log := &dyingLog{}
				rev := judges(amp.Approved)
				if role == amp.Reviewer {
					rev = idleTurn
				}
				r := newRig(t, works, rev, func(c *Config) { log.Log, c.Log = c.Log, log })
				if role == amp.Coordinator {
					r.planner.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
						return idleTurn(ctx, turn, 1, emit)
					}
				}
				id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
				synctest.Wait()
				if role != amp.Coordinator {
					r.submit(amp.Command{Command: amp.Approve, TaskID: id})
					synctest.Wait()
				}
				log.dead.Store(true)
				if _, err := r.try(amp.Command{Command: amp.NoteCommand, TaskID: id, Note: "the last straw"}); err == nil {
					t.Fatal("the store is not dead")
				}
				<-r.done
				r.git.review = func(amp.Workspace, *amp.Verdict) (amp.Check, error) { return wentForMain(), nil }
				r.cfg.Log = log.Log
				r.start()
				synctest.Wait()
				if e := r.want(id, amp.Suspended).Escalations; len(e) != 1 || e[0].Type != amp.BranchViolation {
					t.Errorf("escalations %+v\n%s", e, r.story(id))
				}
			})
		})
	}
}

// A lost turn whose worktree is gone went for nothing: another coordinator, or a restart, took the worktree away. The task goes on.
func TestViolation_lostWorktree(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := &dyingLog{}
		runs := 0
		exec := play(func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			if runs++; runs == 1 {
				return idleTurn(ctx, turn, n, emit)
			}
			return works(ctx, turn, n, emit)
		})
		r := newRig(t, exec, judges(amp.Approved), func(c *Config) { log.Log, c.Log = c.Log, log })
		id := r.task()
		log.dead.Store(true)
		if _, err := r.try(amp.Command{Command: amp.NoteCommand, TaskID: id, Note: "the last straw"}); err == nil {
			t.Fatal("the store is not dead")
		}
		<-r.done
		r.git.broke = func() amp.Check {
			r.git.broke = nil
			return amp.Check{Subject: amp.CheckResult, Escalate: amp.PermissionDenied, Claims: []amp.Claim{
				{Name: "worktree", Finding: amp.Refuted, Blocking: true, Found: "the worktree is gone"},
			}}
		}
		r.cfg.Log = log.Log
		r.start()
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// AMP-168: nor is it overlooked in the worktree of a reviewer that runs without our adapters.
func TestViolation_fromOutside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, id, m := reviewed(t)
		r.git.review = func(amp.Workspace, *amp.Verdict) (amp.Check, error) { return wentForMain(), nil }
		refusedBy(t, r.handIn(amp.Reviewer, m), "AMP-124")
		synctest.Wait()
		if e := r.want(id, amp.Suspended).Escalations; len(e) != 1 || e[0].Type != amp.BranchViolation {
			t.Errorf("escalations %+v", e)
		}
	})
}

// lateLook is a member's git that compares what a reviewer did only after a time, and then takes what was done elsewhere meanwhile for its doing.
type lateLook struct {
	*fakeGit
	late *atomic.Bool
}

func (g lateLook) CloseReview(ctx context.Context, w amp.Workspace, turn string, v *amp.Verdict) (amp.Check, error) {
	if g.late.Load() {
		time.Sleep(2 * time.Minute)
		return wentForMain(), nil
	}
	return g.fakeGit.CloseReview(ctx, w, turn, v)
}

// Where coordinators share a repository, whoever lost a task finds the next owner's work on it there, done in the name of the same task: what it
// sees late is no violation. The next owner looked when it took over.
func TestViolation_seenByWhoLostTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := []*atomic.Bool{{}, {}}
		k := newCrew(t, 2, everybody(works), everybody(slowly(time.Minute, judges(amp.Approved))), func(i int, c *Config) {
			c.Git = lateLook{c.Git.(*fakeGit), late[i]}
		})
		id := k.approved(0, 1)
		lost := k.owner(id, amp.Reviewer)
		i := slices.Index(k.members, lost)
		late[i].Store(true)
		lost.gate.cut(errCut)
		time.Sleep(90 * time.Second)
		lost.gate.cut(nil)
		k.at(1-i).until(id, amp.StatusApproved)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		if got := k.get(id); got.Status != amp.StatusApproved || len(got.Escalations) > 0 {
			t.Errorf("%s with escalations %+v, want approved and none\n%s", got.Status, got.Escalations, k.story(id))
		}
		k.check()
	})
}

package coordinator

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// One round, every message of it persisted (AMP-006): AMP-040, AMP-042, AMP-063, AMP-064, AMP-100, AMP-102, AMP-105, AMP-114, AMP-138.
func TestRound_approvedAtFirstReview(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.task()
		task := r.want(id, amp.StatusApproved)
		if task.RejectTotal != 0 || task.Round != 1 || len(task.Open) != 0 || task.Turn != nil {
			t.Errorf("rejects %d, rounds %d, open %v, turn %v\n%s", task.RejectTotal, task.Round, task.Open, task.Turn, r.story(id))
		}
		var kinds []string
		for _, e := range r.entries(amp.Filter{TaskID: id}) {
			if e.Kind == amp.KindMessage {
				kinds = append(kinds, strings.Split(e.ID, "-")[0])
			}
		}
		if got := strings.Join(kinds, " "); got != "task_dispatch task_result review_request review_verdict" {
			t.Errorf("messages: %s", got)
		}
		req := r.messages(id, amp.ReviewRequest)[0].Payload.(*amp.Request)
		if req.OriginalDispatchRef != r.messages(id, amp.TaskDispatch)[0].MsgID || req.ReviewScope != amp.Full {
			t.Errorf("request %+v", req)
		}
	})
}

// A21, AMP-107, AMP-109: a reject leads to a new dispatch that refers to dispatch, result and verdict.
func TestRound_rejectedThenApproved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Rejected, amp.Approved))
		id := r.task()
		task := r.want(id, amp.StatusApproved)
		if task.RejectTotal != 1 || task.Round != 2 {
			t.Errorf("rejects %d, rounds %d", task.RejectTotal, task.Round)
		}
		second := r.messages(id, amp.TaskDispatch)[1]
		if len(second.ContextRef) != 3 || !strings.Contains(second.Payload.(*amp.Dispatch).Description, "wrong sum of words") {
			t.Errorf("second dispatch: refs %v\n%s", second.ContextRef, second.Payload.(*amp.Dispatch).Description)
		}
		req := r.messages(id, amp.ReviewRequest)[1].Payload.(*amp.Request)
		if req.RejectCount != 1 || req.ReviewScope != amp.Incremental {
			t.Errorf("second request %+v", req)
		}
	})
}

// A01, A02, A03, AMP-112, AMP-156, AMP-166, AMP-174: the third reject locks, proves that all stands still, and only an unlock
// with a reason opens it.
func TestRound_hallucinationLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Rejected, amp.Rejected, amp.Rejected, amp.Approved))
		id := r.task()
		task := r.want(id, amp.Locked)
		if got := r.alarms(id); len(got) != 1 || got[0] != amp.HallucinationLock {
			t.Fatalf("escalations %v\n%s", got, r.story(id))
		}
		if e := task.Escalations[0]; e.Severity != amp.Critical || !e.Suspended {
			t.Errorf("escalation %+v", e)
		}
		if task.Proof == 0 {
			t.Error("the suspension is not proven")
		}
		if n := r.messages(id, amp.ReviewRequest)[2].Payload.(*amp.Request).CoordinatorNotes; !strings.Contains(n, "Lock is approaching") {
			t.Errorf("notes %q", n)
		}
		if f := task.Findings; len(f) != 1 || f[0].ID != "F1" || len(f[0].Rounds) != 3 {
			t.Errorf("findings %+v", f)
		}
		_, err := r.try(amp.Command{Command: amp.Resume, TaskID: id})
		refusedBy(t, err, "expects")
		_, err = r.try(amp.Command{Command: amp.Unlock, TaskID: id})
		refusedBy(t, err, "command")
		r.submit(amp.Command{Command: amp.Unlock, TaskID: id, Note: "Count bytes, not runes.", Args: amp.Args{Next: amp.Redispatch}})
		synctest.Wait()
		task = r.want(id, amp.StatusApproved)
		if task.RejectCount != 0 || task.RejectTotal != 3 || task.Escalations[0].Resolution != amp.Unlock {
			t.Errorf("count %d, total %d, resolution %s", task.RejectCount, task.RejectTotal, task.Escalations[0].Resolution)
		}
		last := r.messages(id, amp.TaskDispatch)[3]
		if !strings.Contains(last.Payload.(*amp.Dispatch).Description, "Count bytes, not runes.") {
			t.Error("the guidance is not in the dispatch")
		}
	})
}

// AMP-024, AMP-041, AMP-167, A17, A19: redelivered once at half the time, escalated at the deadline.
func TestAck_timeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleTurn, judges(amp.Approved))
		id := r.task()
		r.want(id, amp.Dispatched)
		time.Sleep(151 * time.Second)
		synctest.Wait()
		if n := len(r.exec.Turns()); n != 2 {
			t.Fatalf("%d turns after half the time, want the redelivered one too\n%s", n, r.story(id))
		}
		time.Sleep(150 * time.Second)
		synctest.Wait()
		task := r.want(id, amp.Suspended)
		if got := r.alarms(id); len(got) != 1 || got[0] != amp.AckTimeoutEsc {
			t.Fatalf("escalations %v", got)
		}
		if task.Proof == 0 || r.exec.Live() != 0 {
			t.Errorf("proof %d, live %d", task.Proof, r.exec.Live())
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if got := r.alarms(id); len(got) != 1 {
			t.Errorf("a suspended task has clocks that run: %v", got)
		}
		r.exec.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			return works(ctx, turn, 1, emit)
		}
		r.submit(amp.Command{Command: amp.Resume, TaskID: id, Note: "try again"})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// refuses is a reviewer that refuses its request, idles, and takes the request when it gets it the second time, if it is to.
func refuses(takes bool) play {
	return func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
		if n > 1 && takes {
			return judges(amp.Approved)(ctx, turn, 1, emit)
		}
		for range 3 {
			emit(agenttest.Refuse("I do not read shell"))
		}
		return idleTurn(ctx, turn, n, emit)
	}
}

// AMP-024, AMP-101, AMP-167, A07: a reviewer that refuses its review_request has not taken it. The request is delivered again at half of its time,
// and at the end of it the admin hears what the reviewer said. An ACK that is itself refused by a rule stops no clock either.
func TestAck_requestRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rev  play
		want amp.Status
		says string
		acks int
	}{
		"for good":  {refuses(false), amp.Suspended, "I do not read shell", 1},
		"only once": {refuses(true), amp.StatusApproved, "", 2},
		"breaks a rule": {func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Refuse("")) // without a reason
			emit(providers.Event{Type: providers.EventAck, Ack: &amp.Ack{Status: "perhaps", Reason: "hm"}})
			return idleTurn(ctx, turn, n, emit)
		}, amp.Suspended, "did not acknowledge", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, tc.rev)
				id := r.task()
				time.Sleep(299 * time.Second)
				synctest.Wait()
				if r.want(id, amp.Reviewing); len(r.rev.Turns()) != 1 {
					t.Fatalf("%d turns before half of the time", len(r.rev.Turns()))
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if n := len(r.rev.Turns()); n != 2 {
					t.Fatalf("%d turns after half of the time, want the redelivered one too\n%s", n, r.story(id))
				}
				time.Sleep(300 * time.Second)
				synctest.Wait()
				task := r.want(id, tc.want)
				acks := 0
				for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindAck}}) {
					if e.Role == amp.Reviewer {
						acks++
					}
				}
				if acks != tc.acks {
					t.Errorf("%d ACKs of the reviewer are kept, want %d\n%s", acks, tc.acks, r.story(id))
				}
				if tc.says == "" {
					return
				}
				if e := task.Escalations; len(e) != 1 || e[0].Type != amp.AckTimeoutEsc || !strings.Contains(e[0].Description, tc.says) {
					t.Errorf("escalations %+v", e)
				}
			})
		})
	}
}

// AMP-024: a machine that slept wakes behind the deadline. The one redelivery that was due meanwhile comes first, and has half of the time.
func TestAck_afterSleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var slept atomic.Int64
		r := newRig(t, idleTurn, judges(amp.Approved), func(c *Config) {
			c.Now = func() time.Time { return time.Now().Add(time.Duration(slept.Load())) }
		})
		id := r.task()
		time.Sleep(time.Minute)
		slept.Store(int64(10 * time.Hour))
		time.Sleep(time.Minute)
		synctest.Wait()
		if task := r.want(id, amp.Dispatched); len(r.exec.Turns()) != 2 || !task.Open[0].Redelivered {
			t.Fatalf("%d turns, %+v", len(r.exec.Turns()), task.Open)
		}
		time.Sleep(150 * time.Second)
		synctest.Wait()
		r.want(id, amp.Suspended)
	})
}

// AMP-137, A16: a verdict under 0.8 is held before it counts, a reject too; accepting lets it stand.
func TestHold_lowConfidence(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		decision amp.Decision
		command  amp.Command
		want     amp.Status
		rejects  int
	}{
		"approval accepted": {amp.Approved, amp.Command{Command: amp.Accept}, amp.StatusApproved, 0},
		"reject accepted":   {amp.Rejected, amp.Command{Command: amp.Accept}, amp.StatusApproved, 1},
		"reject overridden": {amp.Rejected, amp.Command{Command: amp.Override, Args: amp.Args{Decision: amp.Approved}}, amp.StatusApproved, 0},
		"redispatched":      {amp.Rejected, amp.Command{Command: amp.Redispatch, Note: "do this"}, amp.StatusApproved, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, func(_ context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(agenttest.Accept(turn))
					if n == 1 {
						return agenttest.Final(verdictOf(tc.decision, 0.72)), nil
					}
					return agenttest.Final(verdictOf(amp.Approved, 0.9)), nil
				})
				id := r.task()
				task := r.want(id, amp.Held)
				if task.RejectTotal != 0 || task.Hold.Kind != amp.HoldVerdict {
					t.Errorf("rejects %d, hold %+v", task.RejectTotal, task.Hold)
				}
				tc.command.TaskID = id
				r.submit(tc.command)
				synctest.Wait()
				if task := r.want(id, tc.want); task.RejectTotal != tc.rejects {
					t.Errorf("rejects %d, want %d", task.RejectTotal, tc.rejects)
				}
			})
		})
	}
}

// AMP-085, AMP-087: partial and failed results go to the admin.
func TestHold_partialResult(t *testing.T) {
	t.Parallel()
	for _, status := range []amp.CompletionStatus{amp.Partial, amp.Failed} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(agenttest.Accept(turn))
					if n == 1 {
						return agenttest.Final(resultOf(turn, status)), nil
					}
					return agenttest.Final(resultOf(turn, amp.Complete)), nil
				}, judges(amp.Approved))
				id := r.task()
				if task := r.want(id, amp.Held); !strings.Contains(task.Hold.Why, "no time") {
					t.Errorf("hold %+v", task.Hold)
				}
				r.submit(amp.Command{Command: amp.Redispatch, TaskID: id, Note: "take your time"})
				synctest.Wait()
				r.want(id, amp.StatusApproved)
			})
		})
	}
}

// Design, section 1: a claim is checked before it is believed; three lies in a row end with the admin (AMP-171).
func TestVerify_refuted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		lies := 1
		r.git.verify = func(w amp.Workspace, _ *amp.Result) (amp.Check, error) {
			if lies == 0 {
				return r.git.good(w), nil
			}
			lies--
			return amp.Check{Subject: amp.CheckResult, Claims: []amp.Claim{{Name: "commit", Finding: amp.Refuted, Blocking: true, Claimed: "feed", Found: "beef"}}}, nil
		}
		id := r.task()
		task := r.want(id, amp.StatusApproved)
		if task.Checks.Refuted != 1 || task.RejectTotal != 0 || len(r.messages(id, amp.ReviewRequest)) != 1 {
			t.Errorf("refuted %d, rejects %d", task.Checks.Refuted, task.RejectTotal)
		}
		if d := r.messages(id, amp.TaskDispatch)[1].Payload.(*amp.Dispatch).Description; !strings.Contains(d, "said feed, found beef") {
			t.Errorf("the evidence is not in the dispatch: %s", d)
		}
		lies = 100
		id = r.task()
		r.want(id, amp.Suspended)
		if got := r.alarms(id); len(got) != 1 || got[0] != amp.Conflict {
			t.Errorf("escalations %v", got)
		}
	})
}

// AMP-113, AMP-169: a failed CI run means no review but a dispatch to fix it; three in a row escalate.
func TestVerify_ciFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		fails := 1
		r.git.ci = func(context.Context, amp.Workspace) (amp.Check, error) {
			if fails == 0 {
				return amp.Check{Subject: amp.CheckCI, CI: map[string]string{"local": "passed"}}, nil
			}
			fails--
			return amp.Check{Subject: amp.CheckCI, CI: map[string]string{"local": "failed"}, Output: "FAIL: 3 words"}, nil
		}
		id := r.task()
		r.want(id, amp.StatusApproved)
		if n := len(r.messages(id, amp.ReviewRequest)); n != 1 {
			t.Errorf("%d review requests, want 1", n)
		}
		if d := r.messages(id, amp.TaskDispatch)[1].Payload.(*amp.Dispatch).Description; !strings.Contains(d, "FAIL: 3 words") {
			t.Errorf("the output is not in the dispatch: %s", d)
		}
		fails = 100
		id = r.task()
		r.want(id, amp.Suspended)
		if got := r.alarms(id); len(got) != 1 || got[0] != amp.CIFailure {
			t.Errorf("escalations %v", got)
		}
	})
}

// AMP-080: what the executor could not verify is named to the reviewer.
func TestRequest_namesOpenCriteria(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			res := resultOf(turn, amp.Complete)
			res["self_assessment"] = map[string]any{"criteria_met": []*bool{nil}, "notes": []string{"no idea"}}
			return agenttest.Final(res), nil
		}, judges(amp.Approved))
		id := r.task()
		notes := r.messages(id, amp.ReviewRequest)[0].Payload.(*amp.Request).CoordinatorNotes
		if !strings.Contains(notes, "could not verify criterion 1: the check passes") {
			t.Errorf("notes %q", notes)
		}
	})
}

// A20: a coordinator that does not acknowledge is reported by the system.
func TestAckAlarm_ofCoordinator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.task()
		for to, want := range map[amp.Role]amp.Role{amp.Coordinator: amp.System, amp.Executor: amp.Coordinator} {
			var rec amp.Record
			if err := r.c.view(t.Context(), func(b *amp.Board) {
				rec = r.c.ackAlarm(b.Task(id), amp.Obligation{MsgID: "x", Type: amp.TaskResult, To: to, TimeoutSec: 120}, time.Now())
			}); err != nil {
				t.Fatal(err)
			}
			m, _, err := amp.Decode(rec.Body)
			if err != nil {
				t.Fatal(err)
			}
			if m.From != want || m.Payload.(*amp.Escalation).TriggeredBy != want {
				t.Errorf("silence of the %s is reported by %s, want %s", to, m.From, want)
			}
		}
	})
}

// AMP-046: the repository is gone when work is to start. AMP-089: the branch moved while the result waited. Both stop the task.
func TestGit_refuses(t *testing.T) {
	t.Parallel()
	for typ, start := range map[amp.EscalationType]func(*rig){
		amp.UnknownEscalation: func(r *rig) {
			r.git.inspect = func(repo, _ string) (amp.RepoFacts, error) {
				return amp.RepoFacts{}, &amp.GuardError{Type: amp.UnknownEscalation, Repo: repo, Why: "it is gone"}
			}
		},
		amp.PermissionDenied: func(r *rig) {
			r.git.open = func(w amp.Workspace) error {
				return &amp.GuardError{Type: amp.PermissionDenied, Repo: w.Repo, Branch: w.Branch, Why: "it moved (AMP-089)"}
			}
		},
	} {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, judges(amp.Approved))
				id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
				synctest.Wait()
				start(r)
				r.submit(amp.Command{Command: amp.Approve, TaskID: id})
				synctest.Wait()
				r.want(id, amp.Suspended)
				if got := r.alarms(id); len(got) != 1 || got[0] != typ {
					t.Errorf("escalations %v, want %s", got, typ)
				}
			})
		})
	}
}

// AMP-088: an executor that touches refs that are not its own exceeds what it may do.
func TestViolation_permission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		r.git.verify = func(amp.Workspace, *amp.Result) (amp.Check, error) {
			return amp.Check{
				Subject: amp.CheckResult, Escalate: amp.PermissionDenied,
				Claims: []amp.Claim{{Name: "refs", Finding: amp.Refuted, Blocking: true, Found: "pushed to origin"}},
			}, nil
		}
		id := r.task()
		e := r.want(id, amp.Suspended).Escalations
		if len(e) != 1 || e[0].Type != amp.PermissionDenied || e[0].Severity != amp.Warning || !strings.Contains(e[0].Description, "pushed to origin") {
			t.Errorf("escalations %+v", e)
		}
	})
}

// AMP-089: the branch moved between the check of the result and the local CI; after a rollback the work goes on.
func TestCI_branchMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		r.git.ci = func(context.Context, amp.Workspace) (amp.Check, error) {
			return amp.Check{Subject: amp.CheckCI, Escalate: amp.PermissionDenied, Text: "the branch moved"}, nil
		}
		id := r.task()
		task := r.want(id, amp.Suspended)
		if got := r.alarms(id); len(got) != 1 || got[0] != amp.PermissionDenied || task.CI != nil || len(r.messages(id, amp.ReviewRequest)) != 0 {
			t.Fatalf("escalations %v, ci %v", got, task.CI)
		}
		r.git.ci = nil
		r.submit(amp.Command{Command: amp.Resume, TaskID: id})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// AMP-018: the processes of a turn speak for its role and task alone, whatever they say they are, and only while it runs.
func TestReceive_ofATurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		let := make(chan struct{})
		var turn providers.Turn
		r := newRig(t, func(ctx context.Context, of providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(providers.Event{Type: providers.EventStarted, PID: 4711})
			emit(agenttest.Accept(of))
			turn = of
			select {
			case <-let:
			case <-ctx.Done():
			}
			return providers.Outcome{}, &providers.TurnError{Failure: providers.FailKilled, Text: "stopped"}
		}, judges(amp.Approved))
		id := r.task()
		send := func(as amp.Role, task amp.TaskID, turn string) error {
			raw := jsonOf(map[string]any{
				"msg_id": amp.NewMsgID(amp.EscalationMsg, task, time.Now(), nil), "protocol_version": amp.Version, "type": "escalation",
				"from": as, "to": "admin", "task_id": task, "timestamp": amp.FormatTime(time.Now()), "requires_ack": false,
				"payload": map[string]any{
					"escalation_type": "unknown", "severity": "info", "triggered_by": as, "description": "x", "affected_msgs": []string{},
					"system_state_snapshot": map[string]any{"task_status": "executing", "reject_count": 0, "last_successful_msg_id": ""}, "recommended_action": "x", "auto_suspended": false,
				},
			})
			_, err := r.c.Receive(t.Context(), amp.Received{Raw: raw, As: as, Actor: "codex", Source: "socket", Turn: turn})
			time.Sleep(time.Second)
			return err
		}
		if err := send(amp.Executor, id, turn.ID); err != nil {
			t.Errorf("for its own role and task: %v", err)
		}
		refusedBy(t, send(amp.Executor, id, "another"), "AMP-018")
		for pid, want := range map[int]string{4711: turn.ID, 1: ""} {
			if got, err := r.c.TurnOf(t.Context(), func(p int) bool { return p == pid }); got != want || err != nil {
				t.Errorf("the turn of process %d is %q, %v; want %q", pid, got, err, want)
			}
		}
		r.want(id, amp.Executing)
		refusedBy(t, send(amp.Reviewer, id, turn.ID), "AMP-018")
		synctest.Wait()
		r.want(id, amp.Suspended)
		if got := r.alarms(id); len(got) != 2 || got[1] != amp.PermissionDenied {
			t.Errorf("escalations %v", got)
		}
		close(let)
	})
}

// AMP-007: an agent that writes to another agent is refused, and the admin hears of it.
func TestReceive_acrossTheHub(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleTurn, judges(amp.Approved))
		id := r.task()
		raw := jsonOf(map[string]any{
			"msg_id": amp.NewMsgID(amp.TaskResult, id, time.Now(), nil), "protocol_version": amp.Version, "type": "task_result",
			"from": "executor", "to": "reviewer", "task_id": id, "timestamp": amp.FormatTime(time.Now()), "requires_ack": true,
			"payload": resultOf(providers.Turn{Subtask: string(id) + "-S1"}, amp.Complete),
		})
		_, err := r.c.Receive(t.Context(), amp.Received{Raw: raw, As: amp.Executor, Actor: "codex", Source: "cli"})
		refusedBy(t, err, "AMP-007")
		synctest.Wait()
		r.want(id, amp.Suspended)
		if got := r.alarms(id); len(got) != 1 || got[0] != amp.PermissionDenied {
			t.Errorf("escalations %v", got)
		}
	})
}

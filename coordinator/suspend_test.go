package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// AMP-156, AMP-174: stop-all ends every turn; thaw starts what is missing and every clock goes on where it stood.
func TestStopAll_thaw(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleTurn, judges(amp.Approved))
		a, b := r.task(), r.task()
		time.Sleep(100 * time.Second)
		r.submit(amp.Command{Command: amp.StopAll, Note: "smoke"})
		synctest.Wait()
		if r.exec.Live() != 0 || r.get(a).Turn != nil || r.get(b).Turn != nil {
			t.Fatalf("%d turns live after stop-all", r.exec.Live())
		}
		time.Sleep(10 * time.Hour)
		synctest.Wait()
		if n := len(r.exec.Turns()); n != 2 {
			t.Errorf("%d turns while stopped, want 2", n)
		}
		r.submit(amp.Command{Command: amp.Thaw})
		synctest.Wait()
		if r.exec.Live() != 2 {
			t.Fatalf("%d turns live after thaw\n%s", r.exec.Live(), r.story(a))
		}
		time.Sleep(199 * time.Second)
		synctest.Wait()
		r.want(a, amp.Dispatched)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.want(a, amp.Suspended)
	})
}

// AMP-170, A26: an executor that acknowledged and then writes nothing for 30 minutes; signs of life put it off.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			time.Sleep(20*time.Minute + time.Second)
			emit(providers.Event{Type: providers.EventProgress, Text: "still at it"})
			return idleTurn(ctx, turn, 1, emit)
		}, judges(amp.Approved))
		id := r.task()
		time.Sleep(49 * time.Minute)
		synctest.Wait()
		r.want(id, amp.Executing)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		r.want(id, amp.Suspended)
		e := r.get(id).Escalations
		if len(e) != 1 || e[0].Type != amp.HeartbeatTimeout || e[0].Severity != amp.Warning || e[0].From != amp.System {
			t.Errorf("escalations %+v", e)
		}
	})
}

// AMP-170: what a role could not write since the machine slept, or since no coordinator ran, is no silence of its own. From then on its 30 minutes
// count.
func TestHeartbeat_nobodyAwake(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// away lets ten hours go by.
		away func(r *rig, ahead *atomic.Int64)
		// turns is how many the executor has had then.
		turns int
	}{
		"the machine slept": {func(_ *rig, ahead *atomic.Int64) { ahead.Store(int64(10 * time.Hour)) }, 1},
		"no coordinator ran": {func(r *rig, _ *atomic.Int64) {
			r.stop()
			time.Sleep(10 * time.Hour)
			r.start()
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var ahead atomic.Int64
				r := newRig(t, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(agenttest.Accept(turn))
					return idleTurn(ctx, turn, 1, emit)
				}, judges(amp.Approved), func(c *Config) {
					c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
				})
				id := r.task()
				time.Sleep(10 * time.Minute)
				tc.away(r, &ahead)
				time.Sleep(29 * time.Minute)
				synctest.Wait()
				r.want(id, amp.Executing)
				page, err := r.c.Query(t.Context(), amp.Query{Kind: amp.QueryStatus})
				if err != nil {
					t.Fatal(err)
				}
				if at := page.Status.AwakeSince; r.c.now().Sub(at).Round(time.Minute) != 29*time.Minute {
					t.Errorf("awake since %s, want 29 minutes ago", at)
				}
				if n := len(r.exec.Turns()); n != tc.turns {
					t.Errorf("%d turns of the executor, want %d", n, tc.turns)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				r.want(id, amp.Suspended)
				if e := r.get(id).Escalations; len(e) != 1 || e[0].Type != amp.HeartbeatTimeout {
					t.Errorf("escalations %+v", e)
				}
			})
		})
	}
}

// AMP-172, AMP-150, AMP-152: an agent's own escalation suspends its task; an invalid one is refused and shown all the same
// (AMP-153, AMP-175).
func TestEscalation_ofAgent(t *testing.T) {
	t.Parallel()
	good := amp.EncodeBody(&amp.Escalation{
		EscalationType: amp.PermissionDenied, Severity: amp.Warning, TriggeredBy: amp.Executor,
		Description: "I would have to change go.mod.", AffectedMsgs: []string{}, SystemStateSnapshot: amp.Snapshot{TaskStatus: amp.Executing},
		AutoSuspended: true,
	})
	for name, tc := range map[string]struct {
		payload json.RawMessage
		want    amp.EscalationType
		refused int
	}{
		"valid":   {good, amp.PermissionDenied, 0},
		"invalid": {json.RawMessage(`{"severity":"catastrophic"}`), amp.UnknownEscalation, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(agenttest.Accept(turn))
					emit(providers.Event{Type: providers.EventEscalation, Payload: tc.payload})
					return idleTurn(ctx, turn, 1, emit)
				}, judges(amp.Approved))
				id := r.task()
				task := r.want(id, amp.Suspended)
				if task.Escalations[0].Type != tc.want || task.Proof == 0 || r.exec.Live() != 0 {
					t.Errorf("escalation %+v, proof %d, live %d", task.Escalations[0], task.Proof, r.exec.Live())
				}
				if n := len(r.refusals(id)); n != tc.refused {
					t.Errorf("%d refusals, want %d", n, tc.refused)
				}
			})
		})
	}
}

// AMP-168, AMP-048, AMP-049: an agent that goes for a protected branch.
func TestViolation_critical(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		r.git.verify = func(amp.Workspace, *amp.Result) (amp.Check, error) {
			return amp.Check{
				Subject: amp.CheckResult, Escalate: amp.BranchViolation, Text: "refs/heads/main was touched",
				Claims: []amp.Claim{{Name: "refs", Finding: amp.Refuted, Blocking: true}},
			}, nil
		}
		id := r.task()
		task := r.want(id, amp.Suspended)
		if e := task.Escalations; len(e) != 1 || e[0].Type != amp.BranchViolation || e[0].Severity != amp.Critical {
			t.Fatalf("escalations %+v", e)
		}
		r.git.verify = nil
		r.submit(amp.Command{Command: amp.Rollback, TaskID: id, Args: amp.Args{Next: amp.Redispatch, Checkpoint: 1}, Note: "stay on your branch"})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// AMP-168, design 1.6: a result that broke a rule is compared with git anew after a resume. What was found before speaks neither for it nor
// against it.
func TestViolation_resumed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		mended bool
		want   amp.Status
		verify int
	}{
		"mended":     {true, amp.StatusApproved, 2},
		"not mended": {false, amp.Suspended, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, judges(amp.Approved))
				mended, compared := false, 0
				r.git.verify = func(w amp.Workspace, _ *amp.Result) (amp.Check, error) {
					compared++
					ck := r.git.good(w)
					if !mended {
						ck.Escalate = amp.BranchViolation
						ck.Claims = append(ck.Claims, amp.Claim{Name: "refs", Finding: amp.Refuted, Blocking: true, Found: "refs/heads/main moved"})
					}
					return ck, nil
				}
				id := r.task()
				if task := r.want(id, amp.Suspended); task.Checked == nil || task.Checked.Refuted != 1 {
					t.Fatalf("the admin decides on what was found, which is %+v", task.Checked)
				}
				mended = tc.mended
				r.submit(amp.Command{Command: amp.Resume, TaskID: id, Note: "main is back where it was"})
				synctest.Wait()
				task := r.want(id, tc.want)
				if compared != tc.verify || tc.mended != (len(r.messages(id, amp.ReviewRequest)) == 1) {
					t.Errorf("compared %d times, %d requests\n%s", compared, len(r.messages(id, amp.ReviewRequest)), r.story(id))
				}
				if tc.mended && len(task.Checked.Refutations) > 0 {
					t.Errorf("the reviewer is told of %v, which was mended", task.Checked.Refutations)
				}
			})
		})
	}
}

// AMP-048: a dispatch for a protected branch is never sent.
func TestGuard_beforeDispatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		r.git.inspect = func(repo, branch string) (amp.RepoFacts, error) {
			return amp.RepoFacts{}, &amp.GuardError{Type: amp.BranchViolation, Repo: repo, Branch: branch, Why: "protected"}
		}
		r.submit(amp.Command{Command: amp.Approve, TaskID: id})
		synctest.Wait()
		r.want(id, amp.Suspended)
		if n := len(r.messages(id, amp.TaskDispatch)); n != 0 {
			t.Errorf("%d dispatches", n)
		}
	})
}

// AMP-174: a report that comes after the task was fenced is kept and not acted on.
func TestLate_report(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			<-ctx.Done() // the agent finishes just as it is told to stop
			return agenttest.Final(resultOf(turn, amp.Complete)), nil
		}, judges(amp.Approved))
		id := r.task()
		r.submit(amp.Command{Command: amp.Terminate, TaskID: id, Note: "enough"})
		synctest.Wait()
		task := r.want(id, amp.Terminated)
		if task.Late != 1 || len(r.messages(id, amp.TaskResult)) != 0 || !task.Released {
			t.Errorf("late %d, results %d, released %v", task.Late, len(r.messages(id, amp.TaskResult)), task.Released)
		}
	})
}

// A03: answers that cannot be used are refused and count as no reject; then the admin is asked (AMP-171).
func TestUnusable_answers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, func(_ context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			if n == 1 {
				return providers.Outcome{}, &providers.TurnError{Failure: providers.FailCrashed, Text: "exit 1"}
			}
			return agenttest.Final(map[string]any{"decision": "perhaps"}), nil
		})
		id := r.task()
		task := r.want(id, amp.Suspended)
		if task.RejectTotal != 0 || r.alarms(id)[0] != amp.UnknownEscalation || len(r.refusals(id)) != 1 {
			t.Errorf("rejects %d, escalations %v, refusals %d", task.RejectTotal, r.alarms(id), len(r.refusals(id)))
		}
	})
}

// AMP-124, AMP-134: a reviewer that changed what it must not has given no verdict.
func TestReview_voided(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		r.git.review = func(amp.Workspace, *amp.Verdict) (amp.Check, error) {
			return amp.Check{Subject: amp.CheckReview, Claims: []amp.Claim{{Name: "fixes", Finding: amp.Refuted, Blocking: true, Found: "count.sh changed"}}}, nil
		}
		id := r.task()
		r.want(id, amp.Suspended)
		if len(r.messages(id, amp.ReviewVerdict)) != 0 || len(r.refusals(id)) != 2 {
			t.Errorf("verdicts %d, refusals %d", len(r.messages(id, amp.ReviewVerdict)), len(r.refusals(id)))
		}
	})
}

// tui.md 6.2.16: a decision with an undo time runs after it, can be taken back until then, and is not carried out when the task
// moved on.
func TestUndo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		first := r.submit(amp.Command{ID: "c-1", Command: amp.Approve, TaskID: id, Args: amp.Args{Undo: true}})
		time.Sleep(9900 * time.Millisecond)
		synctest.Wait()
		r.want(id, amp.AwaitingApproval)
		r.submit(amp.Command{Command: amp.Withdraw, TaskID: id, Args: amp.Args{Withdraws: first.ID}})
		time.Sleep(time.Minute)
		synctest.Wait()
		r.want(id, amp.AwaitingApproval)

		r.submit(amp.Command{ID: "c-2", Command: amp.Approve, TaskID: id, Args: amp.Args{Undo: true}})
		r.submit(amp.Command{Command: amp.Reject, TaskID: id, Note: "smaller"})
		time.Sleep(11 * time.Second)
		synctest.Wait()
		task := r.want(id, amp.AwaitingApproval)
		if task.Plan.Revision != 2 || len(task.Waiting) != 0 {
			t.Fatalf("revision %d, waiting %v", task.Plan.Revision, task.Waiting)
		}
		if len(task.Failed) != 1 || task.Failed[0].CommandID != "c-2" || task.Approval != nil {
			t.Errorf("an approval that named no state is bound to the one it was given on: %+v, approval %v", task.Failed, task.Approval)
		}
		id = r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		r.submit(amp.Command{ID: "c-3", Command: amp.Approve, TaskID: id, Expects: &amp.Expects{Revision: r.get(id).Revision}, Args: amp.Args{Undo: true}})
		r.submit(amp.Command{Command: amp.Reject, TaskID: id, Note: "smaller"})
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if task := r.get(id); len(task.Failed) != 1 || task.Failed[0].CommandID != "c-3" || task.Approval != nil {
			t.Errorf("not carried out: %+v, approval %v", task.Failed, task.Approval)
		}
		_, err := r.try(amp.Command{Command: amp.Approve, TaskID: id, Expects: &amp.Expects{Hash: "00000000"}})
		refusedBy(t, err, "expects")
		if again := r.submit(amp.Command{ID: "c-1", Command: amp.Approve, TaskID: first.TaskID, Args: amp.Args{Undo: true}}); again.Seq != first.Seq {
			t.Errorf("the same decision again is entry %d, want %d", again.Seq, first.Seq)
		}
	})
}

// AMP-059: the ladder of risk.
func TestApprove_risk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo", Risk: amp.High}}}).TaskID
		synctest.Wait()
		hash := r.get(id).Plan.Hash
		for name, args := range map[string]amp.Args{
			"unread": {Digits: hash[60:]}, "part unread": {Digits: hash[60:], Read: "read 1/2", Unread: 1},
			"no digits": {Read: "read 2/2"}, "wrong digits": {Read: "read 2/2", Digits: "zzzz"},
		} {
			_, err := r.try(amp.Command{Command: amp.Approve, TaskID: id, Args: args})
			if _, ok := errors.AsType[*amp.RefusedError](err); !ok {
				t.Errorf("%s: %v", name, err)
			}
		}
		r.submit(amp.Command{Command: amp.Approve, TaskID: id, Args: amp.Args{Read: "read 2/2", Digits: strings.ToUpper(hash[60:])}})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// Design, section 4: budgets pause and ask; raising the limit goes on.
func TestBudget_turns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Rejected, amp.Approved), func(c *Config) { c.Budget.Turns = 3 })
		id := r.task()
		task := r.get(id)
		if len(task.Questions) != 1 || task.Questions[0].Type != amp.QuestionBudget || task.Spent.Turns != 3 {
			t.Fatalf("questions %+v, spent %+v\n%s", task.Questions, task.Spent, r.story(id))
		}
		r.submit(amp.Command{Command: amp.RaiseLimit, TaskID: id, Args: amp.Args{Limits: &amp.Budget{Turns: 10}}})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// A concurrency cap: never more turns than slots, and every task gets its turn.
func TestSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			time.Sleep(time.Second + time.Duration(len(turn.ID))*time.Millisecond)
			return agenttest.Final(resultOf(turn, amp.Complete)), nil
		}, judges(amp.Approved), func(c *Config) { c.Slots = 2 })
		var ids []amp.TaskID
		for range 12 {
			ids = append(ids, r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID)
		}
		synctest.Wait()
		for _, id := range ids {
			r.submit(amp.Command{Command: amp.Approve, TaskID: id})
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, id := range ids {
			r.want(id, amp.StatusApproved)
		}
		if p := r.exec.Peak(); p != 2 {
			t.Errorf("peak %d, want 2", p)
		}
	})
}

// A plan of two subtasks: the second is dispatched after the first is approved, and reviewed incrementally (AMP-107).
func TestSubtasks_inOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		r.planner.RunFunc = func(_ context.Context, turn providers.Turn, _ func(providers.Event)) (providers.Outcome, error) {
			return agenttest.Final(map[string]any{
				"title": "Two", "description": "Two steps.", "risk_level": "low", "acceptance_criteria": []string{"the check passes"},
				"subtasks": []map[string]any{
					{"subtask_id": string(turn.Task) + "-S1", "description": "one", "estimated_lines": 1},
					{"subtask_id": string(turn.Task) + "-S2", "description": "two", "estimated_lines": 1},
				},
			}), nil
		}
		id := r.task()
		r.want(id, amp.StatusApproved)
		results := r.messages(id, amp.TaskResult)
		if len(results) != 2 || results[1].Payload.(*amp.Result).SubtaskID != string(id)+"-S2" {
			t.Fatalf("%d results", len(results))
		}
		if req := r.messages(id, amp.ReviewRequest)[1].Payload.(*amp.Request); req.ReviewScope != amp.Incremental {
			t.Errorf("scope %s", req.ReviewScope)
		}
		r.submit(amp.Command{Command: amp.Deliver, TaskID: id, Expects: &amp.Expects{Hash: r.get(id).Commit}})
		synctest.Wait()
		r.want(id, amp.Delivered)
	})
}

// An external agent finds its message in the journal and answers through Receive. AMP-013, AMP-072, A09.
func TestExternal_agents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), func(c *Config) { c.Roles[amp.Executor] = "outsider" })
		id := r.task()
		task := r.want(id, amp.Dispatched)
		if task.Turn == nil || task.Turn.Dir == "" {
			t.Fatalf("no worktree was prepared: %+v", task.Turn)
		}
		ctx := context.Background()
		ack := amp.Received{As: amp.Executor, Actor: "outsider", Source: "cli", Raw: jsonOf(amp.Ack{
			AckFor: task.Dispatch.MsgID, TaskID: id,
			By: amp.Executor, Status: amp.AckAccepted, EchoedAcceptanceCriteria: []string{"the check passes"},
		})}
		if _, err := r.c.Receive(ctx, ack); err != nil {
			t.Fatal(err)
		}
		r.want(id, amp.Executing)
		m := map[string]any{
			"msg_id": amp.NewMsgID(amp.TaskResult, id, time.Now(), func(string) bool { return false }), "protocol_version": amp.Version,
			"type": "task_result", "from": "executor", "to": "coordinator", "task_id": id, "timestamp": amp.FormatTime(time.Now()),
			"requires_ack": true, "payload": resultOf(providers.Turn{Subtask: string(id) + "-S1"}, amp.Complete),
		}
		raw := jsonOf(m)
		_, err := r.c.Receive(ctx, amp.Received{Raw: raw, As: amp.Reviewer, Actor: "outsider", Source: "cli"})
		refusedBy(t, err, "AMP-072")
		first, err := r.c.Receive(ctx, amp.Received{Raw: raw, As: amp.Executor, Actor: "outsider", Source: "cli"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		r.want(id, amp.StatusApproved)
		again, err := r.c.Receive(ctx, amp.Received{Raw: raw, As: amp.Executor, Actor: "outsider", Source: "cli"})
		if err != nil || !again.Duplicate || again.Entry.Seq != first.Entry.Seq {
			t.Errorf("again: %+v, %v", again, err)
		}
		m["requires_ack"] = false
		_, err = r.c.Receive(ctx, amp.Received{Raw: jsonOf(m), As: amp.Executor, Actor: "outsider", Source: "cli"})
		refusedBy(t, err, "AMP-005")
	})
}

// Design, section 1.3: a coordinator that starts again continues; the turn that died is ended as lost and started again.
func TestRestart_whileTurnRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, idleTurn, judges(amp.Approved))
		id := r.task()
		r.stop()
		r.exec.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			return works(ctx, turn, 1, emit)
		}
		r.start()
		synctest.Wait()
		task := r.want(id, amp.StatusApproved)
		if len(r.messages(id, amp.TaskDispatch)) != 1 || task.Attempts != 0 {
			t.Errorf("%d dispatches, %d attempts\n%s", len(r.messages(id, amp.TaskDispatch)), task.Attempts, r.story(id))
		}
	})
}

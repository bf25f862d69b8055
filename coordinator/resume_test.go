package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/ssot/ssottest"
)

// A planner that failed often enough is asked again once the admin resumes the task.
func TestResume_ofPlanning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fails := 2
		r := newRig(t, works, judges(amp.Approved), func(c *Config) {
			p := c.Agents["planner"]
			p.Agent = &agenttest.Fake{RunFunc: func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
				if fails > 0 {
					fails--
					return providers.Outcome{}, &providers.TurnError{Failure: providers.FailCrashed, Text: "no plan"}
				}
				return plans(ctx, turn, 1, emit)
			}}
			c.Agents["planner"] = p
		})
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		r.want(id, amp.Suspended)
		r.submit(amp.Command{Command: amp.Resume, TaskID: id})
		synctest.Wait()
		if task := r.want(id, amp.AwaitingApproval); len(task.Escalations) != 1 {
			t.Errorf("escalations %v", r.alarms(id))
		}
	})
}

// Nothing is dispatched that nobody approved, also not as what follows a rollback.
func TestRollback_nothingApproved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), func(c *Config) {
			p := c.Agents["planner"]
			p.Agent = &agenttest.Fake{} // it fails
			c.Agents["planner"] = p
		})
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		r.want(id, amp.Suspended)
		_, err := r.try(amp.Command{Command: amp.Rollback, TaskID: id, Args: amp.Args{Next: amp.Redispatch}})
		refusedBy(t, err, "command")
		r.want(id, amp.Suspended)
	})
}

// What a work brings after everything was stopped starts nothing, even if it was done before it could be told to end.
func TestStop_duringWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		prepared, judging := make(chan struct{}), make(chan struct{})
		r.git.open = func(amp.Workspace) error { <-prepared; return nil }
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		beside := func(f func() error) {
			go func() {
				if err := f(); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		beside(func() error { return r.c.view(t.Context(), func(*amp.Board) { <-judging }) })
		beside(func() error { _, err := r.try(amp.Command{Command: amp.StopAll}); return err })
		close(prepared) // the turn could start now; its work waits behind the stop
		synctest.Wait()
		close(judging)
		synctest.Wait()
		if turns := len(r.planner.Turns()); turns != 0 || r.get(id).Turn != nil {
			t.Errorf("%d turns of the planner although everything stands still\n%s", turns, r.story(id))
		}
		r.submit(amp.Command{Command: amp.Thaw})
		synctest.Wait()
		r.want(id, amp.AwaitingApproval)
	})
}

// An answer from outside that comes while a turn is being prepared for the same message: no agent starts on what was answered.
func TestReceive_whileTurnIsPrepared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		goOn := make(chan struct{})
		r.git.prepare = func() { <-goOn }
		id := r.task()
		sent := r.messages(id, amp.TaskDispatch)[0]
		raw := jsonOf(map[string]any{
			"msg_id": amp.NewMsgID(amp.TaskResult, id, time.Now(), nil), "protocol_version": amp.Version, "type": "task_result",
			"from": "executor", "to": "coordinator", "task_id": id, "timestamp": amp.FormatTime(time.Now()), "requires_ack": true,
			"context_ref": []string{sent.MsgID}, "payload": resultOf(providers.Turn{Subtask: string(id) + "-S1"}, amp.Complete),
		})
		if _, err := r.c.Receive(t.Context(), amp.Received{Raw: raw, As: amp.Executor, Actor: "outsider", Source: "cli"}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(goOn)
		synctest.Wait()
		if n := len(r.exec.Turns()); n != 0 {
			t.Errorf("%d turns for a dispatch that was answered\n%s", n, r.story(id))
		}
		r.want(id, amp.StatusApproved)
	})
}

// A plan that is revised while a result is held is dispatched anew once it is approved: nobody goes on with what was sent before.
func TestRevise_whileHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		status := amp.Partial
		r := newRig(t, func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return agenttest.Final(resultOf(turn, status)), nil
		}, judges(amp.Approved))
		id := r.task()
		p := *r.want(id, amp.Held).Plan
		p.Description, status = "Count lines instead.", amp.Complete
		r.submit(amp.Command{Command: amp.Revise, TaskID: id, Args: amp.Args{Plan: &p}})
		r.submit(amp.Command{Command: amp.Approve, TaskID: id})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
		sent := r.messages(id, amp.TaskDispatch)
		if len(sent) != 2 || !strings.HasPrefix(sent[len(sent)-1].Payload.(*amp.Dispatch).Description, p.Description) {
			t.Errorf("%d dispatches\n%s", len(sent), r.story(id))
		}
	})
}

// A client whose request came in the same turn of the loop as one that the store failed for is told so, and does not wait for ever.
func TestStoreFails_clientBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		died := errors.New("killed")
		r := newRig(t, works, judges(amp.Approved), func(c *Config) {
			c.Log = ssottest.Flaky(c.Log, ssottest.Plan{Dead: true, FailBefore: map[int]error{2: died}})
		})
		prepared, judging := make(chan struct{}), make(chan struct{})
		r.git.open = func(amp.Workspace) error { <-prepared; return nil }
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo"}}}).TaskID
		go func() { _ = r.c.view(t.Context(), func(*amp.Board) { <-judging }) }()
		synctest.Wait()
		close(prepared) // the first behind it: the turn is to be written down
		synctest.Wait()
		told := make(chan error)
		go func() {
			_, err := r.try(amp.Command{Command: amp.NoteCommand, TaskID: id, Note: "hm"})
			told <- err
		}()
		synctest.Wait()
		close(judging)
		if err := <-told; !errors.Is(err, died) {
			t.Errorf("the client was told %v", err)
		}
		if err := <-r.done; !errors.Is(err, died) {
			t.Errorf("Run: %v", err)
		}
		r.done <- nil
	})
}

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

// says hands in an escalation of an agent that runs without our adapters.
func (r *rig) says(id amp.TaskID, p amp.Escalation, timeout int) {
	r.t.Helper()
	r.raises(id, p, timeout)
	synctest.Wait()
}

// raises is says for somebody who does not wait for what follows.
func (r *rig) raises(id amp.TaskID, p amp.Escalation, timeout int) {
	r.t.Helper()
	p.AffectedMsgs = []string{}
	p.SystemStateSnapshot.TaskStatus = r.get(id).Status
	m := &amp.Message{
		MsgID: amp.NewMsgID(amp.EscalationMsg, id, time.Now(), nil), ProtocolVersion: amp.Version, Type: amp.EscalationMsg,
		From: amp.Executor, To: amp.Admin, TaskID: id, Timestamp: amp.FormatTime(time.Now()), RequiresAck: timeout > 0,
		AckTimeoutSec: timeout, Payload: &p,
	}
	raw, err := amp.Encode(m)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.c.Receive(context.Background(), amp.Received{Raw: raw, As: amp.Executor, Actor: "outsider", Source: "cli"}); err != nil {
		r.t.Fatal(err)
	}
}

// warning is an escalation that suspends its task.
func warning() amp.Escalation {
	return amp.Escalation{
		EscalationType: amp.Conflict, Severity: amp.Warning, TriggeredBy: amp.Executor, Description: "Look at this.", AutoSuspended: true,
	}
}

// Design, section 4: a decision with an undo time is bound to what stood there when it was given, also when its sender named no more than
// the status. A plan that came meanwhile is not approved with it.
func TestUndo_boundToContent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.planned(amp.Low)
		r.submit(amp.Command{
			Command: amp.Approve, TaskID: id, Expects: &amp.Expects{Status: amp.AwaitingApproval}, Args: amp.Args{Undo: true},
		})
		plan := edited(r.get(id), "otto")
		plan.Description = "Delete everything."
		r.submit(amp.Command{Command: amp.Revise, TaskID: id, Args: amp.Args{Plan: plan}})
		time.Sleep(time.Minute)
		synctest.Wait()
		task := r.want(id, amp.AwaitingApproval)
		if task.Approval != nil || len(task.Failed) != 1 {
			t.Errorf("approval %+v, not carried out %v: nobody saw this revision", task.Approval, task.Failed)
		}
	})
}

// When a decision takes effect is the coordinator's to say: a sender cannot put it off by itself.
func TestUndo_notTheSendersTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.planned(amp.Low)
		later := time.Now().Add(365 * 24 * time.Hour)
		r.submit(amp.Command{Command: amp.Approve, TaskID: id, Args: amp.Args{EffectiveAt: &later}})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// AMP-156, AMP-174: nothing is delivered while the task is suspended. The admin hears that the decision was not carried out.
func TestDeliver_suspendedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.task()
		r.want(id, amp.StatusApproved)
		begun, goOn, calls := make(chan struct{}), make(chan struct{}), 0
		r.git.deliver = func(w amp.Workspace, _ amp.Delivery) (amp.Check, error) {
			if calls++; calls == 1 {
				close(begun)
				<-goOn
			}
			return amp.Check{Subject: amp.CheckWorkspace, Commit: w.Commit, Text: "delivered"}, nil
		}
		r.submit(amp.Command{Command: amp.Deliver, TaskID: id})
		<-begun
		r.says(id, warning(), 0)
		close(goOn)
		synctest.Wait()
		task := r.want(id, amp.Suspended)
		if calls != 1 || task.Doing != nil || len(task.Failed) != 1 {
			t.Fatalf("%d deliveries, under way %+v, not carried out %+v\n%s", calls, task.Doing, task.Failed, r.story(id))
		}
		r.submit(amp.Command{Command: amp.Resume, TaskID: id})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
		r.submit(amp.Command{Command: amp.Deliver, TaskID: id})
		synctest.Wait()
		r.want(id, amp.Delivered)
	})
}

// AMP-137, AMP-156: a verdict that was held before a suspension is held after it, and can be accepted.
func TestHold_survivesSuspension(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, func(_ context.Context, turn providers.Turn, _ int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return agenttest.Final(verdictOf(amp.Approved, 0.5)), nil
		})
		id := r.task()
		r.want(id, amp.Held)
		r.says(id, warning(), 0)
		r.want(id, amp.Suspended)
		r.stop()
		r.start()
		synctest.Wait()
		r.submit(amp.Command{Command: amp.Resume, TaskID: id})
		synctest.Wait()
		if task := r.want(id, amp.Held); task.Hold == nil || task.Hold.Kind != amp.HoldVerdict {
			t.Fatalf("held for %+v, want the verdict", task.Hold)
		}
		r.submit(amp.Command{Command: amp.Accept, TaskID: id})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// AMP-156: a decision that is given while everything stands still waits its undo time after the thaw, not the time of the stop once more.
func TestThaw_undoBegunMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.task()
		r.submit(amp.Command{Command: amp.StopAll, Note: "night"})
		time.Sleep(10 * time.Hour)
		r.submit(amp.Command{Command: amp.Terminate, TaskID: id, Args: amp.Args{Undo: true}})
		time.Sleep(time.Second)
		r.submit(amp.Command{Command: amp.Thaw})
		time.Sleep(11 * time.Second)
		synctest.Wait()
		r.want(id, amp.Terminated)
	})
}

// A19, AMP-170: who was asked just before the stop has the whole time after the thaw, although it wrote nothing yet.
func TestThaw_silenceBegunBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.planned(amp.Low)
		opened, opening := 0, make(chan struct{})
		r.git.open = func(amp.Workspace) error {
			if opened++; opened == 1 {
				<-opening
			}
			return nil
		}
		r.submit(r.approval(id, "mira", false))
		synctest.Wait()
		r.want(id, amp.Reviewing)
		r.submit(amp.Command{Command: amp.StopAll, Note: "night"})
		close(opening)
		time.Sleep(10 * time.Hour)
		r.submit(amp.Command{Command: amp.Thaw})
		synctest.Wait()
		r.want(id, amp.StatusApproved)
	})
}

// A18, AMP-151: what waits for the admin's ACK is redelivered without stopping the agent that works.
func TestAck_ofAdminStopsNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return idleTurn(ctx, turn, n, emit)
		}, judges(amp.Approved))
		id := r.task()
		r.want(id, amp.Executing)
		p := warning()
		p.Severity, p.AutoSuspended = amp.Info, false
		r.says(id, p, 60)
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if n := len(r.exec.Turns()); n != 1 || r.exec.Live() != 1 {
			t.Errorf("%d turns, %d live: the executor was stopped for what the admin has not read\n%s", n, r.exec.Live(), r.story(id))
		}
	})
}

// AMP-008, A09: an agent can suspend its own task. Everything stands still for the system's word, not for an agent that writes "system".
func TestEscalation_ofAgentStopsNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			return idleTurn(ctx, turn, n, emit)
		}, judges(amp.Approved))
		id, other := r.task(), r.task()
		p := warning()
		p.Severity, p.TriggeredBy = amp.Critical, amp.System
		r.says(id, p, 0)
		r.want(id, amp.Suspended)
		if task := r.want(other, amp.Executing); task.Turn == nil || r.exec.Live() != 1 {
			t.Errorf("turn %v, %d live: one agent stopped all", task.Turn, r.exec.Live())
		}
	})
}

// A decision that was withdrawn while the work before it ran is not said to be carried out.
func TestWithdraw_whileJudged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		id := r.task()
		r.says(id, warning(), 0)
		judging, goOn, lists := make(chan struct{}), make(chan struct{}), 0
		r.git.list = func(amp.Workspace) amp.Check {
			if lists++; lists == 2 { // the first is made when the decision is given
				close(judging)
				<-goOn
			}
			return amp.Check{}
		}
		e := r.submit(amp.Command{Command: amp.Resume, TaskID: id, Args: amp.Args{Undo: true}})
		<-judging
		r.submit(amp.Command{Command: amp.Withdraw, TaskID: id, Args: amp.Args{Withdraws: e.ID}})
		close(goOn)
		synctest.Wait()
		r.want(id, amp.Suspended)
		for _, e := range r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindCheck}}) {
			if ck, err := amp.DecodeBody[amp.Check](&e); err == nil && ck.Subject == amp.CheckCommand {
				t.Errorf("the journal says %q of a decision that was withdrawn", ck.Text)
			}
		}
	})
}

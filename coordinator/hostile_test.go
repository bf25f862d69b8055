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

// wholeResult is a task_result as a whole message, as an agent may write it itself, about any task.
func wholeResult(turn providers.Turn, about amp.TaskID, at time.Time) map[string]any {
	body := resultOf(turn, amp.Complete)
	body["subtask_id"] = string(about) + "-S1"
	return map[string]any{
		"msg_id": amp.NewMsgID(amp.TaskResult, about, at, nil), "protocol_version": amp.Version, "type": amp.TaskResult,
		"from": amp.Executor, "to": amp.Coordinator, "task_id": about, "timestamp": amp.FormatTime(at), "requires_ack": true,
		"payload": body,
	}
}

// AMP-012, AMP-073: the answer of a turn is about the task of the turn. The executor of one task that answers with a message about
// another moves neither.
func TestHostile_answerForAnotherTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var other amp.TaskID
		r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			if other == "" || turn.Task == other {
				return idleTurn(ctx, turn, n, emit)
			}
			return agenttest.Final(wholeResult(turn, other, time.Now())), nil
		}, judges(amp.Approved))
		victim := r.task()
		r.want(victim, amp.Executing)
		other = victim
		id := r.task()
		r.want(victim, amp.Executing)
		if n := len(r.messages(id, amp.TaskResult)); n != 0 {
			t.Errorf("%d results, want none: it was about %s\n%s", n, victim, r.story(id))
		}
		r.want(id, amp.Suspended)
		if n := len(r.refusals(id)); n != 2 {
			t.Errorf("%d refusals, want one of each attempt", n)
		}
	})
}

// AMP-152, AMP-156: an agent raises the escalations of its own task. What it says about another one is refused and shown with its own.
func TestHostile_escalationForAnotherTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var other amp.TaskID
		r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
			emit(agenttest.Accept(turn))
			if other != "" {
				emit(providers.Event{Type: providers.EventEscalation, Payload: amp.EncodeBody(map[string]any{
					"msg_id": amp.NewMsgID(amp.EscalationMsg, other, time.Now(), nil), "protocol_version": amp.Version,
					"type": amp.EscalationMsg, "from": amp.Executor, "to": amp.Admin, "task_id": other,
					"timestamp": amp.FormatTime(time.Now()), "requires_ack": false, "payload": &amp.Escalation{
						EscalationType: amp.Conflict, Severity: amp.Critical, TriggeredBy: amp.Executor, Description: "stop that one",
						AffectedMsgs: []string{}, SystemStateSnapshot: amp.Snapshot{TaskStatus: amp.Executing}, AutoSuspended: true,
					},
				})})
			}
			return idleTurn(ctx, turn, n, emit)
		}, judges(amp.Approved))
		victim := r.task()
		r.want(victim, amp.Executing)
		other = victim
		id := r.task()
		r.want(victim, amp.Executing)
		if e := r.want(id, amp.Suspended).Escalations; len(e) != 1 || e[0].Type != amp.UnknownEscalation {
			t.Errorf("escalations %+v, want the one that shows the refused one", e)
		}
		if n := len(r.refusals(id)); n != 1 {
			t.Errorf("%d refusals, want 1", n)
		}
	})
}

// AMP-013: an agent that answers each round with the same message, or with another one under the same id, has not answered. Its turns are
// counted as failed, and do not repeat for ever.
func TestHostile_sameMessageAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(int, map[string]any){
		"same bytes": func(int, map[string]any) {},
		"other bytes": func(n int, m map[string]any) {
			m["payload"].(map[string]any)["diff_summary"] = amp.DiffSummary{FilesChanged: []string{"a.go"}, LinesAdded: n}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				at := time.Now()
				r := newRig(t, func(ctx context.Context, turn providers.Turn, n int, emit func(providers.Event)) (providers.Outcome, error) {
					emit(agenttest.Accept(turn))
					if n > 10 { // the proof is done; a loop without end would hang the test
						return idleTurn(ctx, turn, n, emit)
					}
					m := wholeResult(turn, turn.Task, at)
					change(n, m)
					return agenttest.Final(m), nil
				}, judges(amp.Rejected, amp.Approved))
				id := r.task()
				time.Sleep(time.Minute)
				synctest.Wait()
				r.want(id, amp.Suspended)
				if n := len(r.exec.Turns()); n != 3 {
					t.Errorf("%d turns of the executor, want 3: the first round, and two that answered nothing\n%s", n, r.story(id))
				}
				if f := r.refusals(id); len(f) != 2 || f[0].Problems[0].Rule != "AMP-013" {
					t.Errorf("refusals %+v", f)
				}
			})
		})
	}
}

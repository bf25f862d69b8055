package amp_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"arbiter/amp"
)

// TestNeeds is the one list of what needs the admin, over every status and everything that may stand in it.
func TestNeeds(t *testing.T) {
	t.Parallel()
	const id amp.TaskID = "T-2026-001"
	at := time.Unix(1_770_000_000, 0)
	raised := func(seq uint64, typ amp.EscalationType, severity amp.Severity) amp.EscalationState {
		return amp.EscalationState{MsgID: "e" + string(rune('0'+seq)), Seq: seq, At: at, Type: typ, Severity: severity, From: amp.Coordinator, Suspended: severity != amp.Info}
	}
	asked := func(typ amp.QuestionType) []amp.QuestionState {
		return []amp.QuestionState{{Question: amp.Question{QuestionID: "q1", Type: typ, Request: "«go generate»"}, Seq: 4, At: at}}
	}
	given := func(name amp.CommandName, args amp.Args) []amp.Waiting {
		return []amp.Waiting{{Command: amp.Command{ID: "c1", Command: name, TaskID: id, By: "mira", Args: args}, Seq: 9, At: at, Due: at.Add(10 * time.Second)}}
	}
	suspended := func(e ...amp.EscalationState) amp.Task { return amp.Task{Status: amp.Suspended, Escalations: e} }
	plan := &amp.Plan{Revision: 4, Title: "Retry", Author: "gemini", RiskLevel: amp.High, Subtasks: make([]amp.Subtask, 5)}
	awaiting := amp.Task{Status: amp.AwaitingApproval, Plan: plan, PlanSeq: 7}
	held := amp.Task{Status: amp.Held, Hold: &amp.Hold{Kind: amp.HoldVerdict, Seq: 5, Why: "confidence 0.72"}}
	approved := amp.Task{Status: amp.StatusApproved, Verdict: &amp.Ref{Seq: 6}}
	with := func(task amp.Task, change func(t *amp.Task)) amp.Task {
		change(&task)
		return task
	}
	waiting := func(task amp.Task, name amp.CommandName, args amp.Args) amp.Task {
		return with(task, func(t *amp.Task) { t.Waiting = given(name, args) })
	}
	ack := raised(3, amp.AckTimeoutEsc, amp.Warning)
	note := raised(8, amp.UnknownEscalation, amp.Info)
	solved := with(suspended(ack), func(t *amp.Task) { t.Status, t.Escalations[0].Resolution = amp.Dispatched, amp.Resume })

	cases := map[string]struct {
		task amp.Task
		want []string // kind, what and text, the gravest first
		// raised are those with what is decided and can be taken back, when they are others.
		raised []string
	}{
		"plan":                {task: awaiting, want: []string{"plan: plan r4: HIGH, 5 subtasks, Retry"}},
		"plan without a plan": {task: amp.Task{Status: amp.AwaitingApproval}, want: []string{"stopped: stopped: the task is awaiting_approval, and no message says why"}},
		"plan, approve waits": {task: waiting(awaiting, amp.Approve, amp.Args{}), raised: []string{"plan: plan r4: HIGH, 5 subtasks, Retry"}},
		"plan, reject waits":  {task: waiting(awaiting, amp.Reject, amp.Args{}), raised: []string{"plan: plan r4: HIGH, 5 subtasks, Retry"}},
		"plan, the second of two": {
			task: with(awaiting, func(t *amp.Task) { t.First = &amp.Approval{By: "jan"} }),
			want: []string{"plan: plan r4: approved by jan, waits for a second admin who is not gemini/jan, HIGH, 5 subtasks, Retry"},
		},
		"plan with a warning": {
			task: with(awaiting, func(t *amp.Task) { t.Escalations = []amp.EscalationState{ack, note} }),
			want: []string{"escalation: ack_timeout", "escalation: unknown", "plan: plan r4: HIGH, 5 subtasks, Retry"},
		},
		"approve settles no escalation": {
			task: waiting(with(awaiting, func(t *amp.Task) { t.Escalations = []amp.EscalationState{note} }), amp.Approve, amp.Args{}),
			want: []string{"escalation: unknown"}, raised: []string{"escalation: unknown", "plan: plan r4: HIGH, 5 subtasks, Retry"},
		},

		"held":                {task: held, want: []string{"held: held: confidence 0.72"}},
		"held, accept waits":  {task: waiting(held, amp.Accept, amp.Args{}), raised: []string{"held: held: confidence 0.72"}},
		"held, a note waits":  {task: waiting(held, amp.NoteCommand, amp.Args{}), want: []string{"held: held: confidence 0.72"}},
		"held, rolled back":   {task: with(held, func(t *amp.Task) { t.Doing = &given(amp.Rollback, amp.Args{})[0] }), raised: []string{"held: held: confidence 0.72"}},
		"held with no reason": {task: amp.Task{Status: amp.Held}, want: []string{"stopped: stopped: the task is held, and no message says why"}},

		"delivery":                 {task: approved, want: []string{"delivery: delivery: approved, not delivered yet"}},
		"delivery without verdict": {task: amp.Task{Status: amp.StatusApproved}, want: []string{"delivery: delivery: approved, not delivered yet"}},
		"delivery, deliver waits":  {task: waiting(approved, amp.Deliver, amp.Args{}), raised: []string{"delivery: delivery: approved, not delivered yet"}},
		"delivery under way":       {task: with(approved, func(t *amp.Task) { t.Doing = &given(amp.Deliver, amp.Args{})[0] }), raised: []string{"delivery: delivery: approved, not delivered yet"}},
		"delivery that did not run": {
			task: with(approved, func(t *amp.Task) {
				t.Failed = []amp.NotCarriedOut{{CommandID: "c1", Command: amp.Deliver, Seq: 9, Why: "main moved"}}
			}),
			want: []string{"not_carried_out: not done: deliver was not carried out: main moved", "delivery: delivery: approved, not delivered yet"},
		},

		"suspended by ack_timeout":       {task: suspended(ack), want: []string{"escalation: ack_timeout"}},
		"suspended by heartbeat_timeout": {task: suspended(raised(3, amp.HeartbeatTimeout, amp.Warning)), want: []string{"escalation: heartbeat_timeout"}},
		"suspended by branch_violation":  {task: suspended(raised(3, amp.BranchViolation, amp.Critical)), want: []string{"escalation: branch_violation"}},
		"suspended by permission_denied": {task: suspended(raised(3, amp.PermissionDenied, amp.Warning)), want: []string{"escalation: permission_denied"}},
		"suspended by ci_failure":        {task: suspended(raised(3, amp.CIFailure, amp.Warning)), want: []string{"escalation: ci_failure"}},
		"suspended by conflict":          {task: suspended(raised(3, amp.Conflict, amp.Warning)), want: []string{"escalation: conflict"}},
		"suspended by unknown":           {task: suspended(raised(3, amp.UnknownEscalation, amp.Warning)), want: []string{"escalation: unknown"}},
		"locked":                         {task: amp.Task{Status: amp.Locked, Escalations: []amp.EscalationState{raised(3, amp.HallucinationLock, amp.Critical)}}, want: []string{"escalation: hallucination_lock"}},
		"suspended, resume waits":        {task: waiting(suspended(ack), amp.Resume, amp.Args{}), raised: []string{"escalation: ack_timeout"}},
		"suspended, resume of it waits":  {task: waiting(suspended(ack), amp.Resume, amp.Args{Escalation: "e3"}), raised: []string{"escalation: ack_timeout"}},
		"suspended, resume of another":   {task: waiting(suspended(ack, note), amp.Resume, amp.Args{Escalation: "e8"}), want: []string{"escalation: ack_timeout"}, raised: []string{"escalation: ack_timeout", "escalation: unknown"}},
		"suspended, its end waits":       {task: waiting(suspended(ack, note), amp.Terminate, amp.Args{Escalation: "e8"}), raised: []string{"escalation: ack_timeout", "escalation: unknown"}},
		"suspended, rollback then its end": {
			task: waiting(suspended(ack, note), amp.Rollback, amp.Args{Escalation: "e8", Next: amp.Terminate}), raised: []string{"escalation: ack_timeout", "escalation: unknown"},
		},
		"suspended, its escalation resolved": {
			task: with(suspended(ack), func(t *amp.Task) {
				t.Escalations = []amp.EscalationState{ack}
				t.Escalations[0].Resolution = amp.Accept
			}),
			want: []string{"stopped: stopped: the task is suspended, and no message says why"},
		},
		"the critical one first": {
			task: suspended(ack, raised(5, amp.BranchViolation, amp.Critical)), want: []string{"escalation: branch_violation", "escalation: ack_timeout"},
		},
		"resumed":                               {task: solved},
		"information about a task that goes on": {task: amp.Task{Status: amp.Executing, Escalations: []amp.EscalationState{note}}, want: []string{"escalation: unknown"}},

		"permission asked":    {task: amp.Task{Status: amp.Executing, Questions: asked(amp.QuestionPermission)}, want: []string{"question: permission: «go generate»"}},
		"clarification asked": {task: amp.Task{Status: amp.Reviewing, Questions: asked(amp.QuestionClarification)}, want: []string{"question: clarification: «go generate»"}},
		"budget reached":      {task: amp.Task{Status: amp.Drafting, Questions: asked(amp.QuestionBudget)}, want: []string{"question: budget: «go generate»"}},
		"limit of the agent":  {task: amp.Task{Status: amp.Dispatched, Questions: asked(amp.QuestionLimit)}, want: []string{"question: limit: «go generate»"}},
		"question, resume waits": {
			task: waiting(with(suspended(ack), func(t *amp.Task) { t.Questions = asked(amp.QuestionBudget) }), amp.Resume, amp.Args{}),
			want: []string{"question: budget: «go generate»"}, raised: []string{"escalation: ack_timeout", "question: budget: «go generate»"},
		},
		"not carried out": {
			task: amp.Task{Status: amp.Verifying, Failed: []amp.NotCarriedOut{{CommandID: "c1", Command: amp.Resume, Seq: 9, Why: "the task moved"}}},
			want: []string{"not_carried_out: not done: resume was not carried out: the task moved"},
		},
		"suspended by nothing":             {task: amp.Task{Status: amp.Suspended}, want: []string{"stopped: stopped: the task is suspended, and no message says why"}},
		"locked, its alarm not raised yet": {task: amp.Task{Status: amp.Locked}, want: []string{"stopped: stopped: the task is locked, and no message says why"}},
		"delivered":                        {task: amp.Task{Status: amp.Delivered, Escalations: []amp.EscalationState{ack}, Questions: asked(amp.QuestionPermission)}},
		"terminated":                       {task: amp.Task{Status: amp.Terminated, Escalations: []amp.EscalationState{ack}, Hold: held.Hold}},
	}
	for _, s := range []amp.Status{amp.Drafting, amp.Dispatched, amp.Executing, amp.Verifying, amp.Reviewing} {
		cases["at work: "+string(s)] = struct {
			task         amp.Task
			want, raised []string
		}{task: amp.Task{Status: s, Plan: plan, Turn: &amp.TurnState{}, Verdict: &amp.Ref{Seq: 2}}}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.task.ID, tc.task.Since, tc.task.LastAt = id, at, at
			words := func(all []amp.Need) (out []string) {
				for _, n := range all {
					if n.TaskID != id || n.At != at {
						t.Errorf("need %+v: of no task, or of no time", n)
					}
					line := string(n.Kind) + ": " + n.What
					if n.Text != "" {
						line += ": " + n.Text
					}
					out = append(out, line)
				}
				return out
			}
			if diff := cmp.Diff(tc.want, words(tc.task.Needs())); diff != "" {
				t.Errorf("needs (-want +got):\n%s", diff)
			}
			want := tc.raised
			if want == nil {
				want = tc.want
			}
			if diff := cmp.Diff(want, words(tc.task.Raised())); diff != "" {
				t.Errorf("raised (-want +got):\n%s", diff)
			}
		})
	}
}

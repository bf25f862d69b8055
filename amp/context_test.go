package amp_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

const (
	dispatchID = "task_dispatch-T-2026-044-1740576727001"
	resultID   = "task_result-T-2026-044-1740576727001"
	requestID  = "review_request-T-2026-044-1740576727001"
)

// boardIn is a board with the task of the specification's examples in a status, its plan approved, and the messages that the
// status follows from.
func boardIn(t *testing.T, status amp.Status, changes ...func(*amp.Board, *amp.Task)) *amp.Board {
	t.Helper()
	m, _, err := amp.Decode(sample(t, amp.TaskDispatch))
	if err != nil {
		t.Fatal(err)
	}
	d := m.Payload.(*amp.Dispatch)
	plan := &amp.Plan{
		TaskID: "T-2026-044", Revision: 2, Description: d.Description, Repo: d.Repo, Branch: d.Branch, Subtasks: d.Subtasks,
		AcceptanceCriteria: d.AcceptanceCriteria, RiskLevel: d.RiskLevel,
	}
	plan.Hash = plan.ContentHash()
	task := &amp.Task{ID: "T-2026-044", Status: status, Plan: plan, Approval: &amp.Approval{Revision: 2, Hash: plan.Hash}}
	ref := func(id string) *amp.Ref { return &amp.Ref{MsgID: id} }
	switch status {
	case amp.Dispatched:
		task.Next = amp.DispatchStart
	case amp.Executing:
		task.Dispatch = ref(dispatchID)
	case amp.Verifying:
		task.Dispatch, task.Result = ref(dispatchID), ref(resultID)
	default:
		task.Dispatch, task.Result, task.Request = ref(dispatchID), ref(resultID), ref(requestID)
	}
	b := amp.NewBoard()
	b.Tasks[task.ID] = task
	for _, c := range changes {
		c(b, task)
	}
	return b
}

// everything resolves.
func everything(string) bool { return true }

// inJournal resolves these ids alone.
func inJournal(ids ...string) func(string) bool {
	return func(id string) bool {
		return slices.Contains(ids, id)
	}
}

// references are the edits that make a review_request refer to the board's messages.
var references = []string{`payload.original_dispatch_ref = "` + dispatchID + `"`, `payload.task_result_ref = "` + resultID + `"`}

func requestWith(edits ...string) []string {
	return append(append([]string{}, references...), edits...)
}

type judgeCase struct {
	name   string
	board  *amp.Board
	typ    amp.MessageType
	edits  []string
	sender amp.Role // the one in from when empty
	known  func(string) bool
	// want and warn are "rule field" in order; says is in the first problem's text.
	want []string
	warn []string
	says string
}

func TestJudge(t *testing.T) {
	t.Parallel()
	with := func(f func(*amp.Task)) func(*amp.Board, *amp.Task) {
		return func(_ *amp.Board, task *amp.Task) { f(task) }
	}
	stopped := func(b *amp.Board, _ *amp.Task) { b.Stopped = &amp.Stop{At: time.Unix(0, 0), By: "mira"} }
	rejected := func(n int) func(*amp.Board, *amp.Task) {
		return with(func(task *amp.Task) { task.RejectCount, task.RejectTotal = n, n })
	}
	other := `payload.escalation_type = "unknown"`
	cases := []judgeCase{
		{name: "a due dispatch", board: boardIn(t, amp.Dispatched), typ: amp.TaskDispatch},
		{name: "a result", board: boardIn(t, amp.Executing), typ: amp.TaskResult},
		{name: "a result that refers to its dispatch", board: boardIn(t, amp.Executing), typ: amp.TaskResult, edits: []string{`context_ref = ["a", "` + dispatchID + `"]`}},
		{name: "a request", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: references},
		{name: "a verdict on two of three criteria", board: boardIn(t, amp.Reviewing), typ: amp.ReviewVerdict, warn: []string{"AMP-126 payload.criteria_results"}},
		{name: "an escalation", board: boardIn(t, amp.Executing), typ: amp.EscalationMsg, edits: []string{other}},

		// Who writes.
		{name: "AMP-042", board: boardIn(t, amp.Dispatched), typ: amp.TaskDispatch, sender: amp.Executor, want: []string{"AMP-042 from"}, says: "the executor handed it in"},
		{name: "AMP-072", board: boardIn(t, amp.Executing), typ: amp.TaskResult, sender: amp.Reviewer, want: []string{"AMP-072 from"}},
		{name: "AMP-102", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: references, sender: amp.Executor, want: []string{"AMP-102 from"}},
		{name: "AMP-122", board: boardIn(t, amp.Reviewing), typ: amp.ReviewVerdict, sender: amp.Executor, want: []string{"AMP-122 from"}, warn: []string{"AMP-126 payload.criteria_results"}},
		{name: "AMP-152", board: boardIn(t, amp.Executing), typ: amp.EscalationMsg, sender: amp.Executor, want: []string{"AMP-152 from"}},
		{name: "A09 an admin hands in", board: boardIn(t, amp.Executing), typ: amp.TaskResult, sender: amp.Admin, want: []string{"AMP-072 from"}, says: "A09"},

		// Which task.
		{name: "AMP-021", board: amp.NewBoard(), typ: amp.TaskResult, want: []string{"AMP-021 task_id"}, says: "no task here"},
		{name: "AMP-021 an escalation", board: amp.NewBoard(), typ: amp.EscalationMsg, want: []string{"AMP-021 task_id"}},
		{name: "AMP-021 the dispatch that creates the task lacks its approval", board: amp.NewBoard(), typ: amp.TaskDispatch, want: []string{"AMP-040 task_id"}},

		// References.
		{name: "AMP-029", board: boardIn(t, amp.Executing), typ: amp.TaskResult, edits: []string{`context_ref = ["` + dispatchID + `", "gone"]`}, known: inJournal(dispatchID), warn: []string{"AMP-029 context_ref[1]"}},
		{name: "AMP-159 does not resolve", board: boardIn(t, amp.Executing), typ: amp.EscalationMsg, known: inJournal(), warn: []string{"AMP-159 payload.affected_msgs[0]", "AMP-159 payload.affected_msgs[1]"}},

		// task_dispatch.
		{name: "AMP-040 no plan", board: boardIn(t, amp.Dispatched, with(func(task *amp.Task) { task.Plan = nil })), typ: amp.TaskDispatch, want: []string{"AMP-040 task_id"}, says: "no plan"},
		{name: "AMP-040 not approved", board: boardIn(t, amp.Dispatched, with(func(task *amp.Task) { task.Approval = nil })), typ: amp.TaskDispatch, want: []string{"AMP-040 task_id"}, says: "not approved"},
		{name: "AMP-040 another revision", board: boardIn(t, amp.Dispatched, with(func(task *amp.Task) { task.Approval.Revision = 1 })), typ: amp.TaskDispatch, want: []string{"AMP-040 task_id"}},
		{name: "AMP-040 another hash", board: boardIn(t, amp.Dispatched, with(func(task *amp.Task) { task.Approval.Hash = "0" })), typ: amp.TaskDispatch, want: []string{"AMP-040 task_id"}},
		{name: "AMP-040 none is due", board: boardIn(t, amp.Executing), typ: amp.TaskDispatch, want: []string{"AMP-040 task_id"}, says: "no dispatch is due"},
		{name: "AMP-040 another branch", board: boardIn(t, amp.Dispatched), typ: amp.TaskDispatch, edits: []string{`payload.branch = "feature/y"`}, want: []string{"AMP-040 payload.branch"}},
		{name: "AMP-040 another repository", board: boardIn(t, amp.Dispatched), typ: amp.TaskDispatch, edits: []string{`payload.repo = "/x"`}, want: []string{"AMP-040 payload.repo"}},
		{name: "AMP-040 another subtask", board: boardIn(t, amp.Dispatched), typ: amp.TaskDispatch, edits: []string{`payload.subtasks[1].description = "more"`}, want: []string{"AMP-040 payload.subtasks[1]"}},
		{name: "AMP-040 fewer criteria", board: boardIn(t, amp.Dispatched), typ: amp.TaskDispatch, edits: []string{`- payload.acceptance_criteria[2]`}, want: []string{"AMP-040 payload.acceptance_criteria"}},
		{name: "AMP-060", board: boardIn(t, amp.Dispatched), typ: amp.TaskDispatch, edits: []string{`payload.risk_level = "low"`}, want: []string{"AMP-060 payload.risk_level"}, says: "medium was approved"},

		// task_result.
		{name: "AMP-070 before a dispatch", board: boardIn(t, amp.Dispatched), typ: amp.TaskResult, want: []string{"AMP-070 task_id"}, says: "no dispatch is open"},
		{name: "AMP-070 a second one", board: boardIn(t, amp.Verifying), typ: amp.TaskResult, want: []string{"AMP-070 task_id"}},
		{name: "AMP-070 stale", board: boardIn(t, amp.Executing), typ: amp.TaskResult, edits: []string{`context_ref = ["task_dispatch-T-2026-044-1740576726000"]`}, want: []string{"AMP-070 context_ref"}, says: "stale"},
		{name: "AMP-073 not in the dispatch", board: boardIn(t, amp.Executing), typ: amp.TaskResult, edits: []string{`payload.subtask_id = "T-2026-044-S9"`}, want: []string{"AMP-073 payload.subtask_id"}, says: "the dispatch has T-2026-044-S1, T-2026-044-S2"},
		{name: "AMP-073 not at work", board: boardIn(t, amp.Executing), typ: amp.TaskResult, edits: []string{`payload.subtask_id = "T-2026-044-S2"`}, want: []string{"AMP-073 payload.subtask_id"}, says: "T-2026-044-S1 is at work"},
		{name: "AMP-078 A12", board: boardIn(t, amp.Executing), typ: amp.TaskResult, edits: []string{`payload.self_assessment = {"criteria_met":[true,null],"notes":["",""]}`}, want: []string{"AMP-078 payload.self_assessment.criteria_met"}, says: "has 2 entries, expected 3"},
		{name: "AMP-078 too many", board: boardIn(t, amp.Executing), typ: amp.TaskResult, edits: []string{`payload.self_assessment.criteria_met[3] = true`}, want: []string{"AMP-078 payload.self_assessment.criteria_met"}, says: "has 4 entries, expected 3"},

		// review_request.
		{name: "AMP-100 no result", board: boardIn(t, amp.Executing), typ: amp.ReviewRequest, edits: references, want: []string{"AMP-100 task_id"}},
		{name: "AMP-100 a partial result is held", board: boardIn(t, amp.Held), typ: amp.ReviewRequest, edits: references, want: []string{"AMP-100 task_id"}, says: "it is held"},
		{name: "AMP-103 another dispatch", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: requestWith(`payload.original_dispatch_ref = "older"`), want: []string{"AMP-103 payload.original_dispatch_ref"}},
		{name: "AMP-104 another result", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: requestWith(`payload.task_result_ref = "older"`), want: []string{"AMP-104 payload.task_result_ref"}},
		{name: "AMP-105 A04 the dispatch does not resolve", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: requestWith(`payload.original_dispatch_ref = "gone"`), known: inJournal(resultID), want: []string{"AMP-105 payload.original_dispatch_ref"}, warn: []string{"AMP-103 payload.original_dispatch_ref"}},
		{name: "AMP-105 the result is not readable", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: references, known: inJournal(dispatchID), want: []string{"AMP-105 payload.task_result_ref"}},
		{name: "AMP-107", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: requestWith(`payload.review_scope = "incremental"`), want: []string{"AMP-107 payload.review_scope"}},
		{name: "AMP-107 after a verdict", board: boardIn(t, amp.Verifying, rejected(1)), typ: amp.ReviewRequest, edits: requestWith(`payload.review_scope = "incremental"`, `payload.reject_count = 1`)},
		{name: "AMP-109 A02", board: boardIn(t, amp.Verifying, rejected(1)), typ: amp.ReviewRequest, edits: references, want: []string{"AMP-109 payload.reject_count"}, says: "is 0, but the journal counts 1"},
		{name: "AMP-112 the journal counts two", board: boardIn(t, amp.Verifying, rejected(2)), typ: amp.ReviewRequest, edits: references, want: []string{"AMP-109 payload.reject_count", "AMP-112 payload.coordinator_notes"}},
		{name: "AMP-113", board: boardIn(t, amp.Verifying), typ: amp.ReviewRequest, edits: requestWith(`payload.ci_status.xcode_cloud = "failed"`), want: []string{"AMP-113 payload.ci_status.xcode_cloud"}, says: "a dispatch to fix it"},
		{name: "AMP-113 A24 the local check", board: boardIn(t, amp.Verifying, with(func(task *amp.Task) { task.CI = map[string]string{"local": "failed"} })), typ: amp.ReviewRequest, edits: references, want: []string{"AMP-113 payload.ci_status.local"}},
		{name: "AMP-113 A24 not a gate", board: boardIn(t, amp.Verifying, with(func(task *amp.Task) { task.Plan.Policy.Gates = []string{"local"} })), typ: amp.ReviewRequest, edits: requestWith(`payload.ci_status.xcode_cloud = "failed"`)},

		// review_verdict.
		{name: "AMP-120 an orphan", board: boardIn(t, amp.Verifying), typ: amp.ReviewVerdict, want: []string{"AMP-120 task_id"}, says: "no review was requested"},
		{name: "AMP-139 the review has ended", board: boardIn(t, amp.StatusApproved), typ: amp.ReviewVerdict, want: []string{"AMP-139 task_id"}, says: "stale", warn: []string{"AMP-126 payload.criteria_results"}},
		{name: "AMP-139 another request", board: boardIn(t, amp.Reviewing), typ: amp.ReviewVerdict, edits: []string{`context_ref = ["review_request-T-2026-044-1740576720000"]`}, want: []string{"AMP-139 context_ref"}, warn: []string{"AMP-126 payload.criteria_results"}},
		{name: "AMP-139 by task_id", board: boardIn(t, amp.Reviewing), typ: amp.ReviewVerdict, edits: []string{`payload.criteria_results[2] = {"criterion":"c","passed":true,"evidence":"e"}`}},

		// Under a standstill.
		{name: "AMP-174 suspended", board: boardIn(t, amp.Suspended), typ: amp.TaskResult, want: []string{"AMP-174 task_id"}, says: "suspended until an admin resumes it"},
		{name: "AMP-174 suspended dispatch", board: boardIn(t, amp.Suspended), typ: amp.TaskDispatch, want: []string{"AMP-174 task_id"}},
		{name: "AMP-174 comes first", board: boardIn(t, amp.Suspended), typ: amp.ReviewVerdict, sender: amp.Executor, want: []string{"AMP-174 task_id", "AMP-122 from"}},
		{name: "AMP-174 locked", board: boardIn(t, amp.Locked), typ: amp.ReviewVerdict, want: []string{"AMP-174 task_id"}, says: "locked until an admin unlocks it"},
		{name: "AMP-174 terminated", board: boardIn(t, amp.Terminated), typ: amp.TaskResult, want: []string{"AMP-174 task_id"}, says: "is terminated"},
		{name: "AMP-174 everything stopped", board: boardIn(t, amp.Executing, stopped), typ: amp.TaskResult, want: []string{"AMP-174 task_id"}, says: "as everything does since 1970"},
		{name: "AMP-175 an escalation of a suspended task", board: boardIn(t, amp.Suspended), typ: amp.EscalationMsg},
		{name: "AMP-175 an escalation of a locked task", board: boardIn(t, amp.Locked), typ: amp.EscalationMsg},
		{name: "AMP-175 an escalation while everything stands still", board: boardIn(t, amp.Executing, stopped), typ: amp.EscalationMsg},
		{name: "AMP-174 an escalation of an ended task", board: boardIn(t, amp.Delivered), typ: amp.EscalationMsg, want: []string{"AMP-174 task_id"}, says: "is delivered"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m, _, err := amp.Decode(sample(t, c.typ, c.edits...))
			if err != nil {
				t.Fatal(err)
			}
			if c.sender == "" {
				c.sender = m.From
			}
			if c.known == nil {
				c.known = everything
			}
			before := marshal(t, c.board)
			got, warn := c.board.Judge(m, c.sender, c.known)
			if diff := diff(c.want, names(got)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := diff(c.warn, names(warn)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
			if len(got) > 0 && !strings.Contains(got[0].Message, c.says) {
				t.Errorf("%q does not say %q", got[0].Message, c.says)
			}
			if after := marshal(t, c.board); string(before) != string(after) {
				t.Error("Judge changed the board")
			}
		})
	}
}

// names are rule and field of problems.
func names(list []amp.Problem) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Rule+" "+p.Field)
	}
	return out
}

func TestJudge_withoutJournal(t *testing.T) {
	t.Parallel()
	m, _, err := amp.Decode(sample(t, amp.TaskResult, `context_ref = ["`+dispatchID+`", "unknown"]`))
	if err != nil {
		t.Fatal(err)
	}
	if problems, warnings := boardIn(t, amp.Executing).Judge(m, amp.Executor, nil); len(problems)+len(warnings) != 0 {
		t.Errorf("without a journal to look into: %v, %v", problems, warnings)
	}
}

func TestJudgeAck(t *testing.T) {
	t.Parallel()
	decode := func(typ amp.MessageType) *amp.Message {
		m, _, err := amp.Decode(sample(t, typ))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	dispatch, escalation := decode(amp.TaskDispatch), decode(amp.EscalationMsg)
	criteria := dispatch.Payload.(*amp.Dispatch).AcceptanceCriteria
	good := amp.Ack{AckFor: dispatchID, TaskID: "T-2026-044", By: amp.Executor, Status: amp.AckAccepted, EchoedAcceptanceCriteria: criteria}
	with := func(f func(*amp.Ack)) amp.Ack { a := good; f(&a); return a }
	seen := amp.Ack{AckFor: escalation.MsgID, TaskID: "T-2026-044", By: amp.Admin, Status: amp.AckAccepted}
	for _, c := range []struct {
		name  string
		board *amp.Board
		ack   amp.Ack
		of    *amp.Message
		want  []string
		warn  []string
	}{
		{"A07 accepted", boardIn(t, amp.Dispatched), good, dispatch, nil, nil},
		{"A07 repeated while executing", boardIn(t, amp.Executing), good, dispatch, nil, nil},
		{"A07 refused with a reason", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.Status, a.Reason, a.EchoedAcceptanceCriteria = amp.AckRefused, "no such repo", nil }), dispatch, nil, nil},
		{"AMP-014 an unknown id", boardIn(t, amp.Dispatched), good, nil, []string{"AMP-014 ack_for"}, nil},
		{"AMP-014 another task", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.TaskID = "T-2026-045" }), dispatch, []string{"AMP-014 task_id"}, nil},
		{"AMP-021 no such task", amp.NewBoard(), good, dispatch, []string{"AMP-021 task_id"}, nil},
		{"A07 the writer is the role in to", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.By = amp.Reviewer }), dispatch, []string{"A07 by"}, nil},
		{"A07 A08 the system acknowledges nothing", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.By = amp.System }), dispatch, []string{"A07 by"}, nil},
		{"A07 an unknown status", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.Status = "done" }), dispatch, []string{"A07 status"}, nil},
		{"A07 refused without a reason", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.Status = amp.AckRefused }), dispatch, []string{"A07 reason"}, nil},
		{"A07 another echo", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.EchoedAcceptanceCriteria = criteria[:2] }), dispatch, []string{"A07 echoed_acceptance_criteria"}, nil},
		{"A07 no echo", boardIn(t, amp.Dispatched), with(func(a *amp.Ack) { a.EchoedAcceptanceCriteria = nil }), dispatch, nil, []string{"A07 echoed_acceptance_criteria"}},
		{"A07 an older dispatch", boardIn(t, amp.Executing, func(_ *amp.Board, task *amp.Task) { task.Dispatch.MsgID = "newer" }), good, dispatch, nil, []string{"A07 ack_for"}},
		{"AMP-174 suspended", boardIn(t, amp.Suspended), good, dispatch, []string{"AMP-174 task_id"}, nil},
		{"AMP-174 not for what the admin has seen", boardIn(t, amp.Suspended), seen, escalation, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, warn := c.board.JudgeAck(&c.ack, c.of)
			if diff := diff(c.want, names(got)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if diff := diff(c.warn, names(warn)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

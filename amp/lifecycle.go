package amp

import "fmt"

// Cause is what moves a task from one status to another.
type Cause string

// The causes of a move.
const (
	PlanProposed    Cause = "plan_proposed"
	PlanApproved    Cause = "plan_approved"
	PlanRejected    Cause = "plan_rejected"
	PlanReopened    Cause = "plan_reopened"
	StartAcked      Cause = "start_acked"
	StartRefused    Cause = "start_refused"
	ResultComplete  Cause = "result_complete"
	ResultPartial   Cause = "result_partial"
	ResultFailed    Cause = "result_failed"
	ResultAccepted  Cause = "result_accepted"
	ClaimsRefuted   Cause = "claims_refuted"
	CIFailed        Cause = "ci_failed"
	ReviewRequested Cause = "review_requested"
	VerdictHeld     Cause = "verdict_held"
	VerdictApproved Cause = "verdict_approved"
	VerdictNext     Cause = "verdict_next_subtask"
	VerdictRejected Cause = "verdict_rejected"
	VerdictLocked   Cause = "verdict_locked"
	Escalated       Cause = "escalated"
	Resumed         Cause = "resumed"
	Unlocked        Cause = "unlocked"
	Redispatched    Cause = "redispatched"
	SplitUp         Cause = "split"
	RolledBack      Cause = "rolled_back"
	DeliveredCause  Cause = "delivered"
	TerminatedCause Cause = "terminated"
)

// resumeTo stands in the table for "the status that the suspended task had before", see [Task.resumed].
const resumeTo Status = "(before)"

// moves is the life of a task, as data: the coordinator refuses by it, the screens grey keys out by it, the docs draw it.
var moves = map[Status]map[Cause]Status{
	Drafting: {
		PlanProposed: AwaitingApproval, Escalated: Suspended, TerminatedCause: Terminated,
	},
	AwaitingApproval: {
		PlanProposed: AwaitingApproval, PlanApproved: Dispatched, PlanRejected: Drafting, Escalated: Suspended,
		TerminatedCause: Terminated,
	},
	Dispatched: {
		StartAcked: Executing, StartRefused: Held, ResultComplete: Verifying, ResultPartial: Held, ResultFailed: Held,
		Escalated: Suspended, TerminatedCause: Terminated,
	},
	Executing: {
		ResultComplete: Verifying, ResultPartial: Held, ResultFailed: Held, PlanReopened: AwaitingApproval,
		Escalated: Suspended, TerminatedCause: Terminated,
	},
	Verifying: {
		ClaimsRefuted: Dispatched, CIFailed: Dispatched, ReviewRequested: Reviewing, PlanReopened: AwaitingApproval,
		Escalated: Suspended, TerminatedCause: Terminated,
	},
	Reviewing: {
		VerdictApproved: StatusApproved, VerdictNext: Dispatched, VerdictRejected: Dispatched, VerdictLocked: Locked,
		VerdictHeld: Held, PlanReopened: AwaitingApproval, Escalated: Suspended, TerminatedCause: Terminated,
	},
	Held: {
		PlanProposed: AwaitingApproval, ResultAccepted: Verifying, VerdictApproved: StatusApproved, VerdictNext: Dispatched,
		VerdictRejected: Dispatched, VerdictLocked: Locked, Redispatched: Dispatched, SplitUp: Drafting, RolledBack: Held,
		Escalated: Suspended, TerminatedCause: Terminated,
	},
	Suspended: {
		Resumed: resumeTo, Redispatched: Dispatched, SplitUp: Drafting, RolledBack: Held, TerminatedCause: Terminated,
	},
	Locked: {
		Unlocked: Held, RolledBack: Held, TerminatedCause: Terminated,
	},
	StatusApproved: {
		DeliveredCause: Delivered, Redispatched: Dispatched, RolledBack: Held, Escalated: Suspended, TerminatedCause: Terminated,
	},
	Delivered:  {},
	Terminated: {},
}

// Statuses are all statuses in the order of a task's life.
var Statuses = []Status{
	Drafting, AwaitingApproval, Dispatched, Executing, Verifying, Reviewing, Held, Suspended, Locked,
	StatusApproved, Delivered, Terminated,
}

// Move is the status that cause leads to from s; ok is false when the table has no such move. From Suspended by Resumed it is
// the status before the suspension, which the table does not know: the answer is Suspended and ok.
func (s Status) Move(cause Cause) (to Status, ok bool) {
	to, ok = moves[s][cause]
	if to == resumeTo {
		to = s
	}
	return to, ok
}

// commandFrom says in which statuses a command about a task can be given. Commands that are not listed are judged by more than
// the status (answer, withdraw) or concern no task (submit, stop_all, thaw).
var commandFrom = map[CommandName][]Status{
	Revise:     {Drafting, AwaitingApproval, Held},
	Approve:    {AwaitingApproval},
	Reject:     {AwaitingApproval},
	Resume:     {Suspended},
	Unlock:     {Locked},
	Redispatch: {Held, Suspended, StatusApproved},
	Reassign:   {Held, Suspended},
	Split:      {Held, Suspended},
	Accept:     {Held},
	Override:   {Held},
	Rollback:   {Held, Suspended, Locked, StatusApproved},
	Deliver:    {StatusApproved},
}

// TransitionError says that a task cannot take a step in its status.
type TransitionError struct {
	TaskID TaskID
	From   Status
	// Step is the command or cause that was refused; Why is the reason in words.
	Step string
	Why  string
}

// Error names the task, the step and the reason.
func (e *TransitionError) Error() string {
	return fmt.Sprintf("%s: %s is not possible: %s", e.TaskID, e.Step, e.Why)
}

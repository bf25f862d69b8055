package amp

import (
	"slices"
	"time"
)

// Ref points at a message of the task.
type Ref struct {
	MsgID string    `json:"msg_id"`
	Seq   uint64    `json:"seq"`
	At    time.Time `json:"at"`
}

// TurnState is a run of an agent that has started and not ended.
type TurnState struct {
	Turn
	Seq       uint64    `json:"seq"`
	StartedAt time.Time `json:"started_at"`
	LastAt    time.Time `json:"last_at"`
}

// EscalationState is an escalation and what became of it.
type EscalationState struct {
	MsgID       string         `json:"msg_id"`
	Seq         uint64         `json:"seq"`
	At          time.Time      `json:"at"`
	Type        EscalationType `json:"escalation_type"`
	Severity    Severity       `json:"severity"`
	From        Role           `json:"from"`
	TriggeredBy Role           `json:"triggered_by"`
	Description string         `json:"description"`
	Affected    []string       `json:"affected_msgs,omitzero"`
	Suggested   []string       `json:"suggested_actions,omitzero"`
	Suspended   bool           `json:"auto_suspended"`
	// Role and Agent are whom it is about, as far as the entries before it tell; empty when it is about no agent.
	Role  Role   `json:"role,omitzero"`
	Agent string `json:"agent,omitzero"`
	// SeenBy is the admin whose ACK says "seen"; it decides nothing.
	SeenBy string `json:"seen_by,omitzero"`
	// Resolution is the command that resolved it, empty while it is open.
	Resolution  CommandName `json:"resolution,omitzero"`
	ResolvedBy  string      `json:"resolved_by,omitzero"`
	ResolvedSeq uint64      `json:"resolved_seq,omitzero"`
	ResolvedAt  time.Time   `json:"resolved_at,omitzero"`
	// Decision is the id of that command, DecidedAt when it was given, Next its follow-up. ResolvedSeq and ResolvedAt are of the
	// entry that carried it out, which comes later when there was an undo time or work in git.
	Decision  string      `json:"decision,omitzero"`
	DecidedAt time.Time   `json:"decided_at,omitzero"`
	Next      CommandName `json:"next,omitzero"`
}

// Open reports whether no command has resolved the escalation.
func (e *EscalationState) Open() bool { return e.Resolution == "" }

// HoldKind is why a task is held.
type HoldKind string

// The kinds of holds.
const (
	HoldResult  HoldKind = "result"  // partial or failed result
	HoldVerdict HoldKind = "verdict" // low confidence, an open criterion, a contradiction
	HoldRefused HoldKind = "refused" // the executor refused the dispatch
	HoldUnlock  HoldKind = "unlocked"
	HoldRolled  HoldKind = "rolled_back"
)

// Hold is a decision that waits for the admin.
type Hold struct {
	Kind HoldKind `json:"kind"`
	Seq  uint64   `json:"seq"`
	// Why is one sentence for the admin.
	Why string `json:"why"`
}

// QuestionState is a question that waits for its answer.
type QuestionState struct {
	Question
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
}

// Waiting is a command with an undo time that has not run yet, or whose work in git is under way.
type Waiting struct {
	Command Command   `json:"command"`
	Seq     uint64    `json:"seq"`
	At      time.Time `json:"at"`
	Due     time.Time `json:"due"`
	// Revision is the task's when the work in git began.
	Revision int `json:"revision,omitzero"`
}

// NotCarriedOut is a command whose time came when the task had moved on.
type NotCarriedOut struct {
	CommandID string      `json:"command_id"`
	Command   CommandName `json:"command"`
	By        string      `json:"by"`
	Seq       uint64      `json:"seq"`
	Why       string      `json:"why"`
}

// CheckState is the last verification of the current result.
type CheckState struct {
	Seq          uint64   `json:"seq"`
	Commit       string   `json:"commit,omitzero"`
	Confirmed    int      `json:"confirmed"`
	Refuted      int      `json:"refuted"`
	Inconclusive int      `json:"inconclusive"`
	Refutations  []string `json:"refutations,omitzero"`
	// Violation is what was raised because of it, empty when nothing was; such a result is compared again after a resume.
	Violation EscalationType `json:"violation,omitzero"`
}

// DispatchReason is why the next task_dispatch is sent.
type DispatchReason string

// The reasons of a dispatch.
const (
	DispatchStart      DispatchReason = "start"
	DispatchNext       DispatchReason = "next_subtask"
	DispatchRejected   DispatchReason = "rejected"
	DispatchRefuted    DispatchReason = "claims_refuted"
	DispatchCI         DispatchReason = "ci_failed"
	DispatchGuidance   DispatchReason = "guidance"
	DispatchResumed    DispatchReason = "resumed"
	DispatchReapproved DispatchReason = "reapproved"
)

// Task is what the journal says of one task. It is state, not history: history is the task's entries.
type Task struct {
	ID TaskID `json:"task_id"`
	// Key is the seq of the task's first entry.
	Key    uint64 `json:"key"`
	Title  string `json:"title"`
	Wish   *Wish  `json:"wish,omitzero"`
	Status Status `json:"status"`
	// Before is the status that a suspension interrupted.
	Before Status    `json:"before,omitzero"`
	Since  time.Time `json:"since"`
	// Revision grows by one with every move, every plan revision and the first of two approvals; commands name it in expects.
	Revision int       `json:"revision"`
	FirstAt  time.Time `json:"first_at"`
	LastAt   time.Time `json:"last_at"`
	LastSeq  uint64    `json:"last_seq"`

	Plan     *Plan     `json:"plan,omitzero"`
	PlanSeq  uint64    `json:"plan_seq,omitzero"`
	Approval *Approval `json:"approval,omitzero"`
	// First is the first of two approvals, where the plan's policy wants two; nil until there is one.
	First *Approval `json:"first_approval,omitzero"`
	// Guidance is the admin's or the checks' words for the next dispatch or plan.
	Guidance string `json:"guidance,omitzero"`
	// Executor and Reviewer are the agents of the task when they differ from the configured ones.
	Executor string `json:"executor,omitzero"`
	Reviewer string `json:"reviewer,omitzero"`
	Limits   Budget `json:"limits,omitzero"`
	Spent    Budget `json:"spent,omitzero"`
	// Usage is what the ended turns of the task took.
	Usage Usage `json:"usage,omitzero"`

	// Subtask is the index of the current subtask; Round counts dispatches.
	Subtask     int `json:"subtask"`
	Round       int `json:"round"`
	RejectCount int `json:"reject_count"`
	RejectTotal int `json:"reject_total"`
	// RefutedRow and CIRow count refuted reports and failed CI runs in a row.
	RefutedRow int `json:"refuted_row,omitzero"`
	CIRow      int `json:"ci_row,omitzero"`

	// Next is why a dispatch is due, with the messages that it must refer to; empty when none is due.
	Next       DispatchReason `json:"next,omitzero"`
	ContextRef []string       `json:"context_ref,omitzero"`
	// Dispatch, Result, Request and Verdict are the messages of the current round; nil until they exist.
	Dispatch *Ref `json:"dispatch,omitzero"`
	Result   *Ref `json:"result,omitzero"`
	Request  *Ref `json:"request,omitzero"`
	Verdict  *Ref `json:"verdict,omitzero"`
	// Decision and Confidence are those of Verdict.
	Decision   Decision `json:"decision,omitzero"`
	Confidence float64  `json:"confidence,omitzero"`
	// Checked is the check of Result, CI its local CI, nil until they ran.
	Checked *CheckState       `json:"checked,omitzero"`
	CI      map[string]string `json:"ci,omitzero"`
	// CIAt is since when the checks that run elsewhere are waited for: the end of the local CI, or the resume after it.
	CIAt time.Time `json:"ci_at,omitzero"`
	// Checks sums the claims over all rounds.
	Checks CheckState `json:"checks"`
	// Open are the messages whose ACK is due.
	Open []Obligation `json:"open,omitzero"`

	// Epoch fences reports: a report of a turn with a smaller epoch is late.
	Epoch int        `json:"epoch"`
	Turn  *TurnState `json:"turn,omitzero"`
	// Attempts counts turns for the current message that ended without what was asked.
	Attempts   int    `json:"attempts,omitzero"`
	LastTurn   string `json:"last_turn,omitzero"`
	Checkpoint int    `json:"checkpoint,omitzero"`
	// Base is where the branch starts; Commit is the tip that Arbiter last verified or set; Reviewed the tip that the last
	// verdict saw.
	Base     string `json:"base,omitzero"`
	Commit   string `json:"commit,omitzero"`
	Reviewed string `json:"reviewed,omitzero"`
	// LastVerdictCommit is the tip at the last verdict; an incremental review starts there.
	LastVerdictCommit string `json:"last_verdict_commit,omitzero"`
	// Fix is the commit of the direct fixes of a verdict that does not count yet; no branch has it. Once it counts it is Commit, and Behind
	// is the verdict until the branch has followed.
	Fix    string `json:"fix,omitzero"`
	Behind string `json:"behind,omitzero"`

	Escalations []EscalationState `json:"escalations,omitzero"`
	Hold        *Hold             `json:"hold,omitzero"`
	Questions   []QuestionState   `json:"questions,omitzero"`
	Waiting     []Waiting         `json:"waiting,omitzero"`
	// Failed are the commands that were not carried out since the last decision about the task.
	Failed   []NotCarriedOut `json:"not_carried_out,omitzero"`
	Findings []ReviewFinding `json:"findings,omitzero"`
	// Proof is the seq of the check that proved the current suspension, 0 until there is one.
	Proof uint64 `json:"proof,omitzero"`
	// Doing is the command whose git work is under way: rollback or deliver.
	Doing *Waiting `json:"doing,omitzero"`
	// DeliveredAs is the commit that was delivered: the reviewed one, or the merge. Outside is what other systems said of the task, nil
	// when nothing was heard.
	DeliveredAs string        `json:"delivered_as,omitzero"`
	Outside     *OutsideState `json:"outside,omitzero"`
	// Released is set when the worktree of the ended task is gone.
	Released bool `json:"released,omitzero"`
	// Sessions are the last sessions of the agents, by role, and SessionOf whose they are.
	// SessionAt is the coordinator that ran the turn of a session, where several write one journal.
	Sessions  map[Role]string `json:"sessions,omitzero"`
	SessionOf map[Role]string `json:"session_of,omitzero"`
	SessionAt map[Role]string `json:"session_at,omitzero"`
	// Owner is the coordinator that ran the last turn, where several write one journal.
	// Lease is the highest epoch of a lease that a turn of the task ran under.
	Owner string `json:"owner,omitzero"`
	Lease uint64 `json:"lease,omitzero"`
	// Grants are the permissions that the admin gave for a time; Reply is the last answer to a question of an agent, until that
	// role's next turn ended well; Pauses are the agents at a limit.
	Grants []Grant      `json:"grants,omitzero"`
	Reply  *Reply       `json:"reply,omitzero"`
	Pauses []AgentPause `json:"pauses,omitzero"`
	// PassDay is the day in UTC, "2026-02-26", for which the admin let the task go on beyond the budget of a day.
	PassDay string `json:"pass_day,omitzero"`
	// Chain is how far the planning chain came, nil for a task that was not planned by one.
	Chain *ChainState `json:"chain,omitzero"`
	// Wrote is the time of the last entry of each role (AMP-170).
	Wrote map[Role]time.Time `json:"wrote,omitzero"`
	// LastOK is the last message that was sent, received and acknowledged as it should (AMP-160).
	LastOK string `json:"last_ok,omitzero"`
	// Late counts reports of fenced epochs; they are kept as refusals.
	Late int `json:"late,omitzero"`
	// Refusals counts refused messages of the task.
	Refusals int `json:"refusals,omitzero"`
}

// OpenEscalations are the escalations that no command has resolved, oldest first.
func (t *Task) OpenEscalations() []EscalationState {
	return slices.DeleteFunc(slices.Clone(t.Escalations), func(e EscalationState) bool { return !e.Open() })
}

// Blocked says in words why no agent may start a turn of the task now, or "" when one may.
func (t *Task) Blocked() string {
	switch {
	case len(t.Questions) > 0:
		return "a question waits for the admin"
	case t.Doing != nil:
		return "a " + string(t.Doing.Command.Command) + " is under way"
	}
	return ""
}

// Subtasks are the subtasks of the plan, nil without one.
func (t *Task) Subtasks() []Subtask {
	if t.Plan == nil {
		return nil
	}
	return t.Plan.Subtasks
}

// CurrentSubtask is the subtask at work, or the zero Subtask.
func (t *Task) CurrentSubtask() Subtask {
	if s := t.Subtasks(); t.Subtask < len(s) {
		return s[t.Subtask]
	}
	return Subtask{}
}

// restarts are the commands after which agents may work on the task again, or its branch moves.
var restarts = []CommandName{Resume, Unlock, Redispatch, Reassign, Split, Rollback}

// Allows reports whether a command can be given now, as a [*TransitionError] with the reason when not.
func (t *Task) Allows(c CommandName) error {
	refuse := func(why string) error {
		return &TransitionError{TaskID: t.ID, From: t.Status, Step: string(c), Why: why}
	}
	if t.Status.Ended() && c != NoteCommand {
		return refuse("the task is " + string(t.Status))
	}
	if from, listed := commandFrom[c]; listed && !slices.Contains(from, t.Status) {
		return refuse("the task is " + string(t.Status))
	}
	if t.Doing != nil && c != NoteCommand && c != Withdraw {
		return refuse("a " + string(t.Doing.Command.Command) + " is under way")
	}
	if (t.Status == Suspended || t.Status == Locked) && t.Proof == 0 && slices.Contains(restarts, c) {
		return refuse("it is not proven yet that every process of the task is gone")
	}
	switch c {
	case Accept, Override:
		if t.Hold == nil || (t.Hold.Kind != HoldVerdict && (c == Override || t.Hold.Kind != HoldResult)) {
			return refuse("nothing is held that could be " + map[CommandName]string{Accept: "accepted", Override: "overridden"}[c])
		}
	case Redispatch, Reassign:
		if t.Approval == nil {
			return refuse("no plan revision is approved")
		}
	case Answer:
		if len(t.Questions) == 0 {
			return refuse("no question waits")
		}
	case Withdraw:
		if len(t.Waiting) == 0 {
			return refuse("no command waits")
		}
	}
	return nil
}

// Affected are the messages of the current round, oldest first; never nil.
func (t *Task) Affected() []string {
	ids := []string{}
	for _, r := range []*Ref{t.Dispatch, t.Result, t.Request, t.Verdict} {
		if r != nil {
			ids = append(ids, r.MsgID)
		}
	}
	return ids
}

// Workspace is what git work needs to know of the task; it has no Repo before there is a plan.
func (t *Task) Workspace() Workspace {
	w := Workspace{TaskID: t.ID, Commit: t.Commit}
	if p := t.Plan; p != nil {
		w.Repo, w.Branch, w.BaseBranch, w.BaseCommit = p.Repo, p.Branch, p.BaseBranch, p.BaseCommit
		w.AllowedPaths, w.PlanHash = p.AllowedPaths, p.Hash
	}
	if t.Dispatch != nil {
		w.Dispatch = t.Dispatch.MsgID
	}
	return w
}

// HasOpen reports whether an escalation of this type is open.
func (t *Task) HasOpen(typ EscalationType) bool {
	return slices.ContainsFunc(t.Escalations, func(e EscalationState) bool { return e.Type == typ && e.Open() })
}

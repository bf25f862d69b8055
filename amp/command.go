package amp

import "time"

// CommandName is what an admin decided.
type CommandName string

// The commands.
const (
	Submit      CommandName = "submit"
	Revise      CommandName = "revise"
	Approve     CommandName = "approve"
	Reject      CommandName = "reject"
	Resume      CommandName = "resume"
	Unlock      CommandName = "unlock"
	Redispatch  CommandName = "redispatch"
	Reassign    CommandName = "reassign"
	Split       CommandName = "split"
	Accept      CommandName = "accept"
	Override    CommandName = "override"
	Rollback    CommandName = "rollback"
	Terminate   CommandName = "terminate"
	Deliver     CommandName = "deliver"
	Answer      CommandName = "answer"
	RaiseLimit  CommandName = "raise_limit"
	StopAll     CommandName = "stop_all"
	Thaw        CommandName = "thaw"
	Withdraw    CommandName = "withdraw"
	NoteCommand CommandName = "note"
)

// Command is the body of a command entry: one decision of an admin (A09, A10). It names the state it was decided on, and is
// refused when the task has moved on.
type Command struct {
	// ID is chosen by the client; the same ID with the same content is one decision however often it is sent.
	ID      string      `json:"id"`
	Command CommandName `json:"command"`
	By      string      `json:"by"`
	At      time.Time   `json:"at"`
	// Via is the coordinator that took it, where several write one journal.
	Via     string   `json:"via,omitzero"`
	TaskID  TaskID   `json:"task_id,omitzero"`
	Expects *Expects `json:"expects,omitzero"`
	Args    Args     `json:"args"`
	// Note is the reason in the admin's own words. Of unlock, redispatch and reject it becomes guidance in the next dispatch or
	// plan.
	Note string `json:"note,omitzero"`
}

// Expects is the state on which a command was decided. Zero fields are not compared.
type Expects struct {
	Status   Status `json:"status,omitzero"`
	Revision int    `json:"revision,omitzero"`
	// Hash is what the command decides on: see [Task.Content]. A prefix of at least 8 hex digits is enough.
	Hash string `json:"hash,omitzero"`
}

// Args is what a command carries besides its name; which fields are read depends on the command.
type Args struct {
	// Undo asks the coordinator to carry the command out only after its undo time; it then sets EffectiveAt.
	Undo        bool       `json:"undo,omitzero"`
	EffectiveAt *time.Time `json:"effective_at,omitzero"`
	// Withdraws is the id of the waiting command that a withdraw takes back.
	Withdraws string `json:"withdraws,omitzero"`
	// Next is the one follow-up of unlock, resume and rollback: redispatch, reassign, split, accept or terminate.
	Next CommandName `json:"next,omitzero"`
	// Wish starts a task without a plan; Plan starts it with one, or is the admin's own revision. Of an approve it is the edited
	// plan with the hash that its admin saw: revision and approval are one append.
	Wish *Wish `json:"wish,omitzero"`
	Plan *Plan `json:"plan,omitzero"`
	// Escalation is the msg_id of the escalation that the command resolves; empty resolves every open one of the task. Of a
	// note it is the escalation that the admin has seen: the note acknowledges it and resolves nothing.
	Escalation string `json:"escalation,omitzero"`
	// Question and Option answer a waiting question.
	Question string `json:"question,omitzero"`
	Option   string `json:"option,omitzero"`
	// Checkpoint is the number of the checkpoint that a rollback resets the branch to.
	Checkpoint int `json:"checkpoint,omitzero"`
	// Executor and Reviewer name the agents of a reassign.
	Executor string `json:"executor,omitzero"`
	Reviewer string `json:"reviewer,omitzero"`
	// Merge lets deliver merge into the base branch; without it the branch is only prepared for the admin to push.
	Merge bool `json:"merge,omitzero"`
	// Pull lets deliver push the reviewed commit and open a pull request for it.
	Pull bool `json:"pull,omitzero"`
	// Decision is what an override puts in the place of the held verdict's.
	Decision Decision `json:"decision,omitzero"`
	// Limits replaces the budget of a task (raise_limit). Zero fields stay.
	Limits *Budget `json:"limits,omitzero"`
	// Digits are the last four hex digits of the content that was decided, typed by the admin (high risk).
	Digits string `json:"digits,omitzero"`
	// Read says what of the content was on the screen, "read 5/5 in 3m12s"; Unread how many parts were not.
	Read   string `json:"read,omitzero"`
	Unread int    `json:"unread,omitzero"`
	// Parts is how many parts the content has, TookMS how long the decision stood open before it was confirmed. They bind
	// nothing: an admin's own pace is computed from them.
	Parts  int   `json:"parts,omitzero"`
	TookMS int64 `json:"took_ms,omitzero"`
}

// Wish is what an admin wants done, before there is a plan.
type Wish struct {
	Text   string    `json:"text"`
	Title  string    `json:"title,omitzero"`
	Repo   string    `json:"repo"`
	Branch string    `json:"branch,omitzero"`
	Risk   RiskLevel `json:"risk_level,omitzero"`
	// Executor and Reviewer name agents; empty takes the configured ones.
	Executor string `json:"executor,omitzero"`
	Reviewer string `json:"reviewer,omitzero"`
	Budget   Budget `json:"budget,omitzero"`
}

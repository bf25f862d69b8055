package amp

import "time"

// TurnEvent is what a turn entry records.
type TurnEvent string

// The events of a turn.
const (
	TurnStarted     TurnEvent = "started"
	TurnRedelivered TurnEvent = "redelivered"
	TurnProgress    TurnEvent = "progress"
	TurnEnded       TurnEvent = "ended"
)

// TurnOutcome is how a turn ended.
type TurnOutcome string

// The outcomes of a turn. Only TurnOK delivered what was asked; TurnLost says that the coordinator died while it ran.
const (
	TurnOK      TurnOutcome = "ok"
	TurnFailed  TurnOutcome = "failed"
	TurnInvalid TurnOutcome = "invalid"
	TurnKilled  TurnOutcome = "killed"
	TurnTimeout TurnOutcome = "timeout"
	TurnLost    TurnOutcome = "lost"
	// TurnAsked ended with a question to the admin, TurnPaused at a limit of the agent's: neither is a failed attempt.
	TurnAsked  TurnOutcome = "asked"
	TurnPaused TurnOutcome = "paused"
)

// Turn is the body of a turn entry: one event in one run of an agent.
type Turn struct {
	TurnID string    `json:"turn_id"`
	Event  TurnEvent `json:"event"`
	TaskID TaskID    `json:"task_id"`
	Role   Role      `json:"role"`
	Agent  string    `json:"agent"`
	// For is the msg_id that the turn works on; empty for a planning turn.
	For   string `json:"for,omitzero"`
	Epoch int    `json:"epoch"`
	// Owner is the coordinator that ran the turn and Lease the epoch of its lease on the task, where several write one journal.
	Owner string `json:"owner,omitzero"`
	Lease uint64 `json:"lease,omitzero"`
	PID   int    `json:"pid,omitzero"`
	// Checkpoint is the number of the checkpoint set before the turn; Dir is where it works.
	Checkpoint int    `json:"checkpoint,omitzero"`
	Dir        string `json:"dir,omitzero"`
	// Session lets an agent continue its context in a later turn.
	Session string `json:"session,omitzero"`
	// Text is one line of progress, or why the turn ended.
	Text    string      `json:"text,omitzero"`
	Outcome TurnOutcome `json:"outcome,omitzero"`
	Exit    *int        `json:"exit,omitzero"`
	// TookMS is how long the turn ran, in milliseconds.
	TookMS int64 `json:"took_ms,omitzero"`
	// WaitedMS is how much of that it waited for answers of the admin: no working time.
	WaitedMS int64   `json:"waited_ms,omitzero"`
	Tokens   int     `json:"tokens,omitzero"`
	CostUSD  float64 `json:"cost_usd,omitzero"`
	// Model is the model that the agent names; Failure the class of a turn that ended badly, such as rate or auth.
	Model   string `json:"model,omitzero"`
	Failure string `json:"failure,omitzero"`
	// RetryAt is when the agent of a paused turn may be tried again; nil: when the admin says so.
	RetryAt *time.Time `json:"retry_at,omitzero"`
	// Answer is the SACP object that the turn answered with, its thought included.
	Answer Raw `json:"answer,omitzero"`
	// Log names the file with the turn's raw output.
	Log string `json:"log,omitzero"`
}

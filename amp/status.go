package amp

// Status is where a task stands in its life.
type Status string

// The statuses of a task.
const (
	Drafting         Status = "drafting"
	AwaitingApproval Status = "awaiting_approval"
	Dispatched       Status = "dispatched"
	Executing        Status = "executing"
	Verifying        Status = "verifying"
	Reviewing        Status = "reviewing"
	Held             Status = "held"
	Suspended        Status = "suspended"
	Locked           Status = "locked"
	StatusApproved   Status = "approved"
	Delivered        Status = "delivered"
	Terminated       Status = "terminated"
)

// Ended reports whether the task can never move again.
func (s Status) Ended() bool { return s == Delivered || s == Terminated }

// Working reports whether agents or checks are at work in this status.
func (s Status) Working() bool {
	switch s {
	case Drafting, Dispatched, Executing, Verifying, Reviewing:
		return true
	default:
		return false
	}
}

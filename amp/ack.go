package amp

import "time"

// AckStatus says whether a receiver took a message on.
type AckStatus string

// The statuses of an ACK (A07).
const (
	AckAccepted AckStatus = "accepted"
	AckRefused  AckStatus = "refused"
)

// Ack is the body of an ack entry: the receipt of one message (A07). For a task_dispatch it means "received and execution
// started" (AMP-063) and repeats the acceptance criteria.
type Ack struct {
	AckFor                   string    `json:"ack_for"`
	TaskID                   TaskID    `json:"task_id"`
	By                       Role      `json:"by"`
	AckedAt                  time.Time `json:"acked_at"`
	Status                   AckStatus `json:"status"`
	Reason                   string    `json:"reason,omitzero"`
	EchoedAcceptanceCriteria []string  `json:"echoed_acceptance_criteria,omitzero"`
	// Late is set by the coordinator when the deadline had passed; a late ACK does not withdraw the escalation.
	Late bool `json:"late,omitzero"`
}

package amp

import "time"

// Obligation is a message whose ACK is still due.
type Obligation struct {
	MsgID string      `json:"msg_id"`
	Type  MessageType `json:"type"`
	Seq   uint64      `json:"seq"`
	To    Role        `json:"to"`
	// SentAt is the time of the message's entry, moved on by the time that the clock stood still (A19).
	SentAt     time.Time `json:"sent_at"`
	TimeoutSec int       `json:"timeout_sec"`
	// Redelivered is set after the one redelivery at half time.
	Redelivered bool `json:"redelivered,omitzero"`
	// Refused is why the receiver did not take the message, empty when it has not said that. Its time goes on: it may take it when it is
	// delivered again, and the admin hears of it at the deadline. A task_dispatch that was refused is held instead.
	Refused string `json:"refused,omitzero"`
}

// Deadline is when the ACK times out.
func (o *Obligation) Deadline() time.Time { return o.SentAt.Add(o.timeout()) }

// HalfTime is when the message is redelivered once.
func (o *Obligation) HalfTime() time.Time { return o.SentAt.Add(o.timeout() / 2) }

func (o *Obligation) timeout() time.Duration { return time.Duration(o.TimeoutSec) * time.Second }

// Obligation returns the open obligation for a message, or nil.
func (t *Task) Obligation(msgID string) *Obligation {
	for i := range t.Open {
		if t.Open[i].MsgID == msgID {
			return &t.Open[i]
		}
	}
	return nil
}

// Duty is the role that owes work, and since when it wrote nothing (AMP-170, A26); no role when none owes any.
func (t *Task) Duty() (Role, time.Time) {
	var role Role
	switch t.Status {
	case Executing:
		role = Executor
	case Reviewing:
		role = Reviewer
	default:
		return "", time.Time{}
	}
	since := t.Since
	if w := t.Wrote[role]; w.After(since) {
		since = w
	}
	for i := range t.Pauses { // an agent at its limit is not silent
		if until := t.Pauses[i].Until; until != nil && until.After(since) {
			since = *until
		}
	}
	return role, since
}

// restartAcks lets the time for the ACKs that are due begin at that moment, unless it began later: nobody could answer before.
func (t *Task) restartAcks(at time.Time) {
	for i := range t.Open {
		if o := &t.Open[i]; o.SentAt.Before(at) {
			o.SentAt = at
		}
	}
}

// resumeDuty lets the time of silence of who owes work, and that of the ACKs that are due, begin anew: it waited for an answer.
func (t *Task) resumeDuty(e *Entry) {
	t.restartAcks(e.At)
	if role, _ := t.Duty(); role != "" {
		t.wrote(role, e.At)
	}
}

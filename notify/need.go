package notify

import (
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
)

// needKind is why something waits for a person.
type needKind string

const (
	needEscalation needKind = "escalation"
	needQuestion   needKind = "question"
	needHeld       needKind = "held"
	needFailed     needKind = "not_carried_out"
	needPlan       needKind = "plan"
	needDelivery   needKind = "delivery"
)

// need is one thing of a task that waits for a person. Seq is the entry that raised it.
type need struct {
	kind     needKind
	seq      uint64
	at       time.Time
	critical bool
	// id is the escalation's message or the question's id.
	id string
}

// key names the need for ever.
func (n *need) key(id amp.TaskID) string { return fmt.Sprintf("%s %s %d", n.kind, id, n.seq) }

// needsOf are what of a task waits for a person. A decision in its undo time still waits: it may be taken back.
func needsOf(t *amp.Task) []need {
	if t == nil || t.Status.Ended() {
		return nil
	}
	var out []need
	for i := range t.Escalations {
		if s := &t.Escalations[i]; s.Open() {
			out = append(out, need{kind: needEscalation, seq: s.Seq, at: s.At, critical: s.Severity == amp.Critical, id: s.MsgID})
		}
	}
	for i := range t.Questions {
		q := &t.Questions[i]
		out = append(out, need{kind: needQuestion, seq: q.Seq, at: q.At, id: q.QuestionID})
	}
	if t.Status == amp.Held && t.Hold != nil {
		out = append(out, need{kind: needHeld, seq: t.Hold.Seq, at: t.Since})
	}
	if t.Status == amp.AwaitingApproval && t.Plan != nil {
		out = append(out, need{kind: needPlan, seq: t.PlanSeq, at: t.Since})
	}
	if t.Status == amp.StatusApproved && t.Verdict != nil {
		out = append(out, need{kind: needDelivery, seq: t.Verdict.Seq, at: t.Since})
	}
	for _, f := range t.Failed {
		out = append(out, need{kind: needFailed, seq: f.Seq, at: t.LastAt})
	}
	return out
}

// escalation is the one that the need is about.
func (n *need) escalation(t *amp.Task) *amp.EscalationState {
	if i := slices.IndexFunc(t.Escalations, func(e amp.EscalationState) bool { return e.MsgID == n.id }); i >= 0 {
		return &t.Escalations[i]
	}
	return nil
}

// question is the one that the need is about.
func (n *need) question(t *amp.Task) *amp.QuestionState {
	if i := slices.IndexFunc(t.Questions, func(q amp.QuestionState) bool { return q.QuestionID == n.id }); i >= 0 {
		return &t.Questions[i]
	}
	return nil
}

// what is the need in a few words of ours.
func (n *need) what(t *amp.Task) string {
	switch n.kind {
	case needEscalation:
		if s := n.escalation(t); s != nil {
			return fmt.Sprintf("%s escalation %s", s.Severity, s.Type)
		}
	case needQuestion:
		if q := n.question(t); q != nil {
			return string(q.Type) + " question"
		}
	case needHeld:
		if t.Hold != nil {
			return "held " + string(t.Hold.Kind)
		}
	case needFailed:
		return "a decision that was not carried out"
	case needPlan:
		if t.Plan != nil {
			return fmt.Sprintf("plan r%d", t.Plan.Revision)
		}
	case needDelivery:
		return "delivery"
	}
	return string(n.kind)
}

// undoable are the commands that wait before they take effect, so that they can be taken back.
var undoable = []amp.CommandName{
	amp.Approve, amp.Reject, amp.Resume, amp.Unlock, amp.Redispatch, amp.Accept, amp.Terminate, amp.Deliver,
}

// onCommit are the commands that decide on the commit; the others decide on the plan.
var onCommit = []amp.CommandName{amp.Accept, amp.Terminate, amp.Deliver}

// expects is the state that a command is decided on.
func expects(t *amp.Task, name amp.CommandName) amp.Expects {
	x := amp.Expects{Status: t.Status, Revision: t.Revision}
	switch {
	case slices.Contains(onCommit, name):
		x.Hash = t.Commit
	case t.Plan != nil:
		x.Hash = t.Plan.Hash
	}
	return x
}

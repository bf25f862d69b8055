package notify

import (
	"fmt"
	"slices"

	"arbiter/amp"
)

// need is one thing of a task that needs a person.
type need struct{ amp.Need }

// key names the need for ever.
func (n *need) key() string { return fmt.Sprintf("%s %s %d", n.Kind, n.TaskID, n.Seq) }

// needsOf are what of a task needs a person. A decision in its undo time is told with its card: it may be taken back there. What
// stands still without a message is not told: the coordinator raises that message next.
func needsOf(t *amp.Task) []need {
	var out []need
	for _, n := range t.Raised() {
		if n.Kind != amp.NeedStopped {
			out = append(out, need{n})
		}
	}
	return out
}

// escalation is the one that the need is about.
func (n *need) escalation(t *amp.Task) *amp.EscalationState {
	if i := slices.IndexFunc(t.Escalations, func(e amp.EscalationState) bool { return e.MsgID == n.Ref }); i >= 0 {
		return &t.Escalations[i]
	}
	return nil
}

// question is the one that the need is about.
func (n *need) question(t *amp.Task) *amp.QuestionState {
	if i := slices.IndexFunc(t.Questions, func(q amp.QuestionState) bool { return q.QuestionID == n.Ref }); i >= 0 {
		return &t.Questions[i]
	}
	return nil
}

// what is the need in a few words of ours.
func (n *need) what(t *amp.Task) string {
	switch n.Kind {
	case amp.NeedEscalation:
		if s := n.escalation(t); s != nil {
			return fmt.Sprintf("%s escalation %s", s.Severity, s.Type)
		}
	case amp.NeedQuestion:
		if q := n.question(t); q != nil {
			return string(q.Type) + " question"
		}
	case amp.NeedHeld:
		if t.Hold != nil {
			return "held " + string(t.Hold.Kind)
		}
	case amp.NeedFailed:
		return "a decision that was not carried out"
	case amp.NeedPlan:
		if t.Plan != nil {
			return fmt.Sprintf("plan r%d", t.Plan.Revision)
		}
	case amp.NeedDelivery:
		return "delivery"
	case amp.NeedStopped:
	}
	return string(n.Kind)
}

// undoable are the commands that wait before they take effect, so that they can be taken back.
var undoable = []amp.CommandName{
	amp.Approve, amp.Reject, amp.Resume, amp.Unlock, amp.Redispatch, amp.Accept, amp.Terminate, amp.Deliver,
}

// expects is the state that a command is decided on.
func expects(t *amp.Task, name amp.CommandName) amp.Expects {
	return amp.Expects{Status: t.Status, Revision: t.Revision, Hash: t.Content(name)}
}

package amp

import (
	"fmt"
	"slices"
	"strings"
)

func (b *Board) foldMessage(e *Entry, m *Message) {
	t := b.touch(e)
	ref := &Ref{MsgID: m.MsgID, Seq: e.Seq, At: e.At}
	if d := m.AckTimeout(); d > 0 {
		t.Open = append(t.Open, Obligation{
			MsgID: m.MsgID, Type: m.Type, Seq: e.Seq, To: m.To, SentAt: e.At, TimeoutSec: int(d.Seconds()),
		})
	}
	switch p := m.Payload.(type) {
	case *Dispatch:
		t.Round++
		t.Dispatch, t.Result, t.Request, t.Verdict, t.Checked, t.CI = ref, nil, nil, nil, nil, nil
		t.Next, t.Guidance, t.Attempts, t.ContextRef = "", "", 0, nil
	case *Result:
		t.discharge(TaskDispatch)
		t.Result, t.Checked, t.CI, t.Attempts, t.LastOK = ref, nil, nil, 0, m.MsgID
		switch p.CompletionStatus {
		case Complete:
			t.move(ResultComplete, e.At)
		case Partial:
			t.hold(e, ResultPartial, HoldResult, "the executor reports a partial result: "+strings.Join(p.Blockers, "; "))
		case Failed:
			t.hold(e, ResultFailed, HoldResult, "the executor reports a failure: "+strings.Join(p.Blockers, "; "))
		}
	case *Request:
		t.Request, t.Attempts = ref, 0
		t.move(ReviewRequested, e.At)
	case *Verdict:
		b.hour(e.At, func(h *HourFlow) {
			h.Verdicts++
			if p.Decision == Rejected {
				h.Rejected++
			}
		})
		t.discharge(ReviewRequest)
		t.Verdict, t.Decision, t.Confidence, t.LastOK = ref, p.Decision, p.Confidence, m.MsgID
		t.Attempts, t.Reviewed = 0, t.Commit
		t.noteFindings(p.Issues)
		if why := t.HoldReason(p); why != "" {
			t.hold(e, VerdictHeld, HoldVerdict, why)
		} else {
			t.conclude(e, p.Decision)
		}
	case *Escalation:
		b.foldEscalation(e, t, m, p)
	}
}

// discharge drops the open ACKs of a type: the answer to a message proves more than its ACK.
func (t *Task) discharge(typ MessageType) {
	t.Open = slices.DeleteFunc(t.Open, func(o Obligation) bool { return o.Type == typ })
}

func (t *Task) hold(e *Entry, cause Cause, kind HoldKind, why string) {
	if t.move(cause, e.At) {
		t.Hold = &Hold{Kind: kind, Seq: e.Seq, Why: why}
	}
}

// HoldReason says why a verdict needs the admin before it counts, or "": low confidence (AMP-137, A16), an approval that leaves
// a criterion open (A13) or that names a blocking issue (AMP-130).
func (t *Task) HoldReason(v *Verdict) string {
	if v.Confidence < t.holdBelow() {
		return fmt.Sprintf("%s at confidence %.2f, below %.2f", v.Decision, v.Confidence, t.holdBelow())
	}
	if v.Decision == Rejected {
		return ""
	}
	for _, i := range v.Issues {
		if i.Severity != IssueMinor {
			return fmt.Sprintf("%s, but with a %s issue in %s", v.Decision, i.Severity, i.File)
		}
	}
	for i, c := range v.CriteriaResults {
		if c.Passed == nil {
			return fmt.Sprintf("%s, but criterion %d is open: %s", v.Decision, i+1, c.Criterion)
		}
	}
	if t.Plan != nil && len(v.CriteriaResults) < len(t.Plan.AcceptanceCriteria) {
		return fmt.Sprintf("%s, but only %d of %d criteria are covered", v.Decision, len(v.CriteriaResults),
			len(t.Plan.AcceptanceCriteria))
	}
	return ""
}

// conclude lets a verdict count (AMP-138), and with it its direct fixes (AMP-124); what another decision replaces has none.
func (t *Task) conclude(e *Entry, d Decision) {
	if d == ApprovedWithFix && t.Fix != "" && t.Verdict != nil {
		t.Commit, t.Reviewed, t.Behind = t.Fix, t.Fix, t.Verdict.MsgID
	}
	t.Fix, t.LastVerdictCommit = "", t.Commit
	if d != Rejected {
		t.RefutedRow, t.CIRow = 0, 0
		if t.Subtask+1 < len(t.Subtasks()) {
			if t.move(VerdictNext, e.At) {
				t.Subtask++
				t.due(DispatchNext)
			}
			return
		}
		t.move(VerdictApproved, e.At)
		return
	}
	t.RejectCount++
	t.RejectTotal++
	if t.RejectCount >= t.LockAt() {
		if t.move(VerdictLocked, e.At) {
			t.fence()
		}
		return
	}
	if t.move(VerdictRejected, e.At) {
		t.due(DispatchRejected)
	}
}

func (b *Board) foldEscalation(e *Entry, t *Task, m *Message, p *Escalation) {
	role, agent := t.concerned(p)
	t.Escalations = append(t.Escalations, EscalationState{
		MsgID: m.MsgID, Seq: e.Seq, At: e.At, Type: p.EscalationType, Severity: p.Severity, From: m.From,
		TriggeredBy: p.TriggeredBy, Description: p.Description, Affected: p.AffectedMsgs, Suggested: p.SuggestedActions,
		Suspended: p.AutoSuspended, Role: role, Agent: agent,
	})
	if p.AutoSuspended && t.move(Escalated, e.At) {
		t.fence()
	}
	if p.Severity == Critical && p.TriggeredBy == System && m.From == System && b.Stopped == nil { // an agent may write that word too
		b.stop(e, "system", "critical escalation of the system: "+p.Description)
	}
}

func (b *Board) foldAck(e *Entry, a *Ack) {
	t := b.touch(e)
	for i := range t.Escalations {
		if t.Escalations[i].MsgID == a.AckFor {
			t.Escalations[i].SeenBy = e.Actor
		}
	}
	o := t.Obligation(a.AckFor)
	if o == nil {
		return
	}
	typ := o.Type
	if a.Status == AckRefused && typ != TaskDispatch {
		o.Refused = beginning(a.Reason, maxWhy)
		return
	}
	t.Open = slices.DeleteFunc(t.Open, func(o Obligation) bool { return o.MsgID == a.AckFor })
	if a.Status == AckRefused {
		t.hold(e, StartRefused, HoldRefused, "the executor refused the dispatch: "+a.Reason)
		return
	}
	t.LastOK = a.AckFor
	if typ == TaskDispatch {
		t.move(StartAcked, e.At)
	}
}

package amp

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"time"
)

// NeedKind is why something needs the admin.
type NeedKind string

// The kinds of needs.
const (
	NeedEscalation NeedKind = "escalation"
	NeedQuestion   NeedKind = "question"
	NeedHeld       NeedKind = "held"
	NeedFailed     NeedKind = "not_carried_out" // a decision whose time came when the task had moved on
	NeedPlan       NeedKind = "plan"
	NeedDelivery   NeedKind = "delivery"
	NeedStopped    NeedKind = "stopped" // the task stands still, and nothing else of it says why
)

// Need is one thing of a task that needs the admin. What screens, commands, notifications and numbers list, count or ring for is
// [Task.Needs]: nothing else decides it.
type Need struct {
	Kind   NeedKind `json:"kind"`
	TaskID TaskID   `json:"task_id"`
	// Seq is the entry that raised it, At since when it stands.
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
	// Severity is that of an escalation.
	Severity Severity `json:"severity,omitzero"`
	// Ref is the escalation's msg_id, the question's id, or the id of the command that was not carried out.
	Ref string `json:"ref,omitzero"`
	// What is a short word: the escalation's type, "permission", "held", "plan r4". Text is one line; Quoted says that it is somebody
	// else's words.
	What   string `json:"what"`
	Text   string `json:"text"`
	Quoted bool   `json:"quoted,omitzero"`
}

// Needs are what of a task needs the admin now, the gravest first. What is decided does not, although the decision waits for the end
// of its undo time or its git work is under way.
func (t *Task) Needs() []Need {
	return slices.SortedFunc(t.undecided(), CompareNeeds)
}

// Raised is [Task.Needs] with what a command decides that can still be taken back.
func (t *Task) Raised() []Need {
	return slices.SortedFunc(t.raised(), CompareNeeds)
}

// waits counts [Task.Needs].
func (t *Task) waits() int {
	n := 0
	for range t.undecided() {
		n++
	}
	return n
}

// CompareNeeds puts what weighs most and stands still for longest first.
func CompareNeeds(a, b Need) int {
	return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Ref, b.Ref))
}

// rank is the weight of a need: an agent that stopped before a turn that waits, a plan before a finished task.
func (n *Need) rank() int {
	switch n.Kind {
	case NeedEscalation:
		switch n.Severity {
		case Critical:
			return 0
		case Warning:
			return 1
		case Info:
		}
		return 4
	case NeedQuestion, NeedStopped:
		return 2
	case NeedHeld, NeedFailed:
		return 3
	case NeedPlan:
		return 5
	case NeedDelivery:
	}
	return 6
}

func (t *Task) undecided() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		for n := range t.raised() {
			if !t.decided(&n) && !yield(n) {
				return
			}
		}
	}
}

func (t *Task) raised() iter.Seq[Need] {
	return func(yield func(Need) bool) {
		if t == nil || t.Status.Ended() {
			return
		}
		for i := range t.Escalations {
			if s := &t.Escalations[i]; s.Open() && !yield(Need{
				Kind: NeedEscalation, TaskID: t.ID, Seq: s.Seq, At: s.At, Severity: s.Severity, Ref: s.MsgID,
				What: string(s.Type), Text: s.Description, Quoted: s.From != Coordinator && s.From != System,
			}) {
				return
			}
		}
		for i := range t.Questions {
			if q := &t.Questions[i]; !yield(Need{
				Kind: NeedQuestion, TaskID: t.ID, Seq: q.Seq, At: q.At, Ref: q.QuestionID, What: string(q.Type), Text: q.Request, Quoted: true,
			}) {
				return
			}
		}
		for i := range t.Failed {
			if f := &t.Failed[i]; !yield(Need{
				Kind: NeedFailed, TaskID: t.ID, Seq: f.Seq, At: t.LastAt, Ref: f.CommandID, What: "not done",
				Text: string(f.Command) + " was not carried out: " + f.Why,
			}) {
				return
			}
		}
		if n, ok := t.standing(); ok {
			yield(n)
		}
	}
}

// standing is what the status itself asks of the admin. A suspended or locked task asks by its escalation; whatever stands still
// without anything that asks is no less a need: silence never means yes.
func (t *Task) standing() (Need, bool) {
	n := Need{TaskID: t.ID, At: t.Since}
	switch {
	case t.Status == AwaitingApproval && t.Plan != nil:
		n.Kind, n.Seq, n.What, n.Text = NeedPlan, t.PlanSeq, "plan r"+strconv.Itoa(t.Plan.Revision), t.planText()
	case t.Status == Held && t.Hold != nil:
		n.Kind, n.Seq, n.What, n.Text = NeedHeld, t.Hold.Seq, "held", t.Hold.Why
	case t.Status == StatusApproved:
		n.Kind, n.What, n.Text = NeedDelivery, "delivery", "approved, not delivered yet"
		if t.Verdict != nil {
			n.Seq = t.Verdict.Seq
		}
	case t.Status.Working(), t.Status.Ended(), slices.ContainsFunc(t.Escalations, func(s EscalationState) bool { return s.Open() }):
		return Need{}, false
	default:
		n.Kind, n.What, n.Text = NeedStopped, "stopped", "the task is "+string(t.Status)+", and no message says why"
		if i := len(t.Escalations) - 1; i >= 0 {
			n.Seq = t.Escalations[i].Seq
		}
	}
	if n.Seq == 0 {
		n.Seq = t.Key
	}
	return n, true
}

// planText is what of a plan weighs when it is decided, in one line.
func (t *Task) planText() string {
	risk := string(t.Plan.RiskLevel)
	if t.Plan.RiskLevel == High {
		risk = "HIGH"
	}
	if t.First != nil {
		risk = t.SecondMissing() + ", " + risk
	}
	parts := "1 subtask"
	if n := len(t.Plan.Subtasks); n != 1 {
		parts = strconv.Itoa(n) + " subtasks"
	}
	return risk + ", " + parts + ", " + t.Plan.Title
}

// settles says which needs a command settles when it is carried out; what ends the task settles all.
var settles = map[CommandName][]NeedKind{
	Approve:    {NeedPlan},
	Reject:     {NeedPlan},
	Resume:     {NeedEscalation, NeedStopped},
	Unlock:     {NeedEscalation, NeedStopped},
	Redispatch: {NeedEscalation, NeedHeld, NeedDelivery, NeedStopped},
	Reassign:   {NeedEscalation, NeedHeld, NeedStopped},
	Split:      {NeedEscalation, NeedHeld, NeedStopped},
	Accept:     {NeedEscalation, NeedHeld},
	Override:   {NeedEscalation, NeedHeld},
	Rollback:   {NeedEscalation, NeedHeld, NeedDelivery, NeedStopped},
}

// decided reports whether a command that is given and not carried out yet settles a need.
func (t *Task) decided(n *Need) bool {
	return t.Doing != nil && n.settledBy(&t.Doing.Command) ||
		slices.ContainsFunc(t.Waiting, func(w Waiting) bool { return n.settledBy(&w.Command) })
}

func (n *Need) settledBy(c *Command) bool {
	for _, name := range [...]CommandName{c.Command, c.Args.Next} {
		switch {
		case name == Deliver, name == Terminate:
			return true
		case n.Kind == NeedEscalation && c.Args.Escalation != "" && c.Args.Escalation != n.Ref: // the command names another one
		case slices.Contains(settles[name], n.Kind):
			return true
		}
	}
	return false
}

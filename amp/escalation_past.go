package amp

import (
	"cmp"
	"slices"
	"time"
)

// PastEscalation is one escalation with its task: a line of the history of escalations.
type PastEscalation struct {
	TaskID TaskID `json:"task_id"`
	Title  string `json:"title"`
	// Status is that of the task now.
	Status Status `json:"task_status"`
	EscalationState
}

// Open reports whether a decision is still to be made: no command has resolved it, and its task goes on.
func (p *PastEscalation) Open() bool { return p.EscalationState.Open() && !p.Status.Ended() }

// Took is how long it took from the escalation to the decision, and to the decision being carried out; false while it is not
// decided.
func (p *PastEscalation) Took() (decided, carriedOut time.Duration, ok bool) {
	if p.EscalationState.Open() {
		return 0, 0, false
	}
	return max(p.DecidedAt.Sub(p.At), 0), max(p.ResolvedAt.Sub(p.At), 0), true
}

// PastEscalations are all escalations ever raised that keep lets through, the newest first; a nil keep lets all through.
func (b *Board) PastEscalations(keep func(*PastEscalation) bool) []PastEscalation {
	all := []PastEscalation{}
	for _, id := range b.Order {
		t := b.Tasks[id]
		for i := range t.Escalations {
			p := PastEscalation{TaskID: id, Title: t.Title, Status: t.Status, EscalationState: t.Escalations[i]}
			if keep == nil || keep(&p) {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b PastEscalation) int { return cmp.Compare(b.Seq, a.Seq) })
	return all
}

// EscalationTotals sums a list of escalations up.
type EscalationTotals struct {
	// Types count them by type, Open those that wait for a decision.
	Types map[EscalationType]int `json:"types"`
	Open  int                    `json:"open"`
	// Median is the median time to the decision, 0 when none is decided.
	Median time.Duration `json:"-"`
}

// TotalsOf sums a list up.
func TotalsOf(list []PastEscalation) EscalationTotals {
	t := EscalationTotals{Types: map[EscalationType]int{}}
	var took []time.Duration
	for i := range list {
		p := &list[i]
		t.Types[p.Type]++
		if p.Open() {
			t.Open++
		}
		if d, _, ok := p.Took(); ok {
			took = append(took, d)
		}
	}
	if n := len(took); n > 0 {
		slices.Sort(took)
		t.Median = (took[(n-1)/2] + took[n/2]) / 2
	}
	return t
}

// concerned is the agent that an escalation is about, as the task stands when it is raised.
func (t *Task) concerned(p *Escalation) (Role, string) {
	role := t.concernedRole(p)
	if t.Turn != nil && t.Turn.Role == role {
		return role, t.Turn.Agent
	}
	own, planned := "", ""
	switch role {
	case Executor:
		own = t.Executor
		if t.Plan != nil {
			planned = t.Plan.Executor
		}
	case Reviewer:
		own = t.Reviewer
		if t.Plan != nil {
			planned = t.Plan.Reviewer
		}
	case Admin, Coordinator, System:
	}
	return role, cmp.Or(own, planned)
}

func (t *Task) concernedRole(p *Escalation) Role {
	if p.TriggeredBy == Executor || p.TriggeredBy == Reviewer {
		return p.TriggeredBy
	}
	switch p.EscalationType {
	case HallucinationLock, BranchViolation, CIFailure:
		return Executor
	case AckTimeoutEsc, HeartbeatTimeout, PermissionDenied, Conflict, UnknownEscalation:
	}
	if t.Turn != nil {
		return t.Turn.Role
	}
	for _, id := range slices.Backward(p.AffectedMsgs) {
		switch typ, _, _, _ := ParseMsgID(id); typ {
		case TaskDispatch, TaskResult:
			return Executor
		case ReviewRequest, ReviewVerdict:
			return Reviewer
		case EscalationMsg:
		}
	}
	return ""
}

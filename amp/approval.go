package amp

import (
	"fmt"
	"strings"
	"time"
)

// SecondAdmin says which plans two admins must approve who did not write them. The zero value is never.
type SecondAdmin string

// The policies about a second admin.
const (
	SecondNever  SecondAdmin = ""
	SecondHigh   SecondAdmin = "high"
	SecondAlways SecondAdmin = "always"
)

// Approval binds one plan revision.
type Approval struct {
	Seq      uint64    `json:"seq"`
	By       string    `json:"by"`
	At       time.Time `json:"at"`
	Hash     string    `json:"hash"`
	Revision int       `json:"revision"`
}

// TwoAdmins reports whether two different admins must approve the plan, its author not being one of them.
func (p *Plan) TwoAdmins() bool {
	return p.Policy.SecondAdmin == SecondAlways || p.Policy.SecondAdmin == SecondHigh && p.RiskLevel == High
}

// AllowsBy is [Task.Allows] for one admin: where two admins must approve a plan, its author's approval does not count, nor does
// the second one of the same admin.
func (t *Task) AllowsBy(c CommandName, by string) error {
	if err := t.Allows(c); err != nil {
		return err
	}
	if why := t.sameAdmin(c, by); why != "" {
		return &TransitionError{TaskID: t.ID, From: t.Status, Step: string(c), Why: why}
	}
	return nil
}

// sameAdmin says why an approval of this admin does not count, "" when it does.
func (t *Task) sameAdmin(c CommandName, by string) string {
	if c != Approve || t.Plan == nil || !t.Plan.TwoAdmins() {
		return ""
	}
	if strings.EqualFold(t.Plan.Author, by) {
		return fmt.Sprintf("two admins must approve who did not write it, and %s wrote revision %d", by, t.Plan.Revision)
	}
	if t.First != nil && strings.EqualFold(t.First.By, by) {
		return fmt.Sprintf("%s approved it already; a second admin who is not %s is missing", by, t.NotBy())
	}
	return ""
}

// NotBy names those whose approval of the plan does not count any more: its author, and the admin who approved first.
func (t *Task) NotBy() string {
	if t.Plan == nil {
		return ""
	}
	if t.First == nil {
		return t.Plan.Author
	}
	return t.Plan.Author + " or " + t.First.By
}

// SecondMissing says which approval a plan waits for after the first of two.
func (t *Task) SecondMissing() string {
	return "approved by " + t.First.By + ", waits for a second admin who is not " + t.Plan.Author + "/" + t.First.By
}

// approve counts an approval. The first of two only waits for the second; what does not count changes nothing.
func (t *Task) approve(e *Entry, c *Command, seq uint64) {
	if _, ok := t.Status.Move(PlanApproved); !ok || t.Plan == nil || t.sameAdmin(c.Command, c.By) != "" {
		return
	}
	a := &Approval{Seq: seq, By: c.By, At: c.At, Hash: t.Plan.Hash, Revision: t.Plan.Revision}
	if t.Plan.TwoAdmins() && t.First == nil {
		t.First = a
		t.Revision++
		return
	}
	t.move(PlanApproved, e.At)
	t.Approval = a
	t.Limits = t.Plan.Budget
	if t.Next == "" {
		t.Next = DispatchStart
	}
}

// disapprove drops what was approved: the plan changed, or is not the one to be done any more.
func (t *Task) disapprove() { t.Approval, t.First = nil, nil }

package amp

import "slices"

// Policy holds the numbers that the fold of a task depends on. They are part of the plan, so an approval binds them and a
// journal folds the same whatever the configuration says later.
type Policy struct {
	// LockAt is the reject_count at which the task is locked (A01); 0 means 3.
	LockAt int `json:"lock_at,omitzero"`
	// HoldBelow is the confidence under which a verdict is held (AMP-137); 0 means 0.8.
	HoldBelow float64 `json:"hold_below,omitzero"`
	// Gates are the ci_status keys whose failure stops a review (AMP-113, A24); empty means xcode_cloud and local.
	Gates []string `json:"gates,omitzero"`
	// Require are ci_status keys of checks that run elsewhere and must have passed on the result's commit before a review is requested.
	// RequireSec is how long that may take before the admin is asked; 0 means 2 h.
	Require    []string `json:"require,omitzero"`
	RequireSec int      `json:"require_sec,omitzero"`
	// SecondAdmin says whether a second admin must approve the plan.
	SecondAdmin SecondAdmin `json:"second_admin,omitzero"`
}

// LockAt is the reject count at which the task locks.
func (t *Task) LockAt() int {
	if t.Plan != nil && t.Plan.Policy.LockAt > 0 {
		return t.Plan.Policy.LockAt
	}
	return 3
}

func (t *Task) holdBelow() float64 {
	if t.Plan != nil && t.Plan.Policy.HoldBelow > 0 {
		return t.Plan.Policy.HoldBelow
	}
	return 0.8
}

// Gates are the ci_status keys that stop a review when they failed.
func (t *Task) Gates() []string {
	gates := []string{"xcode_cloud", "local"}
	if t.Plan == nil {
		return gates
	}
	if len(t.Plan.Policy.Gates) > 0 {
		gates = t.Plan.Policy.Gates
	}
	return slices.Concat(gates, t.Plan.Policy.Require)
}

package amp

import "slices"

// onCommit are the commands that decide on a commit; the others decide on the plan.
var onCommit = []CommandName{Accept, Override, Rollback, Terminate, Deliver}

// OnCommit reports whether a command decides on a commit. The others decide on the plan.
func (c CommandName) OnCommit() bool { return slices.Contains(onCommit, c) }

// Content is what a command decides on as things stand, in hex: the plan's hash or the task's commit, "" where there is none. To let a held verdict
// stand is to decide on its direct fixes where it has some: they get onto the branch with it (AMP-124, AMP-137).
func (t *Task) Content(c CommandName) string {
	switch {
	case c == Accept && t.Fix != "" && t.Hold != nil && t.Hold.Kind == HoldVerdict:
		return t.Fix
	case c.OnCommit():
		return t.Commit
	case t.Plan == nil:
		return ""
	}
	return t.Plan.Hash
}

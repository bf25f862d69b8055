package demo

import (
	"fmt"

	"arbiter/amp"
	"arbiter/providers/command/scripted"
)

// Hint says what the admin at the screen may decide next, and with which keys; "" while agents are at work and nothing waits.
// What stands still comes before what has not begun.
func Hint(b *amp.Board) string {
	ended, approval := 0, ""
	for _, id := range b.Order {
		t := b.Task(id)
		s := scenarioOf(t)
		if s == nil {
			continue
		}
		if len(t.Waiting) > 0 {
			return fmt.Sprintf("%s: your %s runs in a moment; u takes it back", id, t.Waiting[0].Command.Command)
		}
		switch t.Status {
		case amp.AwaitingApproval:
			if approval == "" {
				approval = fmt.Sprintf("%s needs you: 4 enter, %s · %s", id, approve(t.Plan.RiskLevel), s.Shows)
			}
		case amp.Locked, amp.Suspended:
			if t.Proof != 0 {
				return fmt.Sprintf("%s is %s: 3 enter, 1-3 stage a way out · %s", id, t.Status, s.Shows)
			}
		case amp.Held:
			return fmt.Sprintf("%s is held: 3 enter, A accepts · %s", id, s.Shows)
		case amp.StatusApproved, amp.Delivered, amp.Terminated:
			ended++
		case amp.Drafting, amp.Dispatched, amp.Executing, amp.Verifying, amp.Reviewing:
		}
	}
	if ended == len(scripted.Scenarios) {
		return "Every task has ended: 2 enter shows a timeline, M delivers an approved one, q leaves"
	}
	return approval
}

// approve are the keys of an approval at a risk level.
func approve(r amp.RiskLevel) string {
	switch r {
	case amp.Medium:
		return "space on each subtask, A tab enter"
	case amp.High:
		return "space on each subtask, A, the four digits, tab enter"
	case amp.Low:
	}
	return "A tab enter"
}

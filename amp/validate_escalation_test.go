package amp_test

import (
	"testing"

	"arbiter/amp"
)

func TestEscalation_rules(t *testing.T) {
	t.Parallel()
	other := `payload.escalation_type = "conflict"`
	brokenBy(t, amp.EscalationMsg, []ruleCase{
		{"AMP-153", "payload.escalation_type", []string{`- payload.escalation_type`}, "missing"},
		{"AMP-153", "payload.severity", []string{`- payload.severity`}, "missing"},
		{"AMP-153", "payload.triggered_by", []string{`- payload.triggered_by`}, "missing"},
		{"AMP-153", "payload.description", []string{`- payload.description`}, "missing"},
		{"AMP-153", "payload.affected_msgs", []string{`- payload.affected_msgs`}, "missing"},
		{"AMP-153", "payload.system_state_snapshot", []string{`- payload.system_state_snapshot`}, "missing"},
		{"AMP-153", "payload.auto_suspended", []string{`- payload.auto_suspended`}, "missing"},
		{"AMP-154", "payload.escalation_type", []string{`payload.escalation_type = "panic"`}, "or unknown"},
		{"AMP-155", "payload.severity", []string{`payload.severity = "error"`}, "expected critical, warning or info"},
		{"AMP-157", "payload.triggered_by", []string{`payload.triggered_by = "admin"`}, "expected coordinator, executor, reviewer or system"},
		{"AMP-158", "payload.description", []string{`payload.description = ""`}, "is empty"},
		{"AMP-159", "payload.affected_msgs", []string{`payload.affected_msgs = "all"`}, "expected an array"},
		{"AMP-159", "payload.affected_msgs[1]", []string{`payload.affected_msgs[1] = ""`}, "is empty"},
		{"AMP-160", "payload.system_state_snapshot", []string{`payload.system_state_snapshot = "locked"`}, "expected an object"},
		{"AMP-160", "payload.system_state_snapshot.task_status", []string{other, `payload.system_state_snapshot.task_status = ""`}, "is empty"},
		{"AMP-160", "payload.system_state_snapshot.task_status", []string{`- payload.system_state_snapshot.task_status`}, "missing"},
		{"AMP-160", "payload.system_state_snapshot.reject_count", []string{`payload.system_state_snapshot.reject_count = -3`}, "0 or more"},
		{"AMP-160", "payload.system_state_snapshot.last_successful_msg_id", []string{`payload.system_state_snapshot.last_successful_msg_id = null`}, "is null"},
		{"AMP-161", "payload.suggested_actions[0]", []string{`payload.suggested_actions[0] = 1`}, "expected a string"},
		{"AMP-163", "payload.auto_suspended", []string{`payload.auto_suspended = "yes"`}, "expected a boolean"},
		{"AMP-164", "payload.auto_suspended", []string{`payload.auto_suspended = false`}, "always suspends"},
		{"AMP-165", "payload.auto_suspended", []string{`payload.severity = "warning"`, `payload.auto_suspended = false`}, "only an escalation of level info"}, // A17
		{"AMP-166", "payload.system_state_snapshot.task_status", []string{`payload.system_state_snapshot.task_status = "reviewing"`}, "the task is locked"},
	})
	takenWith(t, amp.EscalationMsg, []warnCase{
		{"", "", []string{`payload.severity = "info"`, `payload.auto_suspended = false`}}, // AMP-165
		{"", "", []string{`payload.severity = "info"`}},
		{"", "", []string{`payload.severity = "warning"`}}, // A17
		{"", "", []string{`payload.affected_msgs = []`, `- payload.suggested_actions`}},
		{"", "", []string{`payload.system_state_snapshot.last_successful_msg_id = ""`, `payload.system_state_snapshot.reject_count = 0`}},
		{"AMP-160", "payload.system_state_snapshot.task_status", []string{other, `payload.system_state_snapshot.task_status = "in_review"`}},
	})
	for _, typ := range []amp.EscalationType{
		amp.AckTimeoutEsc, amp.BranchViolation, amp.CIFailure, amp.Conflict, amp.HeartbeatTimeout,
		amp.PermissionDenied, amp.UnknownEscalation,
	} { // AMP-154
		takenWith(t, amp.EscalationMsg, []warnCase{{"", "", []string{
			`payload.escalation_type = "` + string(typ) + `"`,
			`payload.system_state_snapshot.task_status = "executing"`,
		}}})
	}
}

package amp_test

import (
	"testing"

	"arbiter/amp"
)

func TestRequest_rules(t *testing.T) {
	t.Parallel()
	brokenBy(t, amp.ReviewRequest, []ruleCase{
		{"AMP-103", "payload.original_dispatch_ref", []string{`- payload.original_dispatch_ref`}, "missing"},
		{"AMP-103", "payload.original_dispatch_ref", []string{`payload.original_dispatch_ref = ""`}, "is empty"},
		{"AMP-104", "payload.task_result_ref", []string{`- payload.task_result_ref`}, "missing"},
		{"AMP-104", "payload.task_result_ref", []string{`payload.task_result_ref = " "`}, "is empty"},
		{"AMP-106", "payload.review_scope", []string{`- payload.review_scope`}, "missing"},
		{"AMP-106", "payload.review_scope", []string{`payload.review_scope = "delta"`}, "expected full or incremental"},
		{"AMP-108", "payload.diff_url", []string{`- payload.diff_url`}, "missing"},
		{"AMP-108", "payload.diff_url", []string{`payload.diff_url = ""`}, "is empty"},
		{"AMP-109", "payload.reject_count", []string{`- payload.reject_count`}, "missing"},
		{"AMP-109", "payload.reject_count", []string{`payload.reject_count = -1`}, "0 or more"},
		{"AMP-109", "payload.reject_count", []string{`payload.reject_count = "0"`}, "expected an integer"},
		{"AMP-110", "payload.coordinator_notes", []string{`payload.coordinator_notes = ["look"]`}, "expected a string"},
		{"AMP-111", "payload.ci_status", []string{`payload.ci_status = "passed"`}, "expected an object"},
		{"AMP-112", "payload.coordinator_notes", []string{`payload.reject_count = 2`}, "Lock is approaching"},
		{"AMP-112", "payload.coordinator_notes", []string{`payload.reject_count = 5`, `- payload.coordinator_notes`}, "Lock is approaching"},
	})
	takenWith(t, amp.ReviewRequest, []warnCase{
		{"", "", []string{`- payload.coordinator_notes`, `- payload.ci_status`}},
		{"", "", []string{`payload.review_scope = "incremental"`}},                                                    // AMP-107 needs the task's history
		{"", "", []string{`payload.reject_count = 2`, `payload.coordinator_notes = "Careful: LOCK IS APPROACHING."`}}, // A27
		{"", "", []string{`payload.ci_status = {"runs":[1,null]}`}},
		{"AMP-113", "payload.ci_status.codex_review", []string{`payload.ci_status.codex_review = "failed"`}}, // A24
	})
}

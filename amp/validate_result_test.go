package amp_test

import (
	"testing"

	"arbiter/amp"
)

func TestResult_rules(t *testing.T) {
	t.Parallel()
	brokenBy(t, amp.TaskResult, []ruleCase{
		{"AMP-073", "payload.subtask_id", []string{`- payload.subtask_id`}, "missing"},
		{"AMP-073", "payload.subtask_id", []string{`payload.subtask_id = ""`}, "is empty"},
		{"AMP-074", "payload.completion_status", []string{`- payload.completion_status`}, "missing"},
		{"AMP-074", "payload.completion_status", []string{`payload.completion_status = "done"`}, "expected complete, partial or failed"},
		{"AMP-075", "payload.diff_summary", []string{`- payload.diff_summary`}, "missing"},
		{"AMP-075", "payload.diff_summary", []string{`payload.diff_summary = "two files"`}, "expected an object"},
		{"AMP-075", "payload.diff_summary.files_changed", []string{`- payload.diff_summary.files_changed`}, "missing"},
		{"AMP-075", "payload.diff_summary.files_changed[1]", []string{`payload.diff_summary.files_changed[1] = {"path":"a"}`}, "expected a string"},
		{"AMP-075", "payload.diff_summary.lines_added", []string{`- payload.diff_summary.lines_added`}, "missing"},
		{"AMP-075", "payload.diff_summary.lines_removed", []string{`payload.diff_summary.lines_removed = "24"`}, "expected an integer"},
		{"AMP-076", "payload.diff_summary.lines_added", []string{`payload.diff_summary.lines_added = -68`}, "0 or more"},
		{"AMP-076", "payload.diff_summary.lines_removed", []string{`payload.diff_summary.lines_removed = -1`}, "0 or more"},
		{"AMP-077", "payload.self_assessment", []string{`- payload.self_assessment`}, "missing"},
		{"AMP-077", "payload.self_assessment.criteria_met", []string{`- payload.self_assessment.criteria_met`}, "missing"},
		{"AMP-077", "payload.self_assessment.criteria_met[1]", []string{`payload.self_assessment.criteria_met[1] = "yes"`}, "expected a boolean"},
		{"AMP-077", "payload.self_assessment.criteria_met", []string{`payload.self_assessment.criteria_met = null`}, "is null"},
		{"AMP-077", "payload.self_assessment.notes", []string{`- payload.self_assessment.notes`}, "missing"},
		{"AMP-077", "payload.self_assessment.notes[2]", []string{`payload.self_assessment.notes[2] = null`}, "is null"},
		{"AMP-082", "payload.work_log", []string{`- payload.work_log`}, "missing"},
		{"AMP-082", "payload.work_log[0]", []string{`payload.work_log = ["edited a file"]`}, "expected an object"},
		{"AMP-082", "payload.work_log[0].timestamp", []string{`- payload.work_log[0].timestamp`}, "missing"},
		{"AMP-082", "payload.work_log[0].action", []string{`- payload.work_log[0].action`}, "missing"},
		{"AMP-082", "payload.work_log[0].file", []string{`- payload.work_log[0].file`}, "missing"},
		{"AMP-082", "payload.work_log[0].detail", []string{`payload.work_log[0].detail = null`}, "is null"},
		{"AMP-084", "payload.commit_hash", []string{`payload.commit_hash = 1234567`}, "expected a string"},
		{"AMP-085", "payload.blockers", []string{`payload.completion_status = "partial"`}, "say what blocks"},
		{"AMP-085", "payload.blockers", []string{`payload.completion_status = "failed"`, `payload.blockers = []`}, "say what blocks"},
		{"AMP-085", "payload.blockers", []string{`payload.completion_status = "partial"`, `payload.blockers = "none"`}, "expected an array"},
		{"AMP-086", "payload.blockers", []string{`payload.completion_status = "partial"`, `payload.blockers = ["", " "]`}, "explains nothing"},
	})
	takenWith(t, amp.TaskResult, []warnCase{
		{"", "", []string{`payload.diff_summary.lines_removed = 0`}},
		{"", "", []string{`payload.diff_summary.lines_removed = -0`}},
		{"", "", []string{`payload.diff_summary = {"files_changed":[],"lines_added":0,"lines_removed":0}`, `- payload.commit_hash`}},
		{"", "", []string{`payload.self_assessment = {"criteria_met":[true,false,null],"notes":["","",""]}`}}, // AMP-079, A11
		{"", "", []string{`payload.work_log = []`}},
		{"", "", []string{`payload.work_log[0].file = ""`}},
		{"", "", []string{`payload.completion_status = "partial"`, `payload.blockers = ["no device"]`}},
		{"", "", []string{`payload.completion_status = "failed"`, `payload.blockers = ["it does not build"]`}},
		{"AMP-081", "payload.self_assessment.notes", []string{`payload.self_assessment.notes = ["only one"]`}},
		{"AMP-083", "payload.work_log[0].timestamp", []string{`payload.work_log[0].timestamp = "yesterday"`}},
	})
}

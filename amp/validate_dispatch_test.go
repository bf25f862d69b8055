package amp_test

import (
	"testing"

	"arbiter/amp"
)

func TestDispatch_rules(t *testing.T) {
	t.Parallel()
	brokenBy(t, amp.TaskDispatch, []ruleCase{
		{"AMP-044", "payload.description", []string{`- payload.description`}, "missing"},
		{"AMP-044", "payload.description", []string{`payload.description = " \t"`}, "is empty"},
		{"AMP-044", "payload.description", []string{`payload.description = ["a"]`}, "is an array, expected a string"},
		{"AMP-045", "payload.repo", []string{`- payload.repo`}, "missing"},
		{"AMP-045", "payload.repo", []string{`payload.repo = "dev/Rhylm"`}, "absolute path"},
		{"AMP-045", "payload.repo", []string{`payload.repo = "~/Rhylm"`}, "absolute path"},
		{"AMP-045", "payload.repo", []string{`payload.repo = "https://github.com/x/y"`}, "absolute path"},
		{"AMP-047", "payload.branch", []string{`- payload.branch`}, "missing"},
		{"AMP-047", "payload.branch", []string{`payload.branch = ""`}, "feature branch"},
		{"AMP-047", "payload.branch", []string{`payload.branch = "refs/heads/"`}, "feature branch"},
		{"AMP-047", "payload.branch", []string{`payload.branch = "--upload-pack=x"`}, "git does not take"},
		{"AMP-047", "payload.branch", []string{`payload.branch = "a b"`}, "git does not take"},
		{"AMP-047", "payload.branch", []string{`payload.branch = "a..b"`}, "git does not take"},
		{"AMP-047", "payload.branch", []string{`payload.branch = "a.lock"`}, "git does not take"},
		{"AMP-048", "payload.branch", []string{`payload.branch = "main"`}, "never on main"},
		{"AMP-048", "payload.branch", []string{`payload.branch = "master"`}, "never on master"},
		{"AMP-049", "payload.branch", []string{`payload.branch = "refs/heads/main"`}, "which is main"}, // A22
		{"AMP-049", "payload.branch", []string{`payload.branch = "refs/remotes/fork/master"`}, "which is master"},
		{"AMP-049", "payload.branch", []string{`payload.branch = "origin/main"`}, "which is main"},
		{"AMP-049", "payload.branch", []string{`payload.branch = " main\n"`}, "which is main"},
		{"AMP-049", "payload.branch", []string{`payload.branch = "heads/refs/heads/origin/main "`}, "which is main"},
		{"AMP-050", "payload.subtasks", []string{`- payload.subtasks`}, "missing"},
		{"AMP-050", "payload.subtasks", []string{`payload.subtasks = {}`}, "expected an array"},
		{"AMP-050", "payload.subtasks[0]", []string{`payload.subtasks[0] = "S1"`}, "expected an object"},
		{"AMP-051", "payload.subtasks[0].subtask_id", []string{`- payload.subtasks[0].subtask_id`}, "missing"},
		{"AMP-051", "payload.subtasks[1].description", []string{`- payload.subtasks[1].description`}, "missing"},
		{"AMP-051", "payload.subtasks[1].description", []string{`payload.subtasks[1].description = ""`}, "is empty"},
		{"AMP-051", "payload.subtasks[1].estimated_lines", []string{`- payload.subtasks[1].estimated_lines`}, "missing"},
		{"AMP-052", "payload.subtasks[1].subtask_id", []string{`payload.subtasks[1].subtask_id = "T-2026-044-S1"`}, "already that of subtask 0"},
		{"AMP-053", "payload.subtasks[0].estimated_lines", []string{`payload.subtasks[0].estimated_lines = -1`}, "0 or more"},
		{"AMP-053", "payload.subtasks[0].estimated_lines", []string{`payload.subtasks[0].estimated_lines = 1.5`}, "expected an integer"},
		{"AMP-053", "payload.subtasks[0].estimated_lines", []string{`payload.subtasks[0].estimated_lines = "60"`}, "expected an integer"},
		{"AMP-054", "payload.subtasks", []string{`payload.subtasks = []`}, "at least one"},
		{"AMP-055", "payload.acceptance_criteria", []string{`- payload.acceptance_criteria`}, "missing"},
		{"AMP-055", "payload.acceptance_criteria", []string{`payload.acceptance_criteria = "it works"`}, "expected an array"},
		{"AMP-055", "payload.acceptance_criteria[1]", []string{`payload.acceptance_criteria[1] = null`}, "is null"},
		{"AMP-056", "payload.acceptance_criteria", []string{`payload.acceptance_criteria = []`}, "add at least one"},
		{"AMP-058", "payload.risk_level", []string{`- payload.risk_level`}, "missing"},
		{"AMP-058", "payload.risk_level", []string{`payload.risk_level = "critical"`}, "expected low, medium or high"},
		{"AMP-061", "payload.forbidden_actions", []string{`payload.forbidden_actions = "all"`}, "expected an array"},
		{"AMP-061", "payload.forbidden_actions", []string{`payload.forbidden_actions = null`}, "is null"},
		{"AMP-062", "payload.tech_constraints", []string{`payload.tech_constraints = ["swift"]`}, "expected an object"},
	})
	takenWith(t, amp.TaskDispatch, []warnCase{
		{"", "", []string{`- payload.forbidden_actions`, `- payload.tech_constraints`}},
		{"", "", []string{`payload.tech_constraints = {"a":null,"b":{"c":[1,2.5,1e300]}}`}}, // AMP-062
		{"", "", []string{`payload.repo = "C:\\src\\app"`}},
		{"", "", []string{`payload.branch = "maintenance"`}}, // AMP-048: only the whole name counts
		{"", "", []string{`payload.branch = "feature/main"`}},
		{"", "", []string{`payload.subtasks[0].estimated_lines = 0`}}, // AMP-053
		{"AMP-052", "payload.subtasks[1].subtask_id", []string{`payload.subtasks[1].subtask_id = "second"`}},
		{"AMP-057", "payload.acceptance_criteria[1]", []string{`payload.acceptance_criteria[1] = " "`}},
	})
}

func TestPlainBranch(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{ // AMP-049, A22
		"feature/x":                "feature/x",
		"main":                     "main",
		"refs/heads/main":          "main",
		"refs/remotes/origin/main": "main",
		"remotes/up/main":          "main",
		" origin/main ":            "main",
		"upstream/master":          "master",
		"origin/feature/x":         "feature/x",
		"refs/heads/refs/heads/x":  "x",
		"refs/heads/":              "",
		"refs/remotes/origin":      "",
		"":                         "",
		"mainline":                 "mainline",
	} {
		if got := amp.PlainBranch(name); got != want {
			t.Errorf("PlainBranch(%q) = %q, want %q", name, got, want)
		}
	}
}

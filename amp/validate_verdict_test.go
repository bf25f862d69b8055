package amp_test

import (
	"math"
	"testing"

	"arbiter/amp"
)

// approval turns the sample, a rejection, into an approval.
func approval(decision string, more ...string) []string {
	return append([]string{
		`payload.decision = "` + decision + `"`, `payload.criteria_results[0].passed = true`,
		`payload.criteria_results[1].passed = true`, `- payload.issues`,
	}, more...)
}

func TestVerdict_rules(t *testing.T) {
	t.Parallel()
	fix := `payload.direct_fixes = [{"file":"a.go","change_type":"typo","diff_lines":1}]`
	brokenBy(t, amp.ReviewVerdict, []ruleCase{
		{"AMP-123", "payload.decision", []string{`- payload.decision`}, "missing"},
		{"AMP-123", "payload.decision", []string{`payload.decision = "lgtm"`}, "expected approved, approved_with_fix or rejected"},
		{"AMP-125", "payload.criteria_results", []string{`- payload.criteria_results`}, "missing"},
		{"AMP-125", "payload.criteria_results[0]", []string{`payload.criteria_results[0] = true`}, "expected an object"},
		{"AMP-125", "payload.criteria_results[0].criterion", []string{`- payload.criteria_results[0].criterion`}, "missing"},
		{"AMP-125", "payload.criteria_results[1].passed", []string{`- payload.criteria_results[1].passed`}, "missing"},
		{"AMP-125", "payload.criteria_results[1].passed", []string{`payload.criteria_results[1].passed = "pending"`}, "expected a boolean"},
		{"AMP-125", "payload.criteria_results[1].evidence", []string{`- payload.criteria_results[1].evidence`}, "missing"},
		{"A13", "payload.criteria_results[0].passed", approval("approved", `payload.criteria_results[0].passed = false`), "but the decision is approved"},
		{"A13", "payload.criteria_results[1].passed", approval("approved_with_fix", `payload.criteria_results[1].passed = false`, fix), "but the decision is approved_with_fix"},
		{"AMP-127", "payload.issues", []string{`- payload.issues`}, "say what must change"},
		{"AMP-127", "payload.issues", []string{`payload.issues = []`}, "say what must change"},
		{"AMP-127", "payload.issues", []string{`payload.issues = "many"`}, "expected an array"},
		{"AMP-128", "payload.issues[0].file", []string{`- payload.issues[0].file`}, "missing"},
		{"AMP-128", "payload.issues[0].line", []string{`- payload.issues[0].line`}, "missing"},
		{"AMP-128", "payload.issues[0].line", []string{`payload.issues[0].line = "87"`}, "expected an integer"},
		{"AMP-128", "payload.issues[0].line", []string{`payload.issues[0].line = 9007199254740992`}, "expected an integer"},
		{"AMP-128", "payload.issues[0].description", []string{`- payload.issues[0].description`}, "missing"},
		{"AMP-128", "payload.issues[0].description", []string{`payload.issues[0].description = ""`}, "is empty"},
		{"AMP-128", "payload.issues[0].suggested_fix", []string{`- payload.issues[0].suggested_fix`}, "missing"},
		{"AMP-128", "payload.issues[0].severity", []string{`- payload.issues[0].severity`}, "missing"},
		{"AMP-129", "payload.issues[0].severity", []string{`payload.issues[0].severity = "blocker"`}, "expected critical, major or minor"},
		{"AMP-131", "payload.direct_fixes", approval("approved_with_fix"), "say what was fixed"},
		{"AMP-131", "payload.direct_fixes", approval("approved_with_fix", `payload.direct_fixes = []`), "say what was fixed"},
		{"AMP-131", "payload.direct_fixes[0].file", approval("approved_with_fix", fix, `- payload.direct_fixes[0].file`), "missing"},
		{"AMP-131", "payload.direct_fixes[0].change_type", approval("approved_with_fix", fix, `- payload.direct_fixes[0].change_type`), "missing"},
		{"AMP-131", "payload.direct_fixes[0].diff_lines", approval("approved_with_fix", fix, `- payload.direct_fixes[0].diff_lines`), "missing"},
		{"AMP-132", "payload.direct_fixes[0].change_type", approval("approved_with_fix", fix, `payload.direct_fixes[0].change_type = "refactor"`), "expected typo, lint"},
		{"AMP-133", "payload.direct_fixes[0].diff_lines", approval("approved_with_fix", fix, `payload.direct_fixes[0].diff_lines = 5`), "must be a rejection (AMP-134)"},
		{"AMP-133", "payload.direct_fixes[0].diff_lines", approval("approved_with_fix", fix, `payload.direct_fixes[0].diff_lines = -1`), "0 or more"},
		{"AMP-135", "payload.architecture_notes", []string{`payload.architecture_notes = {}`}, "expected a string"},
		{"AMP-136", "payload.confidence", []string{`- payload.confidence`}, "missing"},
		{"AMP-136", "payload.confidence", []string{`payload.confidence = 1.01`}, "0.0 to 1.0"},
		{"AMP-136", "payload.confidence", []string{`payload.confidence = -0.1`}, "0.0 to 1.0"},
		{"AMP-136", "payload.confidence", []string{`payload.confidence = "high"`}, "expected a number"},
		{"AMP-136", "payload.confidence", []string{`payload.confidence = null`}, "is null"},
	})
	takenWith(t, amp.ReviewVerdict, []warnCase{
		{"", "", approval("approved")},
		{"", "", approval("approved", `payload.criteria_results[1].passed = null`)}, // A13: held, not refused
		{"", "", approval("approved", `payload.criteria_results = []`)},             // A13, AMP-126
		{"", "", approval("approved", `payload.confidence = 0`)},                    // AMP-137: held, not refused
		{"", "", approval("approved", `payload.confidence = 1`)},
		{"", "", approval("approved_with_fix", fix)},
		{"", "", approval("approved_with_fix", fix, `payload.direct_fixes[0].diff_lines = 4`)}, // A15
		{"", "", approval("approved", `payload.issues = [{"severity":"minor","file":"","line":0,"description":"d","suggested_fix":""}]`)},
		{"", "", []string{`- payload.architecture_notes`}}, // AMP-135
		{"AMP-130", "payload.issues[0].severity", approval("approved", `payload.issues = [{"severity":"major","file":"a","line":1,"description":"d","suggested_fix":"s"}]`)},
		{"AMP-128", "payload.issues[0].line", []string{`payload.issues[0].line = -1`}},
		{"AMP-131", "payload.direct_fixes", []string{fix}},
		{"A15", "payload.direct_fixes", approval("approved_with_fix", fix, `payload.direct_fixes[1] = {"file":"b.go","change_type":"lint","diff_lines":4}`)},
	})
}

// TestVerdict_import: the other word for import_order is taken and stored as import_order (AMP-132, A14).
func TestVerdict_import(t *testing.T) {
	t.Parallel()
	data := sample(t, amp.ReviewVerdict, approval("approved_with_fix", `payload.direct_fixes = [{"file":"a.go","change_type":"import","diff_lines":2}]`)...)
	m, _, err := amp.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Payload.(*amp.Verdict).DirectFixes[0].ChangeType; got != amp.ImportOrder {
		t.Errorf("A14: change_type import was read as %q", got)
	}
	v := &amp.Verdict{Decision: amp.ApprovedWithFix, Confidence: 0.9, DirectFixes: []amp.DirectFix{{File: "a.go", ChangeType: "import", DiffLines: 2}}}
	m.Payload = v
	out, err := amp.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	if got := parse(t, out).(map[string]any)["payload"].(map[string]any)["direct_fixes"].([]any)[0].(map[string]any)["change_type"]; got != "import_order" {
		t.Errorf("A14: import was written as %q", got)
	}
	if v.DirectFixes[0].ChangeType != "import" {
		t.Error("Encode changed the caller's verdict")
	}
}

func TestVerdict_notANumber(t *testing.T) {
	t.Parallel()
	m, _, err := amp.Decode(sample(t, amp.ReviewVerdict))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		m.Payload.(*amp.Verdict).Confidence = c
		if got := amp.Validate(m); len(got) != 1 || got[0].Rule != "AMP-136" {
			t.Errorf("AMP-136: confidence %v: problems %v", c, got)
		}
	}
}

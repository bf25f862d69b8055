package brief

import (
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	verdict := `{"decision":"approved","criteria_results":[{"criterion":"a","passed":true,"evidence":"e"}],"confidence":0.9}`
	plan := `{"title":"t","description":"d","subtasks":[{"description":"s","estimated_lines":1}],"acceptance_criteria":["a"],"risk_level":"low"}`
	for name, tc := range map[string]struct {
		role    amp.Role
		payload string
		want    string // "" is no problem
	}{
		"verdict":           {amp.Reviewer, verdict, ""},
		"verdict, decision": {amp.Reviewer, strings.Replace(verdict, "approved", "fine", 1), "data.decision"},
		"verdict, types":    {amp.Reviewer, strings.Replace(verdict, "0.9", `"high"`, 1), "data.confidence"},
		"verdict, rejected": {amp.Reviewer, strings.Replace(verdict, "approved", "rejected", 1), "data.issues"},
		"verdict, twice":    {amp.Reviewer, strings.Replace(verdict, `{"decision`, `{"confidence":1,"decision`, 1), "confidence"},
		"result":            {amp.Executor, `{}`, "data.subtask_id"},
		"plan":              {amp.Coordinator, plan, ""},
		"plan, risk":        {amp.Coordinator, strings.Replace(plan, "low", "none", 1), "data.risk_level"},
		"plan, criteria":    {amp.Coordinator, strings.Replace(plan, `["a"]`, `[]`, 1), "data.acceptance_criteria"},
		"plan, subtask":     {amp.Coordinator, strings.Replace(plan, `"s"`, `" "`, 1), "data.subtasks[0].description"},
		"plan, type":        {amp.Coordinator, strings.Replace(plan, `"d"`, `{}`, 1), "no plan"},
		"no object":         {amp.Reviewer, `[]`, "data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Check(&providers.Turn{Role: tc.role, Task: "T-2026-001"}, []byte(tc.payload))
			if (len(got) == 0) != (tc.want == "") || tc.want != "" && !strings.Contains(strings.Join(got, "\n"), tc.want) {
				t.Errorf("Check = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"plain", "``` x ```", strings.Repeat("`", 100_000)} {
		var b strings.Builder
		Block(&b, "H", []byte(text))
		lines := strings.Split(b.String(), "\n")
		if fence := lines[2]; lines[0] != "H:" || lines[3] != text || lines[4] != fence || strings.Contains(text, fence) || len(fence) > 80 {
			t.Errorf("block of %.20s: fence %.90s", text, fence)
		}
	}
}

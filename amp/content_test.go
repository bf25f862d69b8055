package amp

import "testing"

// AMP-124, AMP-137: who lets a held verdict stand decides on the direct fixes that come with it.
func TestTask_Content(t *testing.T) {
	t.Parallel()
	const plan, commit, fix = "9a", "7d", "f1"
	for _, tc := range []struct {
		name string
		task Task
		want map[CommandName]string
	}{
		{"nothing yet", Task{}, map[CommandName]string{Approve: "", Accept: "", Terminate: ""}},
		{"a plan", Task{Plan: &Plan{Hash: plan}}, map[CommandName]string{Approve: plan, Revise: plan, Terminate: ""}},
		{"work", Task{Plan: &Plan{Hash: plan}, Commit: commit}, map[CommandName]string{Resume: plan, Rollback: commit, Deliver: commit}},
		{
			"a held result",
			Task{Plan: &Plan{Hash: plan}, Commit: commit, Hold: &Hold{Kind: HoldResult}},
			map[CommandName]string{Accept: commit, Terminate: commit},
		},
		{
			"a held verdict",
			Task{Plan: &Plan{Hash: plan}, Commit: commit, Hold: &Hold{Kind: HoldVerdict}},
			map[CommandName]string{Accept: commit, Override: commit},
		},
		{
			"a held verdict with fixes",
			Task{Plan: &Plan{Hash: plan}, Commit: commit, Fix: fix, Hold: &Hold{Kind: HoldVerdict}},
			map[CommandName]string{Accept: fix, Override: commit, Rollback: commit, Terminate: commit, Redispatch: plan},
		},
	} {
		for c, want := range tc.want {
			if got := tc.task.Content(c); got != want {
				t.Errorf("%s: %s decides on %q, want %q", tc.name, c, got, want)
			}
		}
	}
}

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"arbiter/amp"
)

func drawPlan(r *rapid.T) *amp.Plan {
	text := rapid.String()
	list := rapid.SliceOfN(text, 0, 3)
	return &amp.Plan{
		Title: text.Draw(r, "title"), Wish: text.Draw(r, "wish"), Reasons: text.Draw(r, "reasons"), Description: text.Draw(r, "description"),
		Repo: text.Draw(r, "repo"), Branch: text.Draw(r, "branch"), BaseBranch: text.Draw(r, "base branch"), BaseCommit: text.Draw(r, "base"),
		AcceptanceCriteria: list.Draw(r, "criteria"), AllowedPaths: list.Draw(r, "paths"), ForbiddenActions: list.Draw(r, "forbidden"),
		RiskLevel: amp.RiskLevel(text.Draw(r, "risk")), Executor: text.Draw(r, "executor"), Reviewer: text.Draw(r, "reviewer"),
		Checks: rapid.SliceOfN(rapid.SliceOfN(text, 1, 3), 0, 2).Draw(r, "checks"),
		Budget: amp.Budget{Turns: rapid.IntRange(0, 99).Draw(r, "turns"), WallSec: rapid.IntRange(0, 1<<20).Draw(r, "wall")},
		Subtasks: rapid.SliceOfN(rapid.Custom(func(r *rapid.T) amp.Subtask {
			return amp.Subtask{SubtaskID: text.Draw(r, "id"), Description: text.Draw(r, "what"), EstimatedLines: rapid.IntRange(0, 999).Draw(r, "lines")}
		}), 0, 3).Draw(r, "subtasks"),
	}
}

// A plan that is written for the editor and read again is the same plan, whatever an agent put into it.
func TestPlanTOML_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		want := drawPlan(r)
		data, err := writePlanTOML(want)
		if err != nil {
			r.Fatal(err)
		}
		got, err := parsePlanTOML("plan.toml", data)
		if err != nil {
			r.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("plan (-want +got):\n%s\n%s", diff, data)
		}
	})
}

func FuzzParsePlanJSON(f *testing.F) {
	f.Add([]byte(`{"title":"x","subtasks":[{"subtask_id":"S1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := parsePlanJSON("plan.json", data); err == nil {
			again, err := parsePlanJSON("plan.json", encodeJSON(p))
			if err != nil {
				t.Fatalf("what was written is not read: %v", err)
			}
			if diff := cmp.Diff(p, again, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-first +again):\n%s", diff)
			}
		}
	})
}

package amp_test

import (
	"encoding/json"
	"math"
	"testing"

	"pgregory.net/rapid"

	"arbiter/amp"
)

func contract() *amp.Plan {
	return &amp.Plan{
		TaskID: "T-2026-044", Revision: 3, Title: "breathing engine", Wish: "fix the timer", Author: "claude", Reasons: "because",
		Hash: "0123", Description: "Reconstruct the timing", Repo: "/srv/app", Branch: "feature/x", BaseBranch: "main", BaseCommit: "c0ffee",
		Subtasks:           []amp.Subtask{{SubtaskID: "T-2026-044-S1", Description: "d", EstimatedLines: 60}},
		AcceptanceCriteria: []string{"tests pass"}, RiskLevel: amp.Medium, AllowedPaths: []string{"src/**"},
		ForbiddenActions: []string{"push"}, TechConstraints: map[string]any{"swift": "6.0", "min": 10, "a": map[string]any{"z": 1, "b": nil}},
		Checks: [][]string{{"go", "test"}}, Executor: "codex", Reviewer: "claude", Budget: amp.Budget{WallSec: 600},
		Policy: amp.Policy{LockAt: 3},
	}
}

// TestContentHash_binds: an approval binds everything but revision, author, reasons and the hash itself (AMP-040).
func TestContentHash_binds(t *testing.T) {
	t.Parallel()
	want := contract().ContentHash()
	if len(want) != 64 {
		t.Fatalf("ContentHash = %q, want 64 hex digits", want)
	}
	for name, c := range map[string]struct {
		change func(*amp.Plan)
		bound  bool
	}{
		"revision":     {func(p *amp.Plan) { p.Revision++ }, false},
		"author":       {func(p *amp.Plan) { p.Author = "mira" }, false},
		"reasons":      {func(p *amp.Plan) { p.Reasons = "" }, false},
		"hash":         {func(p *amp.Plan) { p.Hash = want }, false},
		"task":         {func(p *amp.Plan) { p.TaskID = "T-2026-045" }, true},
		"title":        {func(p *amp.Plan) { p.Title = "x" }, true},
		"wish":         {func(p *amp.Plan) { p.Wish = "x" }, true},
		"description":  {func(p *amp.Plan) { p.Description += "." }, true},
		"repo":         {func(p *amp.Plan) { p.Repo = "/srv/other" }, true},
		"branch":       {func(p *amp.Plan) { p.Branch = "feature/y" }, true},
		"base branch":  {func(p *amp.Plan) { p.BaseBranch = "master" }, true},
		"base commit":  {func(p *amp.Plan) { p.BaseCommit = "c0ffef" }, true},
		"subtask":      {func(p *amp.Plan) { p.Subtasks[0].EstimatedLines++ }, true},
		"criteria":     {func(p *amp.Plan) { p.AcceptanceCriteria = append(p.AcceptanceCriteria, "x") }, true},
		"risk":         {func(p *amp.Plan) { p.RiskLevel = amp.Low }, true}, // AMP-060
		"paths":        {func(p *amp.Plan) { p.AllowedPaths = nil }, true},
		"forbidden":    {func(p *amp.Plan) { p.ForbiddenActions = nil }, true}, // AMP-061
		"constraints":  {func(p *amp.Plan) { p.TechConstraints["swift"] = "5.0" }, true},
		"checks":       {func(p *amp.Plan) { p.Checks[0][1] = "vet" }, true},
		"executor":     {func(p *amp.Plan) { p.Executor = "x" }, true},
		"reviewer":     {func(p *amp.Plan) { p.Reviewer = "x" }, true},
		"budget":       {func(p *amp.Plan) { p.Budget.Turns = 1 }, true},
		"policy":       {func(p *amp.Plan) { p.Policy.LockAt = 4 }, true},
		"policy gates": {func(p *amp.Plan) { p.Policy.Gates = []string{"local"} }, true},
	} {
		p := contract()
		c.change(p)
		if bound := p.ContentHash() != want; bound != c.bound {
			t.Errorf("%s: bound = %t, want %t", name, bound, c.bound)
		}
	}
}

// TestContentHash_stable: the hash is the same in every version of the program, after a round trip through JSON, and for nil and
// empty lists. If the first part fails, approvals that are in journals bind nothing any more.
func TestContentHash_stable(t *testing.T) {
	t.Parallel()
	const golden = "afbb31a6927da8821924f5a7466dd6b4f508a0f6213532b730fc2418ee3d8423"
	p := contract()
	if got := p.ContentHash(); got != golden {
		t.Errorf("ContentHash = %s, want %s", got, golden)
	}
	var again amp.Plan
	if err := json.Unmarshal(marshal(t, p), &again); err != nil {
		t.Fatal(err)
	}
	if got := again.ContentHash(); got != p.ContentHash() {
		t.Errorf("after a round trip through JSON it is %s", got)
	}
	none, empty := contract(), contract()
	none.AllowedPaths, none.ForbiddenActions, none.TechConstraints, none.Checks, none.Subtasks = nil, nil, nil, nil, nil
	empty.AllowedPaths, empty.ForbiddenActions, empty.TechConstraints, empty.Checks = []string{}, []string{}, map[string]any{}, [][]string{}
	empty.Subtasks, empty.Policy.Gates = []amp.Subtask{}, []string{}
	if none.ContentHash() != empty.ContentHash() {
		t.Error("nil and empty lists have different hashes")
	}
	if p.Hash != "0123" || p.Revision != 3 {
		t.Error("ContentHash changed the plan")
	}
}

func TestContentHash_impossible(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*amp.Plan){
		"NaN":       func(p *amp.Plan) { p.TechConstraints["x"] = math.NaN() },
		"not UTF-8": func(p *amp.Plan) { p.Title = "\xff" },
	} {
		p := contract()
		change(p)
		if got := p.ContentHash(); got != "" {
			t.Errorf("%s: ContentHash = %s, want none, since such a plan cannot be stored as it is", name, got)
		}
	}
}

// TestContentHash_ofConstraints: the order of keys says nothing, everything else does.
func TestContentHash_ofConstraints(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := rapid.MapOf(rapid.String(), rapid.Int32()).Draw(rt, "constraints")
		one, other := contract(), contract()
		one.TechConstraints, other.TechConstraints = map[string]any{}, map[string]any{}
		for k, v := range m {
			one.TechConstraints[k] = int(v)
			other.TechConstraints[k] = float64(v)
		}
		if one.ContentHash() != other.ContentHash() || one.ContentHash() == "" {
			rt.Fatalf("the same constraints have different hashes: %v", m)
		}
		other.TechConstraints["one more"] = true
		if one.ContentHash() == other.ContentHash() {
			rt.Fatal("one more constraint has the same hash")
		}
	})
}

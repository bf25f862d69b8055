package coordinator

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
)

// Design 1.4, section 4: what an admin bounded stays bounded. A planner may ask for less, never for more; what it asked for is told to the admin
// who approves, and the bound that was approved is the one that acts.
func TestBudget_ofThePlanner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wish, configured, asked, want amp.Budget
		told                          string
	}{
		"nothing is bounded":   {asked: amp.Budget{Turns: 50, CostUSD: 9}, want: amp.Budget{Turns: 50, CostUSD: 9}},
		"it asks for nothing":  {wish: amp.Budget{Turns: 3, WallSec: 600}, want: amp.Budget{Turns: 3, WallSec: 600}},
		"it asks for less":     {wish: amp.Budget{Turns: 30, Tokens: 1000}, asked: amp.Budget{Turns: 20, Tokens: 900}, want: amp.Budget{Turns: 20, Tokens: 900}},
		"it asks for more":     {wish: amp.Budget{Turns: 3, CostUSD: 1}, asked: amp.Budget{Turns: 50, CostUSD: 900}, want: amp.Budget{Turns: 3, CostUSD: 1}, told: "50 turns"},
		"more of one":          {wish: amp.Budget{WallSec: 60}, asked: amp.Budget{Turns: 9, WallSec: 3600}, want: amp.Budget{Turns: 9, WallSec: 60}, told: "1h0m0s of work"},
		"more than configured": {configured: amp.Budget{Tokens: 500}, asked: amp.Budget{Tokens: 501}, want: amp.Budget{Tokens: 500}, told: "501 tokens"},
		"the wish goes first":  {wish: amp.Budget{Turns: 60}, configured: amp.Budget{Turns: 40}, asked: amp.Budget{Turns: 50}, want: amp.Budget{Turns: 50}},
		"below zero":           {wish: amp.Budget{Turns: 3}, asked: amp.Budget{Turns: -1, Tokens: -5}, want: amp.Budget{Turns: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, works, judges(amp.Approved), func(c *Config) { c.Budget = tc.configured })
				r.planner.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
					out, err := plans(ctx, turn, 1, emit)
					return agenttest.Final(withBudget(out, tc.asked)), err
				}
				id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo", Budget: tc.wish}}}).TaskID
				synctest.Wait()
				plan := r.want(id, amp.AwaitingApproval).Plan
				if plan.Budget != tc.want {
					t.Errorf("the plan asks for %+v, want %+v", plan.Budget, tc.want)
				}
				if told := strings.Contains(plan.Reasons, "asked for"); told != (tc.told != "") || !strings.Contains(plan.Reasons, tc.told) {
					t.Errorf("the admin is told %q, want %q in it", plan.Reasons, tc.told)
				}
				r.submit(amp.Command{Command: amp.Approve, TaskID: id})
				synctest.Wait()
				if got := r.get(id).Limits; got != tc.want {
					t.Errorf("the task is bounded by %+v, want %+v", got, tc.want)
				}
			})
		})
	}
}

// What an admin raised while the plan was drafted bounds the plan, and what an admin writes into a plan is the admin's.
func TestBudget_raisedAndRevised(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved))
		r.planner.RunFunc = func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			if r.counts.next("p") == 1 {
				return agenttest.Final("no plan"), nil
			}
			out, err := plans(ctx, turn, 1, emit)
			return agenttest.Final(withBudget(out, amp.Budget{Turns: 100})), err
		}
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "x", Repo: "/repo", Budget: amp.Budget{Turns: 1}}}}).TaskID
		synctest.Wait()
		if q := r.want(id, amp.Drafting).Questions; len(q) != 1 || q[0].Type != amp.QuestionBudget {
			t.Fatalf("questions %+v\n%s", q, r.story(id))
		}
		r.submit(amp.Command{Command: amp.RaiseLimit, TaskID: id, Args: amp.Args{Limits: &amp.Budget{Turns: 10}}})
		synctest.Wait()
		plan := *r.want(id, amp.AwaitingApproval).Plan
		if plan.Budget.Turns != 10 {
			t.Errorf("%d turns, want the 10 of the admin", plan.Budget.Turns)
		}
		plan.Budget.Turns = 60
		r.submit(amp.Command{Command: amp.Revise, TaskID: id, Args: amp.Args{Plan: &plan}})
		r.submit(amp.Command{Command: amp.Approve, TaskID: id})
		synctest.Wait()
		if got := r.want(id, amp.StatusApproved).Limits.Turns; got != 60 {
			t.Errorf("%d turns, want the 60 that the admin wrote", got)
		}
	})
}

// withBudget is the plan of a planner with the bounds that it asks for.
func withBudget(out providers.Outcome, b amp.Budget) map[string]any {
	var p map[string]any
	if err := json.Unmarshal(out.Final, &p); err != nil {
		panic(err)
	}
	p["budget"] = b
	return p
}

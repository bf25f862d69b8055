package coordinator

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/planning/planningtest"
)

// withChain replaces the planner of a rig by a planning chain.
func withChain(answer func(stage amp.ChainStage, n int, turn providers.Turn) (string, error)) func(*Config) {
	return func(c *Config) {
		chain, _ := planningtest.Agents(answer)
		c.Agents["planning"] = AgentConfig{Agent: chain, Roles: []amp.Role{amp.Coordinator}}
		c.Roles[amp.Coordinator] = "planning"
	}
}

// chainOf are the chain entries of a task, oldest first.
func (r *rig) chainOf(id amp.TaskID) []amp.Chain {
	r.t.Helper()
	var out []amp.Chain
	entries := r.entries(amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindChain}})
	for i := range entries {
		if entries[i].Role != amp.Coordinator || entries[i].Actor != "planning" {
			r.t.Errorf("entry %d is of %s %s", entries[i].Seq, entries[i].Role, entries[i].Actor)
		}
		body, err := amp.DecodeBody[amp.Chain](&entries[i])
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, body)
	}
	return out
}

// TestChain: each message of a planning chain is an entry before the plan is, and the plan carries the agents' reasons.
func TestChain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), withChain(planningtest.Good))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count words right", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		r.want(id, amp.AwaitingApproval)
		said := r.chainOf(id)
		if len(said) != 3 || said[2].Stage != amp.StagePlanning || said[2].Result != amp.ChainForwarded || said[2].TurnID == "" {
			t.Fatalf("chain = %+v", said)
		}
		task := r.get(id)
		if c := task.Chain; c == nil || c.Messages != 3 || c.Result != amp.ChainForwarded || c.Seq >= task.PlanSeq {
			t.Errorf("folded = %+v, plan %d", task.Chain, task.PlanSeq)
		}
		if task.Plan.Author != "planning" || len(task.Plan.Subtasks) != 2 || task.Plan.Reasons == "" {
			t.Errorf("plan = %+v", task.Plan)
		}
	})
}

// TestChain_late: what a fenced planning turn says is kept as late.
func TestChain_late(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), withChain(func(stage amp.ChainStage, n int, turn providers.Turn) (string, error) {
			time.Sleep(time.Minute) // the agent does not look at its context
			return planningtest.Good(stage, n, turn)
		}))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count words right", Repo: "/repo"}}}).TaskID
		time.Sleep(time.Second)
		r.submit(amp.Command{Command: amp.StopAll, Note: "stop"})
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if said := r.chainOf(id); len(said) != 0 {
			t.Errorf("chain = %+v", said)
		}
		late := r.refusals(id)
		if len(late) == 0 || late[0].What != "chain" || late[0].Problems[0].Rule != amp.RuleEpoch || !json.Valid(late[0].Raw) {
			t.Errorf("refusals = %+v", late)
		}
	})
}

package coordinator

import (
	"encoding/json"
	"slices"
	"strings"
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

// TestChain_held: what holds the chain is a question, and the task stays as it is; the answer goes to the stage that was held, and what was
// forwarded before stays (S05).
func TestChain_held(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := map[amp.ChainStage]string{}
		r := newRig(t, works, judges(amp.Approved), withChain(func(stage amp.ChainStage, n int, turn providers.Turn) (string, error) {
			asked[stage] += turn.Prompt.Text
			if stage == amp.StageGoal && n == 1 {
				return "I would rather talk about it.", nil
			}
			return planningtest.Good(stage, n, turn)
		}))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count words right", Repo: "/repo"}}}).TaskID
		time.Sleep(time.Hour)
		synctest.Wait()
		task := r.want(id, amp.Drafting)
		if len(task.Questions) != 1 || !strings.Contains(task.Questions[0].Request, "SEN-001") || task.Attempts != 0 || task.Chain.Result != amp.ChainHeld {
			t.Fatalf("questions = %+v, chain %+v\n%s", task.Questions, task.Chain, r.story(id))
		}
		if n := len(r.chainOf(id)); n != 2 {
			t.Errorf("%d messages while it waits", n)
		}
		r.submit(amp.Command{Command: amp.Answer, TaskID: id, Note: "Give the message alone", Args: amp.Args{Question: task.Questions[0].QuestionID}})
		synctest.Wait()
		r.want(id, amp.AwaitingApproval)
		if said := r.chainOf(id); len(said) != 4 || said[2].Stage != amp.StageGoal {
			t.Errorf("chain = %+v", said)
		}
		if !strings.Contains(asked[amp.StageGoal], "Give the message alone") || strings.Contains(asked[amp.StageObjective], "Give the message") {
			t.Errorf("asked %q", asked[amp.StageGoal])
		}
	})
}

// TestChain_outOfScope: a wish that is out of scope raises an info escalation, which suspends nothing, and waits for the admin.
func TestChain_outOfScope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, works, judges(amp.Approved), withChain(func(stage amp.ChainStage, _ int, _ providers.Turn) (string, error) {
			return planningtest.Message(stage, map[string]any{
				"output.content": nil, "output.content_type": "error", "next_agent.name": nil, "status.code": "failed",
				"error.has_error": true, "error.error_code": "OUT_OF_SCOPE", "error.error_message": "nothing here counts words",
			}), nil
		}))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count words right", Repo: "/repo"}}}).TaskID
		synctest.Wait()
		task := r.want(id, amp.Drafting)
		if len(task.Escalations) != 1 || task.Escalations[0].Severity != amp.Info || task.Escalations[0].Suspended || len(task.Questions) != 1 {
			t.Errorf("escalations = %+v, questions %+v", task.Escalations, task.Questions)
		}
	})
}

// TestChain_restart: a chain that the end of the coordinator cut off goes on where it was.
func TestChain_restart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked []amp.ChainStage
		r := newRig(t, works, judges(amp.Approved), withChain(func(stage amp.ChainStage, n int, turn providers.Turn) (string, error) {
			asked = append(asked, stage)
			time.Sleep(time.Minute)
			return planningtest.Good(stage, n, turn)
		}))
		id := r.submit(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count words right", Repo: "/repo"}}}).TaskID
		time.Sleep(90 * time.Second) // the goal agent is at work
		r.stop()
		before := len(asked)
		r.start()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		r.want(id, amp.AwaitingApproval)
		if asked[0] != amp.StageObjective || slices.Contains(asked[1:], amp.StageObjective) || len(asked) > before+2 {
			t.Errorf("asked %v, %d of them before the restart", asked, before)
		}
	})
}

package tui

import (
	"cmp"
	"strings"

	"arbiter/amp"
)

// withWhom says who has the task now: an agent, "arbiter", "you", or "--" for nobody.
func (e *env) withWhom(t *amp.Task) string { return withWhom(t, e.roles()) }

// agentOf is the name of the task's agent in a role, or the role while the coordinator has not said who has it.
func (e *env) agentOf(t *amp.Task, role amp.Role) string { return agentOf(t, role, e.roles()) }

// roles are the configured agents of tasks whose plan names nobody.
func (e *env) roles() map[amp.Role]string {
	if e.State == nil {
		return nil
	}
	return e.State.Roles
}

func withWhom(t *amp.Task, roles map[amp.Role]string) string {
	if len(t.Questions) > 0 && !t.Status.Ended() {
		return "you"
	}
	switch t.Status {
	case amp.AwaitingApproval, amp.Held, amp.Suspended, amp.Locked, amp.StatusApproved:
		return "you"
	case amp.Drafting:
		if t.Turn != nil {
			return t.Turn.Agent
		}
		return "--"
	case amp.Dispatched, amp.Executing:
		return agentOf(t, amp.Executor, roles)
	case amp.Reviewing:
		return agentOf(t, amp.Reviewer, roles)
	case amp.Verifying:
		return "arbiter"
	case amp.Delivered, amp.Terminated:
		return "--"
	}
	return "--"
}

func agentOf(t *amp.Task, role amp.Role, roles map[amp.Role]string) string {
	if t.Turn != nil && t.Turn.Role == role && t.Turn.Agent != "" {
		return t.Turn.Agent
	}
	own, planned := t.Executor, ""
	if role == amp.Reviewer {
		own = t.Reviewer
	}
	if t.Plan != nil {
		planned = t.Plan.Executor
		if role == amp.Reviewer {
			planned = t.Plan.Reviewer
		}
	}
	return cmp.Or(own, planned, roles[role], string(role))
}

// riskOf is the risk level of the plan, or of the wish before there is one, "--" for none.
func riskOf(t *amp.Task) string {
	switch {
	case t.Plan != nil:
		return string(t.Plan.RiskLevel)
	case t.Wish != nil && t.Wish.Risk != "":
		return string(t.Wish.Risk)
	}
	return "--"
}

// statusWord is the status as lists write it.
func statusWord(s amp.Status) string {
	if s == amp.AwaitingApproval {
		return "awaiting"
	}
	return string(s)
}

// shortSubtask is a subtask's id without the id of its task, "S1".
func shortSubtask(t *amp.Task, id string) string { return strings.TrimPrefix(id, string(t.ID)+"-") }

// party is a role of the protocol by the name of the task's agent.
func (e *env) party(t *amp.Task, role string) string {
	switch amp.Role(role) {
	case amp.Executor, amp.Reviewer:
		return e.agentOf(t, amp.Role(role))
	case amp.Coordinator:
		return "arbiter"
	default:
		return role
	}
}

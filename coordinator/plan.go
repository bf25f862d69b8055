package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"arbiter/amp"
)

// planningContext captures what a planner is told, as a function of the repository's facts.
func planningContext(t *amp.Task) func(facts amp.RepoFacts, memory string) []byte {
	wish, guidance, plan := t.Wish, t.Guidance, t.Plan
	return func(facts amp.RepoFacts, memory string) []byte {
		return amp.EncodeBody(struct {
			Wish     *amp.Wish     `json:"wish"`
			Guidance string        `json:"guidance,omitzero"`
			Plan     *amp.Plan     `json:"plan,omitzero"`
			Repo     amp.RepoFacts `json:"repo"`
			Memory   string        `json:"memory,omitzero"`
		}{wish, guidance, plan, facts, memory})
	}
}

// recall is what earlier tasks taught about a repository. Without it a plan is drafted all the same.
func (c *Coordinator) recall(repo string) string {
	if c.cfg.Memory == nil {
		return ""
	}
	text, err := c.cfg.Memory(repo)
	if err != nil {
		c.cfg.Logger.Error("a plan is drafted without memory", "err", err)
		return ""
	}
	return text
}

// planningSpace is the workspace of a planner: the default branch as it stands, to be read.
func planningSpace(id amp.TaskID, facts amp.RepoFacts) amp.Workspace {
	return amp.Workspace{
		TaskID: id, Repo: facts.Root, Branch: facts.DefaultBranch, BaseBranch: facts.DefaultBranch,
		BaseCommit: facts.Head, Commit: facts.Head,
	}
}

func (c *Coordinator) wishOf(ctx context.Context, id amp.TaskID) (amp.Wish, error) {
	var w amp.Wish
	err := c.view(ctx, func(b *amp.Board) {
		if t := b.Task(id); t != nil && t.Wish != nil {
			w = *t.Wish
		}
	})
	return w, err
}

var notInBranch = regexp.MustCompile(`[^a-z0-9]+`)

// branchOf is the branch of a plan: the admin's, else the planner's, else one made of the title.
func branchOf(p *amp.Plan, w amp.Wish, id amp.TaskID) string {
	switch {
	case w.Branch != "":
		return w.Branch
	case p.Branch != "":
		return p.Branch
	}
	slug := strings.Trim(notInBranch.ReplaceAllString(strings.ToLower(p.Title), "-"), "-")
	if len(slug) > 40 {
		slug = strings.TrimRight(slug[:40], "-")
	}
	return strings.Trim("feature/"+strings.ToLower(string(id))+"-"+slug, "-")
}

// deliverPlan makes a plan revision of a planner's answer: what the admin fixed in the wish stands, whatever the model wrote.
func (c *Coordinator) deliverPlan(t *amp.Task, l *liveTurn, e ending, now time.Time) ([]amp.Record, []amp.Problem) {
	var p amp.Plan
	if err := json.Unmarshal(e.out.Final, &p); err != nil {
		return nil, []amp.Problem{{Rule: "AMP-043", Field: "plan", Message: "the answer is no plan: " + err.Error()}}
	}
	if e.facts == nil {
		return nil, []amp.Problem{{Rule: "AMP-046", Field: "repo", Message: "the repository could not be read"}}
	}
	c.bound(t, &p)
	return c.planRecords(t, &p, l.Agent, amp.Coordinator, *e.facts, now)
}

// bound lets a planner ask for less than the admin bounded in the wish, in a raise_limit or in the configuration, never for more. What more it
// asked for is told beside its reasons to the admin who approves.
func (c *Coordinator) bound(t *amp.Task, p *amp.Plan) {
	var over []string
	if p.Budget, over = p.Budget.Or(t.Limits).Within(t.Limits.Or(c.cfg.Budget)); len(over) > 0 {
		p.Reasons = strings.TrimSpace(fmt.Sprintf("Bounded as the admin said: the planner asked for %s.\n\n%s", strings.Join(over, ", "), p.Reasons))
	}
}

// planRecords completes a plan with what only the coordinator may say, and validates it as the dispatch that it will become.
func (c *Coordinator) planRecords(t *amp.Task, p *amp.Plan, author string, role amp.Role, facts amp.RepoFacts, now time.Time) ([]amp.Record, []amp.Problem) {
	w := amp.Wish{}
	if t.Wish != nil {
		w = *t.Wish
	}
	t.Complete(p, author)
	p.Repo, p.Branch = facts.Root, branchOf(p, w, t.ID)
	p.BaseBranch, p.BaseCommit, p.Policy = facts.DefaultBranch, facts.Head, c.cfg.Policy
	names, within := c.cfg.Require(facts.Root)
	p.Policy.Require, p.Policy.RequireSec = names, int(within.Seconds())
	if t.Plan != nil && t.Commit != "" { // work exists: it stands on the base that was approved
		p.BaseBranch, p.BaseCommit = t.Plan.BaseBranch, t.Plan.BaseCommit
	}
	if problems := c.judgePlan(t, p, now); len(problems) > 0 {
		return nil, problems
	}
	p.Hash = p.ContentHash()
	if n := len(amp.EncodeBody(p)); n > amp.MaxMessage {
		return nil, []amp.Problem{{Rule: "AMP-043", Field: "plan", Message: fmt.Sprintf("has %d bytes, more than the %d of the dispatch that it becomes", n, amp.MaxMessage)}}
	}
	return []amp.Record{c.record(amp.KindPlan, t.ID, role, author, now, p)}, nil
}

// judgePlan validates a plan by the rules of the dispatch that it will become.
func (c *Coordinator) judgePlan(t *amp.Task, p *amp.Plan, now time.Time) []amp.Problem {
	var problems []amp.Problem
	if len(p.AcceptanceCriteria) == 0 {
		problems = append(problems, amp.Problem{Rule: "AMP-056", Field: "plan.acceptance_criteria", Message: "there is no criterion"})
	}
	for i, s := range p.Subtasks {
		if strings.TrimSpace(s.Description) == "" {
			problems = append(problems, amp.Problem{Rule: "AMP-051", Field: fmt.Sprintf("plan.subtasks[%d].description", i), Message: "it is empty"})
		}
	}
	d := &amp.Dispatch{
		Description: p.Description, Repo: p.Repo, Branch: p.Branch, Subtasks: p.Subtasks, AcceptanceCriteria: p.AcceptanceCriteria,
		RiskLevel: p.RiskLevel, ForbiddenActions: p.ForbiddenActions, TechConstraints: p.TechConstraints,
	}
	m := &amp.Message{
		MsgID: amp.NewMsgID(amp.TaskDispatch, t.ID, now, func(string) bool { return false }), ProtocolVersion: amp.Version,
		Type: amp.TaskDispatch, From: amp.Coordinator, To: amp.Executor, TaskID: t.ID, Timestamp: amp.FormatTime(now),
		RequiresAck: true, Payload: d,
	}
	for _, pr := range amp.Validate(m) {
		pr.Field = strings.Replace(pr.Field, "payload", "plan", 1)
		problems = append(problems, pr)
	}
	for _, name := range []string{p.Executor, p.Reviewer} {
		if _, ok := c.cfg.Agents[name]; name != "" && !ok {
			problems = append(problems, amp.Problem{Rule: "plan", Field: "plan.executor", Message: fmt.Sprintf("agent %q is not configured", name)})
		}
	}
	return problems
}

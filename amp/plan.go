package amp

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Plan is the body of a plan entry: one revision of the contract between admin and executor. An approval binds its Hash.
type Plan struct {
	TaskID TaskID `json:"task_id"`
	// Revision counts from 1 and is set by the coordinator.
	Revision int    `json:"revision"`
	Title    string `json:"title"`
	Wish     string `json:"wish,omitzero"`
	// Author is who wrote this revision: an agent's or an admin's name.
	Author string `json:"author"`
	// Reasons is why the author planned it so; it binds nothing.
	Reasons string `json:"reasons,omitzero"`
	// Hash is the content hash of what an approval binds, in hex; see [Plan.ContentHash].
	Hash string `json:"hash"`

	Description        string    `json:"description"`
	Repo               string    `json:"repo"`
	Branch             string    `json:"branch"`
	BaseBranch         string    `json:"base_branch"`
	BaseCommit         string    `json:"base_commit"`
	Subtasks           []Subtask `json:"subtasks"`
	AcceptanceCriteria []string  `json:"acceptance_criteria"`
	RiskLevel          RiskLevel `json:"risk_level"`
	// AllowedPaths are patterns of the files that may change, relative to the repository, with ** for any depth. Empty allows
	// every file.
	AllowedPaths     []string       `json:"allowed_paths,omitzero"`
	ForbiddenActions []string       `json:"forbidden_actions,omitzero"`
	TechConstraints  map[string]any `json:"tech_constraints,omitzero"`
	// Checks are the commands of the local CI, each an argv; empty takes the repository's configured ones.
	Checks   [][]string `json:"checks,omitzero"`
	Executor string     `json:"executor,omitzero"`
	Reviewer string     `json:"reviewer,omitzero"`
	Budget   Budget     `json:"budget,omitzero"`
	Policy   Policy     `json:"policy,omitzero"`
}

// Complete fills in what a revision of the task's plan is not free to choose: task, author, revision, wish, what the wish fixes
// (title, branch, at least its risk), and the ids of new subtasks. The coordinator adds repository, base and policy.
func (t *Task) Complete(p *Plan, author string) {
	w := Wish{}
	if t.Wish != nil {
		w = *t.Wish
	}
	p.TaskID, p.Author, p.Wish, p.Revision = t.ID, author, w.Text, 1
	if t.Plan != nil {
		p.Revision = t.Plan.Revision + 1
	}
	p.Title, p.Branch = cmp.Or(w.Title, p.Title), cmp.Or(w.Branch, p.Branch)
	if p.Title == "" {
		p.Title, _, _ = strings.Cut(p.Description, "\n")
	}
	if riskRank(w.Risk) > riskRank(p.RiskLevel) { // a planner may raise the risk, never lower it
		p.RiskLevel = w.Risk
	}
	p.Subtasks = slices.Clone(p.Subtasks)
	for i := range p.Subtasks {
		if p.Subtasks[i].SubtaskID == "" {
			p.Subtasks[i].SubtaskID = fmt.Sprintf("%s-S%d", t.ID, i+1)
		}
	}
}

func riskRank(r RiskLevel) int {
	return map[RiskLevel]int{Low: 1, Medium: 2, High: 3}[r]
}

// ConstraintText is the value of a tech constraint as a person reads it: a text as it is, anything else as JSON.
func ConstraintText(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(EncodeBody(v))
}

// Package plantext is a plan as a person writes it: TOML, in the one form that the screens, the command line and files share.
package plantext

import (
	"fmt"
	"time"

	"github.com/pelletier/go-toml/v2"

	"arbiter/amp"
)

// Text is the form. What only the coordinator sets (task, revision, author, policy, hash) is not in it.
type Text struct {
	Title              string         `toml:"title"`
	Wish               string         `toml:"wish,multiline,omitempty"`
	Reasons            string         `toml:"reasons,multiline,omitempty"`
	Repo               string         `toml:"repo,omitempty"`
	Branch             string         `toml:"branch"`
	BaseBranch         string         `toml:"base_branch,omitempty"`
	BaseCommit         string         `toml:"base_commit,omitempty"`
	RiskLevel          string         `toml:"risk_level"`
	Executor           string         `toml:"executor"`
	Reviewer           string         `toml:"reviewer"`
	AllowedPaths       []string       `toml:"allowed_paths,multiline"`
	ForbiddenActions   []string       `toml:"forbidden_actions,multiline"`
	AcceptanceCriteria []string       `toml:"acceptance_criteria,multiline"`
	Checks             [][]string     `toml:"checks"`
	Description        string         `toml:"description,multiline"`
	Budget             Budget         `toml:"budget"`
	TechConstraints    map[string]any `toml:"tech_constraints"`
	Subtasks           []Subtask      `toml:"subtasks"`
}

// Subtask is one step; an empty id is that of a new one.
type Subtask struct {
	SubtaskID      string `toml:"subtask_id"`
	EstimatedLines int    `toml:"estimated_lines"`
	Description    string `toml:"description,multiline"`
}

// Budget bounds the task; an empty wall and zero turns take the configured bounds.
type Budget struct {
	Wall  string `toml:"wall"`
	Turns int    `toml:"turns"`
	// Tokens and Cost are of all turns together, Cost in US dollars.
	Tokens int     `toml:"tokens"`
	Cost   float64 `toml:"cost"`
}

// Of is the text of a plan. Its lists are never nil, so that an editor shows every field.
func Of(p *amp.Plan) Text {
	t := Text{
		Title: p.Title, Wish: p.Wish, Reasons: p.Reasons, Repo: p.Repo, Branch: p.Branch, BaseBranch: p.BaseBranch,
		BaseCommit: p.BaseCommit, RiskLevel: string(p.RiskLevel), Executor: p.Executor, Reviewer: p.Reviewer,
		AllowedPaths: listed(p.AllowedPaths), ForbiddenActions: listed(p.ForbiddenActions),
		AcceptanceCriteria: listed(p.AcceptanceCriteria), Checks: listed(p.Checks), Description: p.Description,
		Budget: Budget{Turns: p.Budget.Turns, Tokens: p.Budget.Tokens, Cost: p.Budget.CostUSD}, TechConstraints: p.TechConstraints, Subtasks: []Subtask{},
	}
	if t.TechConstraints == nil {
		t.TechConstraints = map[string]any{}
	}
	if p.Budget.WallSec > 0 {
		t.Budget.Wall = (time.Duration(p.Budget.WallSec) * time.Second).String()
	}
	for _, s := range p.Subtasks {
		t.Subtasks = append(t.Subtasks, Subtask{s.SubtaskID, s.EstimatedLines, s.Description})
	}
	return t
}

func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Marshal writes the text.
func (t *Text) Marshal() ([]byte, error) {
	data, err := toml.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write the plan as text: %w", err)
	}
	return data, nil
}

// Plan is the plan that the text says. The error names the field budget.wall, the only one that can be wrong by itself.
func (t *Text) Plan() (*amp.Plan, error) {
	p := &amp.Plan{
		Title: t.Title, Wish: t.Wish, Reasons: t.Reasons, Description: t.Description, Repo: t.Repo, Branch: t.Branch,
		BaseBranch: t.BaseBranch, BaseCommit: t.BaseCommit, RiskLevel: amp.RiskLevel(t.RiskLevel), Executor: t.Executor,
		Reviewer: t.Reviewer, AllowedPaths: t.AllowedPaths, ForbiddenActions: t.ForbiddenActions,
		AcceptanceCriteria: t.AcceptanceCriteria, Checks: t.Checks, Budget: amp.Budget{Turns: t.Budget.Turns, Tokens: t.Budget.Tokens, CostUSD: t.Budget.Cost},
	}
	if len(t.TechConstraints) > 0 {
		p.TechConstraints = t.TechConstraints
	}
	for _, s := range t.Subtasks {
		p.Subtasks = append(p.Subtasks, amp.Subtask{SubtaskID: s.SubtaskID, Description: s.Description, EstimatedLines: s.EstimatedLines})
	}
	if t.Budget.Wall != "" {
		d, err := time.ParseDuration(t.Budget.Wall)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("budget.wall is %q; write it as \"90s\", \"30m\" or \"2h\"", t.Budget.Wall)
		}
		p.Budget.WallSec = int(d.Seconds())
	}
	return p, nil
}

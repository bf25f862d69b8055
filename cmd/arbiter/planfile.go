package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2"

	"arbiter/amp"
)

// maxPlan is the most bytes of a plan file that are read.
const maxPlan = 2 << 20

// planFile is a plan as a person writes it. What only the coordinator sets (revision, hash, author) is not in it.
type planFile struct {
	Title              string            `toml:"title"`
	Wish               string            `toml:"wish,multiline,omitempty"`
	Reasons            string            `toml:"reasons,multiline,omitempty"`
	Repo               string            `toml:"repo,omitempty"`
	Branch             string            `toml:"branch"`
	BaseBranch         string            `toml:"base_branch,omitempty"`
	BaseCommit         string            `toml:"base_commit,omitempty"`
	RiskLevel          string            `toml:"risk_level"`
	Executor           string            `toml:"executor,omitempty"`
	Reviewer           string            `toml:"reviewer,omitempty"`
	AcceptanceCriteria []string          `toml:"acceptance_criteria,multiline"`
	AllowedPaths       []string          `toml:"allowed_paths,multiline,omitempty"`
	ForbiddenActions   []string          `toml:"forbidden_actions,multiline,omitempty"`
	Checks             [][]string        `toml:"checks,omitempty"`
	Description        string            `toml:"description,multiline"`
	Subtasks           []planFileSubtask `toml:"subtasks"`
	Budget             planFileBudget    `toml:"budget,omitempty"`
	TechConstraints    map[string]any    `toml:"tech_constraints,omitempty"`
}

type planFileSubtask struct {
	SubtaskID      string `toml:"subtask_id"`
	Description    string `toml:"description,multiline"`
	EstimatedLines int    `toml:"estimated_lines"`
}

type planFileBudget struct {
	Wall  string `toml:"wall,omitempty"`
	Turns int    `toml:"turns,omitempty"`
}

// readPlan reads a plan from a file, or from standard input as "-": TOML, or JSON when it begins with a brace.
func (a *app) readPlan(name string) (*amp.Plan, error) {
	data, err := a.readFile(name, maxPlan)
	if err != nil {
		return nil, err
	}
	if name == "-" {
		name = "standard input"
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return parsePlanJSON(name, data)
	}
	return parsePlanTOML(name, data)
}

// readFile reads a whole file, or standard input as "-", of at most limit bytes.
func (a *app) readFile(name string, limit int64) ([]byte, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, errors.Unwrap(err))
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if int64(len(data)) > limit {
		return nil, usage("%s is larger than %d bytes", name, limit)
	}
	return data, nil
}

func parsePlanJSON(name string, data []byte) (*amp.Plan, error) {
	p := &amp.Plan{}
	if err := json.Unmarshal(data, p, json.RejectUnknownMembers(true)); err != nil {
		return nil, &usageError{
			what: fmt.Sprintf("%s is no plan: %v", name, err), means: "Nothing was submitted.",
			next: "See the form: arbiter plan show TASK --json",
		}
	}
	return p, nil
}

func parsePlanTOML(name string, data []byte) (*amp.Plan, error) {
	var f planFile
	if err := decodeTOML(name, data, &f); err != nil {
		return nil, err
	}
	p := &amp.Plan{
		Title: f.Title, Wish: f.Wish, Reasons: f.Reasons, Description: f.Description, Repo: f.Repo, Branch: f.Branch,
		BaseBranch: f.BaseBranch, BaseCommit: f.BaseCommit, AcceptanceCriteria: f.AcceptanceCriteria,
		RiskLevel: amp.RiskLevel(f.RiskLevel), AllowedPaths: f.AllowedPaths, ForbiddenActions: f.ForbiddenActions,
		TechConstraints: f.TechConstraints, Checks: f.Checks, Executor: f.Executor, Reviewer: f.Reviewer,
		Budget: amp.Budget{Turns: f.Budget.Turns},
	}
	for _, s := range f.Subtasks {
		p.Subtasks = append(p.Subtasks, amp.Subtask{SubtaskID: s.SubtaskID, Description: s.Description, EstimatedLines: s.EstimatedLines})
	}
	if f.Budget.Wall != "" {
		d, err := time.ParseDuration(f.Budget.Wall)
		if err != nil || d <= 0 {
			return nil, usage("%s: budget.wall is %q; write it as \"90s\", \"30m\" or \"2h\"", name, f.Budget.Wall).then("Edit it.")
		}
		p.Budget.WallSec = int(d.Seconds())
	}
	return p, nil
}

// writePlanTOML is the plan as a person edits it.
func writePlanTOML(p *amp.Plan) ([]byte, error) {
	f := planFile{
		Title: p.Title, Wish: p.Wish, Reasons: p.Reasons, Description: p.Description, Repo: p.Repo, Branch: p.Branch,
		BaseBranch: p.BaseBranch, BaseCommit: p.BaseCommit, AcceptanceCriteria: p.AcceptanceCriteria, RiskLevel: string(p.RiskLevel),
		AllowedPaths: p.AllowedPaths, ForbiddenActions: p.ForbiddenActions, TechConstraints: p.TechConstraints, Checks: p.Checks,
		Executor: p.Executor, Reviewer: p.Reviewer, Budget: planFileBudget{Turns: p.Budget.Turns},
	}
	for _, s := range p.Subtasks {
		f.Subtasks = append(f.Subtasks, planFileSubtask{SubtaskID: s.SubtaskID, Description: s.Description, EstimatedLines: s.EstimatedLines})
	}
	if p.Budget.WallSec > 0 {
		f.Budget.Wall = (time.Duration(p.Budget.WallSec) * time.Second).String()
	}
	data, err := toml.Marshal(&f)
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	return data, nil
}

// repoTop is the top folder of the repository that dir is in, else dir itself, absolute.
func repoTop(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for at := abs; ; at = filepath.Dir(at) {
		if there, _ := exists(filepath.Join(at, ".git")); there {
			return at, nil
		}
		if strings.TrimSuffix(at, string(filepath.Separator)) == strings.TrimSuffix(filepath.Dir(at), string(filepath.Separator)) {
			return abs, nil
		}
	}
}

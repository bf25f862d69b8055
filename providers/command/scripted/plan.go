package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"arbiter/amp"
)

// plan answers a wish with a plan; it looks at the repository and changes nothing.
func (a *agent) plan() error {
	var told struct {
		Wish     *amp.Wish `json:"wish"`
		Guidance string    `json:"guidance"`
	}
	if len(a.in.Context) == 0 {
		return errors.New("there is no wish to plan for")
	}
	if err := json.Unmarshal(a.in.Context[0], &told); err != nil || told.Wish == nil {
		return fmt.Errorf("read the wish: %w", errors.Join(err, errors.New("context[0] has none")))
	}
	a.step("reads the wish: %s", told.Wish.Text)
	s := scenarioFor(told.Wish)
	if s == nil {
		return fmt.Errorf("this planner only knows the demo's wishes, such as %q: configure another agent as coordinator for others", Scenarios[0].Wish)
	}
	p := partOf(s.part)
	if _, err := a.git("rev-parse", "HEAD"); err != nil {
		return err
	}
	passed, out, err := a.check(p)
	if err != nil {
		return err
	}
	reasons := "sh check.sh " + p.name + " fails today: " + lastLine(out)
	if passed {
		reasons = "sh check.sh " + p.name + " passes today already; the behaviour has to be looked at."
	}
	a.step("%s", reasons)
	a.final(planFor(a.in.Turn.TaskID, s, p, told.Wish, told.Guidance, reasons))
	return nil
}

func planFor(task amp.TaskID, s *Scenario, p *part, w *amp.Wish, guidance, reasons string) *amp.Plan {
	plan := &amp.Plan{
		Title: s.Title, Description: w.Text, Reasons: reasons, Branch: s.Branch, RiskLevel: s.Risk,
		AcceptanceCriteria: criteria(p), AllowedPaths: p.files(),
		ForbiddenActions: []string{"commit on or move " + defaultBranch, "change files outside the allowed paths", "push"},
		TechConstraints:  map[string]any{constraint: s.Name, "language": "POSIX awk"},
		Checks:           [][]string{{"sh", "check.sh", p.name}},
	}
	if w.Branch != "" {
		plan.Branch = w.Branch
	}
	if w.Risk != "" {
		plan.RiskLevel = w.Risk
	}
	if guidance != "" {
		plan.Description += "\n\nThe admin adds: " + guidance
		plan.Reasons += " Revised as the admin asked: " + guidance
	}
	for i := range p.right {
		text := fmt.Sprintf("Mend %s so that sh check.sh %s passes", p.file(), p.name)
		if i > 0 {
			text = fmt.Sprintf("Handle long input in %s too, and add a test for it to %s", p.file(), p.test())
		}
		plan.Subtasks = append(plan.Subtasks, amp.Subtask{
			SubtaskID: fmt.Sprintf("%s-S%d", task, i+1), Description: text, EstimatedLines: 2,
		})
	}
	return plan
}

// criteria are the acceptance criteria of every task about the part, in the order in which the agents judge them.
func criteria(p *part) []string {
	return []string{
		"sh check.sh " + p.name + " passes",
		p.behaviour,
		"Only " + strings.Join(p.files(), " and ") + " change",
	}
}

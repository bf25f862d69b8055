package planning

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"arbiter/amp"
	"arbiter/providers/sacp"
)

// maxReasons bounds what of the agents' reasons is kept in a plan; the chain entries hold all.
const maxReasons = 16 << 10

// maxPlan is how large a plan may be; what is larger fits into no dispatch either.
const maxPlan = 256 << 10

// weights are lines that a task of a weight may take: a guess, marked as one.
var weights = map[string]int{"light": 20, "medium": 60, "heavy": 150}

// draft makes the plan of the three messages, or says why it cannot: a plan that nobody could follow or check is held.
func (c *chain) draft(steps []step) (*amp.Plan, []amp.Problem) {
	goals, planned := steps[1].message, steps[2].message
	w, problems := readWorkflow(planned)
	if len(problems) > 0 {
		return nil, problems
	}
	p := &amp.Plan{
		Title: w.proposal.title, Branch: w.proposal.branch, RiskLevel: w.proposal.risk, AllowedPaths: w.proposal.paths,
		ForbiddenActions: w.proposal.forbidden, Checks: w.proposal.checks,
	}
	var notes []string
	objectives, _ := steps[0].message.Objectives()
	p.Description = describe(&c.order.Wish, objectives)
	if p.Title == "" && len(objectives) > 0 {
		p.Title = sacp.Clip(firstLine(objectives[0]), 80)
	}
	taken, _ := goals.Goals()
	for _, o := range taken {
		for _, g := range o.Goals {
			if line := strings.Join(strings.Fields(g), " "); line != "" {
				p.AcceptanceCriteria = append(p.AcceptanceCriteria, line)
			}
		}
	}
	if len(p.AcceptanceCriteria) == 0 {
		return nil, []amp.Problem{{Rule: "plan", Field: "output.content", Message: "no goal came from the goal agent, so nothing says when the work is done"}}
	}
	for _, t := range w.tasks {
		p.Subtasks = append(p.Subtasks, amp.Subtask{Description: t.action, EstimatedLines: t.lines})
	}
	notes = append(notes, "The lines of the subtasks are guesses from the weights that the planning agent gave.")
	if p.RiskLevel == "" {
		p.RiskLevel = amp.High
		notes = append(notes, "No agent said the risk: high until you say otherwise.")
	}
	if len(p.AllowedPaths) == 0 {
		notes = append(notes, "No agent bounded the files: the plan allows every one.")
	}
	p.TechConstraints = map[string]any{"plan_id": planned.ID, "sentient": w.trace(steps)}
	p.Reasons = reasons(steps, append(notes, w.notes...))
	if n := len(amp.EncodeBody(p)); n > maxPlan {
		return nil, []amp.Problem{{Rule: "plan", Field: "output.content", Message: fmt.Sprintf(
			"gives a plan of %d bytes, more than the %d that a person can approve", n, maxPlan)}}
	}
	return p, nil
}

func describe(wish *amp.Wish, objectives []string) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(wish.Text))
	if len(objectives) > 0 {
		b.WriteString("\n\nObjectives:\n")
	}
	for _, o := range objectives {
		fmt.Fprintf(&b, "- %s\n", strings.TrimSpace(o))
	}
	return strings.TrimSpace(b.String())
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// reasons are why the agents planned it so, with what was repaired and warned of, and what code guessed.
func reasons(steps []step, notes []string) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "%s (%s): %s\n", s.message.AgentName, s.entry.Agent, strings.TrimSpace(s.message.Reasoning))
		if n := strings.TrimSpace(s.message.Notes); n != "" {
			fmt.Fprintf(&b, "Checked: %s\n", n)
		}
		for _, r := range s.entry.Repairs {
			fmt.Fprintf(&b, "Repaired: %s\n", r)
		}
		for _, p := range s.entry.Warnings {
			fmt.Fprintf(&b, "Warning: %s\n", p)
		}
		b.WriteByte('\n')
	}
	for _, n := range notes {
		b.WriteString(n + "\n")
	}
	return sacp.Clip(strings.TrimSpace(b.String()), maxReasons)
}

// trace is what the dispatch says of where the plan comes from (tech_constraints.sentient). It holds no null, which TOML has not.
func (w *workflow) trace(steps []step) map[string]any {
	ids := make([]any, len(steps))
	for i, s := range steps {
		ids[i] = s.message.ID
	}
	last := steps[len(steps)-1].message
	out := map[string]any{"session_id": last.SessionID, "request_id": last.RequestID, "message_ids": ids}
	var resources []any
	for _, r := range last.Sources {
		resources = append(resources, r.ID+": "+r.URL)
	}
	for _, r := range last.Stores {
		resources = append(resources, r.ID+" from "+r.Source)
	}
	for _, r := range last.Derived {
		resources = append(resources, r.ID+" from "+r.Parent)
	}
	if len(resources) > 0 {
		out["resources"] = resources
	}
	capabilities, depends, groups := map[string]bool{}, map[string]any{}, map[string]any{}
	keys := make([]any, len(w.tasks)) // in the order of the subtasks
	for i, t := range w.tasks {
		keys[i] = t.key
		for _, name := range t.capabilities {
			capabilities[name] = true
		}
		if len(t.depends) > 0 {
			depends[t.key] = anyList(t.depends)
		}
		if t.group != "" {
			groups[t.key] = t.group
		}
	}
	out["tasks"] = keys
	if len(capabilities) > 0 {
		out["capabilities"] = anyList(slices.Sorted(maps.Keys(capabilities)))
	}
	if len(depends) > 0 {
		out["depends_on"] = depends
	}
	if len(groups) > 0 {
		out["execution_groups"] = groups
	}
	return out
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// number is the number at the end of a task's key, for an order among those that nothing else orders.
func number(key string) int {
	digits := key[len(strings.TrimRight(key, "0123456789")):]
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 1 << 30
	}
	return n
}

func byNumber(a, b string) int { return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b)) }

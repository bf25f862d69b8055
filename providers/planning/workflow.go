package planning

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/providers/planning/sentient"
	"arbiter/providers/sacp"
)

// workflow is what the planning agent wrote, its tasks in the order of execution.
type workflow struct {
	tasks    []task
	proposal proposal
	// notes are what was odd and had no effect.
	notes []string
}

type task struct {
	key, action, group    string
	depends, capabilities []string
	lines                 int
}

// proposal is what the format has no place for and a plan needs.
type proposal struct {
	title, branch    string
	risk             amp.RiskLevel
	paths, forbidden []string
	checks           [][]string
}

// maxTasks bounds how many tasks a plan may have; more is no plan that a person can approve.
const maxTasks = 100

// readWorkflow reads the output of the planning agent. Models write its parts in several ways, so only what cannot be read at all is a
// problem.
func readWorkflow(m *sentient.Message) (*workflow, []amp.Problem) {
	problem := func(field, format string, args ...any) []amp.Problem {
		return []amp.Problem{{Rule: "plan", Field: "output.content" + field, Message: fmt.Sprintf(format, args...)}}
	}
	var content struct {
		Workflow struct {
			Tasks  map[string]map[string]any `json:"tasks"`
			Order  any                       `json:"execution_order"`
			Groups map[string]any            `json:"execution_groups"`
		} `json:"workflow"`
		Proposal map[string]any `json:"proposal"`
	}
	if err := json.Unmarshal(m.Output, &content); err != nil {
		return nil, problem("", "is no workflow: %v", err)
	}
	in := content.Workflow.Tasks
	switch {
	case len(in) == 0:
		return nil, problem(".workflow.tasks", "holds no task, so there is nothing to do")
	case len(in) > maxTasks:
		return nil, problem(".workflow.tasks", "holds %d tasks, more than the %d that one plan can have", len(in), maxTasks)
	}
	w := &workflow{}
	byName, tasks := map[string]string{}, map[string]task{}
	for _, key := range slices.SortedFunc(maps.Keys(in), byNumber) {
		byName[text(in[key]["id"])] = key
	}
	for key := range in {
		byName[key] = key
	}
	for _, key := range slices.SortedFunc(maps.Keys(in), byNumber) {
		t := task{key: key, action: text(in[key]["action"]), group: text(in[key]["execution_group"]), capabilities: words(in[key]["capability_ids"])}
		if strings.TrimSpace(t.action) == "" {
			return nil, problem(".workflow.tasks."+sacp.Clip(key, 60)+".action", "is empty, so nobody knows what to do")
		}
		t.lines = weightOf(in[key]["estimated_weight"])
		for _, name := range words(in[key]["depends_on"]) {
			if other, ok := byName[name]; ok {
				t.depends = append(t.depends, other)
			} else {
				w.notes = append(w.notes, fmt.Sprintf("%s depends on %q, which is no task.", sacp.Clip(key, 60), sacp.Clip(name, 60)))
			}
		}
		tasks[key] = t
	}
	var order []string
	for _, name := range words(content.Workflow.Order) {
		if key, ok := byName[name]; ok && !slices.Contains(order, key) {
			order = append(order, key)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(in), byNumber) {
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
	}
	if circle := w.arrange(order, tasks); circle != "" {
		return nil, problem(".workflow.tasks."+sacp.Clip(circle, 60)+".depends_on", "depends on itself in a circle, so there is no first task")
	}
	w.propose(content.Proposal)
	return w, nil
}

// arrange puts the tasks into the given order, each behind those that it depends on, and returns a task of a circle when there is one.
func (w *workflow) arrange(order []string, tasks map[string]task) (circle string) {
	placed := map[string]bool{}
	for len(w.tasks) < len(order) {
		i := slices.IndexFunc(order, func(key string) bool {
			return !placed[key] && !slices.ContainsFunc(tasks[key].depends, func(d string) bool { return !placed[d] })
		})
		if i < 0 {
			return order[slices.IndexFunc(order, func(key string) bool { return !placed[key] })]
		}
		placed[order[i]] = true
		w.tasks = append(w.tasks, tasks[order[i]])
	}
	return ""
}

func (w *workflow) propose(in map[string]any) {
	p := &w.proposal
	p.title, p.branch = sacp.Clip(firstLine(text(in["title"])), 120), text(in["branch"])
	switch risk := amp.RiskLevel(strings.ToLower(text(in["risk_level"]))); risk {
	case amp.Low, amp.Medium, amp.High:
		p.risk = risk
	}
	p.paths, p.forbidden = words(in["allowed_paths"]), words(in["forbidden_actions"])
	list, _ := in["checks"].([]any)
	for _, c := range list {
		argv := words(c)
		if s := text(c); s != "" {
			w.notes = append(w.notes, fmt.Sprintf("The check %q is not a list of a program and its arguments, and was left out.", sacp.Clip(s, 200)))
		} else if len(argv) > 0 {
			p.checks = append(p.checks, argv)
		}
	}
}

// weightOf is how many lines a weight stands for; a number is a number of lines.
func weightOf(v any) int {
	if n, ok := v.(float64); ok && n >= 0 && n <= 1e6 {
		return int(math.Round(n))
	}
	if n, ok := weights[strings.ToLower(text(v))]; ok {
		return n
	}
	return weights["medium"]
}

// text is a string, or a whole number as one.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		return fmt.Sprint(v)
	}
	return ""
}

// words are the strings in a list, also in lists inside it.
func words(v any) []string {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	var out []string
	for _, e := range list {
		if s := text(e); s != "" {
			out = append(out, s)
		}
		out = append(out, words(e)...)
	}
	return out
}

package tui

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"arbiter/amp"
)

// planChange is one difference between two revisions.
type planChange struct {
	Sign string // "+", "−" or "±"
	// What is the part: "criterion 2", "paths", "S4". Text is untrusted.
	What, Text string
	// Subtask and Criterion are the index of the changed part in the new plan, -1 for none.
	Subtask, Criterion int
}

// planDelta are the differences from one revision to the next, in the order in which a person weighs them: what is
// bound first, then the steps.
func planDelta(from, to *amp.Plan) []planChange {
	var out []planChange
	add := func(sign, what, text string) {
		out = append(out, planChange{Sign: sign, What: what, Text: text, Subtask: -1, Criterion: -1})
	}
	value := func(what, a, b string) {
		if a != b {
			add("±", what, fmt.Sprintf("%s → %s", orNone(a), orNone(b)))
		}
	}
	list := func(what string, a, b []string) {
		for _, s := range b {
			if !slices.Contains(a, s) {
				add("+", what, s)
			}
		}
		for _, s := range a {
			if !slices.Contains(b, s) {
				add("−", what, s)
			}
		}
	}
	value("risk", string(from.RiskLevel), string(to.RiskLevel))
	value("repo", from.Repo, to.Repo)
	value("branch", from.Branch, to.Branch)
	value("base", from.BaseBranch+"@"+short(from.BaseCommit), to.BaseBranch+"@"+short(to.BaseCommit))
	if len(from.AllowedPaths) > 0 && len(to.AllowedPaths) == 0 {
		add("±", "paths", "every file may change now")
	}
	list("paths", from.AllowedPaths, to.AllowedPaths)
	list("forbid", from.ForbiddenActions, to.ForbiddenActions)
	out = append(out, criteriaDelta(from.AcceptanceCriteria, to.AcceptanceCriteria)...)
	out = append(out, subtaskDelta(from.Subtasks, to.Subtasks)...)
	value("executor", from.Executor, to.Executor)
	value("reviewer", from.Reviewer, to.Reviewer)
	value("budget", budgetOf(from.Budget), budgetOf(to.Budget))
	list("check", argvs(from.Checks), argvs(to.Checks))
	list("tech", techs(from.TechConstraints), techs(to.TechConstraints))
	value("title", from.Title, to.Title)
	if from.Description != to.Description {
		add("±", "description", to.Description)
	}
	value("policy", policyOf(from.Policy), policyOf(to.Policy))
	if from.Wish != to.Wish {
		add("±", "wish", to.Wish)
	}
	if len(out) == 0 && from.ContentHash() != to.ContentHash() {
		add("±", unnamed, "the content differs in a part that this screen does not name: read all of it")
	}
	return out
}

// unnamed is a change that the delta sees by the hash alone; a test holds that there is none.
const unnamed = "content"

// criteriaDelta compares what the results are judged by, each as often as it is there.
func criteriaDelta(from, to []string) []planChange {
	var out []planChange
	left := slices.Clone(from)
	var kept []string
	for i, c := range to {
		k := slices.Index(left, c)
		if k < 0 {
			out = append(out, planChange{"+", fmt.Sprintf("criterion %d", i+1), c, -1, i})
			continue
		}
		left = slices.Delete(left, k, k+1)
		kept = append(kept, c)
	}
	rest := slices.Clone(left)
	var before []string
	for i, c := range slices.Backward(from) { // of equal ones the last was taken away
		if k := slices.Index(rest, c); k >= 0 {
			rest = slices.Delete(rest, k, k+1)
			out = append(out, planChange{"−", fmt.Sprintf("criterion, was %d", i+1), c, -1, -1})
			continue
		}
		before = append(before, c)
	}
	slices.Reverse(before)
	if !slices.Equal(before, kept) {
		out = append(out, planChange{"±", "order", "the criteria stand in another order", -1, -1})
	}
	return out
}

// subtaskDelta compares by subtask id; the same steps in another order are a change too, since they run in order.
func subtaskDelta(from, to []amp.Subtask) []planChange {
	var out []planChange
	var before, after []string
	for i, s := range to {
		k := slices.IndexFunc(from, func(o amp.Subtask) bool { return o.SubtaskID == s.SubtaskID })
		switch {
		case k < 0:
			out = append(out, planChange{"+", fmt.Sprintf("S%d", i+1), s.Description, i, -1})
			continue
		case from[k].Description != s.Description:
			out = append(out, planChange{"±", fmt.Sprintf("S%d", i+1), s.Description, i, -1})
		case from[k].EstimatedLines != s.EstimatedLines:
			out = append(out, planChange{"±", fmt.Sprintf("S%d", i+1), fmt.Sprintf("~%d → ~%d lines", from[k].EstimatedLines, s.EstimatedLines), i, -1})
		}
		after = append(after, s.SubtaskID)
	}
	for i, s := range from {
		if slices.ContainsFunc(to, func(o amp.Subtask) bool { return o.SubtaskID == s.SubtaskID }) {
			before = append(before, s.SubtaskID)
			continue
		}
		out = append(out, planChange{"−", fmt.Sprintf("subtask, was S%d", i+1), s.Description, -1, -1})
	}
	if !slices.Equal(before, after) {
		out = append(out, planChange{"±", "order", "the subtasks run in another order", -1, -1})
	}
	return out
}

func orNone(s string) string {
	if s == "" || s == "@" {
		return "none"
	}
	return s
}

func argvs(checks [][]string) []string {
	out := make([]string, len(checks))
	for i, c := range checks {
		out[i] = strings.Join(c, " ")
	}
	return out
}

func techs(m map[string]any) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, k+" "+amp.ConstraintText(m[k]))
	}
	return out
}

func policyOf(p amp.Policy) string {
	out := fmt.Sprintf("lock at %d, hold below %g, gates %s", p.LockAt, p.HoldBelow, strings.Join(p.Gates, " "))
	if p.SecondAdmin != amp.SecondNever {
		out += ", second admin " + string(p.SecondAdmin)
	}
	return out
}

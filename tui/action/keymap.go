package action

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Problem is one thing wrong with a key configuration. The configuration's reader knows the line of the id.
type Problem struct {
	ID   string // the id as configured
	Key  string // the key, "" when the id itself is the problem
	What string // a sentence
}

// Error returns the problem as one line.
func (p Problem) Error() string {
	if p.Key == "" {
		return fmt.Sprintf("keys of %q: %s", p.ID, p.What)
	}
	return fmt.Sprintf("key %q of %q: %s", p.Key, p.ID, p.What)
}

// Override replaces the keys of actions by id; an empty list leaves an action to the palette. What is wrong is
// reported, sorted by id, and not applied: that action keeps the keys it had, unless another action took them
// rightfully. Keys that change places between actions are no conflict.
func (r *Registry) Override(keys map[string][]string) []Problem {
	var problems []Problem
	before := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		a := r.byID[id]
		if a == nil {
			problems = append(problems, Problem{ID: id, What: "there is no such action" + r.similar(id)})
			continue
		}
		wanted := normalAll(keys[id])
		bad := false
		for _, k := range wanted {
			if err := permitted(a, k); err != nil {
				problems = append(problems, Problem{id, k, err.Error()})
				bad = true
			}
		}
		if !bad {
			before[id], a.Keys = a.Keys, wanted
		}
	}
	return append(problems, r.settle(before)...)
}

// settle takes back, until none is left, overrides that clash with another action.
func (r *Registry) settle(before map[string][]string) []Problem {
	var problems []Problem
	for {
		p, found := r.firstClash(before)
		if !found {
			return problems
		}
		problems = append(problems, p)
		r.byID[p.ID].Keys = before[p.ID]
		delete(before, p.ID)
	}
}

func (r *Registry) firstClash(before map[string][]string) (Problem, bool) {
	for _, id := range slices.Sorted(maps.Keys(before)) {
		a := r.byID[id]
		for _, k := range a.Keys {
			if other := r.clash(a, k); other != nil {
				return Problem{id, k, fmt.Sprintf("taken by %q", other.ID)}, true
			}
		}
	}
	return Problem{}, false
}

// similar names an action whose id looks like the unknown one.
func (r *Registry) similar(id string) string {
	_, last, _ := strings.Cut(id, ".")
	for _, a := range r.actions {
		if last != "" && strings.HasSuffix(a.ID, "."+last) || strings.EqualFold(a.ID, id) {
			return fmt.Sprintf("; did you mean %q?", a.ID)
		}
	}
	return ""
}

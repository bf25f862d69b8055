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
		for i, k := range wanted {
			if why := r.refused(a, wanted[:i], k); why != "" {
				problems = append(problems, Problem{id, k, why})
				bad = true
			}
		}
		if id == leaves && !slices.Contains(wanted, "ctrl+c") {
			problems = append(problems, Problem{ID: id, What: `"ctrl+c" always leaves the program: keep it among the keys`})
			bad = true
		}
		if !bad {
			before[id], a.Keys = a.Keys, wanted
		}
	}
	return append(problems, r.settle(before)...)
}

// refused says why a key can not be given to an action, "" when it can.
func (r *Registry) refused(a *Action, before []string, seq string) string {
	if err := permitted(a, seq); err != nil {
		return err.Error()
	}
	for k := range strings.SplitSeq(seq, " ") {
		if why := unknownKey(k); why != "" {
			return why
		}
	}
	if slices.Contains(before, seq) {
		return "it is there twice"
	}
	return ""
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
	var ids []string
	for _, a := range r.actions {
		if strings.EqualFold(a.ID, id) || last != "" && strings.HasSuffix(a.ID, "."+last) {
			return fmt.Sprintf("; did you mean %q?", a.ID)
		}
		ids = append(ids, a.ID)
	}
	if best := Nearest(id, ids); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return ""
}

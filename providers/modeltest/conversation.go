package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// conversation is one script and what was given of it.
type conversation struct {
	script Script
	failed map[int]int      // how often a step that fails did
	given  map[int][]string // the texts that a step was
}

func callID(script, step int) string { return fmt.Sprintf("call_mt_%d_%d", script, step) }

// next is the step that follows what the model said earlier, as the request tells it; len(Steps) is behind the last one.
func (c *conversation) next(script int, earlier []said) int {
	at := 0
	for _, s := range merged(earlier) {
		for i := at; i < len(c.script.Steps); i++ {
			if c.gave(script, i, s) {
				at = i + 1
			}
		}
	}
	for at < len(c.script.Steps) {
		s := &c.script.Steps[at]
		if !s.fails() || s.Times == 0 || c.failed[at] < s.Times {
			break
		}
		at++
	}
	return at
}

// gave reports whether s came from step i.
func (c *conversation) gave(script, i int, s said) bool {
	step := &c.script.Steps[i]
	switch {
	case step.fails():
		return false
	case s.name == "":
		return within(step.Text, s.text) || slices.ContainsFunc(c.given[i], func(text string) bool { return within(text, s.text) })
	case strings.Contains(s.id, "call_mt_"): // gemini puts the tool's name before it
		return strings.HasSuffix(s.id, callID(script, i))
	default: // the program keeps no ids
		return slices.ContainsFunc(step.Calls, func(c Call) bool { return c.Tool == s.name && same(c.Input, s.input) })
	}
}

// within reports whether a text that was given is in what the program kept of it.
func within(given, kept string) bool {
	given = strings.TrimSpace(given)
	return given != "" && strings.Contains(kept, given)
}

// merged joins texts that follow each other: programs keep the pieces of a stream together or apart.
func merged(earlier []said) []said {
	var out []said
	for _, s := range earlier {
		if last := len(out) - 1; s.name == "" && last >= 0 && out[last].name == "" {
			out[last].text += s.text
			continue
		}
		out = append(out, s)
	}
	return out
}

func same(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// answer is what step i says to a request that offers these tools.
func (c *conversation) answer(script, i int, r Request, h *heard) *reply {
	a := &reply{id: fmt.Sprintf("mt_%d_%d", script, i), model: h.model, usage: Usage{Input: 200, Cached: 20, Output: 40}}
	if i >= len(c.script.Steps) {
		a.text = fmt.Sprintf("The script has no step %d.", i)
		return a
	}
	s := &c.script.Steps[i]
	a.text, a.finish, a.usage = s.Text, s.Finish, s.usage()
	if s.TextFrom != nil {
		a.text = s.TextFrom(r)
	}
	if len(s.Calls) > 0 {
		a.choose(s.Calls, h.offered)
		a.callID = callID(script, i)
	}
	if a.text != "" && !slices.Contains(c.given[i], a.text) {
		c.given[i] = append(c.given[i], a.text)
	}
	return a
}

// choose takes the first call whose tool is offered, or says which ones are.
func (a *reply) choose(calls []Call, offered []offer) {
	var wanted, names []string
	for i := range calls {
		wanted = append(wanted, calls[i].Tool)
		for _, o := range offered {
			if o.is(calls[i].Tool) {
				a.call, a.tool = &calls[i], o
				return
			}
		}
	}
	for _, o := range offered {
		if o.namespace != "" {
			o.name = o.namespace + "__" + o.name
		}
		names = append(names, o.name)
	}
	a.text = fmt.Sprintf("None of the tools %s is offered. These are: %s.", strings.Join(wanted, ", "), strings.Join(names, ", "))
}

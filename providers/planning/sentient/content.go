package sentient

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// roles compares the agents of the chain with what they are to be (SEN-051) and an end for being out of scope with its form (SEN-057).
func (r *reader) roles(m *Message) {
	for _, a := range []struct {
		name, typ, content string
		sequence           int
	}{{ObjectiveAgent, "governance", Objectives, 1}, {GoalAgent, "governance", Goals, 2}, {PlanningAgent, "operational", Plan, 3}} {
		if m.AgentName != a.name {
			continue
		}
		if m.AgentType != a.typ && m.AgentType != "" {
			r.warn("SEN-051", "agent.type", "is %q, but the %s is %s", clip(m.AgentType), a.name, a.typ)
		}
		if m.Sequence != a.sequence && m.Sequence > 0 {
			r.warn("SEN-051", "metadata.sequence_number", "is %d, but the %s is number %d of the chain", m.Sequence, a.name, a.sequence)
		}
		if m.ContentType != a.content && m.ContentType != "" && m.Status != Failed && m.Status != Pending {
			r.warn("SEN-051", "output.content_type", "is %q, but the %s writes %s", clip(m.ContentType), a.name, a.content)
		}
	}
	if !m.OutOfScope() {
		return
	}
	odd := func(bad bool, field, want string) {
		if bad {
			r.warn("SEN-057", field, "%s: out of scope ends the chain", want)
		}
	}
	odd(m.Next != nil, "next_agent.name", "is not null")
	odd(len(m.Output) > 0 && m.Output.Kind() != 'n', "output.content", "is not null")
	odd(m.ContentType != "error", "output.content_type", "is not error")
	odd(m.Status != Failed, "status.code", "is not failed")
	odd(!m.Error.Has, "error.has_error", "is not true")
}

// content judges what the objective and the goal agent wrote.
func (r *reader) content(m *Message) {
	if m.Output.Kind() == 'n' || len(m.Output) == 0 {
		return
	}
	switch m.ContentType {
	case Objectives:
		r.objectives(m)
	case Goals:
		r.goals(m)
	}
}

func (r *reader) objectives(m *Message) {
	list, ok := m.Objectives()
	if !ok {
		r.warn("SEN-056", "output.content", "is not a list of strings, as objectives are")
		return
	}
	r.provenance(m, "output.content", list, true)
}

// Objectives are what the objective agent wrote; false when it has not the form (SEN-056).
func (m *Message) Objectives() ([]string, bool) {
	if m.Output.Kind() != '[' {
		return nil, false
	}
	return texts(jsontext.Value(m.Output))
}

func texts(v jsontext.Value) (out []string, ok bool) {
	if v.Kind() != '[' {
		return nil, false
	}
	for _, e := range elements(v) {
		if e.Kind() != '"' {
			return nil, false
		}
		out = append(out, str(e))
	}
	return out, true
}

// Objective is one objective with the goals that it was taken apart into.
type Objective struct {
	Key   string
	Text  string
	Goals []string
}

var objectiveKey = regexp.MustCompile(`^objective_([1-9][0-9]{0,5})$`)

// Goals are the objectives with their goals, in order of their numbers; false when the output has not the form (SEN-056), with what could
// be read all the same.
func (m *Message) Goals() ([]Objective, bool) {
	in := members(jsontext.Value(m.Output))
	ok := in != nil
	var out []Objective
	for _, key := range slices.Sorted(maps.Keys(in)) {
		o := members(in[key])
		goals, list := texts(o["goals"])
		if !objectiveKey.MatchString(key) || o["objective"].Kind() != '"' || !list {
			ok = false
			continue
		}
		out = append(out, Objective{Key: key, Text: str(o["objective"]), Goals: goals})
	}
	number := func(o Objective) int { n, _ := strconv.Atoi(strings.TrimPrefix(o.Key, "objective_")); return n }
	slices.SortStableFunc(out, func(a, b Objective) int { return number(a) - number(b) })
	return out, ok
}

var goalCount = regexp.MustCompile(`(?i)\b([0-9]{1,6})\s+(?:[\w-]+\s+){0,3}?(?:sub-?)?goals?\b`)

func (r *reader) goals(m *Message) {
	list, ok := m.Goals()
	if !ok {
		r.warn("SEN-056", "output.content", "is not an object of objective_N, each with objective and goals, as goals are")
	}
	count := 0
	for _, o := range list {
		count += len(o.Goals)
		r.provenance(m, "output.content."+o.Key+".goals", o.Goals, false)
	}
	if m.AgentName != GoalAgent || !ok || r.brokenBelow("status") {
		return
	}
	switch said := goalCount.FindStringSubmatch(m.StatusText); {
	case said == nil:
		r.warn("S10", "status.message", "no count of goals is in it, so it cannot be compared with the %d in output.content", count)
	case said[1] != strconv.Itoa(count):
		r.warn("SEN-064", "status.message", "says %s goals, but output.content holds %d", said[1], count)
	}
}

var storeMention = regexp.MustCompile(`\bstore_[1-9][0-9]{0,8}\b(?:\s*\(acquired from (src_[1-9][0-9]{0,8})\))?`)

// provenance looks at the sentences of one scope: the first that mentions a store says where it is from, by the parenthesis or by naming
// the source itself (S09); later ones are bare (SEN-035, SEN-036). With acquires, a first sentence that names both is where the store is
// filled, and the first after it counts.
func (r *reader) provenance(m *Message, path string, sentences []string, acquires bool) {
	sources := map[string]string{}
	for _, s := range m.Stores {
		sources[s.ID] = s.Source
	}
	said, filled := map[string]bool{}, map[string]bool{}
	for i, text := range sentences {
		field := fmt.Sprintf("%s[%d]", path, i)
		mentioned := map[string]bool{}
		for _, at := range storeMention.FindAllStringSubmatchIndex(text, -1) {
			mention, from := text[at[0]:at[1]], ""
			if at[2] >= 0 {
				from = text[at[2]:at[3]]
			}
			id, _, _ := strings.Cut(mention, " ")
			id, _, _ = strings.Cut(id, "(")
			id = strings.TrimSpace(id)
			source := sources[id]
			switch {
			case from != "" && source != "" && from != source:
				r.warn("SEN-035", field, "says that %s is from %s, but it is from %s", id, from, source)
			case from != "" && said[id]:
				r.warn("SEN-035", field, "repeats where %s is from; later mentions are bare", id)
			case mentioned[id]:
				continue // the same sentence
			case from != "" || said[id]:
			case names(text, source):
				if acquires && !filled[id] {
					filled[id], mentioned[id] = true, true
					continue
				}
			default:
				r.warn("SEN-036", field, "mentions %s for the first time and does not say where it is from: %s (acquired from %s)", id, id, orSource(source))
			}
			said[id], mentioned[id] = true, true
		}
	}
}

func orSource(s string) string {
	if s == "" {
		return "src_N"
	}
	return s
}

var sourceMention = regexp.MustCompile(`\bsrc_[1-9][0-9]{0,8}\b`)

// names reports whether a sentence names the source itself; any source when it is not known which.
func names(text, source string) bool {
	found := sourceMention.FindAllString(text, -1)
	return source == "" && len(found) > 0 || slices.Contains(found, source)
}

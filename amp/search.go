package amp

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// Search selects entries by what they say. All of its fields must hold; of the values in one field one is enough. [Search.Match]
// defines what is found: a store may only narrow down what it asks.
type Search struct {
	// Words must each stand in the text of the entry, in any case, beginning where a word begins: "sess" finds session and
	// BreathSession, not obsession. Phrases must too, and end where a word ends.
	Words   []string `json:"words,omitzero"`
	Phrases []string `json:"phrases,omitzero"`

	Kinds []Kind `json:"kinds,omitzero"`
	// Types are those of messages, and of what was refused.
	Types []MessageType `json:"types,omitzero"`
	// From are roles or names of who wrote the entry, To the roles that a message is for.
	From []string `json:"from,omitzero"`
	To   []Role   `json:"to,omitzero"`
	// Agents are names: who wrote the entry, whose turn or question it is, who is named to execute or review.
	Agents []string `json:"agents,omitzero"`
	// Roles are those in whose name the entry was written.
	Roles []Role   `json:"roles,omitzero"`
	Tasks []TaskID `json:"tasks,omitzero"`
	// Statuses are of a result, an ACK, the end of a turn, or of the task when an escalation was raised.
	Statuses []string `json:"statuses,omitzero"`
	// Decisions are of a verdict, or what an override put in its place.
	Decisions []Decision `json:"decisions,omitzero"`
	// Severities are of an escalation or of an issue in a verdict.
	Severities []string `json:"severities,omitzero"`
	// Rules are those that something was refused by.
	Rules []string `json:"rules,omitzero"`
	// Since and Until bound when the entry was written: not before Since, and before Until.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	// Is are properties of the entry.
	Is []SearchProperty `json:"is,omitzero"`

	// Not are searches of which none may match.
	Not []Search `json:"not,omitzero"`
}

// SearchProperty is something that an entry is, as far as the entry itself says.
type SearchProperty string

// The properties of an entry.
const (
	// IsHeld is what needs the admin: a partial or failed result, a refused task_dispatch, a held message of the planning chain, and a verdict below the usual
	// confidence of 0.8, or an approval that leaves a criterion open or names a blocking issue. A plan with a limit of its own
	// is not looked up.
	IsHeld SearchProperty = "held"
	// IsLate is an ACK after its time, and a report of a turn that was fenced (AMP-174).
	IsLate SearchProperty = "late"
	// IsRefused is a refusal, and an ACK that refuses.
	IsRefused SearchProperty = "refused"
)

// Empty reports whether the search selects everything.
func (s *Search) Empty() bool {
	return s == nil || len(s.Words)+len(s.Phrases)+len(s.Kinds)+len(s.Types)+len(s.From)+len(s.To)+len(s.Agents)+len(s.Roles)+
		len(s.Tasks)+len(s.Statuses)+len(s.Decisions)+len(s.Severities)+len(s.Rules)+len(s.Is)+len(s.Not) == 0 &&
		s.Since.IsZero() && s.Until.IsZero()
}

// Match reports whether the search selects an entry. It decides by the entry alone, so that it says the same everywhere.
func (s *Search) Match(e *Entry) bool {
	if s.Empty() {
		return true
	}
	return s.match(e, &entryFacts{entry: e})
}

func (s *Search) match(e *Entry, facts *entryFacts) bool {
	switch {
	case !s.Since.IsZero() && e.At.Before(s.Since), !s.Until.IsZero() && !e.At.Before(s.Until):
		return false
	case !among(s.Kinds, e.Kind), !among(s.Tasks, e.TaskID), !among(s.Roles, e.Role):
		return false
	case s.facets() && !facts.hold(s):
		return false
	}
	for _, w := range s.Words {
		if !facts.says(newNeedle(w, false)) {
			return false
		}
	}
	for _, p := range s.Phrases {
		if !facts.says(newNeedle(p, true)) {
			return false
		}
	}
	return !slices.ContainsFunc(s.Not, func(n Search) bool { return n.match(e, facts) })
}

// facets reports whether something of the body besides its text is asked for.
func (s *Search) facets() bool {
	return len(s.Types)+len(s.From)+len(s.To)+len(s.Agents)+len(s.Statuses)+len(s.Decisions)+len(s.Severities)+len(s.Rules)+len(s.Is) > 0
}

// among reports whether v is one of the values, or no value is asked for.
func among[T comparable](values []T, v T) bool { return len(values) == 0 || slices.Contains(values, v) }

// shares reports whether a value that is asked for is there, in any case, or none is asked for.
func shares[T, V ~string](asked []T, there []V) bool {
	return len(asked) == 0 || slices.ContainsFunc(asked, func(a T) bool {
		folded := strings.Map(foldCase, string(a))
		return slices.ContainsFunc(there, func(v V) bool { return strings.Map(foldCase, string(v)) == folded })
	})
}

// entryFacts are what a search asks of an entry, read from its body when they are asked for.
type entryFacts struct {
	entry  *Entry
	facets *facets
	text   []string
	// body is the body when it is plain.
	body string
}

func (f *entryFacts) hold(s *Search) bool {
	if f.facets == nil {
		f.facets = facetsOf(f.entry)
	}
	v := f.facets
	return shares(s.Types, v.types) && shares(s.From, v.from) && shares(s.To, v.to) && shares(s.Agents, v.agents) &&
		shares(s.Statuses, v.statuses) && shares(s.Decisions, v.decisions) && shares(s.Severities, v.severities) &&
		shares(s.Rules, v.rules) && shares(s.Is, v.is)
}

func (f *entryFacts) says(n needle) bool {
	if f.text == nil {
		if n.plain() && f.plain() && !slices.ContainsFunc([]string{f.entry.Actor, f.entry.ID, string(f.entry.TaskID), f.body}, n.in) {
			return false // a body need not be read for what does not even stand in its bytes
		}
		f.text = textOf(f.entry)
	}
	return slices.ContainsFunc(f.text, n.in)
}

// plain reports whether the strings in the body stand there as they are, without escapes.
func (f *entryFacts) plain() bool {
	if f.body == "" && f.entry.Kind != KindRefusal && bytes.IndexByte(f.entry.Body, '\\') < 0 {
		f.body = string(f.entry.Body)
	}
	return f.body != ""
}

// Mark returns where the words and phrases of the search stand in a text, as pairs of byte offsets in order, for a screen to
// show. Places that overlap are one.
func (s *Search) Mark(text string) [][2]int {
	if s == nil {
		return nil
	}
	var found [][2]int
	for _, n := range s.needles() {
		for at := 0; at < len(text); {
			start, end := n.find(text, at)
			if start < 0 {
				break
			}
			found = append(found, [2]int{start, end})
			at = end
		}
	}
	slices.SortFunc(found, func(a, b [2]int) int { return a[0] - b[0] })
	var merged [][2]int
	for _, f := range found {
		if k := len(merged) - 1; k >= 0 && f[0] <= merged[k][1] {
			merged[k][1] = max(merged[k][1], f[1])
			continue
		}
		merged = append(merged, f)
	}
	return merged
}

func (s *Search) needles() []needle {
	all := make([]needle, 0, len(s.Words)+len(s.Phrases))
	for _, w := range s.Words {
		all = append(all, newNeedle(w, false))
	}
	for _, p := range s.Phrases {
		all = append(all, newNeedle(p, true))
	}
	return all
}

// Found returns the first text of the entry that a word or a phrase of the search stands in, "" for none. What the body says
// comes before the names in the header.
func (s *Search) Found(e *Entry) string {
	if s == nil {
		return ""
	}
	needles := s.needles()
	if len(needles) == 0 {
		return ""
	}
	text := textOf(e)
	const header = 3
	for _, t := range slices.Concat(text[header:], text[:header]) {
		for _, n := range needles {
			if start, _ := n.find(t, 0); start >= 0 {
				return t
			}
		}
	}
	return ""
}

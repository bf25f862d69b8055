package amp

import (
	"slices"
	"strings"
	"time"
)

// EscalationSearch selects from the history of escalations. Zero fields select everything; of a field with several values one
// is enough.
type EscalationSearch struct {
	// Words must each stand in the escalation's text, in any case.
	Words      []string
	Types      []EscalationType
	Severities []Severity
	Tasks      []TaskID
	// Agents are whom it is about, By who decided.
	Agents []string
	By     []string
	// Since and Until bound when it was raised.
	Since, Until time.Time
	// Open selects those that wait, Closed those that do not; both is everything.
	Open, Closed bool
	// Not are searches of which none may match.
	Not []EscalationSearch
}

// EscalationFields are the names of the fields that [ParseEscalationSearch] knows.
var EscalationFields = []string{"type", "severity", "task", "agent", "by", "since", "until", "is"}

// ParseEscalationSearch reads a search as [ParseSearch] does, with the fields of escalations: type:ack_timeout severity:critical
// task:T-2026-044 agent:codex by:mira since:7d until:2026-02-26 is:open. The error is a *[SearchError].
func ParseEscalationSearch(text string, now time.Time) (EscalationSearch, error) {
	s := EscalationSearch{}
	if len(text) > MaxSearch {
		return s, &SearchError{Message: "it is too long"}
	}
	p := &searchParser{now: now}
	for at := 0; ; {
		w, next := nextWord(text, at)
		if w.typed == "" {
			return s, nil
		}
		to := &s
		if w.not {
			to = &EscalationSearch{}
		}
		if why := to.term(p, w); why != "" {
			return s, &SearchError{Word: w.typed, At: w.at, Message: why}
		}
		if w.not {
			s.Not = append(s.Not, *to)
		}
		at = next
	}
}

func (s *EscalationSearch) term(p *searchParser, w searchWord) string {
	v := strings.TrimSpace(w.value)
	if w.field != "" && v == "" {
		return w.field + ": needs a value"
	}
	switch w.field {
	case "":
		if v != "" {
			s.Words = append(s.Words, strings.ToLower(v))
		}
		return ""
	case "type":
		return pick(&s.Types, v, EscalationTypes)
	case "severity":
		return pick(&s.Severities, v, []Severity{Critical, Warning, Info})
	case "task":
		return setTaskID(&s.Tasks, v)
	case "agent":
		add(&s.Agents, v)
	case "by":
		add(&s.By, v)
	case "since":
		return p.moment(&s.Since, v, false)
	case "until":
		return p.moment(&s.Until, v, true)
	case "is":
		switch strings.ToLower(v) {
		case "open":
			s.Open = true
		case "closed":
			s.Closed = true
		default:
			return quoted(v) + " is no property; it is one of open, closed"
		}
	default:
		return "there is no field " + quoted(w.field) + suggest(w.field, EscalationFields, ":") + "; fields are " + strings.Join(EscalationFields, ", ")
	}
	return ""
}

func pick[T ~string](to *[]T, value string, values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
		if strings.EqualFold(words[i], value) {
			add(to, v)
			return ""
		}
	}
	return quoted(value) + " is none" + suggest(value, words, "") + "; it is one of " + strings.Join(words, ", ")
}

// Match reports whether the search selects an escalation.
func (s *EscalationSearch) Match(p *PastEscalation) bool {
	switch {
	case !among(s.Types, p.Type), !among(s.Severities, p.Severity), !among(s.Tasks, p.TaskID):
		return false
	case !shares(s.Agents, []string{p.Agent, string(p.Role)}), !shares(s.By, []string{p.ResolvedBy}):
		return false
	case !s.Since.IsZero() && p.At.Before(s.Since), !s.Until.IsZero() && !p.At.Before(s.Until):
		return false
	case s.Open != s.Closed && s.Open != p.Open():
		return false
	}
	if len(s.Words) > 0 {
		text := strings.ToLower(strings.Join([]string{
			string(p.TaskID), p.Title, string(p.Type), string(p.Severity), p.Agent, p.Description, string(p.Resolution), p.ResolvedBy,
		}, " "))
		for _, w := range s.Words {
			if !strings.Contains(text, w) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(s.Not, func(n EscalationSearch) bool { return n.Match(p) })
}

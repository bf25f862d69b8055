package amp

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Validate returns everything that is wrong with a message and can be judged without context, in the order of its fields; nil
// means that [Encode] writes it. What needs the journal is judged by [Board.Judge].
func Validate(m *Message) []Problem {
	if m == nil {
		return []Problem{{Rule: "AMP-010", Message: "there is no message"}}
	}
	var r report
	r.message(m)
	return r.problems
}

// maxProblems is how many problems, and how many warnings, one message can have. Thousands would say no more.
const maxProblems = 100

// report collects what is wrong with a message.
type report struct {
	problems, warnings []Problem
	// flagged are the fields whose structure is wrong; their zero values are no further problem.
	flagged []string
}

func (r *report) refuse(rule, field, format string, args ...any) {
	if len(r.problems) < maxProblems && !r.isFlagged(field) {
		r.problems = append(r.problems, Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (r *report) warn(rule, field, format string, args ...any) {
	if len(r.warnings) < maxProblems && !r.isFlagged(field) {
		r.warnings = append(r.warnings, Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (r *report) flag(field string) { r.flagged = append(r.flagged, field) }

// isFlagged reports whether field, or what holds it, has been reported.
func (r *report) isFlagged(field string) bool {
	return slices.ContainsFunc(r.flagged, func(f string) bool {
		rest, ok := strings.CutPrefix(field, f)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

// message reports on the envelope and the payload.
func (r *report) message(m *Message) {
	r.envelope(m)
	if m.Payload == nil || m.Payload.MessageType() != m.Type {
		if newPayload(m.Type) != nil {
			r.refuse("AMP-030", "payload", "is not the payload of a %s", m.Type)
		}
		return
	}
	switch p := m.Payload.(type) {
	case *Dispatch:
		reportOn(r, m, p, r.dispatch)
	case *Result:
		reportOn(r, m, p, r.result)
	case *Request:
		reportOn(r, m, p, r.request)
	case *Verdict:
		reportOn(r, m, p, r.verdict)
	case *Escalation:
		reportOn(r, m, p, r.escalation)
	}
}

func reportOn[P any](r *report, m *Message, p *P, f func(*Message, *P)) {
	if p == nil {
		r.refuse("AMP-030", "payload", "is missing")
		return
	}
	f(m, p)
}

// text refuses a string without a word in it.
func (r *report) text(rule, field, s string) {
	if strings.TrimSpace(s) == "" {
		r.refuse(rule, field, "is empty")
	}
}

// ids refuses lists of message ids with an empty one in them. Any other string may stand there (A04).
func (r *report) ids(rule, field string, list []string) {
	for i, id := range list {
		if strings.TrimSpace(id) == "" {
			r.refuse(rule, at(field, i), "is empty, expected a msg_id")
		}
	}
}

// count refuses a negative number, or one that not every reader of JSON keeps exactly.
func (r *report) count(rule, field string, n int) {
	if n < 0 || int64(n) > maxInteger {
		r.refuse(rule, field, "is %d, expected a count of 0 or more", n)
	}
}

// oneOf refuses a word that is not in the list.
func oneOf[T ~string](r *report, rule, field string, got T, list ...T) {
	if slices.Contains(list, got) {
		return
	}
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	last := len(words) - 1
	r.refuse(rule, field, "is %q, expected %s or %s", clip(string(got), 40), strings.Join(words[:last], ", "), words[last])
}

func entries(n int) string { return plural(n, "entry", "entries") }

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

package sacp

import (
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Change is one thing that a guardrail did to an answer, for the record of the turn (SACP-041). What was redacted is not repeated
// in it.
type Change struct {
	Field string `json:"field"`
	From  string `json:"from"`
	To    string `json:"to"`
	Rule  string `json:"rule"`
}

// Guard are the guardrails of a chain. The zero Guard changes nothing.
type Guard struct {
	// Sensitive finds what the message of a failure must not show.
	Sensitive []*regexp.Regexp
	// Violations finds what no message may say: the answer becomes a failure.
	Violations []*regexp.Regexp
}

// Secrets finds keys, tokens and passwords of the usual forms.
var Secrets = []*regexp.Regexp{
	regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(-----END [A-Z ]*PRIVATE KEY-----)?`),
	regexp.MustCompile(`\b(sk|rk|pk)-[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`\bAKIA[0-9A-Z]{16}\b|\bAIza[0-9A-Za-z_-]{30,}`),
	regexp.MustCompile(`\bxox[abprs]-[A-Za-z0-9-]{10,}`),
	regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`),
	regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^/\s:@"']+:[^/\s@"']+@`),
	regexp.MustCompile(`(?i)\b(password|passwd|secret|api[_-]?key|access[_-]?token)\b["']?\s*[:=]\s*["']?[^\s"',;}]{4,}`),
}

// Redacted stands in a message where something sensitive stood.
const Redacted = "[redacted]"

// Apply returns the answer as the next agent and the person get it, and what was changed. Of a failure the message is redacted and
// data is kept (SACP-040): what is sensitive in the message itself, and what data holds as sensitive and the message repeats. A message
// with a violation forces the status to failure, before anyone else gets the answer (SACP-041), and is then redacted too.
func (g Guard) Apply(a Answer) (Answer, []Change) {
	var changes []Change
	for _, re := range g.Violations {
		if a.Status != Failure && re.MatchString(a.Message) {
			changes = append(changes, Change{Field: "status", From: string(a.Status), To: string(Failure), Rule: "SACP-041"})
			a.Status = Failure
		}
	}
	if a.Status != Failure {
		return a, changes
	}
	message := a.Message
	for _, secret := range g.in(a.Data) {
		message = strings.ReplaceAll(message, secret, Redacted)
	}
	for _, re := range g.Sensitive {
		message = re.ReplaceAllLiteralString(message, Redacted)
	}
	if message != a.Message {
		a.Message = message
		changes = append(changes, Change{Field: "message", From: Redacted, To: message, Rule: "SACP-040"})
	}
	return a, changes
}

// in are the sensitive strings of a value, the longest first, so that one inside another is not left over.
func (g Guard) in(v jsontext.Value) []string {
	var found []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, x := range v {
				if s, ok := x.(string); ok && len(s) >= 4 && g.match(name+": "+s) {
					found = append(found, s)
				}
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case string:
			for _, re := range g.Sensitive {
				found = append(found, re.FindAllString(v, -1)...)
			}
		}
	}
	var any any
	if len(v) > 0 && json.Unmarshal(v, &any) == nil {
		walk(any)
	}
	found = slices.DeleteFunc(found, func(s string) bool { return s == "" })
	slices.SortFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

func (g Guard) match(s string) bool {
	return slices.ContainsFunc(g.Sensitive, func(re *regexp.Regexp) bool { return re.MatchString(s) })
}

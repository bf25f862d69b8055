package sentient

import (
	"bytes"
	"path"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
	"arbiter/providers/sacp"
)

// Decode reads one message and judges it by itself. It refuses more than [amp.MaxMessage] bytes, duplicate names, invalid UTF-8 and
// anything that is not one object (SEN-001). The message is nil when nothing can be read.
func Decode(data []byte) (*Message, Report) { return decode(data, false) }

// DecodeStrict is [Decode], but unknown properties are errors (SEN-005).
func DecodeStrict(data []byte) (*Message, Report) { return decode(data, true) }

func decode(data []byte, strict bool) (*Message, Report) {
	r := &reader{strict: strict}
	m := r.message(data)
	return m, r.Report
}

// message reads everything; nil when data is no object.
func (r *reader) message(data []byte) *Message {
	value := jsontext.Value(bytes.TrimSpace(data))
	if len(data) > amp.MaxMessage {
		r.errorf("SEN-001", "", "is %d bytes long, more than the %d that are allowed", len(data), amp.MaxMessage)
		return nil
	}
	if depth := amp.DepthOf(data); depth > amp.MaxDepth {
		r.errorf("SEN-001", "", "is nested %d levels deep, more than the %d that are allowed", depth, amp.MaxDepth)
		return nil
	}
	if len(value) == 0 {
		r.errorf("SEN-001", "", "is empty, expected one JSON object")
		return nil
	}
	var root map[string]jsontext.Value
	if err := json.Unmarshal(value, &root); err != nil {
		switch kind := value.Kind(); {
		case value.IsValid():
			r.errorf("SEN-001", "", "is %s, expected one JSON object", sacp.KindName(kind))
		case kind != '{':
			r.errorf("SEN-001", "", "holds no message: expected one JSON object, got text that begins with %q", clip(string(value)))
		default:
			r.errorf("SEN-001", "", "is no valid JSON: %s", clip(strings.TrimPrefix(err.Error(), "jsontext: ")))
		}
		return nil
	}
	if root == nil {
		r.errorf("SEN-001", "", "is null, expected one JSON object")
		return nil
	}
	n := &node{members: root, known: map[string]bool{}}
	m := &Message{ID: r.filled(n, "message_id", "SEN-003")}
	if placeholder.MatchString(m.ID) {
		r.errorf("SEN-003", "message_id", "is the placeholder %q, expected an id of its own", clip(m.ID))
	}
	r.head(n, m)
	r.flow(n, m)
	r.trouble(n, m)
	r.metadata(n, m)
	r.resources(n, m)
	r.audit(n, m)
	r.rest(n)
	r.roles(m)
	r.content(m)
	return m
}

var placeholder = regexp.MustCompile(`\{\{.*\}\}|^<.*>$`)

// head reads when it was and who wrote it.
func (r *reader) head(n *node, m *Message) {
	t := r.object(n, "timestamp", "")
	m.ExecutedAt = r.text(t, "executed_at", "SEN-006")
	m.Timezone = r.filled(t, "timezone", "SEN-007")
	r.rest(t)
	if t.members != nil {
		r.clock(m)
	}
	a := r.object(n, "agent", "")
	m.AgentName = r.filled(a, "name", "SEN-009")
	m.AgentType = r.among(a, "type", "SEN-010", "governance", "operational", "executional")
	r.rest(a)
}

// flow reads what came in, what went out, and who is next.
func (r *reader) flow(n *node, m *Message) {
	in := r.object(n, "input", "")
	m.Source = r.filled(in, "source", "SEN-011")
	m.Input = amp.Raw(r.value(in, "content", "SEN-012", `"{[n`, "a string, an object, a list or null"))
	r.rest(in)
	out := r.object(n, "output", "")
	m.Output = amp.Raw(r.value(out, "content", "SEN-013", `"{[n`, "a string, a list or an object"))
	m.ContentType = r.filled(out, "content_type", "SEN-014")
	r.rest(out)
	next := r.object(n, "next_agent", "")
	m.Next = r.maybe(next, "name", "SEN-015")
	if m.Next != nil && strings.TrimSpace(*m.Next) == "" {
		r.errorf("SEN-015", "next_agent.name", "is empty; null ends the chain")
	}
	m.NextReason = r.text(next, "reason", "SEN-016")
	r.rest(next)
	s := r.object(n, "status", "")
	m.Status = r.among(s, "code", "SEN-017", Success, Partial, Failed, Pending)
	m.StatusText = r.text(s, "message", "SEN-018")
	r.rest(s)
	if m.Output.Kind() == 'n' && (m.Status == Success || m.Status == Partial) {
		r.errorf("SEN-013", "output.content", "is null with status %s; only a failure has no output", m.Status)
	}
}

// trouble reads the error, which is there if and only if has_error says so.
func (r *reader) trouble(n *node, m *Message) {
	e := r.object(n, "error", "")
	m.Error = Trouble{
		Has: r.boolean(e, "has_error", "SEN-019"), Code: r.maybe(e, "error_code", "SEN-020"), Text: r.maybe(e, "error_message", "SEN-021"),
		Recoverable: false,
	}
	if i := r.integer(e, "retry_count", "SEN-022", 0, false); i != nil {
		m.Error.Retries = *i
	}
	m.Error.Recoverable = r.boolean(e, "recoverable", "SEN-023")
	r.rest(e)
	if _, there := e.members["has_error"]; !there {
		return
	}
	if _, there := e.members["error_code"]; there {
		r.code(m)
	}
	if v, there := e.members["error_message"]; there && (v.Kind() == 'n') == m.Error.Has && (v.Kind() == 'n' || v.Kind() == '"') {
		r.errorf("SEN-021", "error.error_message", "%s", ifElse(m.Error.Has, "is null although there is an error", "is set although there is no error"))
	}
	if m.Error.Has && m.Status == Success {
		r.warn("SEN-024", "status.code", "is success although has_error is true")
	}
}

var errorCodes = map[string]bool{
	OutOfScope: true, "INVALID_INPUT": true, "PROCESSING_ERROR": true, "TIMEOUT": true, "DEPENDENCY_ERROR": true, "VALIDATION_ERROR": true,
}

func (r *reader) code(m *Message) {
	switch code := m.Error.Code; {
	case code != nil && !errorCodes[*code]:
		r.errorf("SEN-020", "error.error_code", "is %q, which is none of the six codes", clip(*code))
	case code != nil && !m.Error.Has:
		r.errorf("SEN-020", "error.error_code", "is %s although has_error is false", *code)
	case code == nil && m.Error.Has && !r.hasError("error.error_code"):
		r.errorf("SEN-020", "error.error_code", "is null although has_error is true")
	}
}

// hasError reports whether an error was found in a field.
func (r *reader) hasError(field string) bool {
	for _, p := range r.Errors {
		if p.Field == field {
			return true
		}
	}
	return false
}

// metadata reads where the message stands. What a session overwrites is marked as mendable.
func (r *reader) metadata(n *node, m *Message) {
	d := r.object(n, "metadata", "")
	if i := r.integer(d, "sequence_number", "SEN-027", 1, false); i != nil {
		m.Sequence = *i
	}
	m.SessionID = r.inherited(d, "session_id", "SEN-025", m.Sequence)
	m.RequestID = r.inherited(d, "request_id", "SEN-026", m.Sequence)
	m.Parent = r.maybe(d, "parent_message_id", "SEN-028")
	r.rest(d)
	v, there := d.members["parent_message_id"]
	switch {
	case !there || m.Sequence < 1:
	case m.Sequence == 1 && v.Kind() == '"':
		r.errorf("SEN-028", "metadata.parent_message_id", "is %q, but the first message has none: null", clip(*m.Parent))
	case m.Sequence > 1 && v.Kind() == 'n':
		r.mendable("SEN-028", "metadata.parent_message_id", "is null, but message %d has one before it", m.Sequence)
	}
}

// mendable is an error that a session may repair.
func (r *reader) mendable(rule, field, format string, args ...any) {
	if r.mends == nil {
		r.mends = map[string]bool{}
	}
	r.mends[field] = true
	r.errorf(rule, field, format, args...)
}

// inherited is an id that every message but the first takes over: there code knows it, not the model (SEN-066).
func (r *reader) inherited(n *node, name, rule string, sequence int) string {
	v, ok := r.take(n, name, "SEN-002")
	s := str(v)
	switch {
	case !ok || v.Kind() == '"' && strings.TrimSpace(s) != "":
	case v.Kind() != '"' && v.Kind() != 'n':
		r.errorf(rule, n.field(name), "is %s, expected a string", sacp.KindName(v.Kind()))
	case sequence > 1:
		r.mendable(rule, n.field(name), "is empty")
	default:
		r.errorf(rule, n.field(name), "is empty")
	}
	return s
}

// audit reads why it was done so.
func (r *reader) audit(n *node, m *Message) {
	a := r.object(n, "audit", "SEN-040")
	m.Notes = r.filled(a, "compliance_notes", "SEN-041")
	r.list(a, "governance_files_consulted", "SEN-002", "SEN-042", func(field string, v jsontext.Value) {
		if v.Kind() != '"' {
			r.errorf("SEN-042", field, "is %s, expected a string", sacp.KindName(v.Kind()))
			return
		}
		file := str(v)
		m.Files = append(m.Files, file)
		if !strings.Contains(file, "/") || path.IsAbs(file) || strings.Contains(file, "://") || strings.HasPrefix(path.Clean(file), "../") {
			r.warn("SEN-043", field, "is %q, expected a path from the root of the repository, as context/governance/audit.md", clip(file))
		}
	})
	var there bool
	if m.Reasoning, there = r.textOr(a, "reasoning", "SEN-044", false); there {
		switch {
		case strings.TrimSpace(m.Reasoning) == "":
			r.warn("SEN-044", "audit.reasoning", "is empty")
		case !governed.MatchString(m.Reasoning):
			r.warn("SEN-044", "audit.reasoning", "names no rule that was applied")
		}
	}
	r.rest(a)
}

// governed finds what a reasoning applied: a rule, a pattern, a bound, or the file that holds it.
var governed = regexp.MustCompile(`(?i)\b(rules?|patterns?|polic(y|ies)|constraints?|boundar(y|ies)|conventions?|principles?|scope|requirements?|governance|section|[\w/-]+\.md|SEN-\d+)\b`)

func ifElse(b bool, yes, no string) string {
	if b {
		return yes
	}
	return no
}

package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"

	"arbiter/amp"
)

// Format is the log entry of a message of the planning chain, and the name of the file that it belongs to. Date and time are the message's
// own, in its own time zone (S07); of a message that names none they are those of its entry.
func Format(e *amp.Entry, c *amp.Chain) (file, text string) {
	at := e.At.UTC()
	if c.ExecutedAt != nil {
		at = *c.ExecutedAt
	}
	m := tree(c.Message)
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	name := m.text("agent", "name")
	if name == "" {
		name = string(c.Stage) + "_agent" // who was asked, when nothing says who answered
	}
	line("[TIMESTAMP: %s]", at.Format(time.TimeOnly))
	line("[AGENT: %s]", flat(name))
	line("[INPUT SOURCE: %s]", m.text("input", "source"))
	line("[INPUT]: %s", m.text("input", "content"))
	line("[OUTPUT TYPE: %s]", m.text("output", "content_type"))
	line("[STATUS: %s] %s", m.text("status", "code"), m.text("status", "message"))
	if m.text("error", "has_error") == "true" {
		line("[ERROR: %s] %s (retry_count=%s, recoverable=%s)", m.text("error", "error_code"), m.text("error", "error_message"),
			m.text("error", "retry_count"), m.text("error", "recoverable"))
	}
	line("[RESOURCES]: source_refs=%s, storage_refs=%s, derived_refs=%s", m.pairs("source_refs", "url"), m.pairs("storage_refs", "status"),
		m.pairs("derived_refs", "asset_type"))
	line("[COMPLIANCE NOTES]: %s", notes(m, c))
	line("[GOVERNANCE FILES]: %s", m.list("audit", "governance_files_consulted"))
	line("[MESSAGE_ID: %s]", m.text("message_id"))
	line("[SESSION_ID: %s]", m.text("metadata", "session_id"))
	line("---")
	return at.Format("20060102") + ".log", b.String()
}

// notes are the message's own, or what is wrong when it has none: a message without audit is logged too.
func notes(m tree, c *amp.Chain) string {
	if s := m.text("audit", "compliance_notes"); s != "" {
		return s
	}
	var all []string
	for _, p := range c.Problems {
		if strings.HasPrefix(p.Field, "audit") || p.Rule == "SEN-001" {
			all = append(all, p.String())
		}
	}
	return flat(strings.Join(all, "; "))
}

// tree is a message of which nothing is certain: what is not there, or of another type, is empty.
type tree json.RawMessage

func (t tree) at(path ...string) json.RawMessage {
	v := json.RawMessage(t)
	for _, name := range path {
		var in map[string]json.RawMessage
		if json.Unmarshal(v, &in) != nil {
			return nil
		}
		v = in[name]
	}
	return v
}

// text is a string as it is, and anything else as compact JSON.
func (t tree) text(path ...string) string { return flat(plain(t.at(path...))) }

func plain(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil && !bytes.Equal(v, []byte("null")) {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, v) != nil {
		return ""
	}
	return b.String()
}

// list is [a, b], and [] of nothing.
func (t tree) list(path ...string) string {
	var in []json.RawMessage
	_ = json.Unmarshal(t.at(path...), &in) // what is no list is empty
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = flat(plain(v))
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// pairs is [ref_id:value, …].
func (t tree) pairs(list, value string) string {
	var in []json.RawMessage
	_ = json.Unmarshal(t.at("resources", list), &in)
	out := make([]string, len(in))
	for i, v := range in {
		out[i] = tree(v).text("ref_id") + ":" + tree(v).text(value)
	}
	return "[" + strings.Join(out, ", ") + "]"
}

// flat keeps a value on its line, so that no text can forge another: line breaks become \n and \r, other controls \u0000.
func flat(s string) string {
	if !strings.ContainsFunc(s, breaks) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case breaks(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func breaks(r rune) bool { return unicode.IsControl(r) && r != '\t' || r == '\u2028' || r == '\u2029' }

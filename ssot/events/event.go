package events

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Event is one message after the contracts.
type Event struct {
	ID            string `json:"id"`
	Type          string `json:"type"`
	Source        string `json:"source"`
	Timestamp     string `json:"timestamp"`
	CorrelationID string `json:"correlation_id"`
	// Data is what happened, as the type decides.
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata,omitzero"`
}

// Published is an event as a publisher hands it out: written once for all of its receivers.
type Published struct {
	Event
	line []byte
}

// Encode is the event on one line, which is shared: it stays as it is.
func (p *Published) Encode() ([]byte, error) {
	if p.line != nil {
		return p.line, nil
	}
	return p.Event.Encode()
}

// The bounds of an event that comes in.
const (
	// MaxEvent is how many bytes an event or a batch may have, 1 MiB.
	MaxEvent = 1 << 20
	// MaxBatch is how many messages a batch may hold.
	MaxBatch = 1000

	maxType = 100
	// maxProblems is how many problems, and how many warnings, one event can have. Thousands would say no more.
	maxProblems = 100
)

// Encode writes an event on one line.
func (e *Event) Encode() ([]byte, error) {
	return json.Marshal(e, json.Deterministic(true))
}

// Expired reports whether the event's time to live is over (EVT-104).
func (e *Event) Expired(now time.Time) bool {
	ttl, ok := e.Metadata["ttl_seconds"].(float64)
	if !ok {
		return false
	}
	at, err := amp.ParseTimestamp(e.Timestamp)
	return err == nil && now.Sub(at).Seconds() > ttl
}

// Decode reads an event or a batch and judges it as a receiver (EVT-081, EVT-095). What is refused has errors, each with its rule; it
// never panics (EVT-098). The messages of a batch are judged one by one by [Messages].
func Decode(data []byte) (e *Event, errs, warnings []amp.Problem) {
	r := &report{}
	raw, ok := r.object(data)
	if !ok {
		return nil, r.errors, nil
	}
	e = &Event{}
	r.envelope(raw, e)
	if e.Type != "" && len(r.errors) == 0 {
		r.body(e)
	}
	return e, r.errors, r.warnings
}

// Messages are the messages of a batch, raw, as the sender wrote them (EVT-101).
func Messages(data []byte) []jsontext.Value {
	var b struct {
		Data struct {
			Messages []jsontext.Value `json:"messages"`
		} `json:"data"`
	}
	if json.Unmarshal(data, &b) != nil {
		return nil
	}
	return b.Data.Messages
}

// Check judges an event as its producer: every key that the type has is there (EVT-081, EVT-093).
func Check(e *Event) error {
	r := &report{}
	r.head(e)
	if len(r.errors) == 0 {
		if e.Data == nil {
			r.refuse("EVT-010", "data", "is missing")
		}
		r.body(e)
	}
	if all := append(r.errors, r.warnings...); len(all) > 0 {
		return &amp.InvalidError{Problems: all}
	}
	return nil
}

// report collects what is wrong and what is odd.
type report struct{ errors, warnings []amp.Problem }

func (r *report) refuse(rule, field, format string, args ...any) {
	if len(r.errors) < maxProblems {
		r.errors = append(r.errors, amp.Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (r *report) warn(rule, field, format string, args ...any) {
	if len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, amp.Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (r *report) object(data []byte) (map[string]any, bool) {
	switch {
	case len(data) > MaxEvent:
		r.refuse("EVT-001", "", "has %d bytes, the limit is %d", len(data), MaxEvent)
		return nil, false
	case amp.DepthOf(data) > amp.MaxDepth:
		r.refuse("EVT-001", "", "is nested deeper than %d", amp.MaxDepth)
		return nil, false
	}
	var raw map[string]any
	if err := json.Unmarshal(data, &raw); err != nil {
		r.refuse("EVT-001", "", "is no JSON object: %s", clip(strings.TrimPrefix(err.Error(), "json: "), 200))
		return nil, false
	}
	if raw == nil {
		r.refuse("EVT-001", "", "is null, expected the envelope object")
		return nil, false
	}
	return raw, true
}

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$`)

// envelope reads the fields around the data.
func (r *report) envelope(raw map[string]any, e *Event) {
	text := func(name, rule string) string {
		v, ok := raw[name]
		if !ok {
			rule = "EVT-002"
			if name == "type" {
				rule = "EVT-004"
			}
			r.refuse(rule, name, "is missing")
			return ""
		}
		s, ok := v.(string)
		if !ok {
			r.refuse(rule, name, "is %s, expected a string", kindOf(v))
		} else if s == "" {
			r.refuse(rule, name, "is empty")
		}
		return s
	}
	e.ID, e.Type, e.Source = text("id", "EVT-003"), text("type", "EVT-004"), text("source", "EVT-007")
	e.Timestamp, e.CorrelationID = text("timestamp", "EVT-008"), text("correlation_id", "EVT-009")
	r.forms(e)
	if v, ok := raw["data"]; !ok {
		r.refuse("EVT-002", "data", "is missing")
	} else if e.Data, ok = v.(map[string]any); !ok {
		r.refuse("EVT-010", "data", "is %s, expected an object", kindOf(v))
	}
	if v, ok := raw["metadata"]; ok {
		if e.Metadata, ok = v.(map[string]any); !ok {
			r.refuse("EVT-011", "metadata", "is %s, expected an object", kindOf(v))
		}
	}
	known := []string{"id", "type", "source", "timestamp", "correlation_id", "data", "metadata"}
	for name := range sorted(raw) {
		if !slices.Contains(known, name) {
			r.warn("EVT-012", clip(name, 60), "is not known; it is kept")
		}
	}
	r.meta(e.Metadata)
}

// head judges the fields around the data of an event of ours.
func (r *report) head(e *Event) {
	for _, f := range []struct{ rule, name, value string }{
		{"EVT-003", "id", e.ID},
		{"EVT-004", "type", e.Type},
		{"EVT-007", "source", e.Source},
		{"EVT-008", "timestamp", e.Timestamp},
		{"EVT-009", "correlation_id", e.CorrelationID},
	} {
		if f.value == "" {
			r.refuse(f.rule, f.name, "is empty")
		}
	}
	r.forms(e)
	r.meta(e.Metadata)
}

// forms judges the forms of the fields that are there.
func (r *report) forms(e *Event) {
	if e.ID != "" && !uuidForm.MatchString(e.ID) {
		r.refuse("EVT-003", "id", "is %q, expected a UUID", clip(e.ID, 60))
	}
	if e.Type != "" {
		r.typed(e.Type)
	}
	if e.Timestamp != "" {
		if _, err := amp.ParseTimestamp(e.Timestamp); err != nil {
			r.refuse("EVT-008", "timestamp", "%s", clip(err.Error(), 200))
		}
	}
	if e.CorrelationID != "" && !uuidForm.MatchString(e.CorrelationID) && !strings.HasPrefix(e.Type, "system.") { // E01
		r.refuse("EVT-009", "correlation_id", "is %q, expected a UUID", clip(e.CorrelationID, 60))
	}
}

// meta judges what of the metadata has a form.
func (r *report) meta(of map[string]any) {
	if ttl, ok := of["ttl_seconds"]; ok {
		if !whole(ttl) {
			r.refuse("EVT-104", "metadata.ttl_seconds", "is no whole number of seconds")
		}
	}
	if v, ok := of["schema_version"]; ok {
		if s, text := v.(string); !text || s == "" {
			r.refuse("EVT-072", "metadata.schema_version", "is %s, expected a version as \"1.0\"", kindOf(v))
		}
	}
}

// typed judges the form of a type, and whether it is known (EVT-005, EVT-006, EVT-083).
func (r *report) typed(typ string) {
	if typ == Batch {
		return
	}
	domain, action, dotted := strings.Cut(typ, ".")
	switch {
	case len(typ) > maxType || !dotted || domain == "" || strings.Trim(action, ".") == "":
		r.refuse("EVT-005", "type", "is %q, expected domain.action", clip(typ, 60))
	case domains[domain] == "":
		r.refuse("EVT-006", "type", "has the domain %q, expected agent, project, task, model, tool, workflow or system", clip(domain, 60))
	case catalog()[typ] == nil:
		r.refuse("EVT-083", "type", "Unknown message type: %s", typ)
	}
}

// body judges the data as the type says, or the form of a batch.
func (r *report) body(e *Event) {
	if e.Type == Batch {
		r.batch(e.Data)
		return
	}
	typ := catalog()[e.Type]
	if typ == nil {
		return
	}
	domain, _, _ := strings.Cut(e.Type, ".")
	if want := domains[domain]; domain != "system" && e.Source != want {
		r.warn("EVT-020", "source", "is %q, but events of %s come from %s", clip(e.Source, 60), domain, want)
	}
	r.fields(typ.rule, "data", typ.fields, e.Data)
	if list, ok := e.Data["updated_fields"].([]any); ok && strings.HasSuffix(e.Type, ".updated") {
		for _, v := range list {
			name, ok := v.(string)
			if !ok {
				r.refuse(typ.rule, "data.updated_fields", "Message validation failed: holds %s, expected names", kindOf(v))
			} else if _, there := e.Data[name]; !there {
				r.warn(typ.rule, "data."+clip(name, 60), "is named as updated, but missing")
			}
		}
	}
}

func (r *report) fields(rule, path string, want []field, got map[string]any) {
	for i := range want {
		f := &want[i]
		v, ok := got[f.name]
		at := path + "." + f.name
		switch {
		case !ok && f.optional:
		case !ok:
			r.warn(rule, at, "is missing")
		case f.kind != "" && kindOf(v) != f.kind:
			r.refuse(rule, at, "Message validation failed: is %s, expected %s", kindOf(v), f.kind)
		case f.kind == "object":
			r.fields(rule, at, f.of, v.(map[string]any))
		case f.kind == "array" && f.of != nil:
			for j, item := range v.([]any) {
				o, ok := item.(map[string]any)
				if !ok {
					r.refuse(rule, fmt.Sprintf("%s[%d]", at, j), "Message validation failed: is %s, expected object", kindOf(item))
					continue
				}
				r.fields(rule, fmt.Sprintf("%s[%d]", at, j), f.of, o)
			}
		}
	}
}

// batch judges the form of a batch (EVT-100, EVT-101).
func (r *report) batch(data map[string]any) {
	ok := whole(data["batch_size"])
	if !ok {
		r.refuse("EVT-100", "data.batch_size", "is no whole number")
	}
	size, _ := data["batch_size"].(float64)
	list, listed := data["messages"].([]any)
	switch {
	case !listed:
		r.refuse("EVT-100", "data.messages", "is no array")
	case len(list) > MaxBatch:
		r.refuse("EVT-100", "data.messages", "holds %d messages, the limit is %d", len(list), MaxBatch)
	case ok && int(size) != len(list):
		r.refuse("EVT-101", "data.batch_size", "is %v, but there are %d messages", size, len(list))
	}
	for i, m := range list {
		o, ok := m.(map[string]any)
		if !ok {
			r.warn("EVT-101", fmt.Sprintf("data.messages[%d]", i), "is %s, no message", kindOf(m))
			continue
		}
		if o["type"] == Batch {
			r.warn("EVT-101", fmt.Sprintf("data.messages[%d]", i), "is a batch in a batch")
			continue
		}
		inner, e := &report{}, &Event{}
		if inner.envelope(o, e); len(inner.errors) == 0 {
			inner.body(e)
		}
		for _, p := range inner.errors {
			r.warn("EVT-101", fmt.Sprintf("data.messages[%d].%s", i, p.Field), "%s (%s)", p.Message, p.Rule)
		}
	}
}

// maxWhole is the largest whole number that every receiver of JSON reads as it was written.
const maxWhole = 1 << 53

// whole reports whether a value is a whole number from 0 on.
func whole(v any) bool {
	n, ok := v.(float64)
	return ok && n >= 0 && n <= maxWhole && n == math.Trunc(n)
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case float64, int, int64, uint64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "object"
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

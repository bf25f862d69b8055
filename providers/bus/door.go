package bus

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Decode reads one AgentMessage. The error is an [*amp.InvalidError] with every problem, each naming its rule; warnings are of a message that
// is taken all the same. Unknown properties stay in Raw.
func Decode(data []byte) (m *Message, warnings []amp.Problem, err error) {
	return decode(data, false, MaxMessage)
}

// DecodeStrict is Decode, and refuses unknown properties.
func DecodeStrict(data []byte) (m *Message, warnings []amp.Problem, err error) {
	return decode(data, true, MaxMessage)
}

func decode(data []byte, strict bool, limit int) (*Message, []amp.Problem, error) {
	d := &door{}
	switch root := jsontext.Value(data); {
	case len(data) > limit:
		d.bad("BUS-001", "", "it has %d bytes, more than the %d that are allowed", len(data), limit)
	case amp.DepthOf(data) > amp.MaxDepth:
		d.bad("BUS-001", "", "it is nested deeper than %d", amp.MaxDepth)
	case !root.IsValid():
		d.bad("BUS-001", "", "it is no valid JSON")
	case kindOf(root) != "object":
		d.bad("BUS-001", "", "it is %s, expected one JSON object", kindOf(root))
	}
	if len(d.problems) > 0 {
		return nil, nil, &amp.InvalidError{Problems: d.problems}
	}
	data = bytes.Clone(data) // everything of the message is a part of these bytes
	m := d.message(data)
	if strict {
		for _, w := range d.warnings {
			if w.Rule == "BUS-003" {
				d.problems = append(d.problems, w)
			}
		}
	}
	if len(d.problems) > 0 {
		return nil, d.warnings, &amp.InvalidError{Problems: d.problems}
	}
	m.Raw = data
	return m, d.warnings, nil
}

// door collects what is wrong with a message.
type door struct{ problems, warnings []amp.Problem }

// maxProblems is how many problems, and how many warnings, one message can have. Thousands would say no more.
const maxProblems = 100

func (d *door) bad(rule, field, format string, args ...any) {
	if len(d.problems) < maxProblems {
		d.problems = append(d.problems, amp.Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (d *door) warn(rule, field, format string, args ...any) {
	if len(d.warnings) < maxProblems {
		d.warnings = append(d.warnings, amp.Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

var (
	required   = []string{"message_id", "timestamp", "sender", "recipient", "message_type", "priority", "payload", "routing"}
	known      = append(slices.Clone(required), "metadata")
	whoMembers = []string{"agent_id", "framework", "session_id"}
	wayMembers = []string{"timeout", "retry_policy", "fallback_agents", "delivery_mode"}
)

func (d *door) message(data []byte) *Message {
	m := &Message{}
	top := members(data)
	for _, name := range required {
		if top[name] == nil {
			d.bad("BUS-002", name, "it is missing")
		}
	}
	d.unknown("", top, known)
	m.MessageID = d.text(top, "", "message_id", "BUS-010", true)
	m.Timestamp = d.text(top, "", "timestamp", "BUS-012", false)
	d.time(m.Timestamp, top["timestamp"])
	m.Sender, m.Recipient = d.who(top, "sender"), d.who(top, "recipient")
	m.Type = MessageType(d.text(top, "", "message_type", "BUS-019", false))
	if top["message_type"] != nil && !slices.Contains(types, m.Type) {
		d.bad("BUS-019", "message_type", "%s is no type of a message", quoted(string(m.Type)))
	}
	m.Priority = Priority(d.text(top, "", "priority", "BUS-020", false))
	if top["priority"] != nil && !slices.Contains(priorities, m.Priority) {
		d.bad("BUS-020", "priority", "%s is none of low, medium, high and critical", quoted(string(m.Priority)))
	}
	m.Payload = top["payload"]
	m.Routing = d.routing(top)
	if v := top["metadata"]; v != nil {
		if kindOf(v) != "object" {
			d.bad("BUS-021", "metadata", "it is %s, expected an object", kindOf(v))
		} else if m.Metadata = members(v); len(v) > lightMetadata {
			d.warn("BUS-047", "metadata", "it has %d bytes; large artefacts go by URL", len(v))
		}
	}
	return m
}

// time judges the moment of creation (BUS-012, BUS-013).
func (d *door) time(text string, raw jsontext.Value) {
	if text == "" {
		if kindOf(raw) == "string" {
			d.bad("BUS-012", "timestamp", "it is empty")
		}
		return
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04:05.999999999Z0700"} {
		if at, err := time.Parse(layout, text); err == nil {
			if _, offset := at.Zone(); offset != 0 || strings.HasSuffix(layout, "9") {
				d.warn("BUS-013", "timestamp", "%s is not in UTC", quoted(text))
			}
			return
		}
	}
	d.bad("BUS-012", "timestamp", "%s is no ISO 8601 time", quoted(text))
}

// who reads an AgentIdentifier.
func (d *door) who(top map[string]jsontext.Value, field string) (id Identifier) {
	v := top[field]
	if v == nil {
		return id
	}
	if kindOf(v) != "object" {
		d.bad("BUS-014", field, "it is %s, expected an object with agent_id and framework", kindOf(v))
		return id
	}
	in := members(v)
	d.unknown(field, in, whoMembers)
	if in["agent_id"] == nil {
		d.bad("BUS-015", field+".agent_id", "it is missing")
	}
	if in["framework"] == nil {
		d.bad("BUS-017", field+".framework", "it is missing")
	}
	id.AgentID = d.text(in, field, "agent_id", "BUS-015", true)
	id.Framework = d.text(in, field, "framework", "BUS-017", true)
	id.SessionID = d.text(in, field, "session_id", "BUS-018", false)
	if id.AgentID != "" && !strings.Contains(id.AgentID, "://") {
		d.warn("BUS-016", field+".agent_id", "%s is not of the form framework://name", quoted(id.AgentID))
	}
	return id
}

func (d *door) routing(top map[string]jsontext.Value) (r Routing) {
	v := top["routing"]
	if v == nil {
		return r
	}
	if kindOf(v) != "object" {
		d.bad("BUS-030", "routing", "it is %s, expected an object", kindOf(v))
		return r
	}
	in := members(v)
	d.unknown("routing", in, wayMembers)
	if in["timeout"] == nil {
		d.bad("BUS-031", "routing.timeout", "it is missing")
	}
	r.Timeout = d.text(in, "routing", "timeout", "BUS-031", false)
	if _, err := ParseTimeout(r.Timeout); err != nil && kindOf(in["timeout"]) == "string" {
		d.warn("BUS-031", "routing.timeout", "%s is no duration as 300s or 30m", quoted(r.Timeout))
	}
	d.retry(in["retry_policy"], &r.RetryPolicy)
	if v := in["fallback_agents"]; v != nil {
		if err := json.Unmarshal(v, &r.FallbackAgents); err != nil || v.Kind() != '[' || len(r.FallbackAgents) > maxOthers {
			d.bad("BUS-035", "routing.fallback_agents", "it is no list of at most %d agent ids", maxOthers)
		}
		for _, id := range r.FallbackAgents {
			if !goodName(id) {
				d.bad("BUS-035", "routing.fallback_agents", "%s is no agent id", quoted(id))
			}
		}
	}
	r.DeliveryMode = Mode(d.text(in, "routing", "delivery_mode", "BUS-036", false))
	switch {
	case in["delivery_mode"] == nil:
		r.DeliveryMode = Async
		d.warn("BUS-037", "routing.delivery_mode", "it is missing; async is taken")
	case r.DeliveryMode != Async && r.DeliveryMode != Sync:
		d.bad("BUS-036", "routing.delivery_mode", "%s is neither async nor sync", quoted(string(r.DeliveryMode)))
	}
	return r
}

func (d *door) retry(v jsontext.Value, p *RetryPolicy) {
	if kindOf(v) != "object" {
		d.bad("BUS-032", "routing.retry_policy", "it is %s, expected an object with max_retries and backoff", kindOf(v))
		return
	}
	in := members(v)
	d.unknown("routing.retry_policy", in, []string{"max_retries", "backoff"})
	n := math.NaN()
	if v := in["max_retries"]; v.Kind() == '0' {
		_ = json.Unmarshal(v, &n) // a number that no float holds is none
	}
	if math.IsNaN(n) || n < 0 {
		d.bad("BUS-033", "routing.retry_policy.max_retries", "it is no number from 0 on")
	}
	p.MaxRetries = int(min(n, maxRetries))
	p.Backoff = Backoff(d.text(in, "routing.retry_policy", "backoff", "BUS-034", false))
	if p.Backoff != Linear && p.Backoff != Exponential {
		d.bad("BUS-034", "routing.retry_policy.backoff", "%s is neither linear nor exponential", quoted(string(p.Backoff)))
	}
}

// unknown warns about members that the specification does not know (BUS-003).
func (d *door) unknown(in string, all map[string]jsontext.Value, names []string) {
	var strange []string
	for name := range all {
		if !slices.Contains(names, name) {
			strange = append(strange, name)
		}
	}
	slices.Sort(strange)
	for _, name := range strange {
		d.warn("BUS-003", join(in, clip(name, 80)), "it is not known; it is kept")
	}
}

// text reads a member that is a string. One that must be a name is not empty, short and without control characters.
func (d *door) text(in map[string]jsontext.Value, at, name, rule string, mustName bool) string {
	v := in[name]
	if v == nil {
		return ""
	}
	s, ok := textIn(v)
	if !ok {
		d.bad(rule, join(at, name), "it is %s, expected a string", kindOf(v))
		return ""
	}
	if mustName && !goodName(s) {
		d.bad(rule, join(at, name), "%s is empty, too long, or holds control characters", quoted(s))
	}
	return s
}

// textIn is the text of a JSON string. One without escapes, as most are, is taken as it stands.
func textIn(v jsontext.Value) (s string, ok bool) {
	if v.Kind() != '"' || len(v) < 2 {
		return "", false
	}
	if plain := v[1 : len(v)-1]; bytes.IndexByte(plain, '\\') < 0 {
		return string(plain), true
	}
	out, err := jsontext.AppendUnquote(nil, v)
	return string(out), err == nil
}

// goodName reports whether a text can name something.
func goodName(s string) bool {
	return s != "" && len(s) <= maxName && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' })
}

// decoders are used again: a message has half a dozen objects, and a decoder takes more than most of them.
var decoders = sync.Pool{New: func() any { return new(jsontext.Decoder) }}

// members are the members of a JSON object, each as a part of its bytes; nil of anything else.
func members(v jsontext.Value) map[string]jsontext.Value {
	if v.Kind() != '{' {
		return nil
	}
	d := decoders.Get().(*jsontext.Decoder) //nolint:forcetypeassert // the pool has nothing else
	d.Reset(bytes.NewBuffer(v))
	defer func() {
		d.Reset(bytes.NewBuffer(nil)) // the message is let go
		decoders.Put(d)
	}()
	all := map[string]jsontext.Value{}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return nil
		}
		key := name.String() // the token is gone with the next one
		one, err := d.ReadValue()
		if err != nil {
			return nil
		}
		end := int(d.InputOffset())
		all[key] = v[end-len(one) : end : end]
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	if _, err := d.ReadToken(); err != io.EOF { //nolint:errorlint // the decoder returns it as it is
		return nil
	}
	return all
}

func kindOf(v jsontext.Value) string {
	if v == nil {
		return "nothing"
	}
	switch v.Kind() {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	default:
		return "null"
	}
}

// ParseTimeout reads "300s", "30m", "500ms", "2h" (B04). A bare number is none.
func ParseTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		return 0, fmt.Errorf("%s is no duration as 300s or 30m", quoted(text))
	}
	return d, nil
}

// maxTimeout is the longest time that a message may ask for.
const maxTimeout = 7 * 24 * time.Hour

func join(in, name string) string {
	if in == "" {
		return name
	}
	return in + "." + name
}

func quoted(s string) string { return strconv.Quote(clip(s, 80)) }

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

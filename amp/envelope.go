package amp

import (
	"strings"
	"time"
)

// direction is who sends a type of message to whom (AMP-032 to AMP-036).
type direction struct {
	rule string
	from []Role
	to   Role
}

var directions = map[MessageType]direction{
	TaskDispatch:  {"AMP-032", []Role{Coordinator}, Executor},
	TaskResult:    {"AMP-033", []Role{Executor}, Coordinator},
	ReviewRequest: {"AMP-034", []Role{Coordinator}, Reviewer},
	ReviewVerdict: {"AMP-035", []Role{Reviewer}, Coordinator},
	EscalationMsg: {"AMP-036", []Role{Coordinator, Reviewer, Executor, System}, Admin},
}

// envelope reports on the common fields, AMP-010 to AMP-036.
func (r *report) envelope(m *Message) {
	r.msgID(m)
	if m.ProtocolVersion != Version {
		r.refuse("AMP-015", "protocol_version", "is %q, only %q is spoken here (AMP-016)", clip(m.ProtocolVersion, 40), Version)
	}
	oneOf(r, "AMP-017", "type", m.Type, TaskDispatch, TaskResult, ReviewRequest, ReviewVerdict, EscalationMsg)
	oneOf(r, "AMP-018", "from", m.From, Admin, Coordinator, Executor, Reviewer, System)
	oneOf(r, "AMP-019", "to", m.To, Admin, Coordinator, Executor, Reviewer)
	r.direction(m)
	if !m.TaskID.Valid() {
		r.refuse("AMP-020", "task_id", "is %q, expected T-YYYY-NNN such as T-2026-044", clip(string(m.TaskID), 40))
	}
	if _, err := ParseTimestamp(m.Timestamp); err != nil {
		r.refuse("AMP-022", "timestamp", "%s", err)
	}
	if !m.RequiresAck && m.Type.AckTimeout() > 0 {
		r.refuse("AMP-005", "requires_ack", "is false, but a %s always requires an ACK", m.Type)
	}
	switch {
	case m.AckTimeoutSec < 0 || int64(m.AckTimeoutSec) > maxInteger:
		r.refuse("AMP-027", "ack_timeout_sec", "is not above 0, expected seconds")
	case m.AckTimeoutSec > 0 && !m.RequiresAck:
		r.refuse("AMP-025", "ack_timeout_sec", "has no meaning without requires_ack")
	}
	r.ids("AMP-028", "context_ref", m.ContextRef)
}

func (r *report) msgID(m *Message) {
	typ, task, _, err := ParseMsgID(m.MsgID)
	switch {
	case err != nil:
		r.refuse("AMP-011", "msg_id", "%s", err)
	case newPayload(m.Type) != nil && typ != m.Type:
		r.refuse("AMP-012", "msg_id", "is that of a %s, but type is %q", typ, clip(string(m.Type), 40))
	case m.TaskID.Valid() && task != m.TaskID:
		r.refuse("AMP-012", "msg_id", "is about %s, but task_id is %q", task, clip(string(m.TaskID), 40))
	}
}

func (r *report) direction(m *Message) {
	d, ok := directions[m.Type]
	if !ok {
		return
	}
	fromOK := false
	for _, f := range d.from {
		fromOK = fromOK || f == m.From
	}
	switch {
	case m.From == Admin:
		r.refuse(d.rule, "from", "is admin; an admin acts by commands and never sends an AMP message (A09)")
	case !fromOK && known(m.From):
		r.refuse(d.rule, "from", "is %s, but %s comes from the %s", m.From, article(string(m.Type)), d.sender())
	}
	if m.To != d.to && known(m.To) && m.To != System {
		r.refuse(d.rule, "to", "is %s, but %s goes to the %s", m.To, article(string(m.Type)), d.to)
	}
	if m.From == Executor && m.To == Reviewer || m.From == Reviewer && m.To == Executor {
		r.refuse("AMP-007", "to", "is %s: executor and reviewer never address each other", m.To)
	}
}

func (d direction) sender() Role {
	if len(d.from) > 1 {
		return "coordinator, an agent or the system"
	}
	return d.from[0]
}

// known reports whether a role is one of the five.
func known(r Role) bool {
	switch r {
	case Admin, Coordinator, Executor, Reviewer, System:
		return true
	}
	return false
}

// timestampLayouts are the forms of ISO 8601 that are read. Seconds may be left out, and may have a fraction.
var timestampLayouts = [...]string{
	time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
}

// ParseTimestamp reads an ISO 8601 date and time with a zone offset (AMP-022). A time without zone is an error.
func ParseTimestamp(s string) (time.Time, error) {
	if fits(s, "dddd-dd-ddTdd:dd") {
		for _, layout := range timestampLayouts {
			t, err := time.Parse(layout, s)
			if err != nil {
				continue
			}
			if _, offset := t.Zone(); offset > -24*3600 && offset < 24*3600 && !strings.HasSuffix(s, "60") {
				return t, nil // the time package takes an offset of 24:00 and of 60 minutes
			}
		}
	}
	return time.Time{}, &timestampError{s}
}

// fits reports whether s begins as the pattern says, d being a digit. The time package alone would take an hour of one digit.
func fits(s, pattern string) bool {
	if len(s) < len(pattern) {
		return false
	}
	for i := range len(pattern) {
		if pattern[i] == 'd' && (s[i] < '0' || s[i] > '9') || pattern[i] != 'd' && s[i] != pattern[i] {
			return false
		}
	}
	return true
}

type timestampError struct{ value string }

// Error says what is missing.
func (e *timestampError) Error() string {
	if _, err := time.Parse("2006-01-02T15:04:05", e.value); err == nil {
		return "is " + quoted(e.value) + " without a zone; add Z or an offset such as +00:00"
	}
	return "is " + quoted(e.value) + ", expected ISO 8601 with a zone such as 2026-02-26T14:32:07+00:00"
}

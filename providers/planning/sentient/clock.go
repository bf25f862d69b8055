package sentient

import (
	"strings"
	"time"
	_ "time/tzdata" // a machine without zone files still knows the zones of messages
)

// layouts are the forms of ISO 8601 that are taken for a time.
var layouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999Z07", "2006-01-02T15:04Z07:00",
	"20060102T150405Z0700", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "20060102T150405",
}

// parseTime reads a time; local says that it names no offset.
func parseTime(s string) (at time.Time, local, ok bool) {
	for i, layout := range layouts {
		if at, err := time.Parse(layout, s); err == nil {
			return at, i >= 5, true
		}
	}
	return time.Time{}, false, false
}

// zone is the zone of an identifier. "Local" is none: it would be this machine's.
func zone(name string) (*time.Location, bool) {
	if name == "" || name == "Local" || strings.TrimSpace(name) != name {
		return nil, false
	}
	l, err := time.LoadLocation(name)
	return l, err == nil
}

// clock judges the time of a message (SEN-006, SEN-008).
func (r *reader) clock(m *Message) {
	if r.hasError("timestamp.executed_at") {
		return
	}
	at, local, ok := parseTime(m.ExecutedAt)
	if !ok {
		r.errorf("SEN-006", "timestamp.executed_at", "is %q, expected ISO 8601 as 2026-01-27T14:30:52+08:00", clip(m.ExecutedAt))
		return
	}
	where, known := zone(m.Timezone)
	switch {
	case strings.TrimSpace(m.Timezone) == "":
	case !known:
		r.warn("SEN-008", "timestamp.timezone", "%q is no time zone that is known here", clip(m.Timezone))
	case !local:
		_, said := at.Zone()
		if _, is := at.In(where).Zone(); said != is {
			r.warn("SEN-008", "timestamp.executed_at", "has the offset %s, but %s is at %s then", at.Format("-07:00"), m.Timezone, at.In(where).Format("-07:00"))
		}
	}
}

// Time is when the message says that it was written, in its own time zone (S07); false when it does not say so in a way that can be read.
func (m *Message) Time() (time.Time, bool) {
	at, local, ok := parseTime(m.ExecutedAt)
	if !ok {
		return time.Time{}, false
	}
	where, known := zone(m.Timezone)
	switch {
	case known && local:
		return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), where), true
	case known:
		return at.In(where), true
	}
	return at, true
}

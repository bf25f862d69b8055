package amp

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Valid reports whether the id is T-YYYY-NNN with three or more digits at the end (AMP-020, A06).
func (id TaskID) Valid() bool {
	s := string(id)
	return len(s) >= len("T-2026-001") && s[0] == 'T' && s[1] == '-' && s[6] == '-' && digits(s[2:6]) && digits(s[7:])
}

// NewMsgID is a message id for a message that is made now: {type}-{task_id}-{unix_ms} (AMP-011). When taken reports that the id
// exists, the milliseconds are raised until it is free (A05). A nil taken means that none exists.
func NewMsgID(t MessageType, task TaskID, now time.Time, taken func(id string) bool) string {
	for ms := now.UnixMilli(); ; ms++ {
		id := fmt.Sprintf("%s-%s-%013d", t, task, ms)
		if taken == nil || !taken(id) {
			return id
		}
	}
}

// ParseMsgID takes a message's own id apart: it has the type, the task and 13 digits of milliseconds (AMP-011, A04).
func ParseMsgID(id string) (t MessageType, task TaskID, at time.Time, err error) {
	const want = "expected {type}-{task_id}-{13 digits of ms} such as task_dispatch-T-2026-044-1740576727001"
	name, rest, ok := strings.Cut(id, "-")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 || newPayload(MessageType(name)) == nil {
		return "", "", time.Time{}, fmt.Errorf("is %s, %s", quoted(id), want)
	}
	task = TaskID(rest[:i])
	stamp := rest[i+1:]
	ms, err := strconv.ParseInt(stamp, 10, 64)
	if !task.Valid() || len(stamp) != 13 || !digits(stamp) || err != nil {
		return "", "", time.Time{}, fmt.Errorf("is %s, %s", quoted(id), want)
	}
	return MessageType(name), task, time.UnixMilli(ms).UTC(), nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// quoted is a received string as it may be shown in a sentence.
func quoted(s string) string { return strconv.Quote(clip(s, 80)) }

package main

import (
	"fmt"
	"strconv"
	"strings"

	"arbiter/amp"
)

// findTask is the task that a person named: T-2026-001, or its number when that is enough.
func findTask(b *amp.Board, name string) (*amp.Task, error) {
	if t := b.Task(amp.TaskID(strings.ToUpper(name))); t != nil {
		return t, nil
	}
	var found []*amp.Task
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		for _, id := range b.Order {
			if _, number, _ := cutLast(string(id), "-"); number == fmt.Sprintf("%03d", n) {
				found = append(found, b.Task(id))
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, &notFoundError{what: fmt.Sprintf("there is no task %q", name), next: "See the tasks: arbiter task list --all"}
	}
	return nil, usage("%q names %d tasks, from %s to %s", name, len(found), found[0].ID, found[len(found)-1].ID).then("Give the whole id.")
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// findEscalation is the escalation that a person named by its msg_id, its entry as #123, or the beginning of the msg_id.
func findEscalation(b *amp.Board, name string) (*amp.Task, *amp.EscalationState, error) {
	seq, _ := strconv.ParseUint(strings.TrimPrefix(name, "#"), 10, 64)
	var task *amp.Task
	var found *amp.EscalationState
	for _, id := range b.Order {
		t := b.Task(id)
		for i := range t.Escalations {
			e := &t.Escalations[i]
			if e.MsgID == name || seq > 0 && e.Seq == seq {
				return t, e, nil
			}
			if name != "" && strings.HasPrefix(e.MsgID, name) {
				if found != nil {
					return nil, nil, usage("%q names several escalations", name).then("Give the whole id: arbiter escalation list --all")
				}
				task, found = t, e
			}
		}
	}
	if found == nil {
		return nil, nil, &notFoundError{what: fmt.Sprintf("there is no escalation %q", name), next: "See them: arbiter escalation list --all"}
	}
	return task, found, nil
}

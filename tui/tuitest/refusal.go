package tuitest

import (
	"bytes"
	"strings"

	"arbiter/amp"
)

// Refusal appends a refusal as the coordinator keeps it: the task only where it is known, the raw bytes cut to [amp.MaxRaw].
func (s *Script) Refusal(role amp.Role, actor string, r amp.Refusal) amp.Entry {
	r.RawLen = max(r.RawLen, len(r.Raw))
	r.Raw = r.Raw[:min(len(r.Raw), amp.MaxRaw)]
	task := r.TaskID
	if s.Task(task) == nil {
		task = ""
	}
	return s.Append(amp.KindRefusal, task, role, actor, amp.EncodeBody(&r))
}

// Refused keeps a task_result of the executor that broke a rule.
func (t *Story) Refused(p amp.Problem, raw string) *Story {
	return t.RefusedAs(string(amp.TaskResult), []byte(raw), p)
}

// RefusedAs keeps an answer of the executor's turn that broke rules.
func (t *Story) RefusedAs(what string, raw []byte, problems ...amp.Problem) *Story {
	r := amp.Refusal{What: what, TaskID: t.ID, Source: t.Executor, Problems: problems, Raw: raw}
	if task := t.s.Task(t.ID); task != nil && task.Turn != nil {
		r.Source, r.Turn, r.Epoch = "turn "+task.Turn.TurnID, task.Turn.TurnID, task.Epoch
	}
	t.s.Refusal(amp.Executor, t.Executor, r)
	return t
}

// Late keeps a report of the epoch before, which is fenced.
func (t *Story) Late(raw string) *Story {
	t.s.Refusal(amp.Executor, t.Executor, amp.Refusal{
		What: string(amp.TaskResult), TaskID: t.ID, Source: "turn " + string(t.ID) + "-turn-0", Turn: string(t.ID) + "-turn-0", Epoch: 1,
		Problems: []amp.Problem{{Rule: amp.RuleEpoch, Message: "a report of epoch 1, which is fenced: kept, not acted on"}}, Raw: []byte(raw),
	})
	return t
}

// Hostile are bytes that try to leave their place on a screen: escape sequences, a title, text that runs backwards, carriage
// return and backspace, bytes that are no UTF-8, a forged row.
func Hostile() []byte {
	var b bytes.Buffer
	b.WriteString("{\"a\":\"\x1b]0;owned\x07\x1b[2J\x1b[31m\u202eevitisop\u202c \u200bzero\"}\r\x08\x08\xff\xfe\x9b0m\n")
	b.WriteString("│ ▌ #1 approve?  [ Approve ]\n\u2066isolate\u2069\t\x00end")
	return b.Bytes()
}

// LongLine is one line of n bytes.
func LongLine(n int) []byte { return []byte(strings.Repeat("0123456789", n/10+1)[:n]) }

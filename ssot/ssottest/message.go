package ssottest

import (
	"fmt"
	"time"

	"arbiter/amp"
)

// Dispatch is the record of a task_dispatch at a time. Its id follows from task and time.
func Dispatch(task amp.TaskID, at time.Time) amp.Record {
	return message(amp.Coordinator, amp.Executor, task, at, true, &amp.Dispatch{
		Description: "Say hello.", Repo: "/srv/repo", Branch: "feature/hello", RiskLevel: amp.Low,
		Subtasks:           []amp.Subtask{{SubtaskID: string(task) + "-S1", Description: "write it", EstimatedLines: 10}},
		AcceptanceCriteria: []string{"it greets"}, TechConstraints: map[string]any{"go": 1.26, "a": []any{"b", nil}},
	})
}

// Result is the record of a complete task_result.
func Result(task amp.TaskID, at time.Time) amp.Record {
	yes := true
	return message(amp.Executor, amp.Coordinator, task, at, true, &amp.Result{
		SubtaskID: string(task) + "-S1", CompletionStatus: amp.Complete,
		DiffSummary:    amp.DiffSummary{FilesChanged: []string{"hello.go"}, LinesAdded: 3},
		SelfAssessment: amp.SelfAssessment{CriteriaMet: []*bool{&yes}, Notes: []string{"it does"}},
		WorkLog:        []amp.WorkItem{{Timestamp: amp.FormatTime(at), Action: "edit", File: "hello.go", Detail: "wrote it"}},
		CommitHash:     "0123456789abcdef0123456789abcdef01234567",
	})
}

// Alarm is the record of a critical escalation that the system raised: it stops everything.
func Alarm(task amp.TaskID, at time.Time) amp.Record {
	return message(amp.System, amp.Admin, task, at, false, &amp.Escalation{
		EscalationType: amp.PermissionDenied, Severity: amp.Critical, TriggeredBy: amp.System, Description: "Stop.",
		AffectedMsgs: []string{}, SystemStateSnapshot: amp.Snapshot{TaskStatus: amp.Executing}, AutoSuspended: true,
	})
}

// Ack is the record of an accepted ACK of a message.
func Ack(id string, task amp.TaskID, msgID string, by amp.Role) amp.Record {
	return record(amp.KindAck, by, "scripted", id, task, amp.Ack{
		AckFor: msgID, TaskID: task, By: by, AckedAt: Start,
		Status: amp.AckAccepted,
	})
}

func message(from, to amp.Role, task amp.TaskID, at time.Time, ack bool, p amp.Payload, refs ...string) amp.Record {
	id := amp.NewMsgID(p.MessageType(), task, at, nil)
	m := &amp.Message{
		MsgID: id, ProtocolVersion: amp.Version, Type: p.MessageType(), From: from, To: to, TaskID: task,
		Timestamp: amp.FormatTime(at), RequiresAck: ack, ContextRef: refs, Payload: p,
	}
	if p.MessageType() == amp.TaskResult {
		m.ContextRef = []string{amp.NewMsgID(amp.TaskDispatch, task, at.Add(-time.Second), nil)}
	}
	body, err := amp.Encode(m)
	if err != nil {
		panic(fmt.Sprintf("the example %s is not valid: %v", id, err)) // only a test is broken then
	}
	return amp.Record{Kind: amp.KindMessage, TaskID: task, Role: from, Actor: "scripted", At: at, ID: id, Body: body}
}

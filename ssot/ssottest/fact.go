package ssottest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"arbiter/amp"
)

// Start is the time of the first fact of the facts below.
var Start = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// Task is the id of the nth task.
func Task(n int) amp.TaskID { return amp.TaskID(fmt.Sprintf("T-2026-%03d", n)) }

// Submit is a command record that starts a task.
func Submit(id string, task amp.TaskID) amp.Record {
	c := amp.Command{
		ID: id, Command: amp.Submit, By: "ada", At: Start, TaskID: task,
		Args: amp.Args{Wish: &amp.Wish{Text: "say hello to " + id, Title: "Hello", Repo: "/srv/repo", Branch: "feature/hello"}},
	}
	return record(amp.KindCommand, amp.Admin, "ada", id, task, c)
}

// Note is a command record without any effect but its own existence.
func Note(id string, task amp.TaskID, note string) amp.Record {
	c := amp.Command{ID: id, Command: amp.NoteCommand, By: "ada", At: Start, TaskID: task, Note: note}
	return record(amp.KindCommand, amp.Admin, "ada", id, task, c)
}

// Propose is a plan record, which lets a drafting task wait for its approval.
func Propose(id string, task amp.TaskID, title string) amp.Record {
	p := amp.Plan{
		TaskID: task, Revision: 1, Title: title, Author: "planner", Hash: "c0ffee", Description: "Say hello.",
		Repo: "/srv/repo", Branch: "feature/hello", BaseBranch: "main", BaseCommit: "abc123",
		Subtasks:           []amp.Subtask{{SubtaskID: "ST-01", Description: "write it", EstimatedLines: 10}},
		AcceptanceCriteria: []string{"it greets"}, RiskLevel: amp.Low,
	}
	return record(amp.KindPlan, amp.Coordinator, "planner", id, task, p)
}

// Turn is a turn record: the event of a run of an agent.
func Turn(id string, task amp.TaskID, run string, event amp.TurnEvent) amp.Record {
	t := amp.Turn{TurnID: run, Event: event, TaskID: task, Role: amp.Executor, Agent: "scripted", Epoch: 1, Text: "at work"}
	if event == amp.TurnEnded {
		t.Outcome, t.TookMS = amp.TurnOK, 1500
	}
	return record(amp.KindTurn, amp.Executor, "scripted", id, task, t)
}

// Everything is a command record of an admin about all tasks: stop_all or thaw.
func Everything(id string, name amp.CommandName, at time.Time) amp.Record {
	c := amp.Command{ID: id, Command: name, By: "ada", At: at, Note: "drill"}
	r := record(amp.KindCommand, amp.Admin, "ada", id, "", c)
	r.At = at
	return r
}

// Refusal is a refusal record with the raw bytes of what was refused.
func Refusal(id string, task amp.TaskID, raw []byte) amp.Record {
	f := amp.Refusal{
		What: "bytes", TaskID: task, Source: "socket", Raw: raw, RawLen: len(raw),
		Problems: []amp.Problem{{Rule: "AMP-001", Message: "not a message"}},
	}
	return record(amp.KindRefusal, amp.System, "arbiter", id, task, f)
}

// Raw is a record whose body is any bytes at all.
func Raw(id string, task amp.TaskID, body []byte) amp.Record {
	return amp.Record{Kind: amp.KindBus, TaskID: task, Role: amp.System, Actor: "bus", At: Start, ID: id, Body: body}
}

// Approve is a command record that approves the plan of Propose.
func Approve(id string, task amp.TaskID) amp.Record {
	c := amp.Command{ID: id, Command: amp.Approve, By: "ada", At: Start, TaskID: task}
	return record(amp.KindCommand, amp.Admin, "ada", id, task, c)
}

// Any is any fact about one of a few tasks, at a time that no other fact about it has.
func Any(r *rand.Rand, id string, at time.Time) amp.Record {
	task := Task(1 + r.IntN(5))
	var f amp.Record
	switch r.IntN(12) {
	case 0:
		f = Submit(id, task)
	case 1:
		f = Propose(id, task, id)
	case 2:
		f = Approve(id, task)
	case 3:
		f = Turn(id, task, "run", []amp.TurnEvent{amp.TurnStarted, amp.TurnProgress, amp.TurnEnded}[r.IntN(3)])
	case 4:
		f = Refusal(id, Task(1+r.IntN(9)), []byte(id))
	case 5:
		f = Raw(id, task, []byte(id))
	case 6:
		f = Everything(id, []amp.CommandName{amp.StopAll, amp.Thaw, amp.Thaw}[r.IntN(3)], at)
	case 7, 8:
		f = Dispatch(task, at)
	case 9:
		f = Result(task, at)
	case 10:
		f = Ack(id, task, amp.NewMsgID(amp.TaskDispatch, task, at.Add(-time.Millisecond), nil), amp.Executor)
	case 11:
		f = Alarm(task, at)
	}
	f.At = at
	return f
}

func record(kind amp.Kind, role amp.Role, actor, id string, task amp.TaskID, body any) amp.Record {
	return amp.Record{Kind: kind, TaskID: task, Role: role, Actor: actor, At: Start, ID: id, Body: amp.EncodeBody(body)}
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
)

// simAdmin decides, on what the journal shows: mostly something sensible, sometimes anything.
type simAdmin struct {
	s    *sim
	n    int
	sent []amp.Command
	busy int
}

// maxSimTasks is how many tasks one seed has.
const maxSimTasks = 3

var simNames = []amp.CommandName{
	amp.Approve, amp.Reject, amp.Revise, amp.Resume, amp.Unlock, amp.Redispatch, amp.Reassign, amp.Split, amp.Accept, amp.Override,
	amp.Rollback, amp.Terminate, amp.Deliver, amp.Answer, amp.RaiseLimit, amp.Withdraw, amp.NoteCommand, amp.StopAll, amp.Thaw,
}

// act sends one decision.
func (a *simAdmin) act() {
	s := a.s
	b := s.judge.board
	if len(b.Order) < maxSimTasks && (len(b.Order) == 0 || s.chance(25)) && a.busy == 0 {
		a.send(amp.Command{Command: amp.Submit, Args: amp.Args{Wish: &amp.Wish{Text: "Count the words right", Repo: "/repo"}}})
		return
	}
	if len(a.sent) > 0 && s.chance(4) { // a decision that was sent before arrives once more
		s.counts["doubled commands"]++
		a.post(pick(s, a.sent))
		return
	}
	if b.Stopped != nil && s.chance(50) {
		a.send(amp.Command{Command: amp.Thaw})
		return
	}
	if len(b.Order) == 0 {
		return
	}
	t := b.Task(pick(s, b.Order))
	if s.chance(85) { // whatever waits first
		for i := range b.Order {
			other := b.Task(b.Order[(i+int(t.Key))%len(b.Order)])
			if cmd := a.sensible(other); cmd != nil {
				a.send(*cmd)
				return
			}
		}
		return
	}
	name := pick(s, simNames)
	if name == amp.StopAll && s.chance(70) || name == amp.Terminate && s.chance(60) {
		return
	}
	a.send(a.any(t, name))
}

// sensible is what somebody would decide who wants the task done, nil when nothing waits.
func (a *simAdmin) sensible(t *amp.Task) *amp.Command {
	cmd := amp.Command{TaskID: t.ID, Expects: &amp.Expects{Status: t.Status, Revision: t.Revision}}
	if len(t.Questions) > 0 {
		q := t.Questions[0]
		cmd.Command, cmd.Args.Question, cmd.Note, cmd.Expects = amp.Answer, q.QuestionID, "that way", nil
		if len(q.Options) > 0 {
			cmd.Args.Option = q.Options[0]
		}
		if q.Type == amp.QuestionBudget {
			cmd = amp.Command{TaskID: t.ID, Command: amp.RaiseLimit, Args: amp.Args{Limits: &amp.Budget{Turns: t.Spent.Turns + 5}}}
		}
		return &cmd
	}
	if t.Doing != nil {
		return nil
	}
	switch t.Status {
	case amp.AwaitingApproval:
		cmd = *a.approval(t)
	case amp.Held:
		cmd.Command, cmd.Note = amp.Redispatch, "again"
		if t.Hold != nil && (t.Hold.Kind == amp.HoldVerdict || t.Hold.Kind == amp.HoldResult) && a.s.chance(50) {
			cmd.Command = amp.Accept
		}
		if t.Approval == nil {
			cmd.Command = amp.Split
		}
	case amp.Suspended:
		cmd.Command = amp.Resume
	case amp.Locked:
		cmd.Command, cmd.Note, cmd.Args.Next = amp.Unlock, "read the finding", amp.Redispatch
	case amp.StatusApproved:
		cmd.Command, cmd.Args.Merge = amp.Deliver, true
	default:
		return nil
	}
	return &cmd
}

func (a *simAdmin) approval(t *amp.Task) *amp.Command {
	return &amp.Command{
		TaskID: t.ID, Command: amp.Approve, Expects: &amp.Expects{Status: t.Status, Revision: t.Revision, Hash: t.Plan.Hash},
		Args: amp.Args{Read: "read 1/1", Digits: t.Plan.Hash[len(t.Plan.Hash)-4:]},
	}
}

// any is a command whether it fits or not, sometimes with what belongs to it.
func (a *simAdmin) any(t *amp.Task, name amp.CommandName) amp.Command {
	s := a.s
	cmd := amp.Command{TaskID: t.ID, Command: name, Note: pick(s, []string{"", "because", "again, please"})}
	if name == amp.StopAll || name == amp.Thaw {
		cmd.TaskID = ""
		return cmd
	}
	switch {
	case s.chance(40):
		cmd.Expects = &amp.Expects{Status: t.Status, Revision: t.Revision - s.rng.IntN(2)}
	case s.chance(20):
		cmd.Expects = &amp.Expects{Status: pick(s, amp.Statuses)}
	}
	cmd.Args = amp.Args{Checkpoint: s.rng.IntN(3), Merge: s.chance(50), Decision: pick(s, []amp.Decision{amp.Approved, amp.Rejected})}
	if s.chance(50) {
		cmd.Args.Next = pick(s, []amp.CommandName{amp.Redispatch, amp.Reassign, amp.Split, amp.Accept, amp.Terminate})
	}
	switch name {
	case amp.Approve:
		cmd.Args.Read = "read 1/1"
		if t.Plan != nil && s.chance(50) {
			cmd.Args.Plan, cmd.Args.Digits = t.Plan, t.Plan.Hash[len(t.Plan.Hash)-4:]
		}
	case amp.Revise:
		if t.Plan != nil {
			p := *t.Plan
			p.Description += " And quickly."
			p.Executor = pick(s, []string{"", "codex", "deputy", "outsider"})
			cmd.Args.Plan = &p
		}
	case amp.Reassign:
		cmd.Args.Executor = pick(s, []string{"codex", "deputy", "outsider"})
	case amp.Answer:
		if len(t.Questions) > 0 {
			q := pick(s, t.Questions)
			cmd.Args.Question = q.QuestionID
			if len(q.Options) > 0 {
				cmd.Args.Option = pick(s, q.Options)
			}
		}
	case amp.RaiseLimit:
		cmd.Args.Limits = &amp.Budget{Turns: 1 + s.rng.IntN(60)}
	case amp.Withdraw:
		if len(t.Waiting) > 0 {
			cmd.Args.Withdraws = t.Waiting[0].Command.ID
		}
	}
	return cmd
}

// send sends a decision under a new id, sometimes with an undo time.
func (a *simAdmin) send(cmd amp.Command) {
	a.n++
	cmd.ID, cmd.By = fmt.Sprintf("admin-%04d", a.n), pick(a.s, []string{"mira", "jan"})
	cmd.Args.Undo = a.s.fault(30)
	a.sent = append(a.sent, cmd)
	a.post(cmd)
}

// post brings a decision to a coordinator, again and again until it is answered: a connection may be lost with the answer.
func (a *simAdmin) post(cmd amp.Command) {
	s := a.s
	a.busy++
	s.spawn(nil, fmt.Sprintf("%s %s of %s", cmd.ID, cmd.Command, cmd.TaskID), func() {
		defer func() { a.busy-- }()
		if s.fault(30) {
			s.rest(context.Background(), time.Duration(s.rng.IntN(90))*time.Second)
		}
		for range 4 {
			if n := s.someone(); n != nil {
				_, err := n.c.Submit(context.Background(), cmd)
				s.tell("%s %s of %s: %v", cmd.ID, cmd.Command, cmd.TaskID, err)
				if _, refused := errors.AsType[*amp.RefusedError](err); err == nil || refused {
					return
				}
			}
			s.rest(context.Background(), 3*time.Second)
		}
	})
}

// junk is something that nobody should send.
func (a *simAdmin) junk() {
	s := a.s
	b := s.judge.board
	raw := []byte(`{"type":"task_result"`)
	if len(b.Order) > 0 && s.chance(80) {
		t := b.Task(pick(s, b.Order))
		old := slices.DeleteFunc(slices.Clone(s.judge.entries), func(e amp.Entry) bool { return e.TaskID != t.ID || e.Kind != amp.KindMessage })
		switch {
		case len(old) > 0 && s.chance(60): // an old message comes again
			raw = pick(s, old).Body
		case len(old) > 0:
			raw = jsonOf(amp.Ack{AckFor: pick(s, old).ID, TaskID: t.ID, Status: amp.AckAccepted})
		}
	}
	role := pick(s, []amp.Role{amp.Executor, amp.Reviewer})
	s.spawn(nil, "junk", func() {
		if n := s.someone(); n != nil {
			_, _ = n.c.Receive(context.Background(), amp.Received{Raw: raw, As: role, Actor: "stranger", Source: "socket"})
		}
	})
}

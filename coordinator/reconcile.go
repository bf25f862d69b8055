package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
)

// maxRow is how many refuted reports, or failed CI runs, in a row end in an escalation instead of one more dispatch.
const maxRow = 3

// derive says what follows from the state of a task: records to append now, or else works to start. It is the whole
// behaviour of the coordinator: what a crash interrupted is derived again.
func (c *Coordinator) derive(ctx context.Context, t *amp.Task, now time.Time) []amp.Record {
	c.schedule(t, now)
	if r := c.deriveTurn(ctx, t, now); r != nil {
		return r
	}
	busy := c.cancelWorks(t)
	if c.board.Stopped != nil {
		return nil
	}
	if t.Status.Ended() {
		if len(t.Waiting) > 0 {
			return c.missed(t, now)
		}
		if t.Turn == nil && !busy {
			c.release(ctx, t)
		}
		return nil
	}
	if t.Status == amp.Locked && !t.HasOpen(amp.HallucinationLock) {
		return []amp.Record{c.lockAlarm(t, now)}
	}
	if (t.Status == amp.Suspended || t.Status == amp.Locked) && t.Proof == 0 {
		if t.Turn != nil || busy {
			return nil
		}
		return []amp.Record{c.check(t, now, proof(t))}
	}
	if r := c.deriveDue(ctx, t, now); r != nil {
		return r
	}
	if t.Behind != "" && t.Status != amp.Suspended && t.Status != amp.Locked {
		c.fix(ctx, t)
		return nil
	}
	if t.Doing != nil {
		if t.Doing.Revision != t.Revision {
			return []amp.Record{c.check(t, now, overruled(t))}
		}
		c.carryOut(ctx, t)
		return nil
	}
	if t.Blocked() != "" {
		return nil
	}
	switch t.Status {
	case amp.Drafting:
		return c.derivePlan(ctx, t, now)
	case amp.Dispatched, amp.Executing:
		return c.deriveExecution(ctx, t, now)
	case amp.Verifying:
		if t.Turn == nil { // else its agent may still write to the worktree
			return c.deriveVerification(ctx, t, now)
		}
	case amp.Reviewing:
		if t.Request != nil && t.Verdict == nil {
			return c.deriveWork(ctx, t, now, amp.Reviewer, t.Request.MsgID)
		}
	case amp.AwaitingApproval, amp.Held, amp.Suspended, amp.Locked, amp.StatusApproved, amp.Delivered, amp.Terminated:
	}
	return nil
}

// deriveTurn keeps the journal's running turn and the process's in step: a fenced turn is stopped, one whose process belongs to
// a coordinator that died is ended.
func (c *Coordinator) deriveTurn(ctx context.Context, t *amp.Task, now time.Time) []amp.Record {
	if t.Turn == nil {
		return nil
	}
	if r := c.fenceExternal(t, now); r != nil {
		return r
	}
	l := c.live[t.Turn.TurnID]
	if l == nil {
		if c.externalTurn(t, t.Turn.Role) == nil {
			c.reap(ctx, t)
		}
		return nil
	}
	if t.Turn.Epoch < t.Epoch {
		l.fenced.Store(true)
	}
	if t.Turn.Epoch < t.Epoch || c.board.Stopped != nil || t.Status.Ended() || overtaken(t, l) {
		l.stop("the task was " + string(t.Status))
	}
	if outlived(t, l) {
		l.stop("its message was answered")
	}
	return nil
}

// outlived reports whether the message of a turn was answered past it: by its own process, or by somebody else. It must not go on writing to a
// worktree whose result is compared with git (AMP-088, AMP-089).
func outlived(t *amp.Task, l *liveTurn) bool {
	answered := func(asked, answer *amp.Ref) bool { return asked != nil && asked.MsgID == l.For && answer != nil }
	return l.Role == amp.Executor && answered(t.Dispatch, t.Result) || l.Role == amp.Reviewer && answered(t.Request, t.Verdict)
}

// deriveDue looks at the clocks: commands whose undo time is over, ACKs, heartbeats.
func (c *Coordinator) deriveDue(ctx context.Context, t *amp.Task, now time.Time) []amp.Record {
	for _, w := range t.Waiting {
		if !now.Before(w.Due) {
			c.recheck(ctx, t, w)
			return nil
		}
	}
	if r := c.expire(t, now); r != nil {
		return r
	}
	if t.Status == amp.Suspended || t.Status == amp.Locked {
		return nil
	}
	if len(t.Questions) > 0 { // no agent works, or the one that does waits: no clock of theirs runs
		return nil
	}
	for _, o := range t.Open {
		if !o.Redelivered && !now.Before(o.HalfTime()) {
			return c.redeliver(t, o, now)
		}
		if !now.Before(o.Deadline()) {
			return []amp.Record{c.ackAlarm(t, o, now)}
		}
	}
	if role, at := c.silence(t); role != "" && !now.Before(at) {
		return []amp.Record{c.escalate(t, now, alarm{typ: amp.HeartbeatTimeout, from: amp.System, text: fmt.Sprintf(
			"The %s of %s wrote nothing to the journal for %s. Suspended until you decide.", role, t.ID, c.cfg.Heartbeat)})}
	}
	return nil
}

func (c *Coordinator) derivePlan(ctx context.Context, t *amp.Task, now time.Time) []amp.Record {
	if t.Wish == nil {
		return nil
	}
	return c.deriveWork(ctx, t, now, amp.Coordinator, "")
}

func (c *Coordinator) deriveExecution(ctx context.Context, t *amp.Task, now time.Time) []amp.Record {
	if t.Dispatch != nil {
		return c.deriveWork(ctx, t, now, amp.Executor, t.Dispatch.MsgID)
	}
	if t.Next == "" || t.Approval == nil {
		return nil
	}
	if t.RefutedRow >= maxRow && t.Next == amp.DispatchRefuted {
		return []amp.Record{c.escalate(t, now, alarm{typ: amp.Conflict, text: fmt.Sprintf(
			"%d reports in a row were refuted by git. %s", t.RefutedRow, t.Guidance)})}
	}
	if t.CIRow >= maxRow && t.Next == amp.DispatchCI {
		return []amp.Record{c.escalate(t, now, alarm{typ: amp.CIFailure, text: fmt.Sprintf(
			"CI failed %d times in a row. %s", t.CIRow, t.Guidance)})}
	}
	if r := c.overBudget(t, now); r != nil {
		return r
	}
	if c.slotFree(t) {
		c.dispatch(ctx, t)
	}
	return nil
}

func (c *Coordinator) deriveVerification(ctx context.Context, t *amp.Task, now time.Time) []amp.Record {
	switch {
	case t.Result == nil:
		return nil
	case t.Checked == nil:
		c.verify(ctx, t)
	case t.CI == nil:
		c.runCI(ctx, t)
	case t.Request == nil:
		if r, waits := c.external(t, now); waits {
			return r
		}
		if r := c.overBudget(t, now); r != nil {
			return r
		}
		if c.slotFree(t) {
			c.requestReview(ctx, t)
		}
	}
	return nil
}

// deriveWork starts the turn that a message asks for, unless it was tried often enough.
func (c *Coordinator) deriveWork(ctx context.Context, t *amp.Task, now time.Time, role amp.Role, msgID string) []amp.Record {
	if t.Turn != nil {
		return nil
	}
	if t.Attempts >= c.cfg.Attempts {
		return []amp.Record{c.escalate(t, now, alarm{typ: amp.UnknownEscalation, text: fmt.Sprintf(
			"%d turns of the %s ended without a usable answer; the last one: %s. See the refusals and the log of the turn.",
			t.Attempts, role, t.LastTurn)})}
	}
	if r := c.overBudget(t, now); r != nil {
		return r
	}
	name, agent, err := c.choose(t, role)
	if err != nil {
		return []amp.Record{c.escalate(t, now, alarm{typ: amp.UnknownEscalation, text: err.Error()})}
	}
	if p := t.PauseOf(name, now); p != nil {
		if name, agent = c.standIn(t, role, agent, now); name == "" {
			return c.atLimit(t, role, p, now)
		}
	}
	if c.slotFree(t) {
		c.startTurn(ctx, t, role, name, agent, msgID)
	}
	return nil
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func (c *Coordinator) lockAlarm(t *amp.Task, now time.Time) amp.Record {
	var text strings.Builder
	fmt.Fprintf(&text, "%s was rejected %d times. It is locked until you unlock it with guidance, or end it.", t.ID, t.RejectCount)
	for _, f := range t.Findings {
		if len(f.Rounds) > 1 {
			fmt.Fprintf(&text, " %s recurs in %d rounds (%s).", f.ID, len(f.Rounds), f.File)
		}
	}
	return c.escalate(t, now, alarm{typ: amp.HallucinationLock, severity: amp.Critical, text: text.String()})
}

func (c *Coordinator) ackAlarm(t *amp.Task, o amp.Obligation, now time.Time) amp.Record {
	from := amp.Coordinator
	if o.To == amp.Coordinator { // A20: a coordinator that does not answer cannot report itself
		from = amp.System
	}
	said := fmt.Sprintf("did not acknowledge %s in %d s, although it was delivered twice", o.Type, o.TimeoutSec)
	if o.Refused != "" {
		said = fmt.Sprintf("refused %s, which was delivered twice, and did not take it in %d s: %s", o.Type, o.TimeoutSec, o.Refused)
	}
	return c.escalate(t, now, alarm{typ: amp.AckTimeoutEsc, from: from, affected: []string{o.MsgID}, text: fmt.Sprintf(
		"The %s %s. Suspended until you decide.", o.To, said)})
}

// redeliver writes down the one redelivery at half time and restarts the turn that has not answered.
func (c *Coordinator) redeliver(t *amp.Task, o amp.Obligation, now time.Time) []amp.Record {
	u := amp.Turn{
		Event: amp.TurnRedelivered, TaskID: t.ID, Role: o.To, For: o.MsgID, Epoch: t.Epoch,
		Text: fmt.Sprintf("no ACK at half of %d s: redelivered once", o.TimeoutSec),
	}
	if t.Turn != nil && t.Turn.For == o.MsgID {
		u.TurnID, u.Agent = t.Turn.TurnID, t.Turn.Agent
		if l := c.live[t.Turn.TurnID]; l != nil {
			l.stop("no ACK: the message is delivered again")
		}
	}
	return []amp.Record{c.turnEntry(now, amp.Coordinator, actor, u)}
}

// proof is the record that a suspension holds (AMP-156, AMP-174).
func proof(t *amp.Task) amp.Check {
	return amp.Check{Subject: amp.CheckSuspension, For: t.LastTurn, Text: "no process of the task is left", Claims: []amp.Claim{
		{Name: "processes", Finding: amp.Confirmed, Found: "every turn has ended and its processes are gone"},
		{Name: "epoch", Finding: amp.Confirmed, Found: fmt.Sprintf("epoch %d is fenced", t.Epoch-1)},
		{Name: "timers", Finding: amp.Confirmed, Found: "no deadline runs"},
	}}
}

// overruled is the end of a rollback or delivery whose task moved on before it was written down: its admin decided on what stood there
// before (AMP-174).
func overruled(t *amp.Task) amp.Check {
	name := string(t.Doing.Command.Command)
	text := fmt.Sprintf("the task is %s since %s: the %s was stopped. Decide again once you have seen why; what git has of it already is found then",
		t.Status, amp.FormatTime(t.Since), name)
	return amp.Check{Subject: amp.CheckWorkspace, For: t.Doing.Command.ID, Text: text, Claims: []amp.Claim{
		{Name: name, Finding: amp.Refuted, Blocking: true, Found: text},
	}}
}

// missed says of the commands that still waited when their task ended that they were not carried out.
func (c *Coordinator) missed(t *amp.Task, now time.Time) (records []amp.Record) {
	for _, w := range t.Waiting {
		why := fmt.Sprintf("the task is %s since %s", t.Status, amp.FormatTime(t.Since))
		records = append(records, c.check(t, now, amp.Check{Subject: amp.CheckCommand, For: w.Command.ID, Text: why, Claims: []amp.Claim{
			{Name: "expects", Finding: amp.Refuted, Blocking: true, Found: why},
		}}))
	}
	return records
}

// recheck judges a command whose undo time is over against the state of now, and lets it run or says why not.
func (c *Coordinator) recheck(ctx context.Context, t *amp.Task, w amp.Waiting) {
	ws := t.Workspace()
	needsGit := w.Command.Command == amp.Resume || w.Command.Command == amp.Unlock
	c.start(ctx, job{key: "due/" + w.Command.ID}, t, func(ctx context.Context, _ *tenure) outcome {
		var list amp.Check
		var err error
		if needsGit && ws.Repo != "" {
			list, err = c.cfg.Git.Checklist(ctx, ws)
		}
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if !slices.ContainsFunc(t.Waiting, func(o amp.Waiting) bool { return o.Command.ID == w.Command.ID }) {
				return nil // it was withdrawn meanwhile
			}
			ck := amp.Check{Subject: amp.CheckCommand, For: w.Command.ID, Text: "carried out"}
			why := blockers(list)
			if err != nil {
				why = err.Error()
			}
			if refused := c.judgeState(t, &w.Command); refused != nil {
				why = refused.Error()
			}
			finding := amp.Claim{Name: "expects", Finding: amp.Confirmed, Found: string(t.Status)}
			if why != "" {
				finding = amp.Claim{Name: "expects", Finding: amp.Refuted, Blocking: true, Found: why}
				ck.Text = why
			}
			ck.Claims = append([]amp.Claim{finding}, list.Claims...)
			return []amp.Record{c.check(t, now, ck)}
		}}
	})
}

// blockers are the refuted claims of a checklist in words, "" when none stands in the way.
func blockers(ck amp.Check) string {
	var text strings.Builder
	for _, cl := range ck.Claims {
		if cl.Blocking && cl.Finding == amp.Refuted {
			text.WriteString(cl.Name + ": " + cl.Found + ". ")
		}
	}
	return text.String()
}

// gitAlarm turns an error of git work into the escalation that it deserves.
func (c *Coordinator) gitAlarm(t *amp.Task, now time.Time, doing string, err error) []amp.Record {
	a := alarm{typ: amp.UnknownEscalation, text: fmt.Sprintf("%s: %v", doing, err)}
	if g, ok := errors.AsType[*amp.GuardError](err); ok {
		a.typ = g.Type
		if g.Type == amp.BranchViolation {
			a.severity = amp.Critical
		}
	}
	return []amp.Record{c.escalate(t, now, a)}
}

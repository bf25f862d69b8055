package amp

import (
	"slices"
	"strings"
	"time"
)

func (b *Board) foldCommand(e *Entry, c *Command) {
	t := b.touch(e)
	if t != nil && c.Command != NoteCommand {
		t.Failed = nil // the admin has decided anew
	}
	if c.Args.EffectiveAt != nil && c.Args.EffectiveAt.After(e.At) && t != nil {
		t.Waiting = append(t.Waiting, Waiting{Command: *c, Seq: e.Seq, At: e.At, Due: *c.Args.EffectiveAt})
		return
	}
	b.carryOut(e, t, c, e.Seq)
}

// foldCarriedOut ends the undo time of a command: it ran, or the task had moved on.
func (b *Board) foldCarriedOut(e *Entry, t *Task, c *Check) {
	if t == nil {
		return
	}
	i := slices.IndexFunc(t.Waiting, func(w Waiting) bool { return w.Command.ID == c.For })
	if i < 0 {
		return
	}
	w := t.Waiting[i]
	t.Waiting = slices.Delete(t.Waiting, i, i+1)
	if c.Blocked() {
		t.Failed = append(t.Failed, NotCarriedOut{
			CommandID: w.Command.ID, Command: w.Command.Command, By: w.Command.By, Seq: w.Seq, Why: c.Text,
		})
		return
	}
	b.carryOut(e, t, &w.Command, w.Seq)
}

// carryOut lets a command take effect. seq is the entry of the decision, e the entry that lets it run.
func (b *Board) carryOut(e *Entry, t *Task, c *Command, seq uint64) {
	switch c.Command {
	case StopAll:
		b.stop(e, c.By, c.Note)
		return
	case Thaw:
		b.thaw(e.At)
		return
	}
	if t == nil {
		return
	}
	switch c.Command {
	case Submit:
		t.foldSubmit(c)
	case Approve:
		t.approve(e, c, seq)
	case Reject:
		if t.move(PlanRejected, e.At) {
			t.Guidance = c.Note
			t.disapprove()
		}
	case Resume:
		if t.move(Resumed, e.At) {
			if t.CI != nil { // what is waited for gets its time anew
				t.CIAt = e.At
			}
			t.Guidance = c.Note
			t.resolve(e, c)
			t.follow(e, c)
		}
	case Unlock:
		if t.move(Unlocked, e.At) {
			t.RejectCount = 0
			t.Hold = &Hold{Kind: HoldUnlock, Seq: e.Seq, Why: "unlocked: a new dispatch, a split or the end is the admin's decision"}
			t.Guidance = c.Note
			t.resolve(e, c)
			t.follow(e, c)
		}
	case Redispatch, Reassign, Split, Accept, Override:
		t.step(e, c, c.Command)
	case Rollback, Deliver:
		t.Doing = &Waiting{Command: *c, Seq: seq, At: e.At, Due: e.At, Revision: t.Revision}
	case Terminate:
		t.terminate(e, c)
	case Answer, RaiseLimit:
		t.answer(e, c)
	case Withdraw:
		t.Waiting = slices.DeleteFunc(t.Waiting, func(w Waiting) bool { return w.Command.ID == c.Args.Withdraws })
	case Revise, NoteCommand: // the plan entry of the same append carries a revision; a note is history
	}
}

func (t *Task) foldSubmit(c *Command) {
	w := c.Args.Wish
	if w == nil && c.Args.Plan != nil {
		p := c.Args.Plan
		w = &Wish{
			Text: p.Wish, Title: p.Title, Repo: p.Repo, Branch: p.Branch, Risk: p.RiskLevel, Executor: p.Executor,
			Reviewer: p.Reviewer, Budget: p.Budget,
		}
	}
	if w == nil {
		return
	}
	title := w.Title
	if title == "" { // until a plan gives it a better one
		title = headline(w.Text)
	}
	t.Wish, t.Title, t.Executor, t.Reviewer, t.Limits = w, title, w.Executor, w.Reviewer, w.Budget
}

// headline is the first line of a wish, cut to 60 characters.
func headline(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(line); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return line
}

// step takes one of the commands that may stand alone or follow an unlock, a resume or a rollback.
func (t *Task) step(e *Entry, c *Command, name CommandName) {
	switch name {
	case Redispatch, Reassign: // as a follow-up too only of what is approved
		if t.Approval == nil || !t.move(Redispatched, e.At) {
			return
		}
		if c.Args.Executor != "" {
			t.Executor = c.Args.Executor
		}
		if c.Args.Reviewer != "" {
			t.Reviewer = c.Args.Reviewer
		}
		t.due(DispatchGuidance)
		t.Guidance = c.Note
	case Split:
		if t.move(SplitUp, e.At) {
			t.due("")
			t.Subtask, t.Guidance = 0, c.Note
			t.disapprove()
		}
	case Accept:
		t.accept(e, t.Decision)
	case Override:
		t.accept(e, c.Args.Decision)
	case Terminate:
		t.terminate(e, c)
	}
	t.resolve(e, c)
}

// follow takes the one follow-up that unlock, resume and rollback may carry.
func (t *Task) follow(e *Entry, c *Command) {
	if c.Args.Next != "" {
		t.step(e, c, c.Args.Next)
	}
}

// accept lets what is held stand: a partial result goes to review, a verdict counts as it is or as overridden.
func (t *Task) accept(e *Entry, d Decision) {
	switch {
	case t.Hold == nil:
	case t.Hold.Kind == HoldVerdict:
		t.conclude(e, d)
	case t.Hold.Kind == HoldResult:
		t.move(ResultAccepted, e.At)
	case t.Hold.Kind == HoldUnlock && t.Decision != "":
		t.conclude(e, Approved)
	}
}

func (t *Task) terminate(e *Entry, c *Command) {
	if t.move(TerminatedCause, e.At) {
		t.fence()
		t.due("")
		t.Questions, t.Doing = nil, nil
		t.resolve(e, c)
	}
}

func (t *Task) answer(e *Entry, c *Command) {
	if l := c.Args.Limits; l != nil {
		if l.WallSec > 0 {
			t.Limits.WallSec = l.WallSec
		}
		if l.Turns > 0 {
			t.Limits.Turns = l.Turns
		}
		if l.Tokens > 0 {
			t.Limits.Tokens = l.Tokens
		}
		if l.CostUSD > 0 {
			t.Limits.CostUSD = l.CostUSD
		}
		t.Questions = slices.DeleteFunc(t.Questions, func(q QuestionState) bool { return q.Type == QuestionBudget })
	}
	i := slices.IndexFunc(t.Questions, func(q QuestionState) bool { return q.QuestionID == c.Args.Question })
	if i < 0 {
		return
	}
	q := t.Questions[i]
	t.Questions = slices.Delete(slices.Clone(t.Questions), i, i+1)
	switch q.Type {
	case QuestionPermission:
		if c.Args.Option == OptionAllowTask && q.Permission != nil && q.GrantSec > 0 {
			t.Grants = slices.DeleteFunc(t.Grants, func(g Grant) bool { return !e.At.Before(g.Until) })
			t.Grants = append(t.Grants, Grant{
				Permission: *q.Permission, Until: e.At.Add(time.Duration(q.GrantSec) * time.Second), By: c.By, Seq: e.Seq,
			})
		}
	case QuestionClarification:
		answer := c.Note
		if answer == "" {
			answer = c.Args.Option
		}
		t.Reply = &Reply{Role: q.Role, Question: q.Request, Answer: answer, By: c.By}
	case QuestionLimit:
		t.Pauses = nil
	case QuestionBudget:
		if c.Args.Option == OptionToday {
			t.PassDay = DayOf(e.At)
		}
	}
	t.resumeDuty(e)
}

// resolve closes the escalation that the command names, or every open one of the task.
func (t *Task) resolve(e *Entry, c *Command) {
	for i := range t.Escalations {
		s := &t.Escalations[i]
		if s.Open() && (c.Args.Escalation == "" || c.Args.Escalation == s.MsgID) {
			s.Resolution, s.ResolvedBy, s.ResolvedSeq, s.ResolvedAt = c.Command, c.By, e.Seq, e.At
			s.Decision, s.DecidedAt, s.Next = c.ID, c.At, c.Args.Next
		}
	}
}

// stop freezes everything: no turn, no timer, until thaw.
func (b *Board) stop(e *Entry, by, why string) {
	if b.Stopped != nil {
		return
	}
	b.Stopped = &Stop{Seq: e.Seq, At: e.At, By: by, Why: why}
	for _, t := range b.Tasks {
		if t.Turn != nil {
			t.Epoch++
		}
	}
}

// thaw ends a stop; every deadline moves on by the time that its clock stood still, which is less for what began during the stop.
func (b *Board) thaw(at time.Time) {
	if b.Stopped == nil {
		return
	}
	stopped := b.Stopped.At
	stood := func(since time.Time) time.Duration {
		if since.Before(stopped) {
			since = stopped
		}
		return max(0, at.Sub(since))
	}
	b.Stopped = nil
	for _, t := range b.Tasks {
		for i := range t.Open {
			t.Open[i].SentAt = t.Open[i].SentAt.Add(stood(t.Open[i].SentAt))
		}
		for i := range t.Waiting {
			t.Waiting[i].Due = t.Waiting[i].Due.Add(stood(t.Waiting[i].At))
		}
		if t.CI != nil {
			t.CIAt = t.CIAt.Add(stood(t.CIAt))
		}
		role, silent := t.Duty()
		for r, w := range t.Wrote {
			t.Wrote[r] = w.Add(stood(w))
		}
		if role != "" { // also of one that was asked just before the stop and wrote nothing yet
			t.wrote(role, silent.Add(stood(silent)))
		}
	}
}

package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// delayed are the commands whose effect is a turn, a git write or a delivery: with an undo time they can be taken back.
var delayed = []amp.CommandName{
	amp.Approve, amp.Reject, amp.Resume, amp.Unlock, amp.Redispatch, amp.Reassign, amp.Split, amp.Accept,
	amp.Override, amp.Rollback, amp.Terminate, amp.Deliver,
}

// Submit judges an admin's decision and returns its entry. A decision made on a state that is gone is refused with what changed,
// as a [*amp.RefusedError], and changes nothing; the refusal is in the journal. The same id again returns the first entry.
func (c *Coordinator) Submit(ctx context.Context, cmd amp.Command) (amp.Entry, error) {
	if cmd.ID == "" {
		cmd.ID = c.cfg.NewID()
	}
	if err := c.refresh(ctx); err != nil {
		return amp.Entry{}, err
	}
	facts, list, err := c.survey(ctx, &cmd)
	if err != nil {
		return amp.Entry{}, err
	}
	appended, err := c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
		again := cmd // judging completes it, and may be repeated
		return c.decide(&again, facts, list, now)
	})
	if err != nil {
		if r, ok := errors.AsType[*amp.RefusedError](err); ok && len(appended) > 0 {
			r.Seq = appended[0].Entry.Seq
		}
		if again, ok := errors.AsType[*repeated](err); ok {
			return again.entry, nil
		}
		return amp.Entry{}, err
	}
	for _, a := range appended {
		if a.Entry.ID == cmd.ID {
			return a.Entry, a.Err
		}
	}
	return amp.Entry{}, fmt.Errorf("command %s was not stored", cmd.ID)
}

// repeated says that a command with this id was stored before.
type repeated struct{ entry amp.Entry }

func (*repeated) Error() string { return "the command was stored before" }

// survey does the reading that a command needs before it can be judged: the repository of a new plan, the checklist of a
// resume.
func (c *Coordinator) survey(ctx context.Context, cmd *amp.Command) (facts amp.RepoFacts, list amp.Check, err error) {
	switch cmd.Command {
	case amp.Submit, amp.Revise, amp.Approve:
		if cmd.Command == amp.Approve && cmd.Args.Plan == nil {
			return facts, list, nil
		}
		repo, branch, known := "", "", amp.Wish{}
		if cmd.Command != amp.Submit {
			if known, err = c.wishOf(ctx, cmd.TaskID); err != nil {
				return facts, list, err
			}
			repo, branch = known.Repo, known.Branch
		}
		if w := cmd.Args.Wish; w != nil {
			repo, branch = w.Repo, w.Branch
		}
		if p := cmd.Args.Plan; p != nil && repo == "" {
			repo = p.Repo
		}
		if p := cmd.Args.Plan; p != nil && branch == "" {
			branch = p.Branch
		}
		if repo != "" {
			facts, err = c.cfg.Git.Inspect(ctx, repo, branch)
		}
	case amp.Resume, amp.Unlock:
		ws, known, owner := amp.Workspace{}, false, ""
		err = c.view(ctx, func(b *amp.Board) {
			if t := b.Task(cmd.TaskID); t != nil {
				ws, known, owner = t.Workspace(), true, t.Owner
			}
		})
		if err == nil && known && ws.Repo != "" {
			if err = c.elsewhere(ctx, cmd, ws, owner); err != nil {
				return facts, list, err
			}
			list, err = c.cfg.Git.Checklist(ctx, ws)
		}
	}
	return facts, list, err
}

// decide judges a command on the board of now and builds its records; in the loop.
func (c *Coordinator) decide(cmd *amp.Command, facts amp.RepoFacts, list amp.Check, now time.Time) ([]amp.Record, error) {
	if err := c.seenBefore(cmd); err != nil {
		return nil, err
	}
	if cmd.By == "" {
		return c.refuseCommand(cmd, now, amp.Problem{Rule: "A09", Field: "by", Message: "a decision names who made it"})
	}
	cmd.At, cmd.Via, cmd.Args.EffectiveAt = now.UTC(), c.cfg.Owner, nil
	if cmd.Command == amp.Submit {
		return c.decideSubmit(cmd, facts, now)
	}
	t := c.board.Task(cmd.TaskID)
	switch cmd.Command {
	case amp.StopAll, amp.Thaw:
		if (cmd.Command == amp.StopAll) == (c.board.Stopped != nil) {
			return c.refuseCommand(cmd, now, amp.Problem{Rule: amp.RuleExpects, Message: map[bool]string{
				true: "everything stands still already", false: "nothing is stopped",
			}[c.board.Stopped != nil]})
		}
		return []amp.Record{c.commandRecord(cmd, now)}, nil
	}
	if t == nil {
		return c.refuseCommand(cmd, now, amp.Problem{Rule: "AMP-021", Field: "task_id", Message: fmt.Sprintf("task %q is not known", cmd.TaskID)})
	}
	if err := c.judgeState(t, cmd); err != nil {
		return c.refuseCommand(cmd, now, amp.Problem{Rule: amp.RuleExpects, Message: err.Error()})
	}
	records, problems := c.revision(t, cmd, facts, now)
	if len(problems) > 0 {
		return c.refuseCommand(cmd, now, problems...)
	}
	if why := blockers(list); why != "" {
		return c.refuseCommand(cmd, now, amp.Problem{Rule: "checklist", Message: why})
	}
	if cmd.Args.Undo && slices.Contains(delayed, cmd.Command) {
		at := now.UTC().Add(c.cfg.Undo)
		cmd.Args.EffectiveAt = &at
		var x amp.Expects // what runs later is bound to what stands here now
		if cmd.Expects != nil {
			x = *cmd.Expects
		}
		cmd.Expects = &amp.Expects{
			Status: cmp.Or(x.Status, t.Status), Revision: cmp.Or(x.Revision, t.Revision), Hash: cmp.Or(x.Hash, t.Content(cmd.Command)),
		}
	}
	if len(list.Claims) > 0 {
		list.For = cmd.ID
		records = append(records, c.check(t, now, list))
	}
	records = append(records, c.commandRecord(cmd, now))
	if cmd.Command == amp.NoteCommand && cmd.Args.Escalation != "" {
		records = append(records, c.seen(t, cmd, now))
	}
	return records, nil
}

// revision builds the plan entry of a command that carries one, and judges what the command decides on: of an approval with edits
// that is the new revision, which must be exactly the content that its admin saw. The approval then names the revision that
// stands before it in the same append.
func (c *Coordinator) revision(t *amp.Task, cmd *amp.Command, facts amp.RepoFacts, now time.Time) ([]amp.Record, []amp.Problem) {
	edited := cmd.Command == amp.Approve && cmd.Args.Plan != nil
	if !edited {
		if p := c.judgeContent(t, cmd); p != nil {
			return nil, []amp.Problem{*p}
		}
		if cmd.Command != amp.Revise {
			return nil, nil
		}
	}
	plan := *cmd.Args.Plan
	records, problems := c.planRecords(t, &plan, cmd.By, amp.Admin, facts, now)
	if len(problems) > 0 {
		return nil, problems
	}
	given := cmd.Args.Plan.Hash
	cmd.Args.Plan = &plan
	if !edited {
		return records, nil
	}
	if plan.Hash != given {
		return nil, []amp.Problem{{Rule: "expects", Field: "args.plan.hash", Message: fmt.Sprintf(
			"decided on content %s, but the revision would have %s: base or policy changed meanwhile; send it as a revision first",
			short(given), short(plan.Hash))}}
	}
	next := *t
	next.Plan, next.First = &plan, nil
	next.Revision++
	if err := next.AllowsBy(cmd.Command, cmd.By); err != nil {
		return nil, []amp.Problem{{Rule: "expects", Message: err.Error()}}
	}
	if p := c.judgeContent(&next, cmd); p != nil {
		return nil, []amp.Problem{*p}
	}
	cmd.Expects = &amp.Expects{Status: next.Status, Revision: next.Revision, Hash: plan.Hash}
	return records, nil
}

// seen is the optional ACK of an escalation: it says that an admin has read it, and decides nothing (AMP-151).
func (c *Coordinator) seen(t *amp.Task, cmd *amp.Command, now time.Time) amp.Record {
	return c.record(amp.KindAck, t.ID, amp.Admin, cmd.By, now, amp.Ack{
		AckFor: cmd.Args.Escalation, TaskID: t.ID, By: amp.Admin, AckedAt: now.UTC(), Status: amp.AckAccepted,
	})
}

func (c *Coordinator) commandRecord(cmd *amp.Command, now time.Time) amp.Record {
	return amp.Record{Kind: amp.KindCommand, TaskID: cmd.TaskID, Role: amp.Admin, Actor: cmd.By, At: now, ID: cmd.ID, Body: amp.EncodeBody(cmd)}
}

// seenBefore finds the entry of a command that is sent again.
func (c *Coordinator) seenBefore(cmd *amp.Command) error {
	e, err := c.read(amp.Filter{ID: cmd.ID, Limit: 1})
	if err != nil || len(e) == 0 {
		return err
	}
	first, err := amp.DecodeBody[amp.Command](&e[0])
	if err != nil || first.Command != cmd.Command || first.By != cmd.By || first.Note != cmd.Note ||
		cmd.TaskID != "" && first.TaskID != cmd.TaskID {
		return fmt.Errorf("command id %s: %w", cmd.ID, ssot.ErrConflict)
	}
	return &repeated{entry: e[0]}
}

// refuseCommand keeps a refused decision in the journal and tells its sender why.
func (c *Coordinator) refuseCommand(cmd *amp.Command, now time.Time, problems ...amp.Problem) ([]amp.Record, error) {
	r := c.refuse(now, amp.Admin, cmd.By, amp.Refusal{
		What: string(cmd.Command), TaskID: cmd.TaskID, Source: "command of " + cmd.By, Problems: problems, Raw: amp.EncodeBody(cmd),
	})
	return []amp.Record{r}, &amp.RefusedError{What: string(cmd.Command), Problems: problems}
}

func (c *Coordinator) decideSubmit(cmd *amp.Command, facts amp.RepoFacts, now time.Time) ([]amp.Record, error) {
	w, p := cmd.Args.Wish, cmd.Args.Plan
	switch {
	case w == nil && p == nil, w != nil && strings.TrimSpace(w.Text) == "" && p == nil:
		return c.refuseCommand(cmd, now, amp.Problem{Rule: "AMP-044", Field: "args.wish", Message: "there is neither a wish nor a plan"})
	case facts.Root == "":
		return c.refuseCommand(cmd, now, amp.Problem{Rule: "AMP-045", Field: "repo", Message: "no repository is named"})
	}
	if w == nil {
		cmd.Args.Wish = &amp.Wish{Text: p.Wish, Title: p.Title, Branch: p.Branch, Risk: p.RiskLevel, Executor: p.Executor, Reviewer: p.Reviewer, Budget: p.Budget}
		w = cmd.Args.Wish
	}
	w.Repo = facts.Root
	for field, name := range map[string]string{"executor": w.Executor, "reviewer": w.Reviewer} {
		if _, ok := c.cfg.Agents[name]; name != "" && !ok {
			return c.refuseCommand(cmd, now, amp.Problem{Rule: "plan", Field: field, Message: fmt.Sprintf("agent %q is not configured", name)})
		}
	}
	cmd.TaskID = c.board.NewTaskID(now)
	records := []amp.Record{c.commandRecord(cmd, now)}
	if p != nil {
		own := *p // it is completed with the task's id, which may be another the next time
		p, cmd.Args.Plan = &own, &own
		plan, problems := c.planRecords(&amp.Task{ID: cmd.TaskID, Wish: w}, p, cmd.By, amp.Admin, facts, now)
		if len(problems) > 0 {
			cmd.TaskID = ""
			return c.refuseCommand(cmd, now, problems...)
		}
		records[0] = c.commandRecord(cmd, now)
		records = append(records, plan...)
	}
	return records, nil
}

// judgeState compares a command with where the task stands: what it expects, and what the lifecycle allows.
func (c *Coordinator) judgeState(t *amp.Task, cmd *amp.Command) error {
	if x := cmd.Expects; x != nil {
		if x.Status != "" && x.Status != t.Status {
			return fmt.Errorf("decided on %s, the task is %s since %s", x.Status, t.Status, amp.FormatTime(t.Since))
		}
		if x.Revision != 0 && x.Revision != t.Revision {
			return fmt.Errorf("decided on revision %d, the task is at %d since %s", x.Revision, t.Revision, amp.FormatTime(t.Since))
		}
		if x.Hash != "" && !hashMatches(t, cmd.Command, x.Hash) {
			return fmt.Errorf("decided on content %s, which is not the present one (%s)", short(x.Hash), short(t.Content(cmd.Command)))
		}
	}
	return t.AllowsBy(cmd.Command, cmd.By)
}

func hashMatches(t *amp.Task, name amp.CommandName, hash string) bool {
	have := t.Content(name)
	return len(hash) >= 8 && strings.HasPrefix(have, strings.ToLower(hash)) || hash == have
}

func short(h string) string { return h[:min(8, len(h))] }

// followers says in words what can follow a command.
func followers(can []amp.CommandName) string {
	if len(can) == 0 {
		return "nothing can: give the two one after the other"
	}
	names := make([]string, len(can))
	for i, n := range can {
		names[i] = string(n)
	}
	return "what can is " + strings.Join(names, ", ")
}

// judgeContent holds the ladder of risk and the arguments that a command cannot do without (AMP-059).
func (c *Coordinator) judgeContent(t *amp.Task, cmd *amp.Command) *amp.Problem {
	missing := func(field, message string) *amp.Problem {
		return &amp.Problem{Rule: "command", Field: field, Message: message}
	}
	next := cmd.Args.Next
	switch cmd.Command {
	case amp.Approve:
		if t.Plan.RiskLevel != amp.Low && (cmd.Args.Read == "" || cmd.Args.Unread > 0) {
			return &amp.Problem{Rule: "AMP-059", Field: "args.read", Message: fmt.Sprintf("at %s risk the whole plan must have been read", t.Plan.RiskLevel)}
		}
		if t.Plan.RiskLevel == amp.High && !strings.HasSuffix(t.Plan.Hash, strings.ToLower(cmd.Args.Digits)) || t.Plan.RiskLevel == amp.High && len(cmd.Args.Digits) != 4 {
			return &amp.Problem{Rule: "AMP-059", Field: "args.digits", Message: "at high risk the last four digits of the content hash must be typed"}
		}
	case amp.Reject, amp.Unlock:
		if strings.TrimSpace(cmd.Note) == "" {
			return missing("note", "a reason is needed: it becomes the guidance of what follows")
		}
	case amp.Revise:
		if cmd.Args.Plan == nil {
			return missing("args.plan", "a revision needs a plan")
		}
	case amp.Override:
		if d := cmd.Args.Decision; d != amp.Approved && d != amp.Rejected {
			return missing("args.decision", "an override says approved or rejected")
		}
	case amp.Reassign:
		if cmd.Args.Executor == "" && cmd.Args.Reviewer == "" {
			return missing("args.executor", "a reassign names another executor or reviewer")
		}
	case amp.Answer:
		i := slices.IndexFunc(t.Questions, func(q amp.QuestionState) bool { return q.QuestionID == cmd.Args.Question })
		if i < 0 {
			return missing("args.question", "that question waits no more: it was answered, its time is over, or the turn that asked has ended")
		}
		q := &t.Questions[i]
		switch {
		case q.Type == amp.QuestionClarification && strings.TrimSpace(cmd.Note+cmd.Args.Option) == "":
			return missing("note", "the agent waits for words")
		case q.Type != amp.QuestionClarification && !slices.Contains(q.Options, cmd.Args.Option):
			return missing("args.option", fmt.Sprintf("the answers are %s", strings.Join(q.Options, ", ")))
		}
	case amp.RaiseLimit:
		if l := cmd.Args.Limits; l == nil || l.Turns <= 0 && l.WallSec <= 0 && l.Tokens <= 0 && l.CostUSD <= 0 {
			return missing("args.limits", "a new limit of turns, working time, tokens or cost is needed")
		}
	case amp.Withdraw:
		if !slices.ContainsFunc(t.Waiting, func(w amp.Waiting) bool { return w.Command.ID == cmd.Args.Withdraws }) {
			return missing("args.withdraws", "that command does not wait any more")
		}
	case amp.NoteCommand:
		if id := cmd.Args.Escalation; id != "" && !slices.ContainsFunc(t.Escalations, func(e amp.EscalationState) bool { return e.MsgID == id }) {
			return missing("args.escalation", "that escalation is not one of the task")
		}
	case amp.Deliver:
		if cmd.Args.Pull && c.cfg.Pulls == nil {
			return missing("args.pull", noPulls)
		}
		if cmd.Args.Pull && cmd.Args.Merge {
			return missing("args.pull", "a delivery is merged here, or by a pull request")
		}
	case amp.Rollback:
		if cmd.Args.Checkpoint < 0 || cmd.Args.Checkpoint > t.Checkpoint {
			return missing("args.checkpoint", fmt.Sprintf("there are checkpoints 1 to %d", t.Checkpoint))
		}
	}
	if can := t.FollowUps(cmd.Command); next != "" && !slices.Contains(can, next) {
		return missing("args.next", fmt.Sprintf("%s cannot follow %s here; %s", next, cmd.Command, followers(can)))
	}
	for field, name := range map[string]string{"args.executor": cmd.Args.Executor, "args.reviewer": cmd.Args.Reviewer} {
		if _, ok := c.cfg.Agents[name]; name != "" && !ok {
			return missing(field, fmt.Sprintf("agent %q is not configured", name))
		}
	}
	return nil
}

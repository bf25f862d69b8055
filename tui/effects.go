package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"arbiter/amp"
)

// effects are what a proposal will do, and what it will not do, in the words of the bar.
func (p *proposal) effects(e *env, t *amp.Task) (will, wont []string) {
	if t == nil {
		return p.everywhere(e)
	}
	will = p.first(e, t)
	if p.Next != "" {
		next := proposal{Command: p.Next, TaskID: p.TaskID, Args: p.Args}
		will = append(will, next.first(e, t)...)
	}
	if s := p.resolves(t); s != "" {
		will = append(will, s)
	}
	return will, p.wont(t)
}

func (p *proposal) everywhere(e *env) (will, wont []string) {
	if p.Command == amp.Thaw {
		return []string{"start turns again", "move every deadline on by the time that stood still"}, []string{"decide anything that waits"}
	}
	return []string{fmt.Sprintf("stop %s", plural(len(e.Index.Running), "running turn")), "start no turn and fire no timer until thaw"},
		[]string{"lose work", "change a branch", "end a task"}
}

func (p *proposal) first(e *env, t *amp.Task) []string {
	switch p.Command {
	case amp.Approve:
		return e.approves(t)
	case amp.Reject:
		return []string{"send " + rev(t) + " back with your reason", plannerOf(t) + " writes the next revision"}
	case amp.Revise:
		return []string{"become the next revision, by you", "wait for an approval of its own"}
	case amp.Resume:
		return e.resumes(t)
	case amp.Unlock:
		out := []string{fmt.Sprintf("reject_count %d → 0 (total %d is kept)", t.RejectCount, t.RejectTotal)}
		if p.Next == "" {
			out = append(out, "hold the task: what follows is your next decision")
		}
		return out
	case amp.Redispatch, amp.Reassign:
		return e.dispatches(t, &p.Args)
	case amp.Split:
		return []string{"back to drafting with your guidance", "the approval falls: a new plan revision needs you"}
	case amp.Accept:
		return e.accepts(t, t.Decision)
	case amp.Override:
		return e.accepts(t, p.Args.Decision)
	case amp.Rollback:
		return []string{fmt.Sprintf("reset %s to checkpoint %d", branchName(t), checkpointOf(t, &p.Args)), "pin what came after it to a recovery ref"}
	case amp.Terminate:
		return []string{"end " + string(t.ID) + " for good", "stop its turn", "keep its branch and its journal"}
	case amp.Deliver:
		if p.Args.Pull {
			return []string{"push " + short(t.Commit) + " to GitHub as " + branchName(t), "open a pull request into " + baseName(t)}
		}
		if p.Args.Merge {
			return []string{"merge " + short(t.Commit) + " into " + baseName(t), "write approval, verdict and journal head into the trailers"}
		}
		return []string{"prepare " + branchName(t) + " at " + short(t.Commit) + " with trailers", "leave the push to you"}
	case amp.Answer:
		switch {
		case p.Args.Option == "":
			return []string{"hand your words to the agent that waits"}
		case denies(p.Args.Option):
			return []string{"answer " + quoted(p.Args.Option) + ": the agent goes on without it"}
		}
		q := askedBy(t, &p.Args)
		switch {
		case q != nil && q.Type == amp.QuestionBudget:
			return []string{"let this task go on today, beyond the budget of the day"}
		case q != nil && q.Type == amp.QuestionLimit:
			return []string{"try " + cmp.Or(q.Agent, "the agent") + " again"}
		case q != nil && p.Args.Option == amp.OptionAllowTask:
			return []string{"allow exactly this request, now and for " + span(q.GrantSec) + " in " + string(t.ID)}
		}
		return []string{"answer " + quoted(p.Args.Option) + " to the agent that waits, this once"}
	case amp.RaiseLimit:
		return raises(t, p.Args.Limits)
	case amp.NoteCommand:
		return []string{"keep your note in the journal of " + string(t.ID)}
	}
	return nil
}

// approves are the effects of an approval.
func (e *env) approves(t *amp.Task) []string {
	p := t.Plan
	if p == nil {
		return nil
	}
	if p.TwoAdmins() && t.First == nil {
		return []string{"count as the first of two approvals", "wait for a second admin who is not " + p.Author + " or you"}
	}
	out := []string{
		fmt.Sprintf("send %s to %s, %s", stepName(t, t.Subtask), e.agentOf(t, amp.Executor), e.ackWithin(amp.TaskDispatch)),
		"commit on " + p.Branch, "write in " + pathsOf(p),
	}
	if b := budgetOf(p.Budget); b != "" {
		out = append(out, "use up to "+b)
	}
	return out
}

// resumes says where a suspended task goes on.
func (e *env) resumes(t *amp.Task) []string {
	out := []string{fmt.Sprintf("epoch %d: reports of older ones stay late", t.Epoch)}
	switch t.Before {
	case amp.Dispatched, amp.Executing:
		return append(out, fmt.Sprintf("task_dispatch again to %s, %s", e.agentOf(t, amp.Executor), e.ackWithin(amp.TaskDispatch)))
	case amp.Reviewing:
		return append(out, fmt.Sprintf("a new review_request to %s, %s", e.agentOf(t, amp.Reviewer), e.ackWithin(amp.ReviewRequest)))
	case "":
		return append(out, "hold the task: what follows is your next decision")
	default:
		return append(out, "go on as "+statusWord(t.Before))
	}
}

// dispatches are the effects of a redispatch or reassign.
func (e *env) dispatches(t *amp.Task, a *amp.Args) []string {
	to := e.agentOf(t, amp.Executor)
	if a.Executor != "" {
		to = a.Executor
	}
	out := []string{fmt.Sprintf("task_dispatch to %s, round %d, %s", to, t.Round+1, e.ackWithin(amp.TaskDispatch))}
	if a.Reviewer != "" {
		out = append(out, "reviews by "+a.Reviewer)
	}
	if refs := refsOf(t); refs != "" {
		out = append(out, "context_ref "+refs)
	}
	return out
}

func refsOf(t *amp.Task) string {
	var refs []string
	for _, r := range []struct {
		ref  *amp.Ref
		name string
	}{{t.Dispatch, "dispatch"}, {t.Result, "result"}, {t.Verdict, "verdict"}} {
		if r.ref != nil {
			refs = append(refs, seqName(r.ref.Seq)+" "+r.name)
		}
	}
	return strings.Join(refs, ", ")
}

// accepts are the effects of letting what is held stand, or of an override.
func (e *env) accepts(t *amp.Task, d amp.Decision) []string {
	switch {
	case t.Hold != nil && t.Hold.Kind == amp.HoldResult:
		return []string{"let the result stand as it is", "check its claims and send it to " + e.agentOf(t, amp.Reviewer)}
	case d == amp.Rejected && t.RejectCount+1 >= t.LockAt():
		return []string{fmt.Sprintf("count the reject: %d/%d, and lock the task", t.RejectCount+1, t.LockAt())}
	case d == amp.Rejected:
		return []string{fmt.Sprintf("count the reject: %d/%d", t.RejectCount+1, t.LockAt()), "dispatch the findings to " + e.agentOf(t, amp.Executor)}
	}
	out := []string{"count the verdict as " + string(d)}
	if d == amp.ApprovedWithFix && t.Fix != "" {
		out = append(out, "put the reviewer's fixes, "+short(t.Fix)+", on "+branchName(t))
	}
	if t.Subtask+1 < len(t.Subtasks()) {
		return append(out, "send "+stepName(t, t.Subtask+1)+" to "+e.agentOf(t, amp.Executor))
	}
	return append(out, "approve the task; delivering it stays your decision")
}

// askedBy is the question that an answer is to, nil when it waits no more.
func askedBy(t *amp.Task, a *amp.Args) *amp.QuestionState {
	i := slices.IndexFunc(t.Questions, func(q amp.QuestionState) bool { return q.QuestionID == a.Question })
	if i < 0 {
		return nil
	}
	return &t.Questions[i]
}

func raises(t *amp.Task, l *amp.Budget) []string {
	var out []string
	if l != nil && l.Turns > 0 {
		out = append(out, fmt.Sprintf("allow %d turns in all, %d are used", l.Turns, t.Spent.Turns))
	}
	if l != nil && l.WallSec > 0 {
		out = append(out, fmt.Sprintf("allow %s of work in all, %s is used", span(l.WallSec), span(t.Spent.WallSec)))
	}
	if l != nil && l.Tokens > 0 {
		out = append(out, fmt.Sprintf("allow %s in all, %s are used", tokens(l.Tokens), tokens(t.Usage.Tokens)))
	}
	if l != nil && l.CostUSD > 0 {
		out = append(out, fmt.Sprintf("allow %s in all, %s is spent", dollars(l.CostUSD), dollars(t.Usage.CostUSD)))
	}
	return append(out, "let the task go on")
}

// resolves says which escalations the command closes, and which stay open.
func (p *proposal) resolves(t *amp.Task) string {
	switch p.Command {
	case amp.Resume, amp.Unlock, amp.Redispatch, amp.Reassign, amp.Split, amp.Accept, amp.Override, amp.Rollback, amp.Terminate:
	default:
		return ""
	}
	var closes, stays []string
	for i := range t.Escalations {
		switch s := &t.Escalations[i]; {
		case !s.Open():
		case p.Args.Escalation == "" || p.Args.Escalation == s.MsgID:
			closes = append(closes, seqName(s.Seq))
		default:
			stays = append(stays, seqName(s.Seq))
		}
	}
	if len(closes) == 0 {
		return ""
	}
	out := "resolve " + strings.Join(closes, " ")
	if len(stays) > 0 {
		out += "; " + strings.Join(stays, " ") + " stays open"
	}
	return out
}

// wont is what a person may fear and need not.
func (p *proposal) wont(t *amp.Task) []string {
	switch p.Command {
	case amp.Approve:
		if t.Plan != nil && t.Plan.TwoAdmins() && t.First == nil {
			return []string{"start any work", "bind the second admin"}
		}
		out := []string{"merge", "push", "touch " + baseName(t)}
		if t.Plan != nil {
			for _, f := range t.Plan.ForbiddenActions {
				if !slices.Contains(out, f) {
					out = append(out, f)
				}
			}
		}
		return out
	case amp.Reject, amp.Revise:
		return []string{"start any work"}
	case amp.Deliver:
		if p.Args.Pull {
			return []string{"merge", "force anything", "touch another branch"}
		}
		if p.Args.Merge {
			return []string{"push", "merge anything but the reviewed commit"}
		}
		return []string{"merge", "push"}
	case amp.Terminate:
		return []string{"merge", "delete the branch"}
	case amp.Answer:
		switch q := askedBy(t, &p.Args); {
		case q != nil && q.Type == amp.QuestionBudget:
			return []string{"let another task go on", "raise the budget"}
		case p.Args.Option == amp.OptionAllowTask:
			return []string{"allow anything else", "allow it in another task"}
		case allows(p.Args.Option):
			return []string{"allow it a second time", "allow anything else"}
		}
		return []string{"allow anything", "change the plan"}
	case amp.RaiseLimit, amp.NoteCommand:
		return []string{"change the plan"}
	case amp.Split:
		return []string{"merge", "push", "lose the work on " + branchName(t)}
	}
	out := []string{"merge", "push"}
	if t.Plan != nil {
		out = append(out, "change the plan: contract "+contractName(t.Plan.Hash)+" still binds")
	}
	if t.Late > 0 && p.Command == amp.Resume {
		out = append(out, "act on "+plural(t.Late, "late report"))
	}
	return out
}

// contractName is the beginning of a plan's content hash.
func contractName(hash string) string { return hash[:min(8, len(hash))] }

func rev(t *amp.Task) string {
	if t.Plan == nil {
		return "the plan"
	}
	return "r" + strconv.Itoa(t.Plan.Revision)
}

func plannerOf(t *amp.Task) string {
	if t.Plan == nil || t.Plan.Author == "" {
		return "the planner"
	}
	return t.Plan.Author
}

func stepName(t *amp.Task, i int) string {
	if i >= len(t.Subtasks()) {
		return "the work"
	}
	return "S" + strconv.Itoa(i+1)
}

func branchName(t *amp.Task) string {
	if t.Plan == nil || t.Plan.Branch == "" {
		return "the branch"
	}
	return t.Plan.Branch
}

func baseName(t *amp.Task) string {
	if t.Plan == nil || t.Plan.BaseBranch == "" {
		return "the base branch"
	}
	return t.Plan.BaseBranch
}

func checkpointOf(t *amp.Task, a *amp.Args) int {
	if a.Checkpoint > 0 {
		return a.Checkpoint
	}
	return t.Checkpoint
}

func pathsOf(p *amp.Plan) string {
	if len(p.AllowedPaths) == 0 {
		return "every file: the plan names no paths"
	}
	return strings.Join(p.AllowedPaths, " ")
}

// budgetOf is a budget in words, "" for none.
func budgetOf(b amp.Budget) string {
	var parts []string
	if b.Turns > 0 {
		parts = append(parts, plural(b.Turns, "turn"))
	}
	if b.WallSec > 0 {
		parts = append(parts, span(b.WallSec))
	}
	if b.Tokens > 0 {
		parts = append(parts, tokens(b.Tokens))
	}
	if b.CostUSD > 0 {
		parts = append(parts, dollars(b.CostUSD))
	}
	return strings.Join(parts, ", ")
}

// span is a number of seconds in words: "45 s", "12 m", "3m 12s", "2 h", "1 h 30 m".
func span(sec int) string {
	d := time.Duration(sec) * time.Second
	h, m, s := int(d.Hours()), int(d.Minutes())%60, sec%60
	switch {
	case h > 0 && m > 0:
		return fmt.Sprintf("%d h %d m", h, m)
	case h > 0:
		return fmt.Sprintf("%d h", h)
	case m > 0 && s > 0:
		return fmt.Sprintf("%dm %ds", m, s)
	case m > 0:
		return fmt.Sprintf("%d m", m)
	}
	return fmt.Sprintf("%d s", s)
}

package coordinator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// retryGit is how long the loop waits before it repeats git work that must succeed some day: releasing, reaping.
const retryGit = 5 * time.Second

// dispatch sends the task_dispatch that is owed, after the guard has looked at the branch once more (AMP-040, AMP-048).
func (c *Coordinator) dispatch(ctx context.Context, t *amp.Task) {
	ws := t.Workspace()
	c.start(ctx, job{key: "dispatch/" + string(t.ID), slot: true}, t, func(ctx context.Context, _ *tenure) outcome {
		_, err := c.cfg.Git.Inspect(ctx, ws.Repo, ws.Branch)
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if err != nil {
				return c.gitAlarm(t, now, "Work cannot start", err)
			}
			if t.Status != amp.Dispatched || t.Next == "" || t.Approval == nil {
				return nil
			}
			r, _, err := c.message(t, amp.Coordinator, amp.Executor, actor, now, t.ContextRef, dispatchOf(t))
			if err != nil {
				return []amp.Record{c.escalate(t, now, alarm{typ: amp.UnknownEscalation, text: err.Error()})}
			}
			return []amp.Record{r}
		}}
	})
}

// dispatchOf is the contract of the approved plan, with what this round is about.
func dispatchOf(t *amp.Task) *amp.Dispatch {
	p := t.Plan
	var b strings.Builder
	b.WriteString(p.Description)
	fmt.Fprintf(&b, "\n\nSubtask to do now: %s: %s", t.CurrentSubtask().SubtaskID, t.CurrentSubtask().Description)
	switch t.Next {
	case amp.DispatchRejected:
		lines := []string{"\n\nThe reviewer rejected the last result; its verdict is in context_ref. Open findings:"}
		for _, f := range t.Findings {
			if f.Rounds[len(f.Rounds)-1] == t.Round {
				lines = append(lines, fmt.Sprintf("- %s %s %s:%d %s. Suggested: %s", f.ID, f.Severity, f.File, f.Line, f.Description, f.Fix))
			}
		}
		b.WriteString(listed(lines))
	case amp.DispatchRefuted:
		b.WriteString("\n\nThe last report was not believed: report only what git shows.")
	case amp.DispatchCI:
		b.WriteString("\n\nFix the failed CI run; it ran on your last result.")
	case amp.DispatchStart, amp.DispatchNext, amp.DispatchGuidance, amp.DispatchResumed, amp.DispatchReapproved:
	}
	if t.Guidance != "" {
		b.WriteString("\n\nGuidance: " + listed([]string{t.Guidance}))
	}
	return &amp.Dispatch{
		Description: b.String(), Repo: p.Repo, Branch: p.Branch, Subtasks: p.Subtasks, AcceptanceCriteria: p.AcceptanceCriteria,
		RiskLevel: p.RiskLevel, ForbiddenActions: p.ForbiddenActions, TechConstraints: p.TechConstraints,
	}
}

// verify compares the result with git before anybody believes it.
func (c *Coordinator) verify(ctx context.Context, t *amp.Task) {
	ws, ref, turn := t.Workspace(), *t.Result, t.LastTurn
	c.start(ctx, job{key: "verify/" + ref.MsgID}, t, func(ctx context.Context, lease *tenure) outcome {
		var ck amp.Check
		m, err := c.readMessage(ctx, ref.MsgID)
		if err == nil {
			ck, err = c.cfg.Git.Verify(ctx, ws, turn, m.Payload.(*amp.Result), ref.MsgID)
			c.passFirst(ctx, lease, ws, ck, err)
		}
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if t.Result == nil || t.Result.MsgID != ref.MsgID || t.Checked != nil {
				return nil
			}
			if err != nil {
				return c.gitAlarm(t, now, "The result could not be compared with git", err)
			}
			ck.For = ref.MsgID
			records := []amp.Record{c.check(t, now, ck)}
			if ck.Escalate != "" {
				records = append(records, c.violation(t, now, ck))
			}
			return records
		}}
	})
}

// violation is the escalation that a check asks for: a protected branch or a foreign ref was touched (AMP-088, AMP-168).
func (c *Coordinator) violation(t *amp.Task, now time.Time, ck amp.Check) amp.Record {
	a := alarm{typ: ck.Escalate}
	if a.typ == amp.BranchViolation {
		a.severity = amp.Critical
	}
	found := ck.Text
	for _, cl := range ck.Claims {
		if cl.Name == "refs" && cl.Finding == amp.Refuted {
			found = cl.Found
		}
	}
	a.text = fmt.Sprintf("The agent of %s went for refs that are not its own: %s. Suspended until you decide.", t.ID, found)
	return c.escalate(t, now, a)
}

func (c *Coordinator) runCI(ctx context.Context, t *amp.Task) {
	ws, ref := t.Workspace(), *t.Result
	commands := t.Plan.Checks
	if len(commands) == 0 {
		commands = c.cfg.Checks(ws.Repo)
	}
	c.start(ctx, job{key: "ci/" + ref.MsgID}, t, func(ctx context.Context, _ *tenure) outcome {
		ck, err := c.cfg.Git.RunCI(ctx, ws, commands, c.cfg.CITimeout)
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if err != nil {
				return c.gitAlarm(t, now, "The repository's checks could not run", err)
			}
			ck.For = ref.MsgID
			records := []amp.Record{c.check(t, now, ck)}
			if ck.Escalate != "" { // the branch moved while the result waited (AMP-089)
				records = append(records, c.violation(t, now, ck))
			}
			return records
		}}
	})
}

// requestReview packages the whole context for the reviewer (AMP-100 to AMP-114).
func (c *Coordinator) requestReview(ctx context.Context, t *amp.Task) {
	ws, result := t.Workspace(), *t.Result
	from, scope := "", amp.Full
	if t.LastVerdictCommit != "" {
		from, scope = t.LastVerdictCommit, amp.Incremental
	}
	file := filepath.Join(c.cfg.Home, "diffs", fmt.Sprintf("%s-%d.diff", t.ID, result.Seq))
	c.start(ctx, job{key: "request/" + result.MsgID, slot: true}, t, func(ctx context.Context, _ *tenure) outcome {
		m, err := c.readMessage(ctx, result.MsgID)
		if err == nil {
			err = c.writeDiff(ctx, ws, from, file)
		}
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if err != nil {
				return c.gitAlarm(t, now, "The review could not be prepared", err)
			}
			if t.Status != amp.Verifying || t.Request != nil || t.Dispatch == nil {
				return nil
			}
			r, _, err := c.message(t, amp.Coordinator, amp.Reviewer, actor, now, []string{t.Dispatch.MsgID, result.MsgID}, &amp.Request{
				OriginalDispatchRef: t.Dispatch.MsgID, TaskResultRef: result.MsgID, ReviewScope: scope, DiffURL: "file://" + file,
				RejectCount: t.RejectCount, CoordinatorNotes: notes(t, m.Payload.(*amp.Result)), CIStatus: ciStatus(t, now),
			})
			if err != nil {
				return []amp.Record{c.escalate(t, now, alarm{typ: amp.UnknownEscalation, text: err.Error()})}
			}
			return []amp.Record{r}
		}}
	})
}

func (c *Coordinator) writeDiff(ctx context.Context, ws amp.Workspace, from, file string) error {
	diff, err := c.cfg.Git.Diff(ctx, ws, from, "", amp.DiffOptions{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep the diff: %w", err)
	}
	if err := os.WriteFile(file, []byte(diff.Text), 0o600); err != nil {
		return fmt.Errorf("keep the diff: %w", err)
	}
	return nil
}

// bringDiff tells a reviewer where the diff of its request is on this machine, and makes the file when another one wrote it.
func (c *Coordinator) bringDiff(ctx context.Context, turn *providers.Turn, ws amp.Workspace) error {
	m, _, err := amp.Decode(turn.Message)
	if err != nil {
		return err
	}
	r, is := m.Payload.(*amp.Request)
	if !is {
		return nil
	}
	file := strings.TrimPrefix(r.DiffURL, "file://")
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		from := ""
		if r.ReviewScope == amp.Incremental {
			err := c.view(ctx, func(b *amp.Board) {
				if t := b.Task(turn.Task); t != nil {
					from = t.LastVerdictCommit
				}
			})
			if err != nil {
				return err
			}
		}
		file = filepath.Join(c.cfg.Home, "diffs", filepath.Base(file))
		if err := c.writeDiff(ctx, ws, from, file); err != nil {
			return err
		}
	}
	turn.Env = append(turn.Env, "ARBITER_DIFF="+file)
	return nil
}

func ciStatus(t *amp.Task, now time.Time) map[string]any {
	m := map[string]any{"last_updated": amp.FormatTime(now)}
	for k, v := range t.CI {
		m[k] = v
	}
	return m
}

// carryOut does the git work of a rollback or a delivery and records what came of it.
func (c *Coordinator) carryOut(ctx context.Context, t *amp.Task) {
	if t.Turn != nil || c.yields(t) {
		return
	}
	ws, w, head := t.Workspace(), *t.Doing, c.board.Head
	d := amp.Delivery{Merge: w.Command.Args.Merge, Title: t.Title, Trailers: []string{
		fmt.Sprintf("Approval-Seq: %d", approvalSeq(t)), fmt.Sprintf("Verdict-Seq: %d", verdictSeq(t)),
		fmt.Sprintf("Journal-Head: %d %s", head.Seq, head.Hash), "Delivered-By: " + w.Command.By,
	}}
	draft := draftOf(t, &w.Command, head)
	c.start(ctx, job{key: "do/" + w.Command.ID}, t, func(ctx context.Context, lease *tenure) outcome {
		var ck amp.Check
		var err error
		if w.Command.Command == amp.Deliver {
			ck, err = c.cfg.Git.Deliver(ctx, ws, d)
			if c.passer() != nil {
				ck.Text += "; in the clone of " + c.cfg.Owner
			}
			if err == nil && w.Command.Args.Pull && !ck.Blocked() {
				err = c.openPull(ctx, ws, draft, &ck)
			}
		} else {
			ck, err = c.cfg.Git.Rollback(ctx, ws, w.Command.Args.Checkpoint)
			c.passFirst(ctx, lease, ws, ck, err)
		}
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if err != nil {
				ck = amp.Check{Subject: amp.CheckWorkspace, Text: err.Error(), Claims: []amp.Claim{
					{Name: string(w.Command.Command), Finding: amp.Refuted, Blocking: true, Found: err.Error()},
				}}
			}
			ck.For = w.Command.ID
			return []amp.Record{c.check(t, now, ck)}
		}}
	})
}

func approvalSeq(t *amp.Task) uint64 {
	if t.Approval == nil {
		return 0
	}
	return t.Approval.Seq
}

func verdictSeq(t *amp.Task) uint64 {
	if t.Verdict == nil {
		return 0
	}
	return t.Verdict.Seq
}

// release gives the worktree of an ended task back; its work stays reachable.
func (c *Coordinator) release(ctx context.Context, t *amp.Task) {
	ws := t.Workspace()
	if t.Released || ws.Repo == "" || t.Round == 0 {
		return
	}
	c.start(ctx, job{key: "release/" + string(t.ID)}, t, func(ctx context.Context, _ *tenure) outcome {
		ck, err := c.cfg.Git.Release(ctx, ws)
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if err != nil {
				ck = amp.Check{Text: "the worktree could not be removed: " + err.Error()}
			}
			ck.Subject = amp.CheckRelease
			return []amp.Record{c.check(t, now, ck)}
		}}
	})
}

// reap ends what is left of a turn whose coordinator died, and writes down that the turn was lost. It repeats until it can
// prove that nothing is left.
func (c *Coordinator) reap(ctx context.Context, t *amp.Task) {
	u := *t.Turn
	agent := c.cfg.Agents[u.Agent].Agent
	ws := t.Workspace()
	c.start(ctx, job{key: "reap/" + u.TurnID, always: true}, t, func(ctx context.Context, lease *tenure) outcome {
		var broke *amp.Check
		for {
			err := c.reapOnce(ctx, agent, u.TurnID)
			if err == nil {
				broke, err = c.closeLost(ctx, u, ws)
			}
			if err == nil {
				break
			}
			c.cfg.Logger.Error("a lost turn still has processes", "task", u.TaskID, "turn", u.TurnID, "err", err)
			if c.beside.pause(ctx, retryGit); ctx.Err() != nil {
				return outcome{}
			}
		}
		return outcome{run: func(t *amp.Task, now time.Time) []amp.Record {
			if t.Turn == nil || t.Turn.TurnID != u.TurnID { // its own coordinator was able to say so
				return nil
			}
			ended := u.Turn
			ended.Event, ended.Outcome = amp.TurnEnded, amp.TurnLost
			ended.Text = "the coordinator ended while the turn ran; no process of it is left"
			if u.Owner != c.cfg.Owner {
				ended.Text = fmt.Sprintf("%s lost its lease on the task while the turn ran; %s goes on, where no process of it is left", u.Owner, c.cfg.Owner)
			}
			ended.TookMS = max(0, u.LastAt.Sub(u.StartedAt).Milliseconds())
			return append(c.raise(t, u.Turn, broke, now), c.turnEntry(now, u.Role, u.Agent, ended))
		}}
	})
}

// closeLost removes the disposable worktree of a lost reviewer or planner, and returns what its turn did to refs where that has to be raised. The
// branch of a lost executor is left as it is: where several coordinators share a repository, setting it back looks to the turns of the others as if
// their agents had done it; the next turn begins from the recorded commit.
func (c *Coordinator) closeLost(ctx context.Context, u amp.TurnState, ws amp.Workspace) (broke *amp.Check, err error) {
	switch u.Role {
	case amp.Reviewer:
	case amp.Coordinator:
		w, err := c.wishOf(ctx, u.TaskID)
		if err != nil {
			return nil, err
		}
		facts, err := c.cfg.Git.Inspect(ctx, w.Repo, "")
		if _, gone := errors.AsType[*amp.GuardError](err); gone {
			return nil, nil // the repository went away, and the worktree's record with it
		}
		if err != nil {
			return nil, err
		}
		ws = planningSpace(u.TaskID, facts)
	default:
		return nil, nil
	}
	ck, err := c.cfg.Git.CloseReview(ctx, ws, u.TurnID, nil)
	return broken(&ck), err
}

func (c *Coordinator) reapOnce(ctx context.Context, agent providers.Agent, turnID string) error {
	if r, ok := agent.(providers.Reaper); ok {
		return r.Reap(ctx, turnID)
	}
	if c.cfg.Reaper != nil {
		return c.cfg.Reaper.Reap(ctx, turnID)
	}
	return nil
}

// readMessage reads one stored message.
func (c *Coordinator) readMessage(ctx context.Context, msgID string) (*amp.Message, error) {
	entries, err := c.lookUp(ctx, amp.Filter{ID: msgID, Limit: 1})
	return messageOf(msgID, entries, err)
}

func messageOf(msgID string, entries []amp.Entry, err error) (*amp.Message, error) {
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("message %s is not in the journal", msgID)
	}
	m, _, err := amp.Decode(entries[0].Body)
	return m, err
}

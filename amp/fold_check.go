package amp

import (
	"fmt"
	"slices"
	"strings"
)

func (b *Board) foldCheck(e *Entry, c *Check) {
	t := b.touch(e)
	if c.Subject == CheckCommand {
		b.foldCarriedOut(e, t, c)
		return
	}
	switch c.Subject {
	case CheckResult:
		t.foldResultCheck(e, c)
	case CheckCI:
		t.foldCI(e, c)
	case CheckReview:
		if c.Fix != "" {
			t.Fix = c.Fix
		}
		if c.Commit != "" {
			t.Commit = c.Commit
		}
	case CheckFix: // one that was refuted is not tried again: the branch is where somebody put it, and what comes next says so
		t.Behind = ""
	case CheckSuspension:
		t.Proof = e.Seq
	case CheckWorkspace:
		t.foldWorkspace(e, c)
	case CheckRelease:
		t.Released = true
	case CheckResume, CheckCommand:
	}
}

func (t *Task) foldResultCheck(e *Entry, c *Check) {
	if t.Result == nil || t.Result.MsgID != c.For {
		return
	}
	s := &CheckState{Seq: e.Seq, Commit: c.Commit, Violation: c.Escalate}
	s.Confirmed, s.Refuted, s.Inconclusive = c.Count()
	reopen := false
	for _, cl := range c.Claims {
		if cl.Finding == Refuted {
			s.Refutations = append(s.Refutations, fmt.Sprintf("%s: said %s, found %s", cl.Name, cl.Claimed, cl.Found))
			reopen = reopen || slices.Contains(contractClaims, cl.Name)
		}
	}
	t.Checked = s
	t.Checks.Seq = e.Seq
	t.Checks.Confirmed += s.Confirmed
	t.Checks.Refuted += s.Refuted
	t.Checks.Inconclusive += s.Inconclusive
	if c.Commit != "" {
		t.Commit, t.Behind = c.Commit, ""
	}
	if t.Base == "" {
		t.Base = c.Base
	}
	switch {
	case c.Escalate != "": // an escalation of the same append suspends the task
	case reopen && t.move(PlanReopened, e.At):
		t.disapprove()
		t.due(DispatchReapproved)
		t.Guidance = "The last result broke the plan's contract: " + strings.Join(s.Refutations, "; ")
	case c.Blocked():
		t.RefutedRow++
		if t.move(ClaimsRefuted, e.At) {
			t.due(DispatchRefuted)
			t.Guidance = "The report was compared with git and refuted: " + strings.Join(s.Refutations, "; ")
		}
	default:
		t.RefutedRow = 0
	}
}

// contractClaims are the claims whose refutation breaks the plan contract and re-opens the approval.
var contractClaims = []string{"paths", "base"}

func (t *Task) foldCI(e *Entry, c *Check) {
	if c.Escalate != "" { // nothing ran; an escalation of the same append suspends the task
		return
	}
	if t.CI == nil {
		t.CIAt = e.At
	}
	t.CI = c.CI
	if t.CI == nil {
		t.CI = map[string]string{}
	}
	for _, g := range t.Gates() {
		if t.CI[g] != "failed" {
			continue
		}
		t.CIRow++
		if t.move(CIFailed, e.At) {
			t.due(DispatchCI)
			t.Guidance = "CI failed (" + g + "): fix it. " + c.Output
		}
		return
	}
	t.CIRow = 0
}

func (t *Task) foldWorkspace(e *Entry, c *Check) {
	w := t.Doing
	if w == nil || w.Command.ID != c.For {
		return
	}
	t.Doing = nil
	if c.Blocked() {
		t.Failed = append(t.Failed, NotCarriedOut{
			CommandID: w.Command.ID, Command: w.Command.Command, By: w.Command.By, Seq: e.Seq, Why: c.Text,
		})
		return
	}
	switch w.Command.Command {
	case Rollback:
		t.Commit, t.Checkpoint, t.Behind = c.Commit, max(t.Checkpoint, c.Checkpoint), ""
		t.due("")
		t.fence()
		t.hold(e, RolledBack, HoldRolled, c.Text)
		t.resolve(e, &w.Command)
		if w.Command.Args.Next != "" {
			t.follow(e, &w.Command)
		}
	case Deliver:
		if t.move(DeliveredCause, e.At) {
			t.DeliveredAs = c.Commit
			t.pulled(c.Pull, e.Seq)
		}
	}
}

package tui

import (
	"fmt"
	"strings"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// holdOptions are the ways on from what is held, by why it is held.
func (e *env) holdOptions(t *amp.Task) []option {
	if t.Hold == nil {
		return nil
	}
	one := func(c amp.CommandName) proposal { return proposal{Command: c, TaskID: t.ID} }
	guide := e.way("Redispatch with guidance", one(amp.Redispatch))
	split := e.way("Split into smaller subtasks", one(amp.Split))
	end := e.way("Stop the task", one(amp.Terminate))
	switch t.Hold.Kind {
	case amp.HoldVerdict:
		over := one(amp.Override)
		over.Args.Decision = otherDecision(t)
		return []option{
			e.way("Let the verdict stand: "+string(t.Decision), one(amp.Accept)),
			e.way("Override it: "+string(over.Args.Decision), over),
			guide, end,
		}
	case amp.HoldResult:
		return []option{e.way("Let the result stand and review it", one(amp.Accept)), guide, split, end}
	case amp.HoldRefused, amp.HoldUnlock, amp.HoldRolled:
	}
	return []option{guide, e.way("Give it to another agent", one(amp.Reassign)), split, end}
}

// drawHold is what is held and why: the verdict or the result, criterion by criterion, with the claims against git.
func (e *env) drawHold(c *column, t *amp.Task) {
	if t.Hold == nil {
		return
	}
	th := e.Theme
	facts := strings.ReplaceAll(string(t.Hold.Kind), "_", " ")
	if t.Hold.Kind == amp.HoldVerdict {
		facts = fmt.Sprintf("%s, confidence %.2f", t.Decision, t.Confidence)
	}
	c.Rule("Held  "+ui.Safe(titleOf(t)), facts)
	c.Field(9, "why", ui.Safe(t.Hold.Why))
	if t.Guidance != "" {
		c.Field(9, "guidance", ui.Quote(th, t.Guidance))
	}
	r := e.desk.past(t.ID).facts(t).lastRound()
	if r == nil {
		e.drawPastError(c, t)
	}
	e.drawClaims(c, t)
	e.drawFixes(c, t, r)
	if t.Hold.Kind == amp.HoldRefused || t.Hold.Kind == amp.HoldRolled {
		e.drawLines(c, t, t.Hold.Seq)
		return
	}
	if r != nil {
		if r.result != nil && t.Hold.Kind == amp.HoldResult {
			for _, b := range r.result.Blockers {
				c.Quote(2, "blocker: "+b, 3)
			}
		}
		e.drawCriteria(c, t, r)
		e.drawIssues(c, t, r)
	}
}

// drawClaims are what git and exit codes say of the report.
func (e *env) drawClaims(c *column, t *amp.Task) {
	k := t.Checked
	if k == nil {
		return
	}
	th := e.Theme
	c.Field(9, "claims", fmt.Sprintf("%s%d %s%d ?%d  %s", th.S(theme.Good, th.Signs.Yes), k.Confirmed, th.S(theme.Danger, th.Signs.No), k.Refuted,
		k.Inconclusive, seqName(k.Seq)))
	for _, r := range k.Refutations {
		c.Para(12, th.S(theme.Danger, th.Signs.No)+" "+ui.Safe(r))
	}
}

// drawFixes are the reviewer's own changes, which get onto the branch when the verdict stands.
func (e *env) drawFixes(c *column, t *amp.Task, r *round) {
	if t.Fix == "" {
		return
	}
	c.Field(9, "fixes", short(t.Fix)+" by the reviewer, on the branch once the verdict stands")
	if r == nil || r.verdict == nil {
		return
	}
	for _, f := range r.verdict.DirectFixes {
		c.Para(12, ui.Safe(fixWords(&f)))
	}
}

// fixWords is one direct fix in words.
func fixWords(f *amp.DirectFix) string {
	return fmt.Sprintf("%s  %s, %s", f.ChangeType, f.File, plural(f.DiffLines, "line"))
}

// drawCriteria sets the executor's word beside the reviewer's, criterion by criterion in the order of the dispatch.
func (e *env) drawCriteria(c *column, t *amp.Task, r *round) {
	if t.Plan == nil || r == nil {
		return
	}
	heads := []string{}
	if r.result != nil {
		heads = append(heads, "executor "+seqName(r.Outcome.Seq))
	}
	if r.verdict != nil {
		heads = append(heads, "reviewer "+seqName(r.Judgement.Seq))
	}
	c.Rule("Acceptance criteria", strings.Join(heads, "   "))
	for i, text := range t.Plan.AcceptanceCriteria {
		tail := ""
		if r.result != nil {
			tail += e.passed(at(r.result.SelfAssessment.CriteriaMet, i)) + "  "
		}
		if r.verdict != nil {
			var said *bool
			if i < len(r.verdict.CriteriaResults) {
				said = r.verdict.CriteriaResults[i].Passed
			}
			tail += e.passed(said) + " "
		}
		c.Spread(fmt.Sprintf("  %d %s", i+1, ui.Safe(text)), tail)
		if r.verdict != nil && i < len(r.verdict.CriteriaResults) {
			if cr := r.verdict.CriteriaResults[i]; cr.Passed == nil || !*cr.Passed {
				c.Quote(4, cr.Evidence, 2)
			}
		}
	}
}

func at(list []*bool, i int) *bool {
	if i < len(list) {
		return list[i]
	}
	return nil
}

// passed is a three-valued answer in seven cells.
func (e *env) passed(b *bool) string {
	th := e.Theme
	switch {
	case b == nil:
		return th.S(theme.Time, th.Signs.Open+" null ")
	case *b:
		return th.S(theme.Good, th.Signs.Yes+" true ")
	}
	return th.S(theme.Danger, th.Signs.No+" false")
}

// drawIssues are the findings of the verdict that is held.
func (e *env) drawIssues(c *column, t *amp.Task, r *round) {
	if r.verdict == nil || len(r.verdict.Issues) == 0 {
		return
	}
	c.Rule("Issues of "+seqName(r.Judgement.Seq), plural(len(r.verdict.Issues), "issue"))
	for _, is := range r.verdict.Issues {
		c.Add(fmt.Sprintf("  %s  %s:%d", is.Severity, ui.Safe(is.File), is.Line))
		c.Quote(4, is.Description, 3)
		if is.SuggestedFix != "" {
			c.Quote(4, "fix: "+is.SuggestedFix, 2)
		}
	}
}

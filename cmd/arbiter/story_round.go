package main

import (
	"fmt"

	"arbiter/amp"
)

// rounds writes what was sent, reported, checked and judged, in order, under one title for each dispatch.
func (s *story) rounds() error {
	s.title(2, "Rounds")
	err := s.each(func(e *amp.Entry) error {
		if e.Kind == amp.KindCheck {
			c, err := amp.DecodeBody[amp.Check](e)
			if err == nil {
				s.ledger(e, &c)
			}
			return err
		}
		m, _, err := amp.Decode(e.Body)
		if err != nil {
			return err
		}
		switch p := m.Payload.(type) {
		case *amp.Dispatch:
			s.dispatch(e, p)
		case *amp.Result:
			s.result(e, p)
		case *amp.Request:
			s.line("\n#%d review asked for: %s review, rejected %d times before.", e.Seq, p.ReviewScope, p.RejectCount)
			s.quote(p.CoordinatorNotes)
		case *amp.Verdict:
			s.verdict(e, p)
		}
		return nil
	}, amp.KindMessage, amp.KindCheck)
	if s.round == 0 {
		s.line("Nothing was dispatched.")
	}
	return err
}

func (s *story) dispatch(e *amp.Entry, p *amp.Dispatch) {
	s.round++
	s.title(3, "Round %d", s.round)
	s.line("#%d %s, dispatched %s:", e.Seq, utc(e.At), said(e.ID))
	for _, x := range p.Subtasks {
		s.line("- %s %s", said(x.SubtaskID), said(x.Description))
	}
}

func (s *story) result(e *amp.Entry, p *amp.Result) {
	s.line("\n#%d %s, %s reports %s **%s**: %s, +%d −%d, commit %s", e.Seq, utc(e.At), said(e.Actor), said(p.SubtaskID), p.CompletionStatus,
		plural(len(p.DiffSummary.FilesChanged), "file"), p.DiffSummary.LinesAdded, p.DiffSummary.LinesRemoved, said(p.CommitHash))
	for i, met := range p.SelfAssessment.CriteriaMet {
		note := ""
		if i < len(p.SelfAssessment.Notes) {
			note = p.SelfAssessment.Notes[i]
		}
		s.line("- criterion %d: %s, says the executor: %s", i+1, truth(met), said(note))
	}
	s.list("Blockers", p.Blockers)
}

// truth is a claim that can be left open.
func truth(b *bool) string {
	switch {
	case b == nil:
		return "not verified"
	case *b:
		return "met"
	}
	return "not met"
}

// ledger writes a check of claims; what became of deliveries stands in a section of its own.
func (s *story) ledger(e *amp.Entry, c *amp.Check) {
	if c.Subject == amp.CheckWorkspace || c.Subject == amp.CheckRelease || c.Subject == amp.CheckCommand {
		return
	}
	yes, no, open := c.Count()
	s.line("\n#%d %s, checked by Arbiter (%s): %d confirmed, %d refuted, %d inconclusive, commit %s", e.Seq, utc(e.At), c.Subject, yes, no, open, said(c.Commit))
	s.line("")
	for i := range c.Claims {
		cl := &c.Claims[i]
		text := fmt.Sprintf("- **%s** %s: said %s, found %s", cl.Finding, said(cl.Name), said(cl.Claimed), said(cl.Found))
		if cl.Evidence != "" {
			text += ", by " + said(cl.Evidence)
		}
		s.line("%s", text)
	}
	if c.Fix != "" {
		s.line("- direct fixes of the reviewer: %s, on the branch once the verdict counts", said(c.Fix))
	}
	for _, gate := range sortedKeys(c.CI) {
		s.line("- local CI %s: %s", said(gate), said(c.CI[gate]))
	}
	s.quote(c.Output)
}

func (s *story) verdict(e *amp.Entry, p *amp.Verdict) {
	s.line("\n#%d %s, %s judges **%s** at confidence %.2f", e.Seq, utc(e.At), said(e.Actor), p.Decision, p.Confidence)
	s.line("")
	for _, c := range p.CriteriaResults {
		s.line("- %s %s: %s", truth(c.Passed), said(c.Criterion), said(c.Evidence))
	}
	for _, x := range p.Issues {
		s.line("- **%s** %s: %s; fix: %s", x.Severity, said(fmt.Sprintf("%s:%d", x.File, x.Line)), said(x.Description), said(x.SuggestedFix))
	}
	for _, x := range p.DirectFixes {
		s.line("- fixed directly (%s, %s) in %s", x.ChangeType, plural(x.DiffLines, "line"), said(x.File))
	}
	s.quote(p.ArchitectureNotes)
}

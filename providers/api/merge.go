package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/sacp"
)

// maxEvidence bounds what is joined of the evidence for one criterion.
const maxEvidence = 8 << 10

// merge makes one verdict of those on the parts: nothing holds that a part refutes, nothing is confirmed that no part confirms, and
// nothing is confirmed at all when something was not seen. What was seen stands in the notes.
func (r *run) merge(s *share, findings []providers.Outcome) (providers.Outcome, *providers.TurnError) {
	if s.parts == 0 {
		return findings[0], nil
	}
	verdicts := make([]amp.Verdict, len(findings))
	answers := make([]sacp.Answer, len(findings))
	for i, f := range findings {
		if err := json.Unmarshal(f.Final, &verdicts[i]); err != nil {
			return f, &providers.TurnError{Failure: providers.FailAnswer, Text: "its verdict cannot be read: " + r.clip(err.Error())}
		}
		answers[i], _, _ = sacp.Decode(f.Answer) // it was read once before
	}
	v := combine(verdicts, brief.Criteria(r.turn), s)
	raw, err := json.Marshal(&v)
	if err != nil {
		return findings[0], &providers.TurnError{Failure: providers.FailAnswer, Text: "the verdict cannot be written down: " + err.Error()}
	}
	a := answers[0]
	a.Data = raw
	for i, other := range answers[1:] {
		a.Thought += fmt.Sprintf("\n\nPart %d: %s", i+2, other.Thought)
		a.Message += fmt.Sprintf("\n\nPart %d: %s", i+2, other.Message)
	}
	out := providers.Outcome{Final: raw}
	if out.Answer, err = a.Encode(); err != nil {
		return out, &providers.TurnError{Failure: providers.FailAnswer, Text: "the answer cannot be written down: " + err.Error()}
	}
	return out, nil
}

// combine is the verdict of all parts on these criteria; without any, on those that the parts name.
func combine(verdicts []amp.Verdict, criteria []string, s *share) amp.Verdict {
	v := amp.Verdict{Decision: amp.Approved, Confidence: 1}
	notes := []string{}
	if len(criteria) == 0 {
		for _, one := range verdicts {
			for _, c := range one.CriteriaResults {
				if !slices.Contains(criteria, c.Criterion) {
					criteria = append(criteria, c.Criterion)
				}
			}
		}
	}
	for i, one := range verdicts {
		if one.Decision == amp.Rejected {
			v.Decision = amp.Rejected
		}
		v.Confidence = min(v.Confidence, one.Confidence)
		for _, issue := range one.Issues {
			if !slices.Contains(v.Issues, issue) {
				v.Issues = append(v.Issues, issue)
			}
		}
		if note := strings.TrimSpace(one.ArchitectureNotes); note != "" {
			notes = append(notes, label(i, len(verdicts))+note)
		}
	}
	for i, text := range criteria {
		v.CriteriaResults = append(v.CriteriaResults, joinCriterion(verdicts, i, text, len(criteria), s))
	}
	v.ArchitectureNotes = strings.Join(append(notes, s.coverage()), "\n")
	return v
}

// joinCriterion is what all parts say of the i-th of n criteria.
func joinCriterion(verdicts []amp.Verdict, i int, text string, n int, s *share) amp.CriterionResult {
	out := amp.CriterionResult{Criterion: text}
	var evidence []string
	confirmed, refuted := false, false
	for part, v := range verdicts {
		c := resultFor(v.CriteriaResults, i, text, n)
		if c == nil {
			continue
		}
		if c.Passed != nil {
			confirmed, refuted = confirmed || *c.Passed, refuted || !*c.Passed
		}
		evidence = append(evidence, label(part, len(verdicts))+c.Evidence)
	}
	switch {
	case refuted:
		out.Passed = new(bool)
	case confirmed && len(s.missing) == 0:
		out.Passed = &confirmed
	case confirmed:
		evidence = append(evidence, "Not verified as a whole, since not all was seen: "+strings.Join(s.missing, "; "))
	case len(evidence) == 0:
		evidence = append(evidence, "No part of the review said anything of it.")
	}
	out.Evidence = strings.Join(evidence, "\n")
	if len(out.Evidence) > maxEvidence {
		out.Evidence = strings.ToValidUTF8(out.Evidence[:maxEvidence], "") + "…"
	}
	return out
}

// resultFor finds a criterion by its text, or by its place when there are as many results as criteria.
func resultFor(results []amp.CriterionResult, i int, text string, n int) *amp.CriterionResult {
	for k := range results {
		if results[k].Criterion == text {
			return &results[k]
		}
	}
	if len(results) == n {
		return &results[i]
	}
	return nil
}

func label(part, parts int) string {
	if parts == 1 {
		return ""
	}
	return fmt.Sprintf("Part %d: ", part+1)
}

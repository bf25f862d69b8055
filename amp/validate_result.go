package amp

import "strings"

// result reports on a task_result, AMP-073 to AMP-086.
func (r *report) result(_ *Message, p *Result) {
	r.text("AMP-073", "payload.subtask_id", p.SubtaskID)
	oneOf(r, "AMP-074", "payload.completion_status", p.CompletionStatus, Complete, Partial, Failed)
	r.count("AMP-076", "payload.diff_summary.lines_added", p.DiffSummary.LinesAdded)
	r.count("AMP-076", "payload.diff_summary.lines_removed", p.DiffSummary.LinesRemoved)
	if met, notes := len(p.SelfAssessment.CriteriaMet), len(p.SelfAssessment.Notes); met != notes {
		r.warn("AMP-081", "payload.self_assessment.notes", "has %s for %s", entries(notes), plural(met, "criterion", "criteria"))
	}
	for i, w := range p.WorkLog {
		if _, err := ParseTimestamp(w.Timestamp); err != nil {
			r.warn("AMP-083", at("payload.work_log", i)+".timestamp", "%s", err)
		}
	}
	r.blockers(p)
}

func (r *report) blockers(p *Result) {
	const field = "payload.blockers"
	if p.CompletionStatus != Partial && p.CompletionStatus != Failed {
		return
	}
	if len(p.Blockers) == 0 {
		r.refuse("AMP-085", field, "is required when completion_status is %s: say what blocks the work", p.CompletionStatus)
		return
	}
	for _, b := range p.Blockers {
		if strings.TrimSpace(b) != "" {
			return
		}
	}
	r.refuse("AMP-086", field, "explains nothing; say why the work is %s", p.CompletionStatus)
}

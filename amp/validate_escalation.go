package amp

import "slices"

// escalation reports on an escalation, AMP-154 to AMP-166.
func (r *report) escalation(m *Message, p *Escalation) {
	oneOf(r, "AMP-154", "payload.escalation_type", p.EscalationType, HallucinationLock, AckTimeoutEsc, BranchViolation, CIFailure,
		Conflict, HeartbeatTimeout, PermissionDenied, UnknownEscalation)
	oneOf(r, "AMP-155", "payload.severity", p.Severity, Critical, Warning, Info)
	oneOf(r, "AMP-157", "payload.triggered_by", p.TriggeredBy, Coordinator, Executor, Reviewer, System)
	if p.TriggeredBy != m.From && (m.From == Executor || m.From == Reviewer) {
		r.warn("A25", "payload.triggered_by", "is %s, but the message comes from the %s", p.TriggeredBy, m.From)
	}
	r.text("AMP-158", "payload.description", p.Description)
	r.ids("AMP-159", "payload.affected_msgs", p.AffectedMsgs)
	r.snapshot(p)
	switch {
	case p.AutoSuspended:
	case p.Severity == Critical:
		r.refuse("AMP-164", "payload.auto_suspended", "is false, but a critical escalation always suspends")
	case p.Severity == Warning:
		r.refuse("AMP-165", "payload.auto_suspended", "is false, which only an escalation of level info may say")
	}
}

func (r *report) snapshot(p *Escalation) {
	const field = "payload.system_state_snapshot"
	s := p.SystemStateSnapshot
	r.text("AMP-160", field+".task_status", string(s.TaskStatus))
	if s.TaskStatus != "" && !slices.Contains(Statuses, s.TaskStatus) {
		r.warn("AMP-160", field+".task_status", "is %s, which is no status of a task here", quoted(string(s.TaskStatus)))
	}
	r.count("AMP-160", field+".reject_count", s.RejectCount)
	if p.EscalationType == HallucinationLock && s.TaskStatus != Locked {
		r.refuse("AMP-166", field+".task_status", "is %s, but a hallucination_lock means that the task is locked", quoted(string(s.TaskStatus)))
	}
}

package amp

// importChange is the other word for import_order that is accepted on the wire (A14).
const importChange ChangeType = "import"

// verdict reports on a review_verdict, AMP-123 to AMP-136.
func (r *report) verdict(_ *Message, p *Verdict) {
	oneOf(r, "AMP-123", "payload.decision", p.Decision, Approved, ApprovedWithFix, Rejected)
	approval := p.Decision == Approved || p.Decision == ApprovedWithFix
	for i, c := range p.CriteriaResults {
		if approval && c.Passed != nil && !*c.Passed {
			r.refuse("A13", at("payload.criteria_results", i)+".passed", "is false, but the decision is %s", p.Decision)
		}
	}
	if p.Decision == Rejected && len(p.Issues) == 0 {
		r.refuse("AMP-127", "payload.issues", "is required when the decision is rejected: say what must change")
	}
	for i, s := range p.Issues {
		field := at("payload.issues", i)
		oneOf(r, "AMP-129", field+".severity", s.Severity, IssueCritical, IssueMajor, IssueMinor)
		r.text("AMP-128", field+".description", s.Description)
		if s.Line < 0 {
			r.warn("AMP-128", field+".line", "is %d, expected a line number, or 0 for the whole file", s.Line)
		}
		if approval && s.Severity != IssueMinor {
			r.warn("AMP-130", field+".severity", "is %s, which blocks, but the decision is %s", s.Severity, p.Decision)
		}
	}
	r.directFixes(p)
	if !(p.Confidence >= 0 && p.Confidence <= 1) { // refuses NaN too
		r.refuse("AMP-136", "payload.confidence", "is %v, expected a number from 0.0 to 1.0", p.Confidence)
	}
}

func (r *report) directFixes(p *Verdict) {
	const field = "payload.direct_fixes"
	switch {
	case p.Decision == ApprovedWithFix && len(p.DirectFixes) == 0:
		r.refuse("AMP-131", field, "is required when the decision is approved_with_fix: say what was fixed")
	case p.Decision != ApprovedWithFix && len(p.DirectFixes) > 0:
		r.warn("AMP-131", field, "belongs to approved_with_fix only; with %s it is not used", p.Decision)
	}
	total := 0
	for i, f := range p.DirectFixes {
		fix := at(field, i)
		r.text("AMP-131", fix+".file", f.File)
		oneOf(r, "AMP-132", fix+".change_type", f.ChangeType, Typo, Lint, Whitespace, importChange, ImportOrder)
		r.count("AMP-133", fix+".diff_lines", f.DiffLines)
		if f.DiffLines > 4 {
			r.refuse("AMP-133", fix+".diff_lines", "is %d, but a direct fix has fewer than 5 lines; a larger one must be a rejection (AMP-134)", f.DiffLines)
		}
		total += f.DiffLines
	}
	if total > 4 && len(p.DirectFixes) > 1 {
		r.warn("A15", field, "have %d lines together", total)
	}
}

// normalise stores import as import_order (A14).
func (m *Message) normalise() {
	if v, ok := m.Payload.(*Verdict); ok && v != nil {
		for i := range v.DirectFixes {
			if v.DirectFixes[i].ChangeType == importChange {
				v.DirectFixes[i].ChangeType = ImportOrder
			}
		}
	}
}

// stored is the payload as it is written: a verdict's import as import_order, without touching the caller's.
func stored(p Payload) Payload {
	v, ok := p.(*Verdict)
	if !ok {
		return p
	}
	c := *v
	c.DirectFixes = append([]DirectFix(nil), v.DirectFixes...)
	(&Message{Payload: &c}).normalise()
	return &c
}

package amp

import "strings"

// LockWarning is what the coordinator_notes of a review_request hold from the second rejection on (AMP-112, A27).
const LockWarning = "Lock is approaching"

// request reports on a review_request, AMP-103 to AMP-113.
func (r *report) request(_ *Message, p *Request) {
	r.text("AMP-103", "payload.original_dispatch_ref", p.OriginalDispatchRef)
	r.text("AMP-104", "payload.task_result_ref", p.TaskResultRef)
	oneOf(r, "AMP-106", "payload.review_scope", p.ReviewScope, Full, Incremental)
	r.text("AMP-108", "payload.diff_url", p.DiffURL)
	r.count("AMP-109", "payload.reject_count", p.RejectCount)
	if p.RejectCount >= 2 && !warnsOfLock(p.CoordinatorNotes) {
		r.refuse("AMP-112", "payload.coordinator_notes", "must say %q, since reject_count is %d", LockWarning, p.RejectCount)
	}
	for name, status := range p.CIStatus {
		if status == "failed" {
			r.warn("AMP-113", join("payload.ci_status", name), "is failed; with a failed gate no review is requested (A24)")
		}
	}
}

func warnsOfLock(notes string) bool {
	return strings.Contains(strings.ToLower(notes), strings.ToLower(LockWarning))
}

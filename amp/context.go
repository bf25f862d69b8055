package amp

import (
	"slices"
	"strings"
)

// Judge returns what is wrong with a message and can only be told from the state of things: an unknown task, a writer that is not
// the one in from, a message that nothing asked for or that comes too late. sender is the role that handed the message in; known
// reports whether the journal holds a message id, and nil leaves references unjudged. The message must have passed [Validate].
//
// A message that comes while the task, or everything, stands still has AMP-174 as its first problem. An escalation is accepted
// then too: it is never swallowed. Whether a msg_id was used before is judged by the journal (AMP-013).
func (b *Board) Judge(m *Message, sender Role, known func(id string) bool) (problems, warnings []Problem) {
	j := &judgement{known: known}
	b.judge(j, m, sender)
	return j.problems, j.warnings
}

// judgement collects what is wrong with a message in its context.
type judgement struct {
	report
	known func(id string) bool
}

func (b *Board) judge(j *judgement, m *Message, sender Role) {
	t := b.Task(m.TaskID)
	frozen := false
	if t != nil {
		if why := b.standstill(t); why != "" && (m.Type != EscalationMsg || t.Status.Ended()) {
			j.refuse("AMP-174", "task_id", "is %s, which %s: %s is refused", t.ID, why, article(string(m.Type)))
			frozen = true
		}
	}
	j.writer(m, sender)
	j.resolve("AMP-029", "context_ref", m.ContextRef)
	switch {
	case t == nil && m.Type == TaskDispatch: // the dispatch that would create the task lacks more than the task
		j.refuse("AMP-040", "task_id", "is %s, for which no plan was approved", quoted(string(m.TaskID)))
	case t == nil:
		j.refuse("AMP-021", "task_id", "is %s, which is no task here", quoted(string(m.TaskID)))
	case !frozen: // else what it lacks besides is noise
		j.payload(t, m)
	}
}

func (j *judgement) payload(t *Task, m *Message) {
	switch p := m.Payload.(type) {
	case *Dispatch:
		j.dispatch(t, p)
	case *Result:
		j.result(t, m, p)
	case *Request:
		j.request(t, p)
	case *Verdict:
		j.verdict(t, m, p)
	case *Escalation:
		j.resolve("AMP-159", "payload.affected_msgs", p.AffectedMsgs)
	}
}

// standstill says why no message of a task is taken, or "".
func (b *Board) standstill(t *Task) string {
	switch {
	case t.Status == Suspended:
		return "is suspended until an admin resumes it"
	case t.Status == Locked:
		return "is locked until an admin unlocks it"
	case t.Status.Ended():
		return "is " + string(t.Status)
	case b.Stopped != nil:
		return "stands still, as everything does since " + FormatTime(b.Stopped.At)
	}
	return ""
}

// writers are the rules that say who writes a type of message.
var writers = map[MessageType]string{
	TaskDispatch: "AMP-042", TaskResult: "AMP-072", ReviewRequest: "AMP-102", ReviewVerdict: "AMP-122", EscalationMsg: "AMP-152",
}

func (j *judgement) writer(m *Message, sender Role) {
	if sender == Admin {
		j.refuse(writers[m.Type], "from", "is %s, but an admin handed it in; an admin acts by commands (A09)", m.From)
	} else if sender != m.From {
		j.refuse(writers[m.Type], "from", "is %s, but the %s handed it in", m.From, sender)
	}
}

func (j *judgement) resolve(rule, field string, ids []string) {
	if j.known == nil {
		return
	}
	for i, id := range ids {
		if !j.known(id) {
			j.warn(rule, at(field, i), "is %s, which is not in the journal", quoted(id))
		}
	}
}

// dispatch: only what was approved is dispatched, and only when a dispatch is due.
func (j *judgement) dispatch(t *Task, p *Dispatch) {
	plan := t.Plan
	switch {
	case plan == nil:
		j.refuse("AMP-040", "task_id", "is %s, which has no plan", t.ID)
		return
	case t.Approval == nil || t.Approval.Revision != plan.Revision || t.Approval.Hash != plan.Hash:
		j.refuse("AMP-040", "task_id", "is %s, whose plan revision %d is not approved", t.ID, plan.Revision)
		return
	case t.Status != Dispatched || t.Next == "":
		j.refuse("AMP-040", "task_id", "is %s, for which no dispatch is due: it is %s", t.ID, t.Status)
	}
	if p.Repo != plan.Repo {
		j.refuse("AMP-040", "payload.repo", "is %s, but %s was approved", quoted(p.Repo), quoted(plan.Repo))
	}
	if p.Branch != plan.Branch {
		j.refuse("AMP-040", "payload.branch", "is %s, but %s was approved", quoted(p.Branch), quoted(plan.Branch))
	}
	if p.RiskLevel != plan.RiskLevel {
		j.refuse("AMP-060", "payload.risk_level", "is %s, but %s was approved; nobody changes it on the way", p.RiskLevel, plan.RiskLevel)
	}
	if !slices.Equal(p.AcceptanceCriteria, plan.AcceptanceCriteria) {
		j.refuse("AMP-040", "payload.acceptance_criteria", "are not those that were approved")
	}
	for i, s := range p.Subtasks {
		if !slices.Contains(plan.Subtasks, s) {
			j.refuse("AMP-040", at("payload.subtasks", i), "is %s, which was not approved like this", quoted(s.SubtaskID))
		}
	}
}

// result: it answers the open dispatch and goes criterion by criterion.
func (j *judgement) result(t *Task, m *Message, p *Result) {
	switch {
	case t.Dispatch == nil || t.Status != Dispatched && t.Status != Executing:
		j.refuse("AMP-070", "task_id", "is %s, where no dispatch is open: it is %s", t.ID, t.Status)
		return
	case len(m.ContextRef) > 0 && !slices.Contains(m.ContextRef, t.Dispatch.MsgID):
		j.refuse("AMP-070", "context_ref", "does not hold %s, the dispatch at work: the result is stale", t.Dispatch.MsgID)
	}
	ids := make([]string, len(t.Subtasks()))
	for i, s := range t.Subtasks() {
		ids[i] = s.SubtaskID
	}
	switch current := t.CurrentSubtask().SubtaskID; {
	case !slices.Contains(ids, p.SubtaskID):
		j.refuse("AMP-073", "payload.subtask_id", "is %s, but the dispatch has %s", quoted(p.SubtaskID), strings.Join(ids, ", "))
	case p.SubtaskID != current:
		j.refuse("AMP-073", "payload.subtask_id", "is %s, but %s is at work", quoted(p.SubtaskID), current)
	}
	if t.Plan == nil {
		return
	}
	if got, want := len(p.SelfAssessment.CriteriaMet), len(t.Plan.AcceptanceCriteria); got != want {
		j.refuse("AMP-078", "payload.self_assessment.criteria_met",
			"has %s, expected %d: one for each acceptance criterion in the dispatch's order, null where it cannot be verified (A12)",
			entries(got), want)
	}
}

// request: it packages the result that waits for its review.
func (j *judgement) request(t *Task, p *Request) {
	if t.Status != Verifying || t.Result == nil || t.Dispatch == nil {
		j.refuse("AMP-100", "task_id", "is %s, where no complete result waits for review: it is %s", t.ID, t.Status)
		return
	}
	j.reference("AMP-103", "payload.original_dispatch_ref", p.OriginalDispatchRef, t.Dispatch.MsgID)
	j.reference("AMP-104", "payload.task_result_ref", p.TaskResultRef, t.Result.MsgID)
	if p.ReviewScope == Incremental && t.LastVerdictCommit == "" && t.Reviewed == "" && t.RejectTotal == 0 && t.Subtask == 0 {
		j.refuse("AMP-107", "payload.review_scope", "is incremental, but there is no earlier verdict: it must be full")
	}
	if p.RejectCount != t.RejectCount {
		j.refuse("AMP-109", "payload.reject_count", "is %d, but the journal counts %d", p.RejectCount, t.RejectCount)
	}
	if t.RejectCount >= 2 && !warnsOfLock(p.CoordinatorNotes) {
		j.refuse("AMP-112", "payload.coordinator_notes", "must say %q, since the task was rejected %d times", LockWarning, t.RejectCount)
	}
	for _, gate := range t.Gates() {
		if p.CIStatus[gate] == "failed" || t.CI[gate] == "failed" {
			j.refuse("AMP-113", join("payload.ci_status", gate), "is failed: the executor gets a dispatch to fix it, not the reviewer a request")
		}
	}
	for _, name := range t.Missing() {
		j.refuse("AMP-113", join("payload.ci_status", name), "has not passed, and the plan requires it")
	}
}

// reference judges a reference to a message of the current round. One that does not resolve is only a warning to a reader (A04),
// but nothing to send (AMP-105).
func (j *judgement) reference(rule, field, got, want string) {
	switch {
	case got == want:
		if j.known != nil && !j.known(got) {
			j.refuse("AMP-105", field, "is %s, which cannot be read in the journal", quoted(got))
		}
	case j.known != nil && !j.known(got):
		j.warn(rule, field, "is %s, which is not in the journal", quoted(got))
		j.refuse("AMP-105", field, "is %s, which cannot be read in the journal; it must be %s", quoted(got), want)
	default:
		j.refuse(rule, field, "is %s, but this round has %s", quoted(got), want)
	}
}

// verdict: it answers the open review_request.
func (j *judgement) verdict(t *Task, m *Message, p *Verdict) {
	switch {
	case t.Request == nil:
		j.refuse("AMP-120", "task_id", "is %s, for which no review was requested: it is %s", t.ID, t.Status)
		return
	case t.Status != Reviewing:
		j.refuse("AMP-139", "task_id", "is %s, whose review has ended: it is %s; the verdict is stale", t.ID, t.Status)
	case len(m.ContextRef) > 0 && !slices.Contains(m.ContextRef, t.Request.MsgID):
		j.refuse("AMP-139", "context_ref", "does not hold %s, the open review_request: the verdict is stale", t.Request.MsgID)
	}
	if t.Plan == nil {
		return
	}
	if got, want := len(p.CriteriaResults), len(t.Plan.AcceptanceCriteria); got != want {
		j.warn("AMP-126", "payload.criteria_results", "has %s for %s", entries(got), plural(want, "acceptance criterion", "acceptance criteria"))
	}
}

// JudgeAck returns what is wrong with an ACK. of is the message that it is for, nil when the journal has no such message. An ACK
// that repeats another, or comes late, is no problem: it changes nothing (A07).
func (b *Board) JudgeAck(a *Ack, of *Message) (problems, warnings []Problem) {
	j := &judgement{}
	b.judgeAck(j, a, of)
	return j.problems, j.warnings
}

func (b *Board) judgeAck(j *judgement, a *Ack, of *Message) {
	if of == nil {
		j.refuse("AMP-014", "ack_for", "is %s, which is no message in the journal", quoted(a.AckFor))
		return
	}
	t := b.Task(of.TaskID)
	if t == nil {
		j.refuse("AMP-021", "task_id", "is %s, which is no task here", quoted(string(of.TaskID)))
		return
	}
	if why := b.standstill(t); why != "" && of.Type != EscalationMsg {
		j.refuse("AMP-174", "task_id", "is %s, which %s: an ACK is refused", t.ID, why)
	}
	if a.AckFor != of.MsgID || a.TaskID != of.TaskID {
		j.refuse("AMP-014", "task_id", "is %s, but %s is about %s", quoted(string(a.TaskID)), of.MsgID, of.TaskID)
	}
	if a.By != of.To {
		j.refuse("A07", "by", "is %s, but the message went to the %s", quoted(string(a.By)), of.To)
	}
	oneOf(&j.report, "A07", "status", a.Status, AckAccepted, AckRefused)
	if a.Status == AckRefused && strings.TrimSpace(a.Reason) == "" {
		j.refuse("A07", "reason", "is required when a message is refused")
	}
	j.echo(t, a, of)
}

// echo judges the acceptance criteria that the ACK of a dispatch repeats.
func (j *judgement) echo(t *Task, a *Ack, of *Message) {
	d, ok := of.Payload.(*Dispatch)
	if !ok {
		return
	}
	const field = "echoed_acceptance_criteria"
	switch {
	case a.EchoedAcceptanceCriteria == nil && a.Status == AckAccepted:
		j.warn("A07", field, "are missing, so nothing shows that the task was read")
	case a.EchoedAcceptanceCriteria != nil && !slices.Equal(a.EchoedAcceptanceCriteria, d.AcceptanceCriteria):
		j.refuse("A07", field, "are not those of the dispatch")
	}
	if t.Dispatch != nil && t.Dispatch.MsgID != of.MsgID {
		j.warn("A07", "ack_for", "is %s, but %s is the dispatch at work", of.MsgID, t.Dispatch.MsgID)
	}
}

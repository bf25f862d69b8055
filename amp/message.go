package amp

import (
	"math"
	"time"
)

// Version is the one protocol version that is spoken (AMP-015).
const Version = "AMP/1.0"

// TaskID names a task, T-YYYY-NNN with three or more digits at the end (AMP-020, A06). The empty TaskID means "no task".
type TaskID string

// Role is a participant of the protocol.
type Role string

// The roles of AMP-018. System only sends (AMP-019); an AMP message from admin is refused on every channel (A09).
const (
	Admin       Role = "admin"
	Coordinator Role = "coordinator"
	Executor    Role = "executor"
	Reviewer    Role = "reviewer"
	System      Role = "system"
)

// MessageType is the type of an AMP message; there are exactly five (AMP-003, AMP-017).
type MessageType string

// The five message types.
const (
	TaskDispatch  MessageType = "task_dispatch"
	TaskResult    MessageType = "task_result"
	ReviewRequest MessageType = "review_request"
	ReviewVerdict MessageType = "review_verdict"
	EscalationMsg MessageType = "escalation"
)

// AckTimeout is the protocol's default time for the ACK of a message of this type, or 0 when none is due (AMP-026).
func (t MessageType) AckTimeout() time.Duration {
	switch t {
	case TaskDispatch:
		return 300 * time.Second
	case TaskResult:
		return 120 * time.Second
	case ReviewRequest:
		return 600 * time.Second
	case ReviewVerdict:
		return 60 * time.Second
	default:
		return 0
	}
}

// Message is one AMP message: the envelope of AMP-010 and the payload that its type decides (AMP-030).
type Message struct {
	MsgID           string
	ProtocolVersion string
	Type            MessageType
	From            Role
	To              Role
	TaskID          TaskID
	// Timestamp is kept as it was written: ISO 8601 with a zone (AMP-022).
	Timestamp   string
	RequiresAck bool
	// AckTimeoutSec overrides the default of the type when above 0 (AMP-026, AMP-027).
	AckTimeoutSec int
	ContextRef    []string
	// Payload is *Dispatch, *Result, *Request, *Verdict or *Escalation, as Type says.
	Payload Payload
}

// Payload is the content of a message: [*Dispatch], [*Result], [*Request], [*Verdict] or [*Escalation].
type Payload interface {
	// MessageType is the type of the messages that carry this payload.
	MessageType() MessageType
}

// AckTimeout is how long the receiver has for its ACK, counted from the message's entry in the journal (A19), or 0 when no ACK
// is timed (AMP-026, AMP-151, A18).
func (m *Message) AckTimeout() time.Duration {
	if !m.RequiresAck {
		return 0
	}
	if m.AckTimeoutSec > 0 {
		return time.Duration(min(int64(m.AckTimeoutSec), math.MaxInt64/int64(time.Second))) * time.Second
	}
	return m.Type.AckTimeout()
}

// RiskLevel decides the approval path of a plan (AMP-058, AMP-059).
type RiskLevel string

// The risk levels.
const (
	Low    RiskLevel = "low"
	Medium RiskLevel = "medium"
	High   RiskLevel = "high"
)

// Subtask is one step of a dispatch, in order (AMP-051 to AMP-053).
type Subtask struct {
	SubtaskID      string `json:"subtask_id"`
	Description    string `json:"description"`
	EstimatedLines int    `json:"estimated_lines"`
}

// Dispatch is the payload of a task_dispatch (AMP-040 to AMP-064).
type Dispatch struct {
	Description        string         `json:"description"`
	Repo               string         `json:"repo"`
	Branch             string         `json:"branch"`
	Subtasks           []Subtask      `json:"subtasks"`
	AcceptanceCriteria []string       `json:"acceptance_criteria"`
	RiskLevel          RiskLevel      `json:"risk_level"`
	ForbiddenActions   []string       `json:"forbidden_actions,omitzero"`
	TechConstraints    map[string]any `json:"tech_constraints,omitzero"`
}

// CompletionStatus is what an executor says of its own work (AMP-074).
type CompletionStatus string

// The completion statuses.
const (
	Complete CompletionStatus = "complete"
	Partial  CompletionStatus = "partial"
	Failed   CompletionStatus = "failed"
)

// DiffSummary is the executor's claim about its change (AMP-075, AMP-076).
type DiffSummary struct {
	FilesChanged []string `json:"files_changed"`
	LinesAdded   int      `json:"lines_added"`
	LinesRemoved int      `json:"lines_removed"`
}

// SelfAssessment goes criterion by criterion, same index and length as the dispatch's criteria; nil is "cannot verify"
// (AMP-077 to AMP-081, A11, A12).
type SelfAssessment struct {
	CriteriaMet []*bool  `json:"criteria_met"`
	Notes       []string `json:"notes"`
}

// WorkItem is one line of the executor's work log (AMP-082).
type WorkItem struct {
	Timestamp string `json:"timestamp"`
	Action    string `json:"action"`
	File      string `json:"file"`
	Detail    string `json:"detail"`
}

// Result is the payload of a task_result (AMP-070 to AMP-089).
type Result struct {
	SubtaskID        string           `json:"subtask_id"`
	CompletionStatus CompletionStatus `json:"completion_status"`
	DiffSummary      DiffSummary      `json:"diff_summary"`
	SelfAssessment   SelfAssessment   `json:"self_assessment"`
	WorkLog          []WorkItem       `json:"work_log"`
	CommitHash       string           `json:"commit_hash,omitzero"`
	Blockers         []string         `json:"blockers,omitzero"`
}

// ReviewScope says how much a review covers (AMP-106, AMP-107).
type ReviewScope string

// The review scopes.
const (
	Full        ReviewScope = "full"
	Incremental ReviewScope = "incremental"
)

// Request is the payload of a review_request (AMP-100 to AMP-114).
type Request struct {
	OriginalDispatchRef string         `json:"original_dispatch_ref"`
	TaskResultRef       string         `json:"task_result_ref"`
	ReviewScope         ReviewScope    `json:"review_scope"`
	DiffURL             string         `json:"diff_url"`
	RejectCount         int            `json:"reject_count"`
	CoordinatorNotes    string         `json:"coordinator_notes,omitzero"`
	CIStatus            map[string]any `json:"ci_status,omitzero"`
}

// Decision is what a verdict says (AMP-123).
type Decision string

// The decisions.
const (
	Approved        Decision = "approved"
	ApprovedWithFix Decision = "approved_with_fix"
	Rejected        Decision = "rejected"
)

// CriterionResult is the reviewer's finding on one criterion; Passed nil is "not verified" (AMP-125, A11, A13).
type CriterionResult struct {
	Criterion string `json:"criterion"`
	Passed    *bool  `json:"passed"`
	Evidence  string `json:"evidence"`
}

// IssueSeverity is the weight of a reviewer's issue (AMP-129).
type IssueSeverity string

// The severities of an issue. Critical and major block, minor does not (AMP-130).
const (
	IssueCritical IssueSeverity = "critical"
	IssueMajor    IssueSeverity = "major"
	IssueMinor    IssueSeverity = "minor"
)

// Issue is one finding of a review (AMP-127, AMP-128).
type Issue struct {
	Severity     IssueSeverity `json:"severity"`
	File         string        `json:"file"`
	Line         int           `json:"line"`
	Description  string        `json:"description"`
	SuggestedFix string        `json:"suggested_fix"`
}

// ChangeType is the kind of a reviewer's direct fix: typo, lint, whitespace or import_order; import is accepted on the wire and
// stored as import_order (AMP-132, A14).
type ChangeType string

// The change types that a reviewer may fix directly.
const (
	Typo        ChangeType = "typo"
	Lint        ChangeType = "lint"
	Whitespace  ChangeType = "whitespace"
	ImportOrder ChangeType = "import_order"
)

// DirectFix is one small change that the reviewer made itself, fewer than 5 lines (AMP-131 to AMP-134, A15).
type DirectFix struct {
	File       string     `json:"file"`
	ChangeType ChangeType `json:"change_type"`
	DiffLines  int        `json:"diff_lines"`
}

// Verdict is the payload of a review_verdict (AMP-120 to AMP-139).
type Verdict struct {
	Decision          Decision          `json:"decision"`
	CriteriaResults   []CriterionResult `json:"criteria_results"`
	Issues            []Issue           `json:"issues,omitzero"`
	DirectFixes       []DirectFix       `json:"direct_fixes,omitzero"`
	ArchitectureNotes string            `json:"architecture_notes,omitzero"`
	Confidence        float64           `json:"confidence"`
}

// EscalationType is the kind of an escalation (AMP-154).
type EscalationType string

// The escalation types of AMP-154, AMP-166 to AMP-173.
const (
	HallucinationLock EscalationType = "hallucination_lock"
	AckTimeoutEsc     EscalationType = "ack_timeout"
	BranchViolation   EscalationType = "branch_violation"
	CIFailure         EscalationType = "ci_failure"
	Conflict          EscalationType = "conflict"
	HeartbeatTimeout  EscalationType = "heartbeat_timeout"
	PermissionDenied  EscalationType = "permission_denied"
	UnknownEscalation EscalationType = "unknown"
)

// EscalationTypes are all of them, in the order of the protocol.
var EscalationTypes = []EscalationType{
	HallucinationLock, AckTimeoutEsc, BranchViolation, CIFailure, Conflict, HeartbeatTimeout, PermissionDenied, UnknownEscalation,
}

// Severity is the level of an escalation (AMP-155).
type Severity string

// The severities of an escalation. Critical suspends every related agent (AMP-156); only info may go on (AMP-165).
const (
	Critical Severity = "critical"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Snapshot is the state at the time of an escalation (AMP-160).
type Snapshot struct {
	TaskStatus          Status `json:"task_status"`
	RejectCount         int    `json:"reject_count"`
	LastSuccessfulMsgID string `json:"last_successful_msg_id"`
}

// Escalation is the payload of an escalation (AMP-150 to AMP-175).
type Escalation struct {
	EscalationType      EscalationType `json:"escalation_type"`
	Severity            Severity       `json:"severity"`
	TriggeredBy         Role           `json:"triggered_by"`
	Description         string         `json:"description"`
	AffectedMsgs        []string       `json:"affected_msgs"`
	SystemStateSnapshot Snapshot       `json:"system_state_snapshot"`
	SuggestedActions    []string       `json:"suggested_actions,omitzero"`
	AutoSuspended       bool           `json:"auto_suspended"`
}

// MessageType is task_dispatch.
func (*Dispatch) MessageType() MessageType { return TaskDispatch }

// MessageType is task_result.
func (*Result) MessageType() MessageType { return TaskResult }

// MessageType is review_request.
func (*Request) MessageType() MessageType { return ReviewRequest }

// MessageType is review_verdict.
func (*Verdict) MessageType() MessageType { return ReviewVerdict }

// MessageType is escalation.
func (*Escalation) MessageType() MessageType { return EscalationMsg }

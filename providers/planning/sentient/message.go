package sentient

import "arbiter/amp"

// The agents of the chain (SEN-051) and what they write.
const (
	ObjectiveAgent = "objective_agent"
	GoalAgent      = "goal_agent"
	PlanningAgent  = "planning_agent"

	Objectives = "objectives"
	Goals      = "goals"
	Plan       = "plan"
)

// User is the source of the first message's input; Orchestration that of the memory agent's (SEN-011).
const (
	User          = "user"
	Orchestration = "orchestration_layer"
)

// The codes of a status (SEN-017, SEN-029): complete, some of it processed, not possible, and waiting for something from outside.
const (
	Success = "success"
	Partial = "partial"
	Failed  = "failed"
	Pending = "pending"
)

// OutOfScope ends a chain: what was asked for is beyond what the agents can do (SEN-057).
const OutOfScope = "OUT_OF_SCOPE"

// Message is one message. Of one with problems it holds what could be read.
type Message struct {
	ID         string
	ExecutedAt string
	Timezone   string
	AgentName  string
	AgentType  string
	// Source is where the input came from: "user" or an agent.
	Source string
	// Input and Output are JSON values as they were written.
	Input       amp.Raw
	Output      amp.Raw
	ContentType string
	// Next is the agent that is next, nil when the chain ends here.
	Next       *string
	NextReason string
	Status     string
	StatusText string
	Error      Trouble
	SessionID  string
	RequestID  string
	Sequence   int
	// Parent is the message before, nil for the first.
	Parent    *string
	Sources   []SourceRef
	Stores    []StorageRef
	Derived   []DerivedRef
	Notes     string
	Files     []string
	Reasoning string
}

// Trouble is the error of a message.
type Trouble struct {
	Has         bool
	Code        *string
	Text        *string
	Retries     int
	Recoverable bool
}

// SourceRef is something that the user named: a URL or a file (SEN-031).
type SourceRef struct {
	ID         string `json:"ref_id"`
	URL        string `json:"url"`
	Platform   string `json:"platform"`
	MediaType  string `json:"media_type"`
	ProvidedBy string `json:"provided_by"`
	Extracted  int    `json:"extracted_at_sequence"`
}

// StorageRef is where a source is kept (SEN-032).
type StorageRef struct {
	ID        string  `json:"ref_id"`
	Source    string  `json:"source_ref_id"`
	URI       *string `json:"storage_uri"`
	Backend   string  `json:"storage_backend"`
	MediaType string  `json:"media_type"`
	Created   *int    `json:"created_at_sequence"`
	Status    string  `json:"status"`
}

// DerivedRef is something made of what is stored (SEN-033).
type DerivedRef struct {
	ID         string  `json:"ref_id"`
	Parent     string  `json:"parent_ref_id"`
	URI        *string `json:"storage_uri"`
	AssetType  string  `json:"asset_type"`
	Capability string  `json:"capability_id"`
	Created    *int    `json:"created_at_sequence"`
	Status     string  `json:"status"`
}

// Report is what is to be said of a message: errors hold it, repairs and warnings let it pass with a mark (S05).
type Report struct {
	Errors   []amp.Problem
	Warnings []amp.Problem
	Repairs  []amp.Repair
}

// OutOfScope reports whether the message ends the chain for being beyond its scope.
func (m *Message) OutOfScope() bool { return m.Error.Code != nil && *m.Error.Code == OutOfScope }

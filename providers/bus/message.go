package bus

import (
	"fmt"

	"arbiter/amp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MessageType is what a message is for (BUS-019).
type MessageType string

// The types of messages.
const (
	TaskRequest  MessageType = "task_request"
	TaskResponse MessageType = "task_response"
	StatusUpdate MessageType = "status_update"
	ErrorMessage MessageType = "error"
	Heartbeat    MessageType = "heartbeat"
)

// Priority is how urgent a message is (BUS-020).
type Priority string

// The priorities, in the order in which a queue hands them out.
const (
	Critical Priority = "critical"
	High     Priority = "high"
	Medium   Priority = "medium"
	Low      Priority = "low"
)

var (
	priorities = []Priority{Critical, High, Medium, Low}
	types      = []MessageType{TaskRequest, TaskResponse, StatusUpdate, ErrorMessage, Heartbeat}
)

// Backoff is how the time between tries grows (BUS-034).
type Backoff string

// The backoffs.
const (
	Linear      Backoff = "linear"
	Exponential Backoff = "exponential"
)

// Mode says whether the sender waits (BUS-036).
type Mode string

// The modes.
const (
	Async Mode = "async"
	Sync  Mode = "sync"
)

// The bounds of a message.
const (
	// MaxMessage is how many bytes a message may have that comes from outside, 4 MiB.
	MaxMessage = 4 << 20
	maxName    = 256
	maxOthers  = 16
	// lightMetadata is how many bytes of metadata are no warning (BUS-047).
	lightMetadata = 16 << 10
)

// Identifier names an agent.
type Identifier struct {
	AgentID   string `json:"agent_id"`
	Framework string `json:"framework"`
	SessionID string `json:"session_id,omitzero"`
}

// RetryPolicy is how the bus tries again when a delivery fails.
type RetryPolicy struct {
	MaxRetries int     `json:"max_retries"`
	Backoff    Backoff `json:"backoff"`
}

// Routing are the hints for delivery.
type Routing struct {
	Timeout        string      `json:"timeout"`
	RetryPolicy    RetryPolicy `json:"retry_policy"`
	FallbackAgents []string    `json:"fallback_agents,omitzero"`
	DeliveryMode   Mode        `json:"delivery_mode"`
}

// Message is one AgentMessage.
type Message struct {
	MessageID string             `json:"message_id"`
	Timestamp string             `json:"timestamp"`
	Sender    Identifier         `json:"sender"`
	Recipient Identifier         `json:"recipient"`
	Type      MessageType        `json:"message_type"`
	Priority  Priority           `json:"priority"`
	Payload   amp.Raw            `json:"payload"`
	Routing   Routing            `json:"routing"`
	Metadata  map[string]amp.Raw `json:"metadata,omitzero"`
	// Raw are the bytes that came, or that [Encode] wrote: what is handed on.
	Raw []byte `json:"-"`
}

// Encode writes a message and keeps the bytes in Raw.
func (m *Message) Encode() ([]byte, error) {
	raw, err := json.Marshal(m, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("write message %s: %w", m.MessageID, err)
	}
	m.Raw = raw
	return raw, nil
}

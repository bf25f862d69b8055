package amp

import (
	"encoding/base64"
	"strings"
	"time"
	"unicode/utf8"
)

// ChainStage is which agent of the planning chain a message is of.
type ChainStage string

// The stages of the planning chain, in their order.
const (
	StageObjective ChainStage = "objective"
	StageGoal      ChainStage = "goal"
	StagePlanning  ChainStage = "planning"
	// StageMemory comes after the chain, when its task has ended; it is none of [ChainStages].
	StageMemory ChainStage = "memory"
)

// ChainStages are the stages in their order.
var ChainStages = []ChainStage{StageObjective, StageGoal, StagePlanning}

// ChainResult is what became of a message of the planning chain.
type ChainResult string

// The results. A held message and one that ended the chain were given to no agent; the admin decides.
const (
	ChainForwarded ChainResult = "forwarded"
	ChainHeld      ChainResult = "held"
	ChainEnded     ChainResult = "ended"
)

// Chain is the body of a chain entry: one message of the planning chain, in the Sentient format, as it was received and as it was
// forwarded.
type Chain struct {
	TaskID TaskID     `json:"task_id"`
	TurnID string     `json:"turn_id"`
	Stage  ChainStage `json:"stage"`
	// Agent is the configured agent that wrote the message; what the message says of its author is in Message.
	Agent string `json:"agent"`
	// Basis names what the chain was asked for: wish, guidance and earlier plan. A chain with another basis begins anew.
	Basis  string      `json:"basis"`
	Result ChainResult `json:"result"`
	// Code is the error code that the message names, such as OUT_OF_SCOPE.
	Code string `json:"code,omitzero"`
	// ExecutedAt is when the message says that it was written, in its own time zone; nil when it does not say so.
	ExecutedAt *time.Time `json:"executed_at,omitzero"`
	// Received is the text of the model as it came, cut to MaxRaw bytes; ReceivedBase64 takes its place when it is no valid UTF-8.
	// ReceivedLen is how long it was.
	Received       string `json:"received,omitzero"`
	ReceivedBase64 string `json:"received_base64,omitzero"`
	ReceivedLen    int    `json:"received_len"`
	// Message is the message in it with the repairs, which was forwarded when Result says so; empty when none was found.
	Message Raw `json:"message,omitzero"`
	// Problems hold the message, Repairs and Warnings let it pass with a mark.
	Problems []Problem `json:"problems,omitzero"`
	Repairs  []Repair  `json:"repairs,omitzero"`
	Warnings []Problem `json:"warnings,omitzero"`
	// Model, Tokens, CostUSD and TookMS are what the answer took, of a memory agent alone: the others answer in turns, which say it.
	Model   string  `json:"model,omitzero"`
	Tokens  int     `json:"tokens,omitzero"`
	CostUSD float64 `json:"cost_usd,omitzero"`
	TookMS  int64   `json:"took_ms,omitzero"`
}

// Repair is a field of a message that was overwritten before it was forwarded. From and To are JSON values.
type Repair struct {
	Rule  string `json:"rule"`
	Field string `json:"field"`
	From  Raw    `json:"from"`
	To    Raw    `json:"to"`
}

// String is "field: from is now to (rule)".
func (r Repair) String() string {
	return r.Field + ": " + beginning(string(r.From), 200) + " is now " + beginning(string(r.To), 200) + " (" + r.Rule + ")"
}

// Receive keeps the text of a model as it came.
func (c *Chain) Receive(text []byte) {
	c.ReceivedLen = len(text)
	kept := beginning(string(text), MaxRaw)
	if utf8.ValidString(kept) {
		c.Received = kept
		return
	}
	c.ReceivedBase64 = base64.StdEncoding.EncodeToString([]byte(kept))
}

// Why says in one line what stands against the message or was done to it, "" when nothing.
func (c *Chain) Why() string {
	var parts []string
	for _, p := range c.Problems {
		parts = append(parts, p.String())
	}
	for _, r := range c.Repairs {
		parts = append(parts, "repaired "+r.String())
	}
	for _, w := range c.Warnings {
		parts = append(parts, "warning "+w.String())
	}
	return strings.Join(parts, "; ")
}

// ChainState is how far the planning chain of a task came.
type ChainState struct {
	Seq    uint64      `json:"seq"`
	At     time.Time   `json:"at"`
	Stage  ChainStage  `json:"stage"`
	Result ChainResult `json:"result"`
	Agent  string      `json:"agent"`
	// Messages, Problems, Repairs and Warnings are counted since the chain began with its basis.
	Basis    string `json:"basis"`
	Messages int    `json:"messages"`
	Problems int    `json:"problems,omitzero"`
	Repairs  int    `json:"repairs,omitzero"`
	Warnings int    `json:"warnings,omitzero"`
	// Why is what stands against the last message; untrusted.
	Why string `json:"why,omitzero"`
}

func (b *Board) foldChain(e *Entry, c *Chain) {
	t := b.touch(e)
	if c.Stage == StageMemory && (c.Tokens != 0 || c.CostUSD != 0 || c.TookMS != 0) {
		b.spend(e, &Turn{
			TurnID: c.TurnID, TaskID: e.TaskID, Role: System, Agent: c.Agent, Event: TurnEnded, Outcome: TurnOK,
			Tokens: c.Tokens, CostUSD: c.CostUSD, TookMS: c.TookMS,
		})
	}
	if t == nil || c.Stage == StageMemory {
		return
	}
	s := ChainState{Basis: c.Basis}
	if t.Chain != nil && t.Chain.Basis == c.Basis {
		s = *t.Chain
	}
	s.Seq, s.At, s.Stage, s.Result, s.Agent = e.Seq, e.At, c.Stage, c.Result, c.Agent
	s.Messages++
	s.Problems += len(c.Problems)
	s.Repairs += len(c.Repairs)
	s.Warnings += len(c.Warnings)
	s.Why = ""
	if len(c.Problems) > 0 {
		s.Why = beginning(c.Problems[0].String(), maxWhy)
	}
	t.Chain = &s
}

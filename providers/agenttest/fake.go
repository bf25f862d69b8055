package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"arbiter/amp"
	"arbiter/providers"
)

// Fake is an agent inside the test process: a function plays its turns. It starts no process and no goroutine and reads no clock,
// so it works inside synctest bubbles. It is safe for concurrent use when its functions are.
type Fake struct {
	// RunFunc plays one turn; without it every turn fails with [providers.FailConfig].
	RunFunc func(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error)
	// ReapFunc ends what a lost turn left; without it there is never anything left.
	ReapFunc func(ctx context.Context, turnID string) error

	mu     sync.Mutex
	turns  []providers.Turn
	reaped []string
	live   int
	peak   int
}

var (
	_ providers.Agent  = (*Fake)(nil)
	_ providers.Reaper = (*Fake)(nil)
)

// Run records the turn and plays it by RunFunc.
func (f *Fake) Run(ctx context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
	f.mu.Lock()
	f.turns = append(f.turns, turn)
	f.live++
	f.peak = max(f.peak, f.live)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.live--
		f.mu.Unlock()
	}()
	if f.RunFunc == nil {
		return providers.Outcome{}, &providers.TurnError{Failure: providers.FailConfig, Text: "the fake agent has no RunFunc"}
	}
	return f.RunFunc(ctx, turn, emit)
}

// Reap records the turn id and calls ReapFunc.
func (f *Fake) Reap(ctx context.Context, turnID string) error {
	f.mu.Lock()
	f.reaped = append(f.reaped, turnID)
	f.mu.Unlock()
	if f.ReapFunc == nil {
		return nil
	}
	return f.ReapFunc(ctx, turnID)
}

// Turns are the turns that were asked for, in the order of their start.
func (f *Fake) Turns() []providers.Turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]providers.Turn(nil), f.turns...)
}

// Reaped are the turn ids that Reap was called with, in order.
func (f *Fake) Reaped() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.reaped...)
}

// Live is how many turns run now.
func (f *Fake) Live() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// Peak is the largest number of turns that ran at once.
func (f *Fake) Peak() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak
}

// Accept is the ack event of an agent that takes the turn's message on. Of a task_dispatch it repeats the acceptance criteria.
func Accept(turn providers.Turn) providers.Event {
	return providers.Event{Type: providers.EventAck, Ack: &amp.Ack{
		Status:                   amp.AckAccepted,
		EchoedAcceptanceCriteria: Criteria(turn),
	}}
}

// Refuse is the ack event of an agent that does not take the turn's message on.
func Refuse(reason string) providers.Event {
	return providers.Event{Type: providers.EventAck, Ack: &amp.Ack{Status: amp.AckRefused, Reason: reason}}
}

// Criteria are the acceptance criteria of the turn's message, nil when it has none.
func Criteria(turn providers.Turn) []string {
	var m struct {
		Payload struct {
			AcceptanceCriteria []string `json:"acceptance_criteria"`
		} `json:"payload"`
	}
	if len(turn.Message) == 0 || json.Unmarshal(turn.Message, &m) != nil {
		return nil
	}
	return m.Payload.AcceptanceCriteria
}

// Final is the outcome whose final answer is v written as JSON. It panics when v cannot be written.
func Final(v any) providers.Outcome {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("agenttest: final answer: %v", err))
	}
	return providers.Outcome{Final: raw}
}

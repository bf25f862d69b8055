package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/providers"

	"github.com/go-json-experiment/json/jsontext"
)

// The specification has no word by which a request is taken back once it was delivered. An agent that registers with
// metadata.withdraw = true is sent one: a status_update with the status withdrawn. It goes through the queue like any message, so an agent
// that is not there now is told when it comes back.

// unwanted reports whether a turn ended so that nobody wants the answer any more. It does not when the coordinator ends, or when the agent was
// not heard for a time: the next turn for the same message asks again, and takes what the agent has by then.
func unwanted(ctx context.Context, failed *providers.TurnError) bool {
	switch failed.Failure {
	case providers.FailTotal, providers.FailOutput:
		return true
	case providers.FailKilled:
		_, decided := errors.AsType[*providers.StoppedError](context.Cause(ctx))
		return decided
	default: // it has ended, or may still answer
		return false
	}
}

// recall tells the agent that has the request that it is withdrawn, when it understands that.
func (r *run) recall(why string) {
	b := r.bus
	to := r.holder()
	b.mu.Lock()
	d := b.state.agents[to]
	understands := d != nil && string(member(d.Metadata, "withdraw")) == "true"
	b.mu.Unlock()
	if !understands {
		return
	}
	if err := r.say(to, "withdraw", map[string]any{"status": "withdrawn", "reason": why}); err != nil {
		b.cfg.Logger.Warn("an agent was not told that its request is withdrawn", "agent", to, "err", err)
	}
}

// say sends an agent a word about the request that it has. What names the word makes its id.
func (r *run) say(to, what string, payload map[string]any) error {
	sum := sha256.Sum256([]byte(what + "\x00" + r.message.MessageID + "\x00" + r.turn.ID))
	now := time.Now()
	m := &Message{
		MessageID: fmt.Sprintf("msg_%d_%s", now.UnixMilli(), hex.EncodeToString(sum[:12])), Timestamp: amp.FormatTime(now),
		Sender: r.message.Sender, Recipient: Identifier{AgentID: to, Framework: FrameworkOf(to)}, Type: StatusUpdate, Priority: Critical,
		Payload: value(payload),
		Routing: Routing{Timeout: "24h", RetryPolicy: RetryPolicy{MaxRetries: maxRetries, Backoff: Exponential}, DeliveryMode: Async},
		Metadata: map[string]jsontext.Value{
			"task_id": quote(string(r.turn.Task)), "original_message_id": quote(r.message.MessageID),
			"arbiter": value(map[string]any{"turn_id": r.turn.ID}),
		},
	}
	if _, err := m.Encode(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := r.bus.accept(ctx, m, to)
	return err
}

package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// maxChain bounds the body of a chain entry; a message and its copy fit in several times over.
const maxChain = 8 << 20

// heardChain writes down a message of the planning chain. That a wish is out of scope is said to the admin at once (protocol rules, 6.4).
func (c *Coordinator) heardChain(t *amp.Task, l *liveTurn, payload json.RawMessage, now time.Time) []amp.Record {
	var body amp.Chain
	err := json.Unmarshal(payload, &body)
	if err == nil && len(payload) > maxChain {
		err = fmt.Errorf("it is %d bytes long, more than %d", len(payload), maxChain)
	}
	if err != nil {
		return []amp.Record{c.refuse(now, l.Role, l.Agent, amp.Refusal{
			What: "chain", TaskID: l.TaskID, Source: "turn " + l.TurnID, Raw: payload, Turn: l.TurnID, Epoch: l.Epoch,
			Problems: []amp.Problem{{Rule: "SEN-001", Message: "it is no message of a planning chain: " + err.Error()}},
		})}
	}
	body.TaskID, body.TurnID = l.TaskID, l.TurnID
	records := []amp.Record{c.record(amp.KindChain, l.TaskID, l.Role, l.Agent, now, body)}
	if body.Result == amp.ChainEnded && body.Code == outOfScope {
		text := fmt.Sprintf("The planning chain of %s ended: the %s agent %s says that the wish is out of scope. Its words are in the chain entry.",
			t.ID, body.Stage, body.Agent)
		records = append(records, c.escalate(t, now, alarm{typ: amp.UnknownEscalation, severity: amp.Info, text: text}))
	}
	return records
}

// Remember writes down what the memory agent said of a task that has ended, and what that took.
func (c *Coordinator) Remember(ctx context.Context, body amp.Chain, used providers.Usage) error {
	if body.Stage != amp.StageMemory {
		return fmt.Errorf("a message of the %s agent comes from a turn, not from here", body.Stage)
	}
	body.Model, body.Tokens, body.CostUSD = used.Model, used.Tokens, c.cost(used)
	_, err := c.call(ctx, fromClient, body.TaskID, func(now time.Time) ([]amp.Record, error) {
		if c.board.Task(body.TaskID) == nil {
			return nil, fmt.Errorf("task %s is not known", body.TaskID)
		}
		return []amp.Record{c.record(amp.KindChain, body.TaskID, amp.Coordinator, body.Agent, now, body)}, nil
	})
	return err
}

const outOfScope = "OUT_OF_SCOPE"

// maxPast is how many entries of a chain a planning turn is given: more than a chain that goes on can need.
const maxPast = 30

// pastChain are the bodies of the task's last chain entries, oldest first.
func (c *Coordinator) pastChain(ctx context.Context, id amp.TaskID) ([]json.RawMessage, error) {
	entries, err := c.lookUp(ctx, amp.Filter{TaskID: id, Kinds: []amp.Kind{amp.KindChain}, Newest: true, Limit: maxPast})
	if err != nil {
		return nil, fmt.Errorf("read the planning chain of %s: %w", id, err)
	}
	var out []json.RawMessage
	for i := range slices.Backward(entries) {
		out = append(out, entries[i].Body)
	}
	return out, nil
}

package coordinator

import (
	"context"
	"time"

	"arbiter/amp"
)

// An external agent runs without our adapters and takes part by submitting messages. Its turn is a worktree that is prepared
// for it and an entry that says where; the message that answers ends it.

// externalTurn is the open turn of an external agent in this role, or nil.
func (c *Coordinator) externalTurn(t *amp.Task, role amp.Role) *amp.TurnState {
	if t == nil || t.Turn == nil || t.Turn.Role != role || t.Turn.Epoch < t.Epoch {
		return nil
	}
	if a, ok := c.cfg.Agents[t.Turn.Agent]; !ok || a.Agent != nil {
		return nil
	}
	return t.Turn
}

// fenceExternal ends the turn of an external agent that was fenced: there is no process of ours to stop.
func (c *Coordinator) fenceExternal(t *amp.Task, now time.Time) []amp.Record {
	a, known := c.cfg.Agents[t.Turn.Agent]
	if !known || a.Agent != nil || t.Turn.Epoch == t.Epoch && c.board.Stopped == nil && !t.Status.Ended() {
		return nil
	}
	return []amp.Record{c.endExternal(t, amp.TurnKilled, "the task was "+string(t.Status), now)}
}

func (c *Coordinator) endExternal(t *amp.Task, outcome amp.TurnOutcome, text string, now time.Time) amp.Record {
	u := t.Turn.Turn
	u.Event, u.Outcome, u.Text, u.TookMS = amp.TurnEnded, outcome, text, now.Sub(t.Turn.StartedAt).Milliseconds()
	return c.turnEntry(now, u.Role, u.Agent, u)
}

// measureExternal measures the worktree of an external reviewer before its verdict is judged.
func (c *Coordinator) measureExternal(ctx context.Context, in amp.Received) (*amp.Check, error) {
	m, _, err := amp.Decode(in.Raw)
	if err != nil || m.Type != amp.ReviewVerdict || in.As != amp.Reviewer {
		return nil, nil //nolint:nilerr // what does not decode is refused by the loop, with its bytes
	}
	var ws amp.Workspace
	turn := ""
	err = c.view(ctx, func(b *amp.Board) {
		if t := b.Task(m.TaskID); c.externalTurn(t, amp.Reviewer) != nil && t.Verdict == nil {
			ws, turn = t.Workspace(), t.Turn.TurnID
		}
	})
	if err != nil || turn == "" {
		return nil, err
	}
	ck, err := c.cfg.Git.CloseReview(ctx, ws, turn, m.Payload.(*amp.Verdict))
	if err != nil {
		return nil, err
	}
	ck.For = turn
	return &ck, nil
}

// withTurn adds the end of the external turn that a message answers, and before a verdict what was measured.
func (c *Coordinator) withTurn(records []amp.Record, in amp.Received, measured *amp.Check, now time.Time) []amp.Record {
	t := c.board.Task(records[0].TaskID)
	if c.externalTurn(t, in.As) == nil || records[0].Kind != amp.KindMessage {
		return records
	}
	if measured != nil {
		records = append([]amp.Record{c.check(t, now, *measured)}, records...)
	}
	if m, _, err := amp.Decode(in.Raw); err == nil && m.Type != amp.EscalationMsg {
		records = append(records, c.endExternal(t, amp.TurnOK, "", now))
	}
	return records
}

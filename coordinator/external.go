package coordinator

import (
	"context"
	"time"

	"arbiter/amp"
)

// An external agent runs without our adapters and takes part by submitting messages. Its turn is a worktree that is prepared
// for it and an entry that says where; the message that answers ends it.

// waitMeasured is how long a verdict waits before it is looked whether another one of its turn is still measured.
const waitMeasured = 100 * time.Millisecond

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

// measureExternal measures the worktree of an external reviewer before its verdict is judged, if it would count as things stand: what the
// reviewer of another one changed is committed to no branch, and it can mend its verdict. The verdicts of a turn are measured one after the
// other; done lets the next one in.
func (c *Coordinator) measureExternal(ctx context.Context, in amp.Received) (measured *amp.Check, done func(), err error) {
	done = func() {}
	m, _, err := amp.Decode(in.Raw)
	if err != nil || m.Type != amp.ReviewVerdict {
		return nil, done, nil //nolint:nilerr // what does not decode is refused by the loop, with its bytes
	}
	var ws amp.Workspace
	turn, busy := "", true
	for busy {
		_, err = c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
			turn, busy = "", false
			t := c.board.Task(m.TaskID)
			u := c.externalTurn(t, amp.Reviewer)
			if u == nil {
				return nil, nil
			}
			if _, _, err := c.takeMessage(in.Raw, in.As, in.Actor, in.Source, in.Strict, now); err != nil {
				return nil, nil //nolint:nilerr // it is judged once more, and refused then
			}
			if busy = c.measuring[u.TurnID]; !busy {
				ws, turn = t.Workspace(), u.TurnID
				c.measuring[turn] = true
			}
			return nil, nil
		})
		if err != nil {
			return nil, done, err
		}
		if busy {
			c.beside.pause(ctx, waitMeasured)
		}
	}
	if turn == "" {
		return nil, done, nil
	}
	done = func() {
		c.report(request{task: m.TaskID, run: func(time.Time) ([]amp.Record, error) { delete(c.measuring, turn); return nil, nil }})
	}
	ck, err := c.cfg.Git.CloseReview(ctx, ws, turn, m.Payload.(*amp.Verdict))
	ck.For = turn
	return &ck, done, err
}

// withTurn adds the end of the external turn that a message answers, and before a verdict what was measured. A verdict that is void is
// refused, and its turn has failed.
func (c *Coordinator) withTurn(records []amp.Record, in amp.Received, measured *amp.Check, now time.Time) ([]amp.Record, error) {
	m, _, err := amp.Decode(in.Raw)
	if err != nil || records[0].Kind != amp.KindMessage {
		return records, nil //nolint:nilerr // it was judged before
	}
	t := c.board.Task(records[0].TaskID)
	open := c.externalTurn(t, in.As) != nil
	if v, is := m.Payload.(*amp.Verdict); is {
		if p := voided(v, measured, open); p != nil {
			records, _, err := c.refused(string(m.Type), t.ID, in, []amp.Problem{*p}, now)
			if open && measured != nil {
				records = append(records, c.raise(t, t.Turn.Turn, broken(measured), now)...)
				records = append(records, c.endExternal(t, amp.TurnInvalid, "the answer was refused: "+p.String(), now))
			}
			return records, err
		}
	}
	if !open {
		return records, nil
	}
	if measured != nil {
		records = append([]amp.Record{c.check(t, now, *measured)}, records...)
	}
	if m.Type != amp.EscalationMsg {
		records = append(records, c.endExternal(t, amp.TurnOK, "", now))
	}
	return records, nil
}

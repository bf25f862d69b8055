package amp

import (
	"slices"
)

func (t *Task) noteSession(u *Turn) {
	if u.Session == "" {
		return
	}
	if t.Sessions == nil {
		t.Sessions = map[Role]string{}
	}
	t.Sessions[u.Role] = u.Session
	if t.SessionOf == nil {
		t.SessionOf = map[Role]string{}
	}
	t.SessionOf[u.Role] = u.Agent
	switch {
	case u.Owner == "":
		delete(t.SessionAt, u.Role)
	case t.SessionAt == nil:
		t.SessionAt = map[Role]string{u.Role: u.Owner}
	default:
		t.SessionAt[u.Role] = u.Owner
	}
}

// noteEnd keeps what the end of a turn says about its agent: questions of the turn wait no more, a limit pauses the agent.
func (t *Task) noteEnd(u *Turn) {
	t.Questions = slices.DeleteFunc(t.Questions, func(q QuestionState) bool {
		return q.Type == QuestionPermission && q.TurnID == u.TurnID
	})
	i := slices.IndexFunc(t.Pauses, func(p AgentPause) bool { return p.Agent == u.Agent })
	switch u.Outcome {
	case TurnPaused:
		if i < 0 {
			i = len(t.Pauses)
			t.Pauses = append(t.Pauses, AgentPause{Agent: u.Agent})
		}
		p := &t.Pauses[i]
		if u.RetryAt != nil {
			t.restartAcks(*u.RetryAt)
		}
		p.Until, p.Why, p.Times = u.RetryAt, beginning(u.Text, maxWhy), p.Times+1
	case TurnOK, TurnAsked:
		if i >= 0 {
			t.Pauses = slices.Delete(t.Pauses, i, i+1)
		}
		if t.Reply != nil && t.Reply.Role == u.Role && u.Outcome == TurnOK {
			t.Reply = nil
		}
	case TurnFailed, TurnInvalid, TurnKilled, TurnTimeout, TurnLost:
	}
}

func (b *Board) foldTurn(e *Entry, u *Turn) {
	t := b.touch(e)
	t.noteSession(u)
	t.Lease = max(t.Lease, u.Lease)
	switch u.Event {
	case TurnStarted:
		t.Turn = &TurnState{Turn: *u, Seq: e.Seq, StartedAt: e.At, LastAt: e.At}
		t.Spent.Turns++
		t.Owner = u.Owner
		if u.Checkpoint > t.Checkpoint {
			t.Checkpoint = u.Checkpoint
		}
	case TurnRedelivered:
		if o := t.Obligation(u.For); o != nil {
			if o.Redelivered = true; e.At.After(o.Deadline()) { // nobody was awake: who gets it now has as long as at half time
				o.SentAt = e.At.Add(-o.timeout() / 2)
			}
		}
	case TurnProgress:
		if t.Turn != nil && t.Turn.TurnID == u.TurnID {
			t.Turn.LastAt, t.Turn.Text = e.At, u.Text
			if u.PID != 0 {
				t.Turn.PID = u.PID
			}
		}
	case TurnEnded:
		t.Spent.WallSec += int((u.workMS() + 500) / 1000)
		b.spend(e, u)
		if t.Turn == nil || t.Turn.TurnID != u.TurnID {
			return
		}
		t.Turn, t.LastTurn = nil, u.TurnID
		t.noteEnd(u)
		switch u.Outcome {
		case TurnFailed, TurnInvalid, TurnTimeout:
			t.Attempts++
		case TurnOK, TurnKilled, TurnLost, TurnAsked, TurnPaused:
		}
	}
}

// workMS is how long the turn worked, in milliseconds: what it waited for answers of the admin is none of it.
func (u *Turn) workMS() int64 { return max(u.TookMS-max(u.WaitedMS, 0), 0) }

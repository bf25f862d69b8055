package amp

import "fmt"

func (t *Task) noteSession(u *Turn) {
	if u.Session == "" {
		return
	}
	if t.Sessions == nil {
		t.Sessions = map[Role]string{}
	}
	t.Sessions[u.Role] = u.Session
}

func (b *Board) foldTurn(e *Entry, u *Turn) error {
	t := b.touch(e)
	if t == nil {
		return fmt.Errorf("a turn needs a task")
	}
	t.noteSession(u)
	switch u.Event {
	case TurnStarted:
		t.Turn = &TurnState{Turn: *u, Seq: e.Seq, StartedAt: e.At, LastAt: e.At}
		t.Spent.Turns++
		if u.Checkpoint > t.Checkpoint {
			t.Checkpoint = u.Checkpoint
		}
	case TurnRedelivered:
		if o := t.Obligation(u.For); o != nil {
			o.Redelivered = true
		}
	case TurnProgress:
		if t.Turn != nil && t.Turn.TurnID == u.TurnID {
			t.Turn.LastAt, t.Turn.Text = e.At, u.Text
			if u.PID != 0 {
				t.Turn.PID = u.PID
			}
		}
	case TurnEnded:
		t.Spent.WallSec += int((u.TookMS + 500) / 1000)
		b.spend(e, u)
		if t.Turn == nil || t.Turn.TurnID != u.TurnID {
			return nil
		}
		t.Turn, t.LastTurn = nil, u.TurnID
		switch u.Outcome {
		case TurnFailed, TurnInvalid, TurnTimeout:
			t.Attempts++
		case TurnOK, TurnKilled, TurnLost:
		}
	}
	return nil
}

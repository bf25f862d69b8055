package tui

import (
	"fmt"
	"strconv"
	"time"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// item is one row of a timeline: an entry with what was folded into it, or the heading of a round.
type item struct {
	id    string
	seq   uint64 // the entry that names the row
	last  uint64 // the newest entry folded into it: what was drawn before is not valid after it
	at    time.Time
	msgID string
	line  line

	// Of the heading of a round.
	round   int
	outcome string
	role    theme.Role

	// Of a message: its ACK.
	timeout time.Duration
	acked   *amp.Ack
	ackAt   time.Time
	ackText string // as it was drawn with the theme of ackLook
	ackLook uint64
	again   bool // redelivered

	// Of a turn: what it said last, and how it ended.
	turnID   string
	progress int
	said     string

	// Of a command with an undo time: what became of it.
	done string
}

// timeline folds the entries of a window into rows. With unfold every entry has its own row. lastRound is the number of
// the newest dispatch; rounds adds the headings.
func timeline(w *window, unfold, rounds bool, lastRound int) []item {
	b := builder{
		items: make([]item, 0, len(w.entries)), messages: map[string]int{}, turns: map[string]int{}, commands: map[string]int{},
		unfold: unfold, rounds: rounds, heading: -1,
	}
	dispatches := 0
	for i := range w.lines {
		if isDispatch(&w.lines[i]) {
			dispatches++
		}
	}
	b.round = lastRound - dispatches
	for i := range w.entries {
		b.add(&w.entries[i], &w.lines[i])
	}
	return b.items
}

func isDispatch(l *line) bool {
	m, ok := l.body.(*amp.Message)
	return ok && m.Type == amp.TaskDispatch
}

type builder struct {
	items                     []item
	messages, turns, commands map[string]int // rows by msg_id, turn id, command id
	unfold, rounds            bool
	round, heading            int
}

// row appends a row of its own and returns its index.
func (b *builder) row(e *amp.Entry, l *line) int {
	b.items = append(b.items, item{id: seqName(e.Seq), seq: e.Seq, last: e.Seq, at: e.At, line: *l})
	return len(b.items) - 1
}

// into returns the row that an entry is folded into, nil for none.
func (b *builder) into(rows map[string]int, id string, e *amp.Entry) *item {
	i, ok := rows[id]
	if !ok {
		return nil
	}
	b.items[i].last = e.Seq
	return &b.items[i]
}

func (b *builder) add(e *amp.Entry, l *line) {
	switch body := l.body.(type) {
	case *amp.Message:
		b.message(e, l, body)
	case *amp.Ack:
		if it := b.into(b.messages, body.AckFor, e); it != nil {
			it.acked, it.ackAt = body, e.At
			if !b.unfold {
				return
			}
		}
		b.row(e, l)
	case *amp.Turn:
		b.turn(e, l, body)
	case *amp.Command:
		b.commands[body.ID] = b.row(e, l)
		if body.Command == amp.Withdraw {
			if it := b.into(b.commands, body.Args.Withdraws, e); it != nil {
				it.done = "taken back"
			}
		}
	case *amp.Check:
		if body.Subject == amp.CheckCommand {
			if it := b.into(b.commands, body.For, e); it != nil {
				it.done = "carried out"
				if body.Blocked() {
					it.done = "not carried out: " + body.Text
				}
				if !b.unfold {
					return
				}
			}
		}
		b.row(e, l)
	default:
		if e.Kind == amp.KindBus {
			return
		}
		b.row(e, l)
	}
}

func (b *builder) message(e *amp.Entry, l *line, m *amp.Message) {
	if m.Type == amp.TaskDispatch {
		b.round++
		if b.rounds {
			b.items = append(b.items, item{id: fmt.Sprintf("round %d", b.round), seq: e.Seq, last: e.Seq, round: b.round})
			b.heading = len(b.items) - 1
		}
	}
	i := b.row(e, l)
	it := &b.items[i]
	if m.Type == amp.TaskDispatch {
		it.line.Text = fmt.Sprintf("round %d, %s", b.round, l.Text)
	}
	it.msgID, it.timeout = m.MsgID, m.AckTimeout()
	b.messages[m.MsgID] = i
	if v, ok := m.Payload.(*amp.Verdict); ok && b.heading >= 0 {
		h := &b.items[b.heading]
		h.outcome, h.role, h.last = string(v.Decision), theme.Good, e.Seq
		if v.Decision == amp.Rejected {
			h.role = theme.Danger
		}
	}
}

func (b *builder) turn(e *amp.Entry, l *line, t *amp.Turn) {
	switch t.Event {
	case amp.TurnStarted:
		i := b.row(e, l)
		b.items[i].turnID = t.TurnID
		b.turns[t.TurnID] = i
		return
	case amp.TurnRedelivered:
		if it := b.into(b.messages, t.For, e); it != nil {
			it.again = true
			if !b.unfold {
				return
			}
		}
	case amp.TurnProgress:
		if it := b.into(b.turns, t.TurnID, e); it != nil {
			it.progress++
			it.said = t.Text
			if !b.unfold {
				return
			}
		}
	case amp.TurnEnded:
		if it := b.into(b.turns, t.TurnID, e); it != nil && !b.unfold {
			it.line.What, it.line.Text, it.line.Role = "turn "+string(t.Outcome), l.Text, l.Role
			return
		}
	}
	i := b.row(e, l)
	b.items[i].turnID = t.TurnID
}

// ackCell is what became of the ACK of a message: "✓ 0:08/300", a countdown, or nothing.
func (e *env) ackCell(t *amp.Task, it *item) string {
	if it.msgID == "" || it.timeout == 0 {
		return ""
	}
	if it.acked != nil && it.ackLook == e.Theme.Epoch() {
		return it.ackText
	}
	if it.acked != nil {
		it.ackLook, it.ackText = e.Theme.Epoch(), e.ackedCell(it)
		return it.ackText
	}
	if t == nil {
		return ""
	}
	o := t.Obligation(it.msgID)
	if o == nil {
		return e.Theme.S(theme.Muted, "answered")
	}
	if e.Board.Stopped != nil || t.Status == amp.Suspended || t.Status == amp.Locked || t.Status.Ended() {
		return e.Theme.S(theme.Muted, "frozen")
	}
	e.Tick()
	return ui.Countdown{Start: o.SentAt, Deadline: o.Deadline(), Redone: o.Redelivered}.Text(e.Theme, e.Now)
}

// ackedCell is what became of a message that was acknowledged.
func (e *env) ackedCell(it *item) string {
	took := max(it.ackAt.Sub(it.at), 0)
	switch {
	case it.acked.Status == amp.AckRefused:
		return e.Theme.S(theme.Danger, e.Theme.Signs.No+" refused")
	case it.acked.Late:
		return e.Theme.S(theme.Time, e.Theme.Signs.Yes+" late "+ui.Clock(took))
	}
	return e.Theme.S(theme.Good, e.Theme.Signs.Yes) + e.Theme.S(theme.Muted, " "+ui.Clock(took)+"/"+strconv.Itoa(int(it.timeout.Seconds())))
}

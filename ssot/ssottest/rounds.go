package ssottest

import (
	"encoding/json"
	"fmt"
	"slices"

	"arbiter/amp"
)

// CheckRounds holds a journal to what must be true of the work in it whoever wrote it and whatever was killed, paused or cut off. It
// reads the entries alone, by rules of its own, without the fold that the writers share:
//
//   - no turn of a task starts while another one is open, and an open turn ends once;
//   - a message is worked on again only when the turn before did not answer it;
//   - a dispatch has one result at most, a result one review unless the task was suspended meanwhile, a review one verdict, each
//     delivered by the turn that is open;
//   - a new dispatch follows a result or a decision, never another dispatch;
//   - a message is acknowledged once, or its timeout is escalated once; before that its receiver may refuse it once, but for a dispatch,
//     where that is the end of it;
//   - the epochs of leases never go back, and one epoch has one owner.
//
// Agents without an adapter are named as external: what they answer may come when no turn is open. It returns every breach, nil when
// there is none.
func CheckRounds(entries []amp.Entry, external ...string) []error {
	c := &rounds{tasks: map[amp.TaskID]*taskRounds{}, external: external}
	for i := range entries {
		e := &entries[i]
		if e.Seq != uint64(i)+1 {
			c.bad(e, "the journal has a gap: it follows entry %d", i)
		}
		if e.TaskID != "" {
			c.entry(e)
		}
	}
	return c.breaches
}

type rounds struct {
	tasks    map[amp.TaskID]*taskRounds
	breaches []error
	external []string
}

type taskRounds struct {
	open     *amp.Turn
	turns    map[string][]amp.TurnOutcome // ends by turn
	answered map[string]bool              // messages whose turn ended well
	answers  map[string]int               // answers by the message that they answer
	last     string                       // the dispatch that is out
	decided  bool                         // something was decided since
	result   string                       // the result whose review was asked for last
	due      map[string]amp.MessageType   // messages that want an ACK
	refused  map[string]bool              // those that were refused and are still due
	acks     map[string]int
	owners   map[uint64]string
	lease    uint64
	session  []amp.Role // who delivered in the open turn
}

func (c *rounds) bad(e *amp.Entry, format string, args ...any) {
	c.breaches = append(c.breaches, fmt.Errorf("entry %d, %s: %s", e.Seq, e.TaskID, fmt.Sprintf(format, args...)))
}

func (c *rounds) entry(e *amp.Entry) {
	t := c.tasks[e.TaskID]
	if t == nil {
		t = &taskRounds{
			turns: map[string][]amp.TurnOutcome{}, answered: map[string]bool{}, answers: map[string]int{},
			due: map[string]amp.MessageType{}, refused: map[string]bool{}, acks: map[string]int{}, owners: map[uint64]string{},
		}
		c.tasks[e.TaskID] = t
	}
	switch e.Kind {
	case amp.KindMessage:
		c.message(t, e)
	case amp.KindAck:
		var a struct {
			AckFor string        `json:"ack_for"`
			Status amp.AckStatus `json:"status"`
			Late   bool          `json:"late"`
		}
		c.body(e, &a)
		switch typ := t.due[a.AckFor]; {
		case typ == "" || a.Late:
		case a.Status == amp.AckRefused && typ != amp.TaskDispatch && !t.refused[a.AckFor] && t.acks[a.AckFor] == 0:
			t.refused[a.AckFor] = true
		default:
			if t.acks[a.AckFor]++; t.acks[a.AckFor] > 1 {
				c.bad(e, "%s was acknowledged or escalated before", a.AckFor)
			}
		}
	case amp.KindCommand, amp.KindPlan:
		t.decided = true
	case amp.KindTurn:
		var u amp.Turn
		c.body(e, &u)
		c.turn(t, e, &u)
	case amp.KindQuestion, amp.KindCheck, amp.KindRefusal, amp.KindChain, amp.KindBus, amp.KindOutside:
	}
}

func (c *rounds) body(e *amp.Entry, into any) {
	if err := json.Unmarshal(e.Body, into); err != nil {
		c.bad(e, "its body does not decode: %v", err)
	}
}

func (c *rounds) message(t *taskRounds, e *amp.Entry) {
	var m struct {
		MsgID   string          `json:"msg_id"`
		Type    amp.MessageType `json:"type"`
		From    amp.Role        `json:"from"`
		Needs   bool            `json:"requires_ack"`
		Refs    []string        `json:"context_ref"`
		Payload struct {
			Result   string             `json:"task_result_ref"`
			Type     amp.EscalationType `json:"escalation_type"`
			Affected []string           `json:"affected_msgs"`
			Suspends bool               `json:"auto_suspended"`
		} `json:"payload"`
	}
	c.body(e, &m)
	if m.Needs {
		t.due[m.MsgID] = m.Type
	}
	answer := func(to string) {
		if t.answers[to]++; t.answers[to] > 1 {
			c.bad(e, "%s is the second %s for %s", m.MsgID, m.Type, to)
		}
	}
	first := ""
	if len(m.Refs) > 0 {
		first = m.Refs[0]
	}
	switch m.Type {
	case amp.TaskDispatch:
		if t.last != "" && !t.decided {
			c.bad(e, "%s is dispatched although nothing came of %s", m.MsgID, t.last)
		}
		t.last, t.decided = m.MsgID, false
	case amp.TaskResult, amp.ReviewVerdict:
		answer(first)
		t.decided = true
		if !slices.Contains(c.external, e.Actor) && (t.open == nil || t.open.Role != m.From || t.open.For != first) {
			c.bad(e, "%s comes from the %s without a turn for %s", m.MsgID, m.From, first)
		}
		if slices.Contains(t.session, m.From) {
			c.bad(e, "%s is the second answer of one turn", m.MsgID)
		}
		t.session = append(t.session, m.From)
	case amp.ReviewRequest:
		answer(m.Payload.Result)
		t.result = m.Payload.Result
	case amp.EscalationMsg:
		t.decided = true
		if m.Payload.Suspends { // the review that it fenced is asked for again
			delete(t.answers, t.result)
		}
		if m.Payload.Type == amp.AckTimeoutEsc {
			for _, id := range m.Payload.Affected {
				if t.acks[id]++; t.acks[id] > 1 {
					c.bad(e, "%s was acknowledged or escalated before", id)
				}
			}
		}
	}
}

func (c *rounds) turn(t *taskRounds, e *amp.Entry, u *amp.Turn) {
	switch u.Event {
	case amp.TurnStarted:
		if t.open != nil {
			c.bad(e, "turn %s of the %s starts while %s of the %s is open", u.TurnID, u.Role, t.open.TurnID, t.open.Role)
		}
		if len(t.turns[u.TurnID]) > 0 {
			c.bad(e, "turn %s starts again", u.TurnID)
		}
		if u.For != "" && t.answered[u.For] {
			c.bad(e, "turn %s works on %s, which was answered", u.TurnID, u.For)
		}
		t.open, t.session = u, nil
		if u.Lease < t.lease {
			c.bad(e, "turn %s runs under lease %d, after one under %d", u.TurnID, u.Lease, t.lease)
		}
		if who, known := t.owners[u.Lease]; known && who != u.Owner {
			c.bad(e, "lease %d belongs to %s and to %s", u.Lease, who, u.Owner)
		}
		t.lease, t.owners[u.Lease] = u.Lease, u.Owner
	case amp.TurnEnded:
		c.turnEnded(t, e, u)
	case amp.TurnProgress, amp.TurnRedelivered:
	}
}

func (c *rounds) turnEnded(t *taskRounds, e *amp.Entry, u *amp.Turn) {
	before := t.turns[u.TurnID]
	t.turns[u.TurnID] = append(before, u.Outcome)
	switch {
	case t.open != nil && t.open.TurnID == u.TurnID:
		t.open = nil
		t.answered[u.For] = u.Outcome == amp.TurnOK && u.For != ""
		if u.Outcome == amp.TurnOK && u.For != "" && len(t.session) == 0 {
			c.bad(e, "turn %s ended well and delivered nothing", u.TurnID)
		}
	case len(before) == 1 && before[0] == amp.TurnLost && u.Outcome == amp.TurnKilled: // its old owner says what it cost
	default:
		c.bad(e, "turn %s ends as %s, but was not open (%v)", u.TurnID, u.Outcome, before)
	}
}

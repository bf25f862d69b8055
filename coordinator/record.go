package coordinator

import (
	"fmt"
	"time"

	"arbiter/amp"
)

// actor is the name of the coordinator itself in entries.
const actor = "arbiter"

func (c *Coordinator) record(kind amp.Kind, task amp.TaskID, role amp.Role, who string, now time.Time, body any) amp.Record {
	return amp.Record{Kind: kind, TaskID: task, Role: role, Actor: who, At: now, ID: c.cfg.NewID(), Body: amp.EncodeBody(body)}
}

func (c *Coordinator) check(t *amp.Task, now time.Time, ck amp.Check) amp.Record {
	ck.TaskID = t.ID
	return c.record(amp.KindCheck, t.ID, amp.Coordinator, actor, now, ck)
}

// turnEntry builds an entry of a turn, with as much of its agent's words as there is room for.
func (c *Coordinator) turnEntry(now time.Time, role amp.Role, who string, u amp.Turn) amp.Record {
	u.Text, u.Session, u.Model = said(u.Text), named(u.Session), named(u.Model)
	return c.record(amp.KindTurn, u.TaskID, role, who, now, u)
}

// message builds the entry of one of our own messages. Its msg_id is free in the journal (A05).
func (c *Coordinator) message(t *amp.Task, from, to amp.Role, who string, now time.Time, refs []string, p amp.Payload) (amp.Record, *amp.Message, error) {
	m := &amp.Message{
		ProtocolVersion: amp.Version, Type: p.MessageType(), From: from, To: to, TaskID: t.ID,
		Timestamp: amp.FormatTime(now), RequiresAck: p.MessageType() != amp.EscalationMsg, ContextRef: refs, Payload: p,
	}
	if d := c.cfg.AckTimeouts[m.Type]; m.RequiresAck && d > 0 {
		m.AckTimeoutSec = max(1, int(d.Seconds()))
	}
	m.MsgID = amp.NewMsgID(m.Type, t.ID, now, c.taken)
	body, err := amp.Encode(m)
	if err != nil {
		return amp.Record{}, nil, fmt.Errorf("build %s for %s: %w", m.Type, t.ID, err)
	}
	if m.Type != amp.EscalationMsg { // what a receiver would refuse is not sent
		if problems, _ := c.board.Judge(m, from, c.taken); len(problems) > 0 {
			return amp.Record{}, nil, fmt.Errorf("build %s for %s: %w", m.Type, t.ID, &amp.InvalidError{Problems: problems})
		}
	}
	return amp.Record{Kind: amp.KindMessage, TaskID: t.ID, Role: from, Actor: who, At: now, ID: m.MsgID, Body: body}, m, nil
}

// taken reports whether the journal holds an entry with this id. A store that cannot answer says no: the append decides.
func (c *Coordinator) taken(id string) bool {
	e, err := c.read(amp.Filter{ID: id, Limit: 1})
	return err == nil && len(e) > 0
}

// ack is the receipt of a message by the coordinator itself.
func (c *Coordinator) ack(t *amp.Task, msgID string, now time.Time) amp.Record {
	return c.record(amp.KindAck, t.ID, amp.Coordinator, actor, now, amp.Ack{
		AckFor: msgID, TaskID: t.ID, By: amp.Coordinator, AckedAt: now.UTC(), Status: amp.AckAccepted,
	})
}

// alarm is an escalation that the coordinator or the system raises.
type alarm struct {
	typ      amp.EscalationType
	severity amp.Severity
	from     amp.Role
	text     string
	affected []string
}

// escalate builds the escalation's entry. Everything but info suspends the task (AMP-165, A17). Its text may repeat what agents and programs
// said, and is cut where that is long.
func (c *Coordinator) escalate(t *amp.Task, now time.Time, a alarm) amp.Record {
	a.text = listed([]string{a.text})
	if a.from == "" {
		a.from = amp.Coordinator
	}
	if a.severity == "" {
		a.severity = amp.Warning
	}
	if a.affected == nil {
		a.affected = t.Affected()
	}
	var texts []string
	for _, s := range amp.Suggestions(a.typ) {
		texts = append(texts, s.Text)
	}
	p := &amp.Escalation{
		EscalationType: a.typ, Severity: a.severity, TriggeredBy: a.from, Description: a.text, AffectedMsgs: a.affected,
		SystemStateSnapshot: amp.Snapshot{TaskStatus: t.Status, RejectCount: t.RejectCount, LastSuccessfulMsgID: t.LastOK},
		SuggestedActions:    texts, AutoSuspended: a.severity != amp.Info,
	}
	r, _, err := c.message(t, a.from, amp.Admin, actor, now, nil, p)
	if err != nil {
		panic(err) // our own escalation breaks our own rules
	}
	return r
}

// refuse builds the entry of the protocol's error log (AMP-002).
func (c *Coordinator) refuse(now time.Time, role amp.Role, who string, r amp.Refusal) amp.Record {
	r.RawLen = len(r.Raw)
	if len(r.Raw) > amp.MaxRaw {
		r.Raw = r.Raw[:amp.MaxRaw]
	}
	task := r.TaskID
	if c.board.Task(task) == nil {
		task = ""
	}
	return c.record(amp.KindRefusal, task, role, who, now, r)
}

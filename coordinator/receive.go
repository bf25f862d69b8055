package coordinator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"arbiter/amp"
)

// Receive takes in a message or an ACK of an agent that runs without our adapters. What breaks a rule is refused with every
// problem, as a [*amp.RefusedError], and kept (AMP-002). Bytes that are stored already change nothing (AMP-013).
func (c *Coordinator) Receive(ctx context.Context, in amp.Received) (amp.Receipt, error) {
	if err := c.refresh(ctx); err != nil {
		return amp.Receipt{}, err
	}
	measured, done, err := c.measureExternal(ctx, in)
	defer done()
	if err != nil {
		return amp.Receipt{}, err
	}
	var warnings []amp.Problem
	appended, err := c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
		records, w, err := c.takeIn(in, measured, now)
		warnings = w
		return records, err
	})
	if err != nil {
		if again, ok := errors.AsType[*repeated](err); ok {
			return amp.Receipt{Entry: again.entry, Warnings: warnings, Duplicate: true}, nil
		}
		if r, ok := errors.AsType[*amp.RefusedError](err); ok && len(appended) > 0 {
			r.Seq = appended[0].Entry.Seq
		}
		return amp.Receipt{}, err
	}
	for _, a := range appended {
		if a.Entry.Kind == amp.KindMessage || a.Entry.Kind == amp.KindAck {
			return amp.Receipt{Entry: a.Entry, Warnings: warnings, Duplicate: !a.Fresh}, a.Err
		}
	}
	return amp.Receipt{}, fmt.Errorf("nothing was stored")
}

func (c *Coordinator) takeIn(in amp.Received, measured *amp.Check, now time.Time) ([]amp.Record, []amp.Problem, error) {
	var probe struct {
		AckFor *string `json:"ack_for"`
	}
	if records, err := c.fromTurn(in, now); err != nil {
		return records, nil, err
	}
	if json.Unmarshal(in.Raw, &probe) != nil || probe.AckFor == nil {
		records, warnings, err := c.takeMessage(in.Raw, in.As, in.Actor, in.Source, in.Strict, now)
		if err == nil {
			records, err = c.withTurn(records, in, measured, now)
		}
		return records, warnings, err
	}
	var a amp.Ack
	if err := json.Unmarshal(in.Raw, &a); err != nil {
		problems := []amp.Problem{{Rule: "A07", Message: "the ACK does not decode: " + err.Error()}}
		return c.refused("ack", a.TaskID, in, problems, now)
	}
	if a.By == "" {
		a.By = in.As
	}
	t := c.board.Task(a.TaskID)
	if t == nil {
		return c.refused("ack", "", in, []amp.Problem{{Rule: "AMP-021", Field: "task_id", Message: fmt.Sprintf("task %q is not known", a.TaskID)}}, now)
	}
	if a.By != in.As {
		return c.refused("ack", a.TaskID, in, []amp.Problem{{Rule: "A07", Field: "by", Message: fmt.Sprintf("%s cannot acknowledge as %s", in.As, a.By)}}, now)
	}
	a.AckedAt = now.UTC()
	return c.takeAck(t, &a, in.Raw, in.Actor, now)
}

// TurnOf is the turn that runs here and for whose process is reports true, "" when there is none. is must not block.
func (c *Coordinator) TurnOf(ctx context.Context, is func(pid int) bool) (turnID string, err error) {
	err = c.view(ctx, func(*amp.Board) {
		for id, l := range c.live {
			if l.PID > 0 && is(l.PID) {
				turnID = id
			}
		}
	})
	return turnID, err
}

// fromTurn refuses what a process of an agent says for another role or task than that of its turn, and lets the admin hear of it.
func (c *Coordinator) fromTurn(in amp.Received, now time.Time) ([]amp.Record, error) {
	if in.Turn == "" {
		return nil, nil
	}
	why, l, task, other := "", c.live[in.Turn], guessTask(in.Raw), "no task that is known"
	if c.board.Task(task) != nil {
		other = string(task)
	}
	switch {
	case l == nil:
		why = fmt.Sprintf("a process of turn %s, which does not run, speaks for nobody", in.Turn)
	case l.Role != in.As || l.TaskID != task:
		why = fmt.Sprintf("the %s of %s cannot speak for the %s of %s", l.Role, l.TaskID, in.As, other)
	default:
		return nil, nil
	}
	records, _, err := c.refused(guessType(in.Raw), task, in, []amp.Problem{{Rule: "AMP-018", Field: "from", Message: why}}, now)
	if l == nil {
		return records, err
	}
	if t := c.board.Task(l.TaskID); t != nil && !t.Status.Ended() {
		records = append(records, c.escalate(t, now, alarm{
			typ: amp.PermissionDenied, text: fmt.Sprintf("%s, the %s of %s, sent a message for the %s of %s.", l.Agent, l.Role, l.TaskID, in.As, other),
		}))
	}
	return records, err
}

func (c *Coordinator) refused(what string, task amp.TaskID, in amp.Received, problems []amp.Problem, now time.Time) ([]amp.Record, []amp.Problem, error) {
	r := c.refuse(now, in.As, in.Actor, amp.Refusal{What: what, TaskID: task, Source: in.Source, Problems: problems, Raw: in.Raw})
	return []amp.Record{r}, nil, &amp.RefusedError{What: what, Problems: problems}
}

// takeMessage judges a message and builds its entry, with the coordinator's own ACK where one is due.
func (c *Coordinator) takeMessage(raw []byte, as amp.Role, who, source string, strict bool, now time.Time) ([]amp.Record, []amp.Problem, error) {
	in := amp.Received{Raw: raw, As: as, Actor: who, Source: source}
	decode := amp.Decode
	if strict {
		decode = amp.DecodeStrict
	}
	m, warnings, err := decode(raw)
	if err != nil {
		task, problems := guessTask(raw), problemsOf(err)
		records, _, err := c.refused(guessType(raw), task, in, problems, now)
		t := c.board.Task(task)
		crosses := slices.ContainsFunc(problems, func(p amp.Problem) bool { return p.Rule == "AMP-007" })
		if t != nil && crosses && !t.Status.Ended() {
			records = append(records, c.escalate(t, now, alarm{typ: amp.PermissionDenied, text: fmt.Sprintf(
				"%s, the %s of %s, wrote to another agent; agents speak to the coordinator only.", who, as, task)}))
		}
		return records, nil, err
	}
	if err := c.storedMessage(m, raw); err != nil {
		if _, ok := errors.AsType[*repeated](err); ok {
			return nil, warnings, err
		}
		return c.refused(string(m.Type), m.TaskID, in, []amp.Problem{{Rule: "AMP-013", Field: "msg_id", Message: err.Error()}}, now)
	}
	problems, more := c.board.Judge(m, as, c.taken)
	warnings = append(warnings, more...)
	if len(problems) > 0 {
		records, _, err := c.refused(string(m.Type), m.TaskID, in, problems, now)
		return records, warnings, err
	}
	t := c.board.Task(m.TaskID)
	records := []amp.Record{{Kind: amp.KindMessage, TaskID: m.TaskID, Role: m.From, Actor: who, At: now, ID: m.MsgID, Body: raw}}
	if m.To == amp.Coordinator && m.RequiresAck {
		records = append(records, c.ack(t, m.MsgID, now))
	}
	return records, warnings, nil
}

// storedMessage reports a message that is stored already: as [*repeated] with the same bytes, else as an error (AMP-013).
func (c *Coordinator) storedMessage(m *amp.Message, raw []byte) error {
	e, err := c.read(amp.Filter{ID: m.MsgID, Limit: 1})
	if err != nil || len(e) == 0 {
		return nil //nolint:nilerr // a store that cannot answer decides at the append
	}
	if bytes.Equal(e[0].Body, raw) {
		return &repeated{entry: e[0]}
	}
	return fmt.Errorf("this msg_id is in the journal as entry %d with other content", e[0].Seq)
}

func guessType(raw []byte) string {
	var p struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(raw, &p) == nil && p.Type != "" {
		return p.Type
	}
	return "bytes"
}

func guessTask(raw []byte) amp.TaskID {
	var p struct {
		TaskID amp.TaskID `json:"task_id"`
	}
	if json.Unmarshal(raw, &p) != nil {
		return ""
	}
	return p.TaskID
}

// takeAck judges an ACK and builds its entry (A07). One that repeats or comes late changes nothing but is kept.
func (c *Coordinator) takeAck(t *amp.Task, a *amp.Ack, raw []byte, who string, now time.Time) ([]amp.Record, []amp.Problem, error) {
	of := c.originOf(a.AckFor)
	problems, warnings := c.board.JudgeAck(a, of)
	if len(a.Reason) > maxListed {
		problems = append(problems, amp.Problem{Rule: "A07", Field: "reason", Message: fmt.Sprintf("has %d bytes, more than the %d that are allowed", len(a.Reason), maxListed)})
	}
	in := amp.Received{Raw: raw, As: a.By, Actor: who, Source: "ack"}
	if len(problems) > 0 {
		return c.refused("ack", t.ID, in, problems, now)
	}
	if o := t.Obligation(a.AckFor); o == nil && of.Type != amp.EscalationMsg || o != nil && now.After(o.Deadline()) {
		a.Late = o != nil || !c.ackedBefore(t, a.AckFor)
		if o == nil && !a.Late {
			return nil, warnings, nil
		}
	} else if o != nil && o.Refused != "" && a.Status == amp.AckRefused {
		return nil, warnings, nil
	}
	return []amp.Record{c.record(amp.KindAck, t.ID, a.By, who, now, a)}, warnings, nil
}

// ackedBefore reports whether the message needs no ACK any more because it has one.
func (c *Coordinator) ackedBefore(t *amp.Task, msgID string) bool {
	return t.Status == amp.Executing || t.Status == amp.Reviewing || t.LastOK == msgID
}

// originOf reads the message that an ACK is for, nil when it is not in the journal.
func (c *Coordinator) originOf(msgID string) *amp.Message {
	entries, err := c.read(amp.Filter{ID: msgID, Limit: 1})
	m, err := messageOf(msgID, entries, err)
	if err != nil {
		return nil
	}
	return m
}

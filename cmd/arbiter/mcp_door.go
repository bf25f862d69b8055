package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/server"
)

// readMessage is the tool by which an agent that Arbiter does not start reads what it is to do.
const readMessage = "message"

// door hands in for an agent that Arbiter does not start: each call of a tool is a message to the coordinator, as of arbiter message.
type door struct {
	client *server.Client
	task   amp.TaskID
	from   amp.Received // without what is handed in
}

// tools are those that need no turn. Without a turn nobody would get the answer to a question, and a plan is the coordinator's.
func (d *door) tools() []string {
	var all []string
	for _, name := range brief.Tools(d.from.As) {
		if name != brief.Ask {
			all = append(all, name)
		}
	}
	return append(all, readMessage)
}

// take does what a tool is for, and says what became of it.
func (d *door) take(ctx context.Context, s *brief.Submission) (string, error) {
	open, err := d.open(ctx)
	if err != nil {
		return "", err
	}
	if s.Tool == readMessage {
		return string(open.Body), nil
	}
	if problems := brief.CheckSubmission(&providers.Turn{Task: d.task, Role: d.from.As}, s); len(problems) > 0 {
		return "", fmt.Errorf("it was refused; mend this and call the tool again:\n%s", strings.Join(problems, "\n"))
	}
	in := d.from
	if in.Raw, err = d.message(ctx, open, s); err != nil {
		return "", err
	}
	r, err := d.client.Receive(ctx, in)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %s is stored as entry %d.", r.Entry.Kind, r.Entry.ID, r.Entry.Seq), nil
}

// open is the message that the role has to answer now.
func (d *door) open(ctx context.Context) (*amp.Entry, error) {
	b, err := board(ctx, d.client)
	if err != nil {
		return nil, err
	}
	t, err := findTask(b, string(d.task))
	if err != nil {
		return nil, err
	}
	ref := t.Dispatch
	if d.from.As == amp.Reviewer {
		ref = t.Request
	}
	if ref == nil {
		return nil, fmt.Errorf("there is no message to the %s of %s yet: the task is %s", d.from.As, d.task, t.Status)
	}
	page, err := d.client.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{ID: ref.MsgID, Limit: 1}})
	if err != nil {
		return nil, err
	}
	if len(page.Entries) == 0 {
		return nil, fmt.Errorf("message %s is not in the journal", ref.MsgID)
	}
	return &page.Entries[0], nil
}

// message is a submission in the form of the protocol.
func (d *door) message(ctx context.Context, open *amp.Entry, s *brief.Submission) ([]byte, error) {
	now := time.Now()
	typ, to, acked := amp.TaskResult, amp.Coordinator, true
	switch s.Tool {
	case brief.Ack:
		return d.ack(open, s, now)
	case brief.Escalate:
		typ, to, acked = amp.EscalationMsg, amp.Admin, false
	case brief.SubmitVerdict:
		typ = amp.ReviewVerdict
	}
	taken := func(id string) bool {
		page, err := d.client.Query(ctx, amp.Query{Kind: amp.QueryEntries, Filter: amp.Filter{ID: id, Limit: 1}})
		return err == nil && len(page.Entries) > 0
	}
	return json.Marshal(map[string]any{
		"msg_id": amp.NewMsgID(typ, d.task, now, taken), "protocol_version": amp.Version, "type": typ, "from": d.from.As, "to": to,
		"task_id": d.task, "timestamp": amp.FormatTime(now), "requires_ack": acked, "context_ref": []string{open.ID}, "payload": s.Payload,
	})
}

// ack is the receipt of the open message.
func (d *door) ack(open *amp.Entry, s *brief.Submission, now time.Time) ([]byte, error) {
	var said struct {
		Status amp.AckStatus `json:"status"`
		Reason string        `json:"reason"`
	}
	if err := json.Unmarshal(s.Payload, &said); err != nil {
		return nil, err
	}
	m, _, err := amp.Decode(open.Body)
	if err != nil {
		return nil, fmt.Errorf("read message %s: %w", open.ID, err)
	}
	return ackOf(m, d.from.As, now, said.Status, said.Reason), nil
}

// ackOf is the ack of a message; one that accepts a task_dispatch repeats its acceptance criteria (AMP-063).
func ackOf(m *amp.Message, by amp.Role, now time.Time, status amp.AckStatus, reason string) []byte {
	ack := amp.Ack{AckFor: m.MsgID, TaskID: m.TaskID, By: by, AckedAt: now.UTC().Truncate(time.Millisecond), Status: status, Reason: reason}
	if d, ok := m.Payload.(*amp.Dispatch); ok && status == amp.AckAccepted {
		ack.EchoedAcceptanceCriteria = d.AcceptanceCriteria
	}
	return amp.EncodeBody(&ack)
}

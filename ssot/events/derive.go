package events

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"arbiter/amp"

	"github.com/google/uuid"
)

// namespace is the one of our ids: an event's is the UUIDv5 of its entry's id, its type, and its number among that entry's events of
// the type; the correlation id of a task that of the task's id.
var namespace = uuid.MustParse("5a1d7a1e-2f0b-5c0e-9d63-a4b1747e6a01")

// ReadFunc reads entries of the journal as a filter says, as ssot.Log does.
type ReadFunc func(ctx context.Context, f amp.Filter) ([]amp.Entry, error)

// Deriver turns entries into events. The same entry gives the same events, whatever was derived before. It is safe for concurrent use.
type Deriver struct {
	read ReadFunc

	mu    sync.Mutex
	tasks map[amp.TaskID]*folded
	tick  uint64
	// first is the seq of the first turn of each agent.
	first map[string]uint64
}

// folded is the state of one task at some entry.
type folded struct {
	board *amp.Board
	used  uint64
}

// maxFolded bounds how many tasks are kept folded; another one is folded again from its own entries.
const maxFolded = 256

// NewDeriver returns a deriver that reads what it needs of a task's past with read.
func NewDeriver(read ReadFunc) *Deriver {
	return &Deriver{read: read, tasks: map[amp.TaskID]*folded{}, first: map[string]uint64{}}
}

// Derive returns the events of an entry, in order; most entries have none. An error is one of reading the journal, or a broken entry.
func (d *Deriver) Derive(ctx context.Context, e *amp.Entry) ([]Event, error) {
	if !mayHaveEvents(e) {
		return nil, nil
	}
	m := &made{entry: e, n: map[string]int{}}
	if e.TaskID == "" && e.Kind == amp.KindBus {
		err := m.buried()
		return m.events, err
	}
	if e.TaskID == "" {
		err := m.refused()
		return m.events, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.before(ctx, e)
	if err != nil {
		return nil, err
	}
	if t := f.board.Task(e.TaskID); t != nil {
		m.before, m.known = *t, true
	}
	f.board.Head.Seq = e.Seq - 1 // the entries between are about others
	if err := f.board.Apply(*e); err != nil {
		delete(d.tasks, e.TaskID)
		return nil, fmt.Errorf("derive the events of entry %d: %w", e.Seq, err)
	}
	m.task = f.board.Task(e.TaskID)
	switch {
	case e.Kind == amp.KindRefusal:
		err = m.refused()
	case m.task == nil:
		return nil, nil
	default:
		err = d.derive(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	return m.events, nil
}

// mayHaveEvents reports whether events can come from an entry: it is about a task, what was refused named none, or messages of the bus became
// dead letters.
func mayHaveEvents(e *amp.Entry) bool {
	return e.TaskID != "" || e.Kind == amp.KindRefusal || e.Kind == amp.KindBus && bytes.Contains(e.Body, []byte(deadMessage))
}

// before is the task as it was before an entry.
func (d *Deriver) before(ctx context.Context, e *amp.Entry) (*folded, error) {
	d.tick++
	f := d.tasks[e.TaskID]
	if f == nil || f.board.Head.Seq >= e.Seq {
		f = &folded{board: amp.NewBoard()}
	}
	f.used = d.tick
	for {
		page, err := d.read(ctx, amp.Filter{TaskID: e.TaskID, After: f.board.Head.Seq, Before: e.Seq})
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", e.TaskID, err)
		}
		for i := range page {
			f.board.Head.Seq = page[i].Seq - 1
			if err := f.board.Apply(page[i]); err != nil {
				return nil, err
			}
		}
		if len(page) == 0 {
			break
		}
	}
	d.tasks[e.TaskID] = f
	if len(d.tasks) > maxFolded {
		oldest := e.TaskID
		for id, other := range d.tasks {
			if other.used < d.tasks[oldest].used {
				oldest = id
			}
		}
		delete(d.tasks, oldest)
	}
	return f, nil
}

// isFirst reports whether an entry is the first turn of its agent in the journal.
func (d *Deriver) isFirst(ctx context.Context, e *amp.Entry, agent string) (bool, error) {
	if seq, ok := d.first[agent]; ok {
		return seq == e.Seq, nil
	}
	for after := uint64(0); ; {
		page, err := d.read(ctx, amp.Filter{Kinds: []amp.Kind{amp.KindTurn}, Text: string(amp.EncodeBody(agent)), After: after, Before: e.Seq})
		if err != nil {
			return false, fmt.Errorf("read the turns of %s: %w", agent, err)
		}
		for i := range page {
			if u, err := amp.DecodeBody[amp.Turn](&page[i]); err == nil && u.Agent == agent {
				d.remember(agent, page[i].Seq)
				return false, nil
			}
			after = page[i].Seq
		}
		if len(page) == 0 {
			d.remember(agent, e.Seq)
			return true, nil
		}
	}
}

func (d *Deriver) remember(agent string, seq uint64) {
	if len(d.first) > 10*maxFolded {
		clear(d.first)
	}
	d.first[agent] = seq
}

// derivedID is the id of the nth event of a type that comes from something with an id.
func derivedID(of, typ string, n int) string {
	return uuid.NewSHA1(namespace, fmt.Appendf(nil, "%s/%s/%d", of, typ, n)).String()
}

// Correlation is the correlation id of a task's events (EVT-092).
func Correlation(id amp.TaskID) string { return uuid.NewSHA1(namespace, []byte(id)).String() }

// stamp is a time with microseconds in UTC (EVT-091).
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Word is the word of a status in task.status_changed.
func Word(s amp.Status) string {
	switch s {
	case amp.Drafting, amp.AwaitingApproval, amp.Dispatched:
		return "pending"
	case amp.Executing, amp.Verifying:
		return "in_progress"
	case amp.Reviewing:
		return "in_review"
	case amp.Held:
		return "blocked"
	case amp.StatusApproved:
		return "completed"
	case amp.Suspended, amp.Locked, amp.Delivered, amp.Terminated:
	}
	return string(s)
}

// derive adds the events of the entry, after the table of the protocol rules, 6.5.
func (d *Deriver) derive(ctx context.Context, m *made) error {
	e := m.entry
	var err error
	switch e.Kind {
	case amp.KindMessage:
		if m.message, _, err = amp.Decode(e.Body); err != nil {
			return err
		}
		if refs := m.message.ContextRef; len(refs) > 0 {
			m.cause = refs[len(refs)-1]
		}
		m.said()
	case amp.KindCommand:
		c, err := amp.DecodeBody[amp.Command](e)
		if err != nil {
			return err
		}
		m.commanded(&c)
	case amp.KindPlan:
		m.planned()
	case amp.KindAck:
		a, err := amp.DecodeBody[amp.Ack](e)
		if err != nil {
			return err
		}
		m.cause = a.AckFor
		if a.Status == amp.AckAccepted && m.before.Dispatch != nil && m.before.Dispatch.MsgID == a.AckFor && !a.Late {
			m.add("agent.state_changed", map[string]any{
				"agent_id": m.agent(amp.Executor), "previous_state": "ready", "new_state": "active", "reason": "task_assignment",
			})
		}
	case amp.KindTurn:
		u, err := amp.DecodeBody[amp.Turn](e)
		if err != nil {
			return err
		}
		m.cause = u.For
		if err := d.turned(ctx, m, &u); err != nil {
			return err
		}
	case amp.KindCheck:
		c, err := amp.DecodeBody[amp.Check](e)
		if err != nil {
			return err
		}
		m.cause = c.For
		m.checked(&c)
	case amp.KindQuestion, amp.KindRefusal, amp.KindChain, amp.KindBus, amp.KindOutside:
	}
	m.moved()
	return nil
}

// turned adds the events of a turn of an agent.
func (d *Deriver) turned(ctx context.Context, m *made, u *amp.Turn) error {
	id := string(m.task.ID)
	switch u.Event {
	case amp.TurnStarted:
		first, err := d.isFirst(ctx, m.entry, u.Agent)
		if err != nil {
			return err
		}
		if first {
			m.add("agent.created", map[string]any{
				"agent_id": u.Agent, "name": u.Agent, "template_id": string(u.Role), "specializations": []any{string(u.Role)}, "state": "initializing",
			})
			m.add("agent.initialized", map[string]any{"agent_id": u.Agent, "state": "ready", "capabilities": []any{string(u.Role)}})
		}
		if u.Role == amp.Coordinator && u.For == "" {
			m.add("project.planning_started", map[string]any{"project_id": id, "planning_id": u.TurnID})
		}
		m.add("model.execution_requested", map[string]any{
			"execution_id": u.TurnID, "agent_id": u.Agent, "task_id": id, "model_id": cmp.Or(u.Model, u.Agent), "execution_type": string(u.Role),
			"priority": m.priority(),
		})
	case amp.TurnEnded:
		status := "success"
		if u.Outcome != amp.TurnOK {
			status = string(u.Outcome)
		}
		m.add("model.execution_completed", map[string]any{
			"execution_id": u.TurnID, "agent_id": u.Agent, "task_id": id, "model_id": cmp.Or(u.Model, u.Agent), "status": status,
			"execution_time_ms": float64(u.TookMS),
			// An agent reports one sum; which part of it was asked and which answered is not known.
			"token_usage": map[string]any{"prompt_tokens": 0.0, "completion_tokens": 0.0, "total_tokens": float64(u.Tokens)},
		})
		m.add("agent.state_changed", map[string]any{"agent_id": u.Agent, "previous_state": "active", "new_state": "ready", "reason": "turn_" + string(u.Outcome)})
	case amp.TurnRedelivered, amp.TurnProgress:
	}
	return nil
}

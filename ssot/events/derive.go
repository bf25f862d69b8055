package events

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
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
	if e.TaskID == "" || e.Kind == amp.KindRefusal {
		return nil, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	f, err := d.before(ctx, e)
	if err != nil {
		return nil, err
	}
	m := &made{entry: e, n: map[string]int{}}
	if t := f.board.Task(e.TaskID); t != nil {
		m.before, m.known = *t, true
	}
	f.board.Head.Seq = e.Seq - 1 // the entries between are about others
	if err := f.board.Apply(*e); err != nil {
		delete(d.tasks, e.TaskID)
		return nil, fmt.Errorf("derive the events of entry %d: %w", e.Seq, err)
	}
	if m.task = f.board.Task(e.TaskID); m.task == nil {
		return nil, nil
	}
	if err := d.derive(ctx, m); err != nil {
		return nil, err
	}
	return m.events, nil
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

// made are the events of one entry.
type made struct {
	entry  *amp.Entry
	before amp.Task
	known  bool // before is a task
	task   *amp.Task
	events []Event
	n      map[string]int
	// message is the AMP message of the entry, nil for other entries; cause is what it answers.
	message *amp.Message
	cause   string
}

// add adds an event.
func (m *made) add(typ string, data map[string]any) {
	e := m.entry
	domain, _, _ := strings.Cut(typ, ".")
	about := map[string]any{"task_id": string(e.TaskID), "task_status": string(m.task.Status), "entry_id": e.ID, "seq": float64(e.Seq)}
	if m.message != nil {
		sum := sha256.Sum256(e.Body)
		about["msg_id"], about["type"], about["from"], about["to"] = m.message.MsgID, string(m.message.Type), string(m.message.From), string(m.message.To)
		about["sha256"] = hex.EncodeToString(sum[:])
	}
	meta := map[string]any{"schema_version": SchemaVersion, "producer": "arbiter", "amp": about}
	if m.cause != "" {
		meta["causation_id"] = m.cause
	}
	if p := m.priority(); p == "high" {
		meta["priority"] = p
	}
	m.events = append(m.events, Event{
		ID:   derivedID(e.ID, typ, m.n[typ]),
		Type: typ, Source: domains[domain], Timestamp: stamp(e.At), CorrelationID: Correlation(e.TaskID), Data: data, Metadata: meta,
	})
	m.n[typ]++
}

// derivedID is the id of the nth event of a type that comes from something with an id.
func derivedID(of, typ string, n int) string {
	return uuid.NewSHA1(namespace, fmt.Appendf(nil, "%s/%s/%d", of, typ, n)).String()
}

// Correlation is the correlation id of a task's events (EVT-092).
func Correlation(id amp.TaskID) string { return uuid.NewSHA1(namespace, []byte(id)).String() }

// stamp is a time with microseconds in UTC (EVT-091).
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// priority is the task's, from its risk.
func (m *made) priority() string {
	risk := amp.RiskLevel("")
	if m.task.Plan != nil {
		risk = m.task.Plan.RiskLevel
	} else if m.task.Wish != nil {
		risk = m.task.Wish.Risk
	}
	return string(cmp.Or(risk, amp.Medium))
}

// agent is who has a role in the task.
func (m *made) agent(role amp.Role) string {
	t := m.task
	if t.Turn != nil && t.Turn.Role == role {
		return t.Turn.Agent
	}
	named, planned := t.Executor, ""
	if t.Plan != nil {
		planned = t.Plan.Executor
	}
	if role == amp.Reviewer {
		named = t.Reviewer
		if t.Plan != nil {
			planned = t.Plan.Reviewer
		}
	}
	return cmp.Or(named, planned, string(role))
}

// wish is what the admin wants, in words.
func (m *made) wish() (title, text string) {
	t := m.task
	if t.Wish != nil {
		text = t.Wish.Text
	}
	if t.Plan != nil {
		text = cmp.Or(text, t.Plan.Description)
	}
	title, _, _ = strings.Cut(cmp.Or(t.Title, text, string(t.ID)), "\n")
	return clip(title, 200), cmp.Or(text, title)
}

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

// said adds the events of a message.
func (m *made) said() {
	id := string(m.task.ID)
	switch p := m.message.Payload.(type) {
	case *amp.Dispatch:
		m.dispatched(p)
	case *amp.Result:
		if p.CompletionStatus == amp.Complete {
			m.add("workflow.step_completed", map[string]any{
				"workflow_id": id, "step_id": p.SubtaskID, "step_type": "execution", "status": "success", "next_step": "review",
				"result": map[string]any{
					"msg_id": m.message.MsgID, "commit": p.CommitHash, "files_changed": list(p.DiffSummary.FilesChanged),
					"lines_added": float64(p.DiffSummary.LinesAdded), "lines_removed": float64(p.DiffSummary.LinesRemoved),
				},
			})
		}
	case *amp.Verdict:
		if p.Decision == amp.Rejected {
			m.add("workflow.step_completed", map[string]any{
				"workflow_id": id, "step_id": m.before.CurrentSubtask().SubtaskID, "step_type": "review", "status": "failed", "next_step": "execution",
				"result": map[string]any{"msg_id": m.message.MsgID, "issues": float64(len(p.Issues))},
			})
			m.add("task.updated", map[string]any{"task_id": id, "updated_fields": []any{"reject_count"}, "reject_count": float64(m.task.RejectCount)})
		}
	case *amp.Escalation:
		m.add("system.error", map[string]any{
			"error_id": m.message.MsgID, "error_type": string(p.EscalationType), "severity": string(p.Severity), "message": p.Description,
			"context": map[string]any{
				"task_id": id, "task_status": string(p.SystemStateSnapshot.TaskStatus), "reject_count": float64(p.SystemStateSnapshot.RejectCount),
				"last_successful_msg_id": p.SystemStateSnapshot.LastSuccessfulMsgID, "affected_msgs": list(p.AffectedMsgs),
			},
		})
	}
}

func (m *made) dispatched(p *amp.Dispatch) {
	id, agent, priority := string(m.task.ID), m.agent(amp.Executor), m.priority()
	if m.before.Round == 0 {
		title, _ := m.wish()
		m.add("task.created", map[string]any{
			"task_id": id, "project_id": id, "title": title, "description": p.Description, "priority": priority,
			"required_capabilities": []any{}, "dependencies": []any{},
		})
		m.add("workflow.started", map[string]any{
			"workflow_id": id, "workflow_type": "amp_task", "initiated_by": m.entry.Actor,
			"context": map[string]any{"project_id": id, "agent_id": agent, "task_id": id},
		})
	}
	deadline := m.entry.At.Add(m.message.Type.AckTimeout())
	if o := m.task.Obligation(m.message.MsgID); o != nil {
		deadline = o.Deadline()
	}
	m.add("task.assigned", map[string]any{"task_id": id, "agent_id": agent, "assignment_time": stamp(m.entry.At), "deadline": stamp(deadline)})
	m.add("agent.task_assigned", map[string]any{"agent_id": agent, "task_id": id, "priority": priority, "deadline": stamp(deadline)})
}

func (m *made) commanded(c *amp.Command) {
	m.cause = ""
	if c.Command == amp.Submit && !m.known {
		title, text := m.wish()
		requirements := []any{}
		if m.task.Plan != nil {
			requirements = list(m.task.Plan.AcceptanceCriteria)
		}
		m.add("project.created", map[string]any{
			"project_id": string(m.task.ID), "name": title, "description": text, "requirements": requirements, "created_by": c.By,
		})
	}
}

func (m *made) planned() {
	p := m.task.Plan
	if p == nil {
		return
	}
	m.add("project.updated", map[string]any{
		"project_id": string(m.task.ID), "updated_fields": []any{"description", "requirements"}, "description": p.Description,
		"requirements": list(p.AcceptanceCriteria),
	})
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

// checked adds the events of a verification by git or the local CI.
func (m *made) checked(c *amp.Check) {
	if c.Subject != amp.CheckResult && c.Subject != amp.CheckCI {
		return
	}
	id, tool := string(m.task.ID), "git"
	if c.Subject == amp.CheckCI {
		tool = "ci"
	}
	execution := uuid.NewSHA1(namespace, []byte(m.entry.ID)).String()
	confirmed, refuted, inconclusive := c.Count()
	status := "success"
	if refuted > 0 || slices.Contains([]string{"failed"}, c.CI["local"]) {
		status = "failed"
	}
	m.add("tool.execution_requested", map[string]any{
		"execution_id": execution, "agent_id": "arbiter", "task_id": id, "tool_id": tool, "parameters": map[string]any{"for": c.For, "base": c.Base},
	})
	ci := map[string]any{}
	for k, v := range c.CI {
		ci[k] = v
	}
	m.add("tool.execution_completed", map[string]any{
		"execution_id": execution, "agent_id": "arbiter", "task_id": id, "tool_id": tool, "status": status, "execution_time_ms": 0.0,
		"result": map[string]any{
			"confirmed": float64(confirmed), "refuted": float64(refuted), "inconclusive": float64(inconclusive), "commit": c.Commit, "ci": ci, "text": c.Text,
		},
	})
}

// moved adds what follows from the move of the task, whichever entry made it.
func (m *made) moved() {
	t := m.task
	if !m.known || m.before.Status == t.Status {
		return
	}
	id, agent := string(t.ID), m.agent(amp.Executor)
	title, _ := m.wish()
	if m.before.Status == amp.AwaitingApproval && t.Status == amp.Dispatched && t.Plan != nil {
		m.add("project.execution_started", map[string]any{
			"project_id": id, "execution_id": t.Plan.Hash, "agent_ids": []any{agent, m.agent(amp.Reviewer)},
		})
	}
	took := float64(m.entry.At.Sub(t.FirstAt).Milliseconds())
	switch t.Status {
	case amp.StatusApproved:
		where := "git:" + t.Commit
		m.add("task.completed", map[string]any{
			"task_id": id, "agent_id": agent, "status": "success", "completion_time": stamp(m.entry.At), "result_summary": title,
			"artifacts": []any{map[string]any{"name": "commit", "location": where, "type": "git_commit", "size_bytes": 0.0}},
		})
		m.add("agent.task_completed", map[string]any{"agent_id": agent, "task_id": id, "status": "success", "result_summary": title, "result_location": where})
		m.add("workflow.completed", map[string]any{
			"workflow_id": id, "status": "success", "execution_time_ms": took, "result_summary": title,
			"steps_completed": float64(len(t.Subtasks())), "steps_failed": float64(t.RejectTotal),
		})
	case amp.Delivered:
		m.add("project.completed", map[string]any{"project_id": id, "status": "success", "results_summary": title, "results_location": "git:" + t.Commit})
	case amp.Terminated:
		m.add("workflow.completed", map[string]any{
			"workflow_id": id, "status": "failed", "execution_time_ms": took, "result_summary": "terminated",
			"steps_completed": float64(t.Subtask), "steps_failed": float64(t.RejectTotal),
		})
	default: // the others are said by the change of the word alone
	}
	if from, to := Word(m.before.Status), Word(t.Status); from != to {
		m.add("task.status_changed", map[string]any{"task_id": id, "previous_status": from, "new_status": to, "agent_id": agent})
	}
}

func list(all []string) []any {
	out := make([]any, len(all))
	for i, s := range all {
		out[i] = s
	}
	return out
}

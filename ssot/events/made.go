package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"arbiter/amp"

	"github.com/google/uuid"
)

// made are the events of one entry.
type made struct {
	entry  *amp.Entry
	before amp.Task
	known  bool // before is a task
	// task is the task after the entry, nil when what was refused names none that there is.
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
	about := map[string]any{"entry_id": e.ID, "seq": float64(e.Seq)}
	correlation := e.ID // what is about no task is related to nothing else
	if e.TaskID != "" {
		about["task_id"], correlation = string(e.TaskID), string(e.TaskID)
	}
	if m.task != nil {
		about["task_status"] = string(m.task.Status)
	}
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
		Type: typ, Source: domains[domain], Timestamp: stamp(e.At), CorrelationID: Correlation(amp.TaskID(correlation)), Data: data, Metadata: meta,
	})
	m.n[typ]++
}

// priority is the task's, from its risk.
func (m *made) priority() string {
	risk := amp.RiskLevel("")
	if m.task == nil {
		return string(amp.Medium)
	}
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

// The bounds of what an event repeats of a refusal.
const (
	maxRefused = 20 // problems
	maxSaid    = 500
)

// refused adds the event of a refused message (EVT-082): each rule that it broke, and no byte of the message itself, which the entry keeps.
func (m *made) refused() error {
	r, err := amp.DecodeBody[amp.Refusal](m.entry)
	if err != nil {
		return fmt.Errorf("derive the events of entry %d: %w", m.entry.Seq, err)
	}
	problems := []any{}
	said := make([]string, 0, maxRefused)
	for _, p := range r.Problems[:min(maxRefused, len(r.Problems))] {
		p.Field, p.Message = clip(p.Field, maxSaid), clip(p.Message, maxSaid)
		problems = append(problems, map[string]any{"rule": p.Rule, "field": p.Field, "message": p.Message})
		said = append(said, p.String())
	}
	m.add("system.error", map[string]any{
		"error_id": m.entry.ID, "error_type": "refusal", "severity": string(amp.Warning), "message": clip(r.What+" refused: "+strings.Join(said, "; "), maxSaid),
		"context": map[string]any{
			"task_id": string(m.entry.TaskID), "what": r.What, "source": r.Source, "actor": m.entry.Actor, "turn": r.Turn, "problems": problems,
			"problem_count": float64(len(r.Problems)), "raw_len": float64(r.RawLen),
		},
	})
	return nil
}

// deadMessage is what an entry of the bus calls messages that became dead letters.
const deadMessage = "message_dead"

// buried adds the event of messages of the bus that could not be delivered.
func (m *made) buried() error {
	f, err := amp.DecodeBody[struct {
		Event   string   `json:"event"`
		AgentID string   `json:"agent_id"`
		Keys    []string `json:"keys"`
		Why     string   `json:"why"`
	}](m.entry)
	if err != nil {
		return fmt.Errorf("derive the events of entry %d: %w", m.entry.Seq, err)
	}
	if f.Event != deadMessage {
		return nil
	}
	m.add("system.error", map[string]any{
		"error_id": m.entry.ID, "error_type": "dead_letter", "severity": string(amp.Warning), "message": clip("not delivered: "+f.Why, maxSaid),
		"context": map[string]any{
			"why": clip(f.Why, maxSaid), "recipient": f.AgentID, "letters": list(f.Keys[:min(maxLetters, len(f.Keys))]), "letter_count": float64(len(f.Keys)),
		},
	})
	return nil
}

// maxLetters bounds how many dead letters one event names.
const maxLetters = 100

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

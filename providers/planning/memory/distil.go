package memory

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/planning"
	"arbiter/providers/planning/sentient"
)

//go:embed prompt.md
var promptText string

// maxRecord bounds what the memory agent is told of a task, in bytes.
const maxRecord = 24 << 10

// Agent is who distils: any agent, asked by a prompt.
type Agent struct {
	Name   string
	Agent  providers.Agent
	Limits providers.Limits
	// Home and Dir are where it runs; it changes nothing.
	Home, Dir string
}

// distil asks the agent about a task. The chain entry is its answer as it came; there is one whenever it answered, or took something of the model.
// dropped says which of its entries were not taken, and why.
func (a *Agent) distil(ctx context.Context, turnID string, t *amp.Task, entries []amp.Entry) (lessons []Lesson, body *amp.Chain, used providers.Usage, dropped []string, err error) {
	var b strings.Builder
	brief.Block(&b, "The record of the task", []byte(record(t, entries)))
	fmt.Fprintf(&b, "Use session_id %q and request_id %q.\n", "memory-"+turnID, string(t.ID))
	began := time.Now()
	out, err := a.Agent.Run(ctx, providers.Turn{
		ID: turnID, Task: t.ID, Role: amp.System, // no planner: it is shown no repository
		Dir: a.Dir, Home: a.Home, Limits: a.Limits,
		Prompt: &providers.Prompt{System: promptText + "\n" + planning.Format, Text: b.String()},
	}, func(providers.Event) {})
	used = out.Usage
	c := &amp.Chain{TaskID: t.ID, TurnID: turnID, Stage: amp.StageMemory, Agent: a.Name, Result: amp.ChainHeld, TookMS: time.Since(began).Milliseconds()}
	if err != nil {
		if failed, ok := errors.AsType[*providers.TurnError](err); ok {
			used = failed.Usage
		}
		if used.Tokens == 0 {
			c = nil
		} else {
			c.Problems = []amp.Problem{{Rule: "memory", Message: "the agent failed: " + err.Error()}}
		}
		return nil, c, used, nil, fmt.Errorf("ask the memory agent %s: %w", a.Name, err)
	}
	text := []byte(out.Text)
	c.Receive(text)
	found := planning.Find(text)
	m, report := sentient.Decode(found)
	c.Problems, c.Warnings = report.Errors, report.Warnings
	if m == nil || len(report.Errors) > 0 {
		return nil, c, used, nil, nil
	}
	c.Message = found
	if at, ok := m.Time(); ok {
		c.ExecutedAt = &at
	}
	lessons, dropped, err = a.lessons(m, t, entries)
	if err != nil {
		c.Problems = append(c.Problems, amp.Problem{Rule: "memory", Field: "output.content", Message: err.Error()})
		return nil, c, used, nil, nil
	}
	c.Result = amp.ChainForwarded
	return lessons, c, used, dropped, nil
}

// lessons are the entries of an answer that the memory may take.
func (a *Agent) lessons(m *sentient.Message, t *amp.Task, entries []amp.Entry) (lessons []Lesson, dropped []string, err error) {
	var content struct {
		Entries []struct {
			Kind       Kind     `json:"kind"`
			Text       string   `json:"text"`
			Confidence float64  `json:"confidence"`
			Sources    []string `json:"source_messages"`
		} `json:"entries"`
	}
	if m.Status != sentient.Success && m.Status != sentient.Partial {
		return nil, nil, fmt.Errorf("the agent has nothing to tell: status %s", m.Status)
	}
	if err := json.Unmarshal(m.Output, &content); err != nil {
		return nil, nil, fmt.Errorf("is no list of entries: %w", err)
	}
	in, known := inputs(t, entries), map[string]bool{}
	for i := range entries {
		known[entries[i].ID] = true
	}
	for i, e := range content.Entries {
		drop := func(why string) { dropped = append(dropped, fmt.Sprintf("entry %d of %s: %s", i+1, a.Name, why)) }
		sources := slices.DeleteFunc(slices.Clone(e.Sources), func(id string) bool { return !known[id] })
		switch bad := Clean(e.Text, in); {
		case i >= maxLessons:
			drop("more than a task can teach")
		case !slices.Contains(Kinds, e.Kind):
			drop("its kind is none of the four")
		case !(e.Confidence > 0 && e.Confidence <= 1):
			drop("its confidence is not between 0 and 1")
		case len(sources) == 0:
			drop("it names no message that shows it")
		case bad != nil:
			drop(bad.Error())
		default:
			lessons = append(lessons, Lesson{
				Kind: e.Kind, Scope: ScopeOf(repoOf(t)), Text: strings.TrimSpace(e.Text), Confidence: e.Confidence, Sources: sources, Task: t.ID, By: a.Name,
			})
		}
	}
	return lessons, dropped, nil
}

// maxLessons is how many entries one task can teach.
const maxLessons = 20

// record is what the agent is told: what happened, without the words of people.
func record(t *amp.Task, entries []amp.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "task %s: %s after %d rounds, rejected %d times\n", t.ID, t.Status, t.Round, t.RejectTotal)
	if p := t.Plan; p != nil {
		fmt.Fprintf(&b, "plan: %d subtasks, %s risk, allowed paths %s\n", len(p.Subtasks), p.RiskLevel, strings.Join(p.AllowedPaths, " "))
	}
	for i := range entries {
		if line := told(&entries[i]); line != "" {
			line = fmt.Sprintf("%s: %s\n", entries[i].ID, strings.Join(strings.Fields(line), " "))
			if b.Len()+len(line) > maxRecord {
				b.WriteString("…\n")
				break
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// told is one entry of the record, "" for one that teaches nothing.
func told(e *amp.Entry) string {
	switch e.Kind {
	case amp.KindMessage:
		m, _, err := amp.Decode(e.Body)
		if err != nil {
			return ""
		}
		switch p := m.Payload.(type) {
		case *amp.Result:
			return fmt.Sprintf("result %s, %d files, +%d -%d, blockers %q", p.CompletionStatus, len(p.DiffSummary.FilesChanged), p.DiffSummary.LinesAdded, p.DiffSummary.LinesRemoved, p.Blockers)
		case *amp.Verdict:
			var text strings.Builder
			text.WriteString(fmt.Sprintf("verdict %s at confidence %.2f", p.Decision, p.Confidence))
			for _, i := range p.Issues {
				text.WriteString(fmt.Sprintf("; %s in %s: %.300s", i.Severity, i.File, i.Description))
			}
			return text.String()
		case *amp.Escalation:
			return fmt.Sprintf("escalation %s, %s", p.Severity, p.EscalationType)
		}
	case amp.KindCheck:
		if c, err := amp.DecodeBody[amp.Check](e); err == nil {
			var text strings.Builder
			text.WriteString(fmt.Sprintf("check of %s", c.Subject))
			for _, cl := range c.Claims {
				if cl.Finding == amp.Refuted {
					text.WriteString(fmt.Sprintf("; refuted %s: said %.100s, found %.100s", cl.Name, cl.Claimed, cl.Found))
				}
			}
			for _, gate := range slices.Sorted(maps.Keys(c.CI)) {
				text.WriteString(fmt.Sprintf("; CI %s %s", gate, c.CI[gate]))
			}
			return text.String()
		}
	case amp.KindChain:
		if c, err := amp.DecodeBody[amp.Chain](e); err == nil && c.Stage != amp.StageMemory {
			return fmt.Sprintf("planning, %s agent: %s. %.400s", c.Stage, c.Result, c.Why())
		}
	case amp.KindTurn:
		if u, err := amp.DecodeBody[amp.Turn](e); err == nil && u.Event == amp.TurnEnded && u.Outcome != amp.TurnOK {
			return fmt.Sprintf("turn of the %s ended %s", u.Role, u.Outcome)
		}
	case amp.KindAck, amp.KindCommand, amp.KindPlan, amp.KindQuestion, amp.KindRefusal, amp.KindBus, amp.KindOutside:
	}
	return ""
}

// inputs are what no entry may repeat: the wish, the admins' words and names, and what the planning agents were given and wrote.
func inputs(t *amp.Task, entries []amp.Entry) *Input {
	in := &Input{}
	text := func(s string) {
		if s = fold(s); len(s) >= maxQuote {
			in.Texts = append(in.Texts, s)
		}
	}
	if t.Wish != nil {
		text(t.Wish.Text)
	}
	for i := range entries {
		e := &entries[i]
		switch e.Kind {
		case amp.KindCommand:
			if c, err := amp.DecodeBody[amp.Command](e); err == nil {
				text(c.Note)
				if c.Args.Wish != nil {
					text(c.Args.Wish.Text)
				}
				if !slices.Contains(in.Names, c.By) {
					in.Names = append(in.Names, c.By)
				}
			}
		case amp.KindChain:
			if c, err := amp.DecodeBody[amp.Chain](e); err == nil {
				text(c.Received)
			}
		case amp.KindMessage:
			text(string(e.Body))
		case amp.KindAck, amp.KindPlan, amp.KindTurn, amp.KindQuestion, amp.KindCheck, amp.KindRefusal, amp.KindBus, amp.KindOutside:
		}
	}
	return in
}

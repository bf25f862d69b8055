package brief

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/providers"
)

// Check says what is wrong with a payload by the rules that need no context, each problem a line for the model that wrote it; none when it
// may be handed on. The caller of an adapter judges it again, by all rules.
func Check(turn *providers.Turn, payload []byte) []string {
	if turn.Role == amp.Coordinator {
		return checkPlan(turn, payload)
	}
	typ := amp.TaskResult
	if turn.Role == amp.Reviewer {
		typ = amp.ReviewVerdict
	}
	return checkMessage(turn, typ, payload)
}

// checkMessage holds a payload against the rules of a message of its type.
func checkMessage(turn *providers.Turn, typ amp.MessageType, payload []byte) []string {
	now := time.Unix(0, 0).UTC()
	raw, err := json.Marshal(map[string]any{
		"msg_id": amp.NewMsgID(typ, turn.Task, now, nil), "protocol_version": amp.Version, "type": typ, "from": turn.Role,
		"to": amp.Coordinator, "task_id": turn.Task, "timestamp": amp.FormatTime(now), "requires_ack": true,
		"context_ref": []string{}, "payload": json.RawMessage(payload),
	})
	if err != nil {
		return []string{"data is no JSON: " + err.Error()}
	}
	_, _, err = amp.Decode(raw)
	return about(err, "payload", "data")
}

// about are the problems with a field or what is in it, in the words of the answer.
func about(err error, field, as string) []string {
	inv, ok := err.(*amp.InvalidError) //nolint:errorlint // the door returns it as it is
	if !ok {
		return nil
	}
	var lines []string
	for _, p := range inv.Problems {
		if rest, ok := strings.CutPrefix(p.Field, field); ok {
			p.Field = as + rest
			lines = append(lines, p.String())
		}
	}
	return lines
}

// checkPlan holds a plan against the rules of the dispatch that it will become.
func checkPlan(turn *providers.Turn, payload []byte) []string {
	var p amp.Plan
	d := json.NewDecoder(bytes.NewReader(payload))
	if err := d.Decode(&p); err != nil {
		return []string{"data is no plan: " + err.Error()}
	}
	var lines []string
	if len(p.AcceptanceCriteria) == 0 {
		lines = append(lines, "data.acceptance_criteria: there is no criterion")
	}
	for i, s := range p.Subtasks {
		if strings.TrimSpace(s.Description) == "" {
			lines = append(lines, fmt.Sprintf("data.subtasks[%d].description: it is empty", i))
		}
	}
	(&amp.Task{ID: turn.Task}).Complete(&p, "")
	problems := amp.Validate(&amp.Message{Type: amp.TaskDispatch, TaskID: turn.Task, Payload: &amp.Dispatch{
		Description: p.Description, Repo: "/", Branch: "feature/plan", Subtasks: p.Subtasks, AcceptanceCriteria: p.AcceptanceCriteria,
		RiskLevel: p.RiskLevel, ForbiddenActions: p.ForbiddenActions, TechConstraints: p.TechConstraints,
	}})
	theirs := []string{"description", "subtasks", "acceptance_criteria", "risk_level", "forbidden_actions", "tech_constraints"}
	for _, p := range problems {
		name, ok := strings.CutPrefix(p.Field, "payload.")
		base, _, _ := strings.Cut(strings.ReplaceAll(name, "[", "."), ".")
		if ok && slices.Contains(theirs, base) {
			p.Field = "data." + name
			lines = append(lines, p.String())
		}
	}
	return lines
}

// Package planningtest holds messages of a planning chain for tests, and agents that write them.
package planningtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/planning"
)

// Message is a good message of a stage, changed by change: "status.code" and the like name its fields, with [Gone] as the value they are
// left out.
func Message(stage amp.ChainStage, change map[string]any) string {
	m := messages(stage)
	for field, value := range change {
		at := m
		parts := strings.Split(field, ".")
		for _, p := range parts[:len(parts)-1] {
			at = at[p].(map[string]any)
		}
		if last := parts[len(parts)-1]; value == Gone {
			delete(at, last)
		} else {
			at[last] = value
		}
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("planningtest: %v", err))
	}
	return string(raw)
}

// Gone stands for a field that is left out.
var Gone = struct{ gone bool }{true}

type object = map[string]any

func messages(stage amp.ChainStage) object {
	objectives := []string{"The counter counts every word once"}
	goals := object{"objective_1": object{"objective": objectives[0], "goals": []string{"count.sh counts words in one.txt as 3", "the check passes"}}}
	m := object{
		"timestamp": object{"executed_at": "2026-02-26T09:14:02+08:00", "timezone": "Asia/Singapore"},
		"error":     object{"has_error": false, "error_code": nil, "error_message": nil, "retry_count": 0, "recoverable": false},
		"resources": object{"source_refs": []any{}, "storage_refs": []any{}, "derived_refs": []any{}},
		"audit": object{
			"compliance_notes": "within the scope of the repository", "governance_files_consulted": []string{"docs/guide.md"},
			"reasoning": "The smallest change that the rule of small plans allows.",
		},
	}
	set := func(id, name, typ, source string, input, output any, content, next, status string, n int, parent any) object {
		maps.Copy(m, object{
			"message_id": id, "agent": object{"name": name, "type": typ}, "input": object{"source": source, "content": input},
			"output":     object{"content": output, "content_type": content},
			"next_agent": object{"name": next, "reason": "the next step"}, "status": object{"code": "success", "message": status},
			"metadata": object{"session_id": "session-1", "request_id": "request-1", "sequence_number": n, "parent_message_id": parent},
		})
		return m
	}
	switch stage {
	case amp.StageObjective:
		return set("msg-obj-1", "objective_agent", "governance", "user", "Count words right", objectives, "objectives", "goal_agent", "1 objective", 1, nil)
	case amp.StageGoal:
		return set("msg-goal-1", "goal_agent", "governance", "objective_agent", objectives, goals, "goals", "planning_agent", "2 goals", 2, "msg-obj-1")
	case amp.StagePlanning:
		return set("msg-plan-1", "planning_agent", "operational", "goal_agent", goals, object{
			"workflow": object{
				"tasks": object{
					"task_1": object{
						"id": "task_1", "action": "Add the sum in count.sh", "capability_ids": []string{"CAP-1"}, "depends_on": []string{"task_2"},
						"input_refs": []any{}, "output_refs": []any{}, "source_goals": []string{"objective_1.goals[0]"}, "execution_group": 2,
						"estimated_weight": "light",
					},
					"task_2": object{
						"id": "task_2", "action": "Write a test of one.txt", "capability_ids": []any{}, "depends_on": []any{}, "input_refs": []any{},
						"output_refs": []any{}, "source_goals": []string{"objective_1.goals[1]"}, "execution_group": 1, "estimated_weight": "heavy",
					},
				},
				"execution_order": []string{"task_1", "task_2"}, "execution_groups": object{"1": []string{"task_2"}, "2": []string{"task_1"}},
				"total_tasks": 2, "deduplicated_count": 0,
			},
			"deduplication_log": []any{},
			"proposal": object{
				"title": "Count words right", "risk_level": "low", "allowed_paths": []string{"count.sh", "test/**"}, "checks": [][]string{{"sh", "check.sh"}},
			},
		}, "plan", "executor", "a plan of 2 tasks", 3, "msg-goal-1")
	case amp.StageMemory: // comes after the chain
	}
	panic("planningtest: no stage " + string(stage))
}

// Agents is a chain whose agents answer with the texts that answer gives; n counts the turns of a stage from 1.
func Agents(answer func(stage amp.ChainStage, n int, turn providers.Turn) (string, error)) (*planning.Agent, map[amp.ChainStage]*agenttest.Fake) {
	fakes := map[amp.ChainStage]*agenttest.Fake{}
	for _, stage := range amp.ChainStages {
		n := 0
		fakes[stage] = &agenttest.Fake{RunFunc: func(_ context.Context, turn providers.Turn, emit func(providers.Event)) (providers.Outcome, error) {
			n++
			emit(providers.Event{Type: providers.EventProgress, Text: "thinks"})
			text, err := answer(stage, n, turn)
			return providers.Outcome{Text: text, Session: "of " + string(stage), Usage: providers.Usage{Tokens: 10}}, err
		}}
	}
	a, err := planning.New(planning.Config{
		Objective: planning.Stage{Name: "thinker", Agent: fakes[amp.StageObjective]},
		Goal:      planning.Stage{Name: "splitter", Agent: fakes[amp.StageGoal]},
		Planning:  planning.Stage{Name: "planner", Agent: fakes[amp.StagePlanning]},
	})
	if err != nil {
		panic(fmt.Sprintf("planningtest: %v", err))
	}
	return a, fakes
}

// Good answers with good messages.
func Good(stage amp.ChainStage, _ int, _ providers.Turn) (string, error) {
	return Message(stage, nil), nil
}

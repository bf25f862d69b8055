package planning_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/planning"
	"arbiter/providers/planning/planningtest"
)

// planTurn is one planning turn after the chain entries of earlier ones.
func planTurn(past []json.RawMessage) providers.Turn {
	return providers.Turn{
		ID: "turn-1", Task: "T-2026-044", Role: amp.Coordinator, Chain: past,
		Context: []json.RawMessage{json.RawMessage(`{"wish":{"text":"Count words right","repo":"/r"},"repo":{"root":"/r","default_branch":"main"}}`)},
	}
}

// play runs a turn and returns the bodies of its chain entries too.
func play(t *testing.T, a *planning.Agent, turn providers.Turn) (providers.Outcome, []amp.Chain, []json.RawMessage, error) {
	t.Helper()
	var said []amp.Chain
	var raw []json.RawMessage
	out, err := a.Run(t.Context(), turn, func(ev providers.Event) {
		if ev.Type != providers.EventChain {
			return
		}
		var c amp.Chain
		if err := json.Unmarshal(ev.Payload, &c); err != nil {
			t.Errorf("chain entry %s: %v", ev.Payload, err)
		}
		said, raw = append(said, c), append(raw, ev.Payload)
	})
	return out, said, raw, err
}

func planOf(t *testing.T, out providers.Outcome) amp.Plan {
	t.Helper()
	var p amp.Plan
	if err := json.Unmarshal(out.Final, &p); err != nil {
		t.Fatalf("final %s: %v", out.Final, err)
	}
	return p
}

// TestRun_SEN_050_SEN_052: a wish becomes a plan through the three agents, each given the message before it.
func TestRun_SEN_050_SEN_052(t *testing.T) {
	t.Parallel()
	a, fakes := planningtest.Agents(planningtest.Good)
	out, said, _, err := play(t, a, planTurn(nil))
	if err != nil || out.Question != "" {
		t.Fatalf("%v, %s", err, out.Question)
	}
	if out.Tokens != 30 || out.Session != "" {
		t.Errorf("tokens %d, session %q", out.Tokens, out.Session)
	}
	for i, stage := range amp.ChainStages {
		c := said[i]
		if c.Stage != stage || c.Result != amp.ChainForwarded || c.Received != planningtest.Message(stage, nil) || len(c.Problems)+len(c.Repairs)+len(c.Warnings) > 0 {
			t.Errorf("%s: %+v", stage, c)
		}
		turn := fakes[stage].Turns()[0]
		if turn.Prompt == nil || turn.Context != nil || !strings.Contains(turn.Prompt.System, string(stage)+"_agent") {
			t.Errorf("%s was asked %+v", stage, turn)
		}
		if i > 0 && !strings.Contains(turn.Prompt.Text, string(said[i-1].Message)) {
			t.Errorf("%s was not given the message before it", stage)
		}
	}
	p := planOf(t, out)
	if p.Title != "Count words right" || p.RiskLevel != amp.Low || !slices.Equal(p.AllowedPaths, []string{"count.sh", "test/**"}) || len(p.Checks) != 1 {
		t.Errorf("plan %+v", p)
	}
	if len(p.Subtasks) != 2 || p.Subtasks[0].EstimatedLines != 150 || p.Subtasks[1].Description != "Add the sum in count.sh" || p.Subtasks[1].EstimatedLines != 20 {
		t.Errorf("subtasks %+v", p.Subtasks) // task_1 depends on task_2
	}
	if !slices.Equal(p.AcceptanceCriteria, []string{"count.sh counts words in one.txt as 3", "the check passes"}) {
		t.Errorf("criteria %q", p.AcceptanceCriteria)
	}
	for _, want := range []string{"objective_agent (thinker): The smallest change", "guesses"} {
		if !strings.Contains(p.Reasons, want) {
			t.Errorf("reasons lack %q: %s", want, p.Reasons)
		}
	}
	if trace := p.TechConstraints["sentient"].(map[string]any); p.TechConstraints["plan_id"] != "msg-plan-1" || trace["session_id"] != "session-1" {
		t.Errorf("tech_constraints %v", p.TechConstraints)
	}
}

// TestRun_held_resumed: a message with errors is not forwarded; the next turn begins at its stage, with what was forwarded before, and
// tells the agent what was wrong.
func TestRun_held_resumed_S05(t *testing.T) {
	t.Parallel()
	a, fakes := planningtest.Agents(func(stage amp.ChainStage, n int, turn providers.Turn) (string, error) {
		if stage == amp.StageGoal && n == 1 {
			return planningtest.Message(stage, map[string]any{"status.code": "done", "audit": planningtest.Gone}), nil
		}
		return planningtest.Good(stage, n, turn)
	})
	out, said, past, err := play(t, a, planTurn(nil))
	if err != nil || out.Final != nil {
		t.Fatalf("%v, %s", err, out.Final)
	}
	for _, want := range []string{"goal agent splitter breaks 2 rules", "SEN-017", "SEN-040"} {
		if !strings.Contains(out.Question, want) {
			t.Errorf("the question lacks %q: %s", want, out.Question)
		}
	}
	if len(said) != 2 || said[1].Result != amp.ChainHeld || len(fakes[amp.StagePlanning].Turns()) > 0 {
		t.Fatalf("said %+v", said)
	}
	again, more, _, err := play(t, a, planTurn(past))
	if err != nil || len(more) != 2 || more[0].Stage != amp.StageGoal {
		t.Fatalf("%v, %+v", err, more)
	}
	if n := len(fakes[amp.StageObjective].Turns()); n != 1 {
		t.Errorf("the objective agent ran %d times", n)
	}
	if prompt := fakes[amp.StageGoal].Turns()[1].Prompt.Text; !strings.Contains(prompt, "SEN-017") {
		t.Errorf("the agent was not told why: %s", prompt)
	}
	planOf(t, again)
}

// TestRun_otherBasis: with other guidance the chain begins anew, and a chain that is complete needs no agent.
func TestRun_basis(t *testing.T) {
	t.Parallel()
	a, fakes := planningtest.Agents(planningtest.Good)
	_, _, past, err := play(t, a, planTurn(nil))
	if err != nil {
		t.Fatal(err)
	}
	out, said, _, err := play(t, a, planTurn(past))
	if err != nil || len(said) != 0 || len(fakes[amp.StageObjective].Turns()) != 1 {
		t.Fatalf("%v, %d messages", err, len(said))
	}
	planOf(t, out)
	turn := planTurn(past)
	turn.Context[0] = json.RawMessage(strings.Replace(string(turn.Context[0]), `"repo":{`, `"guidance":"smaller","repo":{`, 1))
	if _, said, _, err = play(t, a, turn); err != nil || len(said) != 3 {
		t.Errorf("%v, %d messages", err, len(said))
	}
}

// TestRun_stages: what a stage can answer, and what becomes of it.
func TestRun_stages(t *testing.T) {
	t.Parallel()
	outOfScope := map[string]any{
		"output.content": nil, "output.content_type": "error", "next_agent.name": nil, "status.code": "failed",
		"error.has_error": true, "error.error_code": "OUT_OF_SCOPE", "error.error_message": "no such repository",
	}
	for name, tc := range map[string]struct {
		stage  amp.ChainStage
		text   string
		result amp.ChainResult
		want   string // in the question, or in the reasons of the plan
	}{
		"SEN-001 prose":        {amp.StageGoal, "I would count the words.", amp.ChainHeld, "SEN-001"},
		"nothing":              {amp.StageObjective, "", amp.ChainHeld, "SEN-001"},
		"huge":                 {amp.StageObjective, strings.Repeat("{", amp.MaxMessage+1), amp.ChainHeld, "bytes long"},
		"deep":                 {amp.StageGoal, planningtest.Message(amp.StageGoal, map[string]any{"output.content": json.RawMessage(strings.Repeat("[", 9990) + strings.Repeat("]", 9990))}), amp.ChainHeld, "levels deep"},
		"in a fence":           {amp.StageGoal, "Here:\n```json\n" + planningtest.Message(amp.StageGoal, nil) + "\n```", amp.ChainForwarded, "The smallest change"},
		"SEN-060 repaired":     {amp.StageGoal, planningtest.Message(amp.StageGoal, map[string]any{"metadata.request_id": "mine"}), amp.ChainForwarded, "Repaired: metadata.request_id"},
		"S04 invented parent":  {amp.StageGoal, planningtest.Message(amp.StageGoal, map[string]any{"metadata.parent_message_id": "msg-0"}), amp.ChainForwarded, "(S04)"},
		"SEN-064 warned":       {amp.StageGoal, planningtest.Message(amp.StageGoal, map[string]any{"status.message": "7 goals"}), amp.ChainForwarded, "(SEN-064)"},
		"SEN-057 out of scope": {amp.StageObjective, planningtest.Message(amp.StageObjective, outOfScope), amp.ChainEnded, "out of scope. no such repository"},
		"pending":              {amp.StageObjective, planningtest.Message(amp.StageObjective, map[string]any{"status.code": "pending", "status.message": "Which words?"}), amp.ChainEnded, "Which words?"},
		"failed":               {amp.StageGoal, planningtest.Message(amp.StageGoal, map[string]any{"status.code": "failed", "status.message": "too vague"}), amp.ChainEnded, "too vague"},
		"no next agent":        {amp.StageGoal, planningtest.Message(amp.StageGoal, map[string]any{"next_agent.name": nil}), amp.ChainEnded, "nothing to go on with"},
		"no task":              {amp.StagePlanning, planningtest.Message(amp.StagePlanning, map[string]any{"output.content": map[string]any{"workflow": map[string]any{}}}), amp.ChainHeld, "holds no task"},
		"a circle": {amp.StagePlanning, planningtest.Message(amp.StagePlanning, map[string]any{"output.content.workflow.tasks": map[string]any{
			"a": map[string]any{"action": "x", "depends_on": []string{"b"}}, "b": map[string]any{"action": "y", "depends_on": []string{"a"}},
		}}), amp.ChainHeld, "in a circle"},
		"a plan too large":  {amp.StagePlanning, strings.Replace(planningtest.Message(amp.StagePlanning, nil), "Write a test", strings.Repeat("Write a test ", 25_000), 1), amp.ChainHeld, "more than the 262144"},
		"no risk is high":   {amp.StagePlanning, planningtest.Message(amp.StagePlanning, map[string]any{"output.content.proposal": planningtest.Gone}), amp.ChainForwarded, "high until you say"},
		"SEN-062 a gap":     {amp.StagePlanning, planningtest.Message(amp.StagePlanning, map[string]any{"metadata.sequence_number": 4}), amp.ChainHeld, "SEN-062"},
		"SEN-053 altered":   {amp.StageGoal, planningtest.Message(amp.StageGoal, map[string]any{"input.content": []string{"other"}}), amp.ChainHeld, "SEN-053"},
		"weights as number": {amp.StagePlanning, strings.Replace(planningtest.Message(amp.StagePlanning, nil), `"heavy"`, `33`, 1), amp.ChainForwarded, "guesses"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := planningtest.Agents(func(stage amp.ChainStage, n int, turn providers.Turn) (string, error) {
				if stage == tc.stage {
					return tc.text, nil
				}
				return planningtest.Good(stage, n, turn)
			})
			out, said, _, err := play(t, a, planTurn(nil))
			if err != nil {
				t.Fatal(err)
			}
			i := slices.Index(amp.ChainStages, tc.stage)
			if c := said[i]; c.Result != tc.result || c.ReceivedLen != len(tc.text) || c.Received != tc.text[:min(len(tc.text), amp.MaxRaw)] {
				t.Errorf("%s: %s, %d bytes of %d", c.Stage, c.Result, len(c.Received), c.ReceivedLen)
			}
			if tc.result != amp.ChainForwarded {
				if !strings.Contains(out.Question, tc.want) || out.Final != nil || len(said) != i+1 {
					t.Errorf("question %q, final %s", out.Question, out.Final)
				}
				return
			}
			if p := planOf(t, out); !strings.Contains(p.Reasons, tc.want) {
				t.Errorf("reasons lack %q: %s", tc.want, p.Reasons)
			}
		})
	}
}

// TestRun_S03: the journal holds what came to the byte, and what was forwarded to the byte.
func TestRun_S03(t *testing.T) {
	t.Parallel()
	odd := strings.Replace(planningtest.Message(amp.StageObjective, nil), `"1 objective"`, `"1  objecti\u0076e, <b> \u2028"`+"\n\t", 1)
	a, fakes := planningtest.Agents(func(stage amp.ChainStage, n int, turn providers.Turn) (string, error) {
		if stage == amp.StageObjective {
			return odd, nil
		}
		return planningtest.Good(stage, n, turn)
	})
	_, said, raw, err := play(t, a, planTurn(nil))
	if err != nil || said[0].Received != odd {
		t.Fatalf("%v, received %q", err, said[0].Received)
	}
	again := amp.EncodeBody(said[0]) // as the coordinator writes it
	if string(again) != string(raw[0]) {
		t.Errorf("entry %s\nbecomes %s", raw[0], again)
	}
	if text := fakes[amp.StageGoal].Turns()[0].Prompt.Text; !strings.Contains(text, string(said[0].Message)) {
		t.Errorf("forwarded %s\nentry %s", text, said[0].Message)
	}
}

// TestRun_failure: the failure of an agent is the chain's own, with what was used, and nothing is said to have come of it.
func TestRun_failure(t *testing.T) {
	t.Parallel()
	a, _ := planningtest.Agents(func(stage amp.ChainStage, n int, turn providers.Turn) (string, error) {
		if stage == amp.StageGoal {
			return "", &providers.TurnError{Failure: providers.FailRate, Text: "too many requests", Retry: 7, Usage: providers.Usage{Tokens: 5}}
		}
		return planningtest.Good(stage, n, turn)
	})
	out, said, _, err := play(t, a, planTurn(nil))
	te, ok := errors.AsType[*providers.TurnError](err)
	if !ok || te.Failure != providers.FailRate || te.Retry != 7 || !strings.Contains(te.Text, "splitter: too many requests") || len(said) != 1 {
		t.Errorf("%v, %d messages", err, len(said))
	}
	if out.Tokens != 15 || te.Usage.Tokens != 0 { // 10 of the stage before, and what the error says
		t.Errorf("tokens %d and %d", out.Tokens, te.Usage.Tokens)
	}
}

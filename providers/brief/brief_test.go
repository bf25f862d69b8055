package brief

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/sacp"
)

func executor() *providers.Turn {
	return &providers.Turn{
		ID: "t-1", Task: "T-2026-001", Role: amp.Executor, Subtask: "T-2026-001-S1",
		Message: json.RawMessage("{\"type\":\"task_dispatch\",\"payload\":{\"description\":\"say ```` hi\",\"acceptance_criteria\":[\"a\",\"b\"]}}"),
		Context: []json.RawMessage{json.RawMessage(`{"type":"review_verdict","payload":{"decision":"rejected"}}`)},
	}
}

func TestWrite_SACP_015_SACP_019(t *testing.T) {
	t.Parallel()
	turn := executor()
	p, err := Write(turn)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(p.System, sacp.Template) || !strings.Contains(p.System, "executor") {
		t.Errorf("system = %q", p.System)
	}
	for _, want := range []string{string(turn.Message), string(turn.Context[0]), "T-2026-001-S1", `"self_assessment"`, "`````\n{"} {
		if !strings.Contains(p.Text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	if strings.Index(p.Text, `"rejected"`) > strings.Index(p.Text, `"task_dispatch"`) {
		t.Error("context stands behind the message")
	}
	var schema struct {
		Required   []string
		Properties map[string]struct{ AnyOf []map[string]any }
	}
	if err := json.Unmarshal(p.Schema, &schema); err != nil || !slices.Contains(schema.Required, "data") {
		t.Fatalf("schema: %v, %s", err, p.Schema)
	}
	if data := schema.Properties["data"].AnyOf; len(data) != 2 || data[0]["title"] == nil || data[0]["$id"] != nil {
		t.Errorf("schema of data: %v", data)
	}
}

func TestWrite_roles(t *testing.T) {
	t.Parallel()
	planner := &providers.Turn{Role: amp.Coordinator, Context: []json.RawMessage{json.RawMessage(`{"wish":{"text":"w"}}`)}}
	if p, err := Write(planner); err != nil || !strings.Contains(p.Text, `{"wish":{"text":"w"}}`) || !strings.Contains(p.Text, "allowed_paths") {
		t.Errorf("planner: %v\n%s", err, p.Text)
	}
	if _, err := Write(&providers.Turn{Role: amp.Reviewer}); err == nil {
		t.Error("a reviewer without a message got a brief")
	}
	if _, err := Write(&providers.Turn{Role: amp.Admin}); err == nil {
		t.Error("an admin got a brief")
	}
	own := providers.Prompt{System: "s", Text: "x"}
	if p, err := Write(&providers.Turn{Role: amp.Coordinator, Prompt: &own}); err != nil || p.System != "s" || p.Text != "x" {
		t.Errorf("own prompt = %+v, %v", p, err)
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	if a := Accept(executor()); a == nil || !slices.Equal(a.EchoedAcceptanceCriteria, []string{"a", "b"}) || a.Status != amp.AckAccepted {
		t.Errorf("Accept = %+v", a)
	}
	if a := Accept(&providers.Turn{}); a != nil {
		t.Errorf("a planning turn is acknowledged: %+v", a)
	}
}

func TestRead_SACP_005_SACP_031(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text, final, question, fails string
	}{
		"success":         {text: `{"thought":"t","status":"success","data":{"a":1},"message":"m"}`, final: `{"a":1}`},
		"completed":       {text: `{"thought":"t","status":"completed","data":{"a":1},"message":"m"}`, final: `{"a":1}`},
		"fenced":          {text: "Here:\n```json\n{\"thought\":\"t\",\"status\":\"success\",\"data\":{\"a\":1},\"message\":\"m\"}\n```", final: `{"a":1}`},
		"question":        {text: `{"thought":"t","status":"clarification_needed","data":{},"message":"Which port?"}`, question: "Which port?"},
		"failure":         {text: `{"thought":"t","status":"failure","data":{},"message":"password=hunter22"}`, fails: "it gave up: "},
		"failed result":   {text: `{"thought":"t","status":"failure","data":{"completion_status":"failed"},"message":"m"}`, final: `{"completion_status":"failed"}`},
		"prose":           {text: "I am done.", fails: "no SACP object"},
		"nothing":         {text: "", fails: "no SACP object"},
		"success, empty":  {text: `{"thought":"t","status":"success","data":{},"message":"m"}`, fails: "no data"},
		"payload, no obj": {text: `{"completion_status":"complete"}`, fails: "no SACP object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out providers.Outcome
			failed := Read(executor(), tc.text, &out)
			if string(out.Final) != tc.final || out.Question != tc.question {
				t.Errorf("Read = %s, %q", out.Final, out.Question)
			}
			if (failed != nil) != (tc.fails != "") || failed != nil && (failed.Failure != providers.FailAnswer || !strings.Contains(failed.Text, tc.fails)) {
				t.Errorf("failed = %v, want %q", failed, tc.fails)
			}
			if a, problems, _ := sacp.Decode(out.Answer); len(problems) > 0 || strings.Contains(a.Message, "hunter22") {
				t.Errorf("kept answer = %s, %v", out.Answer, problems)
			}
			if failed != nil && strings.Contains(failed.Text, "hunter22") {
				t.Errorf("the failure shows a password: %v", failed)
			}
		})
	}
}

func TestRead_prompt(t *testing.T) {
	t.Parallel()
	var out providers.Outcome
	if err := Read(&providers.Turn{Prompt: &providers.Prompt{}}, "as it came", &out); err != nil || out.Text != "as it came" || out.Final != nil {
		t.Errorf("Read = %+v, %v", out, err)
	}
}

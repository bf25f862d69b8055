package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
)

// examples are the messages of the specification as printed; the three abbreviated ones are completed (B15).
func examples(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/spec/*.json")
	if err != nil || len(files) != 5 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	out := map[string][]byte{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		if m["message_id"] == nil {
			delete(m, "...")
			maps.Copy(m, map[string]any{
				"message_id": "msg_1719000200000_" + name, "timestamp": "2025-02-01T10:01:00Z",
				"sender":    map[string]any{"agent_id": "opencode://code-reviewer", "framework": "opencode"},
				"recipient": map[string]any{"agent_id": "claude-code://orchestrator", "framework": "claude-code"},
				"routing": map[string]any{
					"timeout": "60s", "retry_policy": map[string]any{"max_retries": 0, "backoff": "linear"}, "delivery_mode": "async",
				},
			})
			if raw, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
		}
		out[name] = raw
	}
	return out
}

// Each example of the specification is a message without a problem or a warning, and comes out as it went in (BUS-001).
func TestExamples_BUS001(t *testing.T) {
	t.Parallel()
	for name, raw := range examples(t) {
		m, warnings, err := DecodeStrict(raw)
		if err != nil || len(warnings) > 0 {
			t.Errorf("%s: %v, %v", name, warnings, err)
			continue
		}
		if string(m.Type) != name || string(m.Raw) != string(raw) {
			t.Errorf("%s is a %s", name, m.Type)
		}
	}
	request, _, _ := Decode(examples(t)["task_request"])
	if request.Link() != "task_12345" || request.Priority != High || request.Routing.FallbackAgents[0] != "codex://fullstack-reviewer" ||
		request.Sender.SessionID != "sess_feature_x" || request.Routing.RetryPolicy != (RetryPolicy{2, Exponential}) {
		t.Errorf("task_request = %+v", request)
	}
	failed, _, _ := Decode(examples(t)["error"])
	if got := TroubleOf(failed); got != (Trouble{Code: "PROCESS_EXIT", Message: "OpenCode CLI exited with status 1", Details: "stderr logs ..."}) {
		t.Errorf("error = %+v", got)
	}
}

// Every rule of the message has a sample that breaks it and nothing else.
func TestDecode_rules(t *testing.T) {
	t.Parallel()
	base := examples(t)["task_request"]
	for _, tc := range []struct{ old, new, refused, warned string }{
		{`"payload": {`, `"payload": {`, "", ""},
		{`"msg_1719000000000_abcd123"`, `""`, "BUS-010", ""},
		{`"msg_1719000000000_abcd123"`, `7`, "BUS-010", ""},
		{`  "message_id": "msg_1719000000000_abcd123",`, ``, "BUS-002", ""},
		{`"2025-02-01T10:00:00Z"`, `"yesterday"`, "BUS-012", ""},
		{`"2025-02-01T10:00:00Z"`, `"2025-02-01T10:00:00+01:00"`, "", "BUS-013"},
		{`"2025-02-01T10:00:00Z"`, `"2025-02-01T10:00:00"`, "", "BUS-013"},
		{`"recipient": {`, `"recipient": "x", "x": {`, "BUS-014", "BUS-003"},
		{`"agent_id": "opencode://code-reviewer",`, ``, "BUS-015", ""},
		{`"opencode://code-reviewer"`, `"a://\u0000b"`, "BUS-015", ""},
		{`"opencode://code-reviewer"`, `"reviewer"`, "", "BUS-016"},
		{`"framework": "claude-code",`, `"framework": 1,`, "BUS-017", ""},
		{`"sess_feature_x"`, `{}`, "BUS-018", ""},
		{`"message_type": "task_request"`, `"message_type": "gossip"`, "BUS-019", ""},
		{`"priority": "high"`, `"priority": "urgent"`, "BUS-020", ""},
		{`"metadata": {`, `"metadata": 1, "y": {`, "BUS-021", "BUS-003"},
		{`"metadata": {`, `"metadata": {"big": "` + strings.Repeat("x", 17<<10) + `", `, "", "BUS-047"},
		{`"routing": {`, `"routing": [], "z": {`, "BUS-030", "BUS-003"},
		{`"300s"`, `300`, "BUS-031", ""},
		{`"300s"`, `"a while"`, "", "BUS-031"},
		{`"retry_policy": {`, `"other": {`, "BUS-032", "BUS-003"},
		{`"max_retries": 2`, `"max_retries": "2"`, "BUS-033", ""},
		{`"max_retries": 2`, `"max_retries": -1`, "BUS-033", ""},
		{`"exponential"`, `"wild"`, "BUS-034", ""},
		{`["codex://fullstack-reviewer"]`, `"codex://fullstack-reviewer"`, "BUS-035", ""},
		{`"async"`, `"later"`, "BUS-036", ""},
		{"],\n    \"delivery_mode\": \"async\"", "]", "", "BUS-037"},
		{`"message_id"`, `"extra": 1, "message_id"`, "", "BUS-003"},
		{`"message_id"`, `"message_id": "twice", "message_id"`, "BUS-001", ""},
	} {
		raw := strings.Replace(string(base), tc.old, tc.new, 1)
		if raw == string(base) && tc.old != tc.new {
			t.Fatalf("%q is not in the example", tc.old)
		}
		_, warnings, err := Decode([]byte(raw))
		var refused, warned []string
		if inv, ok := err.(*amp.InvalidError); ok { //nolint:errorlint // the door returns it as it is
			for _, p := range inv.Problems {
				refused = append(refused, p.Rule)
			}
		}
		for _, p := range warnings {
			warned = append(warned, p.Rule)
		}
		one := func(s string) []string {
			if s == "" {
				return nil
			}
			return []string{s}
		}
		if !slices.Equal(refused, one(tc.refused)) || !slices.Equal(warned, one(tc.warned)) {
			t.Errorf("%s → %s: refused %q, warned %q; want %q and %q", tc.old, clip(tc.new, 60), refused, warned, tc.refused, tc.warned)
		}
		if _, _, err := DecodeStrict([]byte(raw)); slices.Contains(warned, "BUS-003") && err == nil {
			t.Errorf("%s: strict takes what is not known", tc.new)
		}
	}
	for _, raw := range []string{"", "null", "[]", "{", "{}{}", `{"a":"\xff"}`, strings.Repeat("[", 100), strings.Repeat(" ", MaxMessage+1)} {
		if _, _, err := Decode([]byte(raw)); err == nil {
			t.Errorf("%.20q was taken", raw)
		}
	}
}

// Times are as people write them (B04), and the waits as B13 says.
func TestTimes_B04(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"300s": 5 * time.Minute, "500ms": time.Second / 2, "30m": 30 * time.Minute, "2h": 2 * time.Hour, "7200s": 2 * time.Hour, "300": 0, "-1s": 0, "": 0, "9999h": 0,
	} {
		if got, err := ParseTimeout(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("ParseTimeout(%q) = %s, %v", text, got, err)
		}
	}
	for _, tc := range []struct {
		how  Backoff
		want []time.Duration
	}{{Linear, []time.Duration{1, 2, 3}}, {Exponential, []time.Duration{2, 4, 8, 16, 30, 30}}} {
		for i, want := range tc.want {
			if got := (RetryPolicy{Backoff: tc.how}).wait(i + 1); got != want*time.Second {
				t.Errorf("%s %d = %s", tc.how, i+1, got)
			}
		}
	}
	if (RetryPolicy{Backoff: Linear}).wait(1000) != 30*time.Second || (RetryPolicy{Backoff: Exponential}).wait(1000) != 30*time.Second {
		t.Error("a wait is longer than 30 s")
	}
	if FrameworkOf("claude-code://x") != "claude-code" || FrameworkOf("bare") != "unknown" { // B11
		t.Error("FrameworkOf")
	}
}

// Each of the three shapes of an error is read (B07), and each field that links a reply (B06).
func TestShapes_B06_B07(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"code":"X","message":"it broke","details":"d"}`:                                              "X: it broke",
		`{"error_code":"X","error_message":"it broke","details":{"a":1},"recovery_suggestions":["y"]}`: "X: it broke",
		`{"task_id":"t","error":"it broke","status":"failed","agent_id":"a"}`:                          "it broke",
		`null`: "it reported an error without a word",
	} {
		if got := TroubleOf(&Message{Payload: []byte(payload)}).String(); got != want {
			t.Errorf("%s = %q, want %q", payload, got, want)
		}
	}
	meta := func(pairs ...string) map[string]amp.Raw {
		m := map[string]amp.Raw{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = quote(pairs[i+1])
		}
		return m
	}
	for want, m := range map[string]*Message{
		"a": {Metadata: meta("task_id", "a", "original_message_id", "c"), Payload: []byte(`{"task_id":"b"}`)},
		"b": {Metadata: meta("original_message_id", "c"), Payload: []byte(`{"task_id":"b"}`)},
		"c": {Metadata: meta("original_message_id", "c"), Payload: []byte(`[]`)},
		"":  {},
	} {
		if got := m.Link(); got != want {
			t.Errorf("Link = %q, want %q", got, want)
		}
	}
}

// The decoders take or refuse everything, and what is taken is handed on as it came.
func FuzzDecode(f *testing.F) {
	for _, raw := range examples(f) {
		f.Add(raw)
	}
	f.Add([]byte(`{"agent_descriptor":{"agent_id":"a://b","framework":"a"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if m, _, err := Decode(raw); err == nil {
			if string(m.Raw) != string(raw) {
				t.Error("it is not handed on as it came")
			}
			m.Link()
			progressOf(m)
			ackOf(m)
			escalationOf(m)
			TroubleOf(m)
			if again, _, err := decode(readdress(m, "x://y").Raw, false, maxOwn); err != nil || again.Recipient.AgentID != "x://y" {
				t.Errorf("a fallback agent could not read it: %v", err)
			}
			s := NewState()
			if err := s.Apply(&Fact{Event: Queued, AgentID: "x://y", Message: string(raw)}, time.Unix(0, 0)); err != nil {
				t.Errorf("what was taken does not fold: %v", err)
			}
		} else if _, ok := err.(*amp.InvalidError); !ok { //nolint:errorlint // the door returns it as it is
			t.Errorf("an error without a rule: %v", err)
		}
		if d, err := DecodeRegistration(raw); err == nil && d.AgentID == "" {
			t.Error("an agent without a name")
		}
	})
}

// A message that breaks a rule a hundred thousand times is refused in a few words: what is kept of it is no larger than what came.
func TestDecode_fewWords(t *testing.T) {
	t.Parallel()
	good := string(note("m1", ada, bob, nil))
	for name, raw := range map[string]string{
		"problems": strings.Replace(good, `"timeout"`, `"fallback_agents":["a"`+strings.Repeat(`,""`, 100_000)+`],"timeout"`, 1),
		"warnings": strings.Replace(good, `"timeout"`, manyMembers(100_000)+`"timeout"`, 1),
	} {
		_, warnings, err := Decode([]byte(raw))
		n := len(warnings)
		if inv, ok := errors.AsType[*amp.InvalidError](err); ok {
			n += len(inv.Problems)
		}
		if n == 0 || n > 2*maxProblems {
			t.Errorf("%s: %d of them", name, n)
		}
	}
}

func manyMembers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"x%d":1,`, i)
	}
	return b.String()
}

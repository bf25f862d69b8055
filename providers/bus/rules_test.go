package bus

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What the rules say of a message beside what breaks it: each row is a change of an example, what is read of it, and what that has to be.
func TestRules_whatIsRead(t *testing.T) {
	t.Parallel()
	all := examples(t)
	read := func(name string, pairs ...string) *Message {
		t.Helper()
		raw := string(all[name])
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(raw, pairs[i]) {
				t.Fatalf("%s does not hold %s", name, pairs[i])
			}
			raw = strings.Replace(raw, pairs[i], pairs[i+1], 1)
		}
		m, _, err := Decode([]byte(raw))
		if err != nil {
			t.Fatalf("%s %q: %v", name, pairs, err)
		}
		return m
	}
	turn := turnOf(dispatch)
	ours, err := Request(&turn, bob, nil)
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^msg_\d+_[0-9a-f]{8,}$`)
	flaws := TroubleOf(read("error"))
	for rule, got := range map[string]bool{
		"BUS-011 the form of our own ids":         form.MatchString(ours.MessageID) && form.MatchString(MessageID("turn-x")),
		"BUS-012 ours are in UTC (BUS-013)":       strings.HasSuffix(ours.Timestamp, "Z"),
		"BUS-022 a payload may be null":           kindOf(read("task_request", `"payload": {`, `"payload": null, "p": {`).Payload) == "null",
		"BUS-022 a payload may be a list":         kindOf(read("task_request", `"payload": {`, `"payload": [1], "p": {`).Payload) == "array",
		"BUS-037 ours say how they are delivered": member(member(ours.Raw, "routing"), "delivery_mode") != nil,
		"BUS-040 a request says what and by what it is judged": textOf(member(ours.Payload, "task_type")) != "" &&
			string(member(ours.Payload, "acceptance_criteria")) == `["it works"]`,
		"BUS-042 a status is one line":     progressOf(read("status_update")) == "analysis: 65 %: Scanning dependency graph",
		"BUS-043 an error has a code":      flaws.Code == "PROCESS_EXIT" && flaws.Message != "" && flaws.Details != "",
		"BUS-043 an error may be final":    !flaws.Retryable && TroubleOf(read("error", `"retryable":false`, `"retryable":true`)).Retryable,
		"BUS-045 the link of an error":     read("error").Link() == "task_98765",
		"BUS-046 breadcrumbs":              string(ours.Metadata["session_trace"]) == `["task_dispatch-T-2026-001-1780000000000"]`,
		"BUS-047 ours have light metadata": len(value(ours.Metadata)) < lightMetadata,
		"BUS-049 an error is critical":     read("error").Priority == Critical,
		"BUS-049 a heartbeat is low":       read("heartbeat").Priority == Low,
		"BUS-049 a status is low":          read("status_update").Priority == Low,
		"B04 BUS-048 a timeout is in milliseconds": func() bool {
			d, err := ParseTimeout(read("task_response").Routing.Timeout)
			return err == nil && d.Milliseconds() == 60_000
		}(),
		"B15 an abbreviated example is no message": func() bool {
			_, _, err := Decode([]byte(`{"message_type":"heartbeat","priority":"low","payload":{}}`))
			return err != nil
		}(),
	} {
		if !got {
			t.Error(rule)
		}
	}
	answer := read("task_response", `"findings": [`, `"decision": "rejected", "findings": [`)
	turn.Role = "reviewer"
	run := &run{turn: &turn}
	if failed := readAnswer(run.turn, answer, &run.out); failed != nil || !strings.Contains(string(run.out.Final), "Potential SQL injection") {
		t.Errorf("BUS-041: %s, %v", run.out.Final, failed)
	}
}

// What the documents of adapters show registers (B12), and what has no meaning does not.
func TestRegistration_B12_BUS060(t *testing.T) {
	t.Parallel()
	for body, good := range map[string]bool{
		`{"agent_descriptor":{"agent_id":"a://b","framework":"a","capabilities":["x"]},"health_check_url":"http://h/health"}`:                    true,
		`{"agent_descriptor":{"agent_id":"a://b","framework":"a","capabilities":{"x":{}},"endpoints":{"http":"http://h"},"metadata":{"v":1}}}`:   true,
		`{"agent_descriptor":{"agent_id":"a://b"},"status_endpoint":"http://h/s","authentication":{"type":"api_key","credentials":{"key":"k"}}}`: true,
		`{"agent_descriptor":{"agent_id":"a://b"},"authentication":{"type":"jwt"},"unknown":1}`:                                                  true,
		`{"agent_descriptor":{"agent_id":"a://b"},"authentication":{"type":"password"}}`:                                                         false,
		`{"agent_descriptor":{"framework":"a"}}`:                         false,
		`{"agent_descriptor":{"agent_id":"a://b","capabilities":"x"}}`:   false,
		`{"agent_descriptor":{"agent_id":"a://b","endpoints":7}}`:        false,
		`{"agent_descriptor":{"agent_id":"a://b","metadata":[]}}`:        false,
		`{"agent_descriptor":{"agent_id":"a://b"},"health_check_url":7}`: false,
		`{"agent_descriptor":{"agent_id":"amp://b"}}`:                    false,
		`{"agent_descriptor":{"agent_id":"communication-bus"}}`:          false,
		`{"agent_descriptor":"a://b"}`:                                   false,
		`{}`:                                                             false,
		`[]`:                                                             false,
		`{"agent_descriptor":{"agent_id":"a://b","metadata":{"x":"` + strings.Repeat("x", maxDescriptor) + `"}}}`: false,
	} {
		d, err := DecodeRegistration([]byte(body))
		if (err == nil) != good || good && d.AgentID != "a://b" || good && d.Framework != "a" {
			t.Errorf("%.90s: %+v, %v", body, d, err)
		}
	}
}

// A request of one agent to another is handed on as it came (B09), and a heartbeat to the bus is no message of anybody's (B10).
func TestRoutes_B09_B10(t *testing.T) {
	t.Parallel()
	b, _ := start(t, &journal{}, nil)
	enlist(t, b, ada, bob)
	raw := note("m1", ada, bob, func(m *Message) { m.Payload = []byte(`{"x": 1,  "ä":"\u00e4"}`) })
	send(t, b, raw)
	for i, to := range []string{"communication-bus", "system", "bus", Coordinator} {
		r := send(t, b, note("h"+string(rune('0'+i)), ada, to, func(m *Message) { m.Type = Heartbeat }))
		if !r.Consumed {
			t.Errorf("a heartbeat to %s: %+v", to, r)
		}
	}
	s := open(t, b, bob)
	got := s.take(10)
	if len(got) != 1 || string(got[0].Message.Raw) != string(raw) {
		t.Errorf("%d messages", len(got))
	}
	beats := func(a AgentState) bool { return a.AgentID == ada && !a.Beat.IsZero() && time.Since(a.Beat) < time.Hour }
	if all := b.Agents(); len(b.Queue("")) != 1 || !slices.ContainsFunc(all, beats) {
		t.Errorf("agents %+v", all)
	}
}

package amp_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
)

func TestEnvelope_rules(t *testing.T) {
	t.Parallel()
	cases := []ruleCase{
		{"AMP-010", "msg_id", []string{`- msg_id`}, "missing"},
		{"AMP-010", "protocol_version", []string{`- protocol_version`}, "missing"},
		{"AMP-010", "from", []string{`- from`}, "missing"},
		{"AMP-010", "to", []string{`- to`}, "missing"},
		{"AMP-010", "task_id", []string{`- task_id`}, "missing"},
		{"AMP-010", "timestamp", []string{`- timestamp`}, "missing"},
		{"AMP-010", "requires_ack", []string{`- requires_ack`}, "missing"},
		{"AMP-010", "payload", []string{`- payload`}, "missing, expected an object"},
		{"AMP-005", "requires_ack", []string{`requires_ack = false`}, "always requires an ACK"},
		{"AMP-011", "msg_id", []string{`msg_id = "task_dispatch-T-2026-044-001"`}, "13 digits"}, // A04: the own id is strict
		{"AMP-011", "msg_id", []string{`msg_id = "task_dispatch-T-2026-044-17405767270011"`}, "13 digits"},
		{"AMP-011", "msg_id", []string{`msg_id = "task_dispatch-T-2026-44-1740576727001"`}, "expected {type}"},
		{"AMP-011", "msg_id", []string{`msg_id = "heartbeat-T-2026-044-1740576727001"`}, "expected {type}"},
		{"AMP-011", "msg_id", []string{`msg_id = 7`}, "is a number, expected a string"},
		{"AMP-011", "msg_id", []string{`msg_id = null`}, "is null, expected a string"},
		{"AMP-012", "msg_id", []string{`msg_id = "task_result-T-2026-044-1740576727001"`}, "is that of a task_result"},
		{"AMP-012", "msg_id", []string{`msg_id = "task_dispatch-T-2026-045-1740576727001"`}, "is about T-2026-045"},
		{"AMP-015", "protocol_version", []string{`protocol_version = "AMP/2.0"`}, "AMP-016"},
		{"AMP-015", "protocol_version", []string{`protocol_version = "amp/1.0"`}, `only "AMP/1.0"`},
		{"AMP-017", "type", []string{`type = "ack"`}, "expected task_dispatch, task_result"}, // AMP-003, A07
		{"AMP-017", "type", []string{`type = 3`}, "is a number"},
		{"AMP-010", "type", []string{`- type`}, "missing"},
		{"AMP-020", "task_id", []string{`task_id = "T-2026-44"`}, "T-YYYY-NNN"},
		{"AMP-020", "task_id", []string{`task_id = "t-2026-044"`}, "T-YYYY-NNN"},
		{"AMP-020", "task_id", []string{`task_id = "T-2026-04x"`}, "T-YYYY-NNN"},
		{"AMP-020", "task_id", []string{`task_id = "T-26-044"`}, "T-YYYY-NNN"},
		{"AMP-018", "from", []string{`from = "planner"`}, "expected admin, coordinator, executor, reviewer or system"},
		{"AMP-019", "to", []string{`to = "system"`}, "expected admin, coordinator, executor or reviewer"}, // A08
		{"AMP-022", "timestamp", []string{`timestamp = "2026-02-26T14:32:07"`}, "without a zone"},
		{"AMP-022", "timestamp", []string{`timestamp = "26.02.2026 14:32"`}, "ISO 8601"},
		{"AMP-022", "timestamp", []string{`timestamp = "2026-02-30T14:32:07Z"`}, "ISO 8601"},
		{"AMP-022", "timestamp", []string{`timestamp = 1740576727`}, "is a number"},
		{"AMP-023", "requires_ack", []string{`requires_ack = "true"`}, "is a string, expected a boolean"},
		{"AMP-023", "requires_ack", []string{`requires_ack = null`}, "is null"},
		{"AMP-027", "ack_timeout_sec", []string{`ack_timeout_sec = 0`}, "above 0"},
		{"AMP-027", "ack_timeout_sec", []string{`ack_timeout_sec = -5`}, "above 0"},
		{"AMP-027", "ack_timeout_sec", []string{`ack_timeout_sec = 1.5`}, "expected an integer"},
		{"AMP-027", "ack_timeout_sec", []string{`ack_timeout_sec = null`}, "is null"},
		{"AMP-028", "context_ref", []string{`context_ref = "task_result-T-2026-044-1"`}, "expected an array"},
		{"AMP-028", "context_ref[1]", []string{`context_ref = ["a", 7]`}, "expected a string"},
		{"AMP-028", "context_ref[0]", []string{`context_ref = [""]`}, "is empty"},
		{"AMP-030", "payload", []string{`payload = []`}, "is an array, expected an object"},
		{"AMP-030", "payload", []string{`payload = null`}, "is null"},
		{"AMP-032", "from", []string{`from = "system"`}, "comes from the coordinator"},
		{"AMP-032", "from", []string{`from = "admin"`}, "A09"},
		{"AMP-032", "to", []string{`to = "reviewer"`}, "goes to the executor"},
		{"AMP-032", "to", []string{`to = "admin"`}, "goes to the executor"},
	}
	brokenBy(t, amp.TaskDispatch, cases)
	brokenBy(t, amp.EscalationMsg, []ruleCase{
		{"AMP-025", "ack_timeout_sec", []string{`ack_timeout_sec = 60`}, "no meaning without requires_ack"},
		{"AMP-036", "from", []string{`from = "admin"`}, "A09"},
		{"AMP-036", "to", []string{`to = "coordinator"`}, "goes to the admin"},
	})
	brokenBy(t, amp.TaskResult, []ruleCase{
		{"AMP-033", "from", []string{`from = "coordinator"`}, "comes from the executor"},
		{"AMP-033", "to", []string{`to = "admin"`}, "goes to the coordinator"},
	})
	brokenBy(t, amp.ReviewRequest, []ruleCase{
		{"AMP-034", "from", []string{`from = "system"`}, "comes from the coordinator"},
		{"AMP-034", "to", []string{`to = "executor"`}, "goes to the reviewer"},
	})
	brokenBy(t, amp.ReviewVerdict, []ruleCase{
		{"AMP-035", "from", []string{`from = "coordinator"`}, "comes from the reviewer"},
		{"AMP-035", "to", []string{`to = "admin"`}, "goes to the coordinator"},
	})
}

func TestEnvelope_rulesTogether(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits []string
		want  []string
	}{
		"AMP-007 reviewer to executor":               {[]string{`from = "reviewer"`}, []string{"AMP-032 from", "AMP-007 to"}},
		"AMP-001 everything is reported at once":     {[]string{`- from`, `timestamp = 7`, `payload.risk_level = "huge"`, `payload.subtasks[1].estimated_lines = "30"`}, []string{"AMP-022 timestamp", "AMP-053 payload.subtasks[1].estimated_lines", "AMP-010 from", "AMP-058 payload.risk_level"}},
		"AMP-001 a name in another case is no alias": {[]string{`payload.Forbidden_Actions = []`}, []string{"AMP-001 payload.Forbidden_Actions"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := sample(t, amp.TaskDispatch, c.edits...)
			_, _, err := amp.Decode(data)
			var got []string
			for _, p := range problems(t, err) {
				got = append(got, p.Rule+" "+p.Field)
			}
			if diff := diff(sorted(c.want), sorted(got)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			agree(t, data)
		})
	}
}

func TestEnvelope_taken(t *testing.T) {
	t.Parallel()
	takenWith(t, amp.TaskDispatch, []warnCase{
		{"", "", []string{`timestamp = "2026-02-26T14:32:07Z"`}}, // AMP-022
		{"", "", []string{`timestamp = "2026-02-26T14:32:07.123456+05:30"`}},
		{"", "", []string{`timestamp = "2026-02-26T14:32-0800"`}},
		{"", "", []string{`timestamp = "1999-01-01T00:00:00Z"`}},             // A04: never compared with msg_id
		{"", "", []string{`context_ref = ["task_dispatch-T-2026-043-..."]`}}, // A04
		{"", "", []string{`context_ref = []`}},                               //
		{"", "", []string{`ack_timeout_sec = 1`}},                            // AMP-026: a message may override
		{"", "", []string{`task_id = "T-2026-1044"`, `msg_id = "task_dispatch-T-2026-1044-1740576727001"`, `payload.subtasks = [{"subtask_id":"T-2026-1044-S1","description":"d","estimated_lines":1}]`}}, // A06
		{"AMP-031", "priority", []string{`priority = {"a":[1,{"b":null}]}`}},                   // A28
		{"AMP-031", "payload.subtasks[1].owner", []string{`payload.subtasks[1].owner = "me"`}}, //
		{"AMP-031", `payload["we.ird \"name\""]`, []string{`payload = {"description":"d","repo":"/r","branch":"b","subtasks":[{"subtask_id":"T-2026-044-S1","description":"d","estimated_lines":1}],"acceptance_criteria":["c"],"risk_level":"low","we.ird \"name\"":1}`}},
	})
	takenWith(t, amp.EscalationMsg, []warnCase{ // A18, AMP-151
		{"", "", []string{`requires_ack = true`}},
		{"", "", []string{`requires_ack = true`, `ack_timeout_sec = 600`}},
		{"", "", []string{`from = "system"`, `payload.triggered_by = "system"`}}, // A08
		{"A25", "payload.triggered_by", []string{`from = "executor"`}},
		{"", "", []string{`payload.triggered_by = "reviewer"`}}, // the coordinator reports for others
	})
}

// TestDirections tries every type from every role to every role. What is taken is what AMP-032 to AMP-036 say; each message has the
// coordinator at one end, the hub between all others, or goes to the admin (AMP-007, AMP-008). Nothing comes from an admin (A09) and
// nothing goes to the system (A08).
func TestDirections(t *testing.T) {
	t.Parallel()
	roles := []amp.Role{amp.Admin, amp.Coordinator, amp.Executor, amp.Reviewer, amp.System}
	taken := map[string]bool{}
	for _, typ := range types {
		m, _, err := amp.Decode(sample(t, typ))
		if err != nil {
			t.Fatal(err)
		}
		for _, m.From = range roles {
			for _, m.To = range roles {
				if len(amp.Validate(m)) > 0 {
					continue
				}
				taken[fmt.Sprintf("%s %s→%s", typ, m.From, m.To)] = true
				if m.From != amp.Coordinator && m.To != amp.Coordinator && m.To != amp.Admin {
					t.Errorf("AMP-008: a %s goes from %s to %s past the coordinator", typ, m.From, m.To)
				}
			}
		}
	}
	want := map[string]bool{
		"task_dispatch coordinator→executor": true, "task_result executor→coordinator": true,
		"review_request coordinator→reviewer": true, "review_verdict reviewer→coordinator": true,
		"escalation coordinator→admin": true, "escalation reviewer→admin": true, "escalation executor→admin": true,
		"escalation system→admin": true,
	}
	if diff := diff(want, taken); diff != "" {
		t.Errorf("directions (-want +got):\n%s", diff)
	}
}

// TestDecodeStrict_unknown: the names that Decode keeps and warns about are refused (AMP-031, A28).
func TestDecodeStrict_unknown(t *testing.T) {
	t.Parallel()
	for _, typ := range types {
		data := sample(t, typ, `x_vendor = 1`, `payload.x_more = {"deep":[{}]}`)
		m, warnings, err := amp.Decode(data)
		if err != nil || m == nil || len(warnings) != 2 {
			t.Errorf("AMP-031 %s: Decode = %v, %v; want it taken with two warnings", typ, warnings, err)
		}
		m, warnings, err = amp.DecodeStrict(data)
		if got := problems(t, err); m != nil || len(warnings) != 0 || len(got) != 2 || got[0].Rule != "AMP-031" || got[1].Rule != "AMP-031" {
			t.Errorf("AMP-031 %s: DecodeStrict = %v, want both names refused", typ, got)
		}
	}
}

// TestMessage_AckTimeout: the defaults of the types and what overrides them (AMP-026, AMP-041, AMP-071, AMP-101, AMP-121, AMP-151).
func TestMessage_AckTimeout(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule string
		typ  amp.MessageType
		ack  bool
		sec  int
		want time.Duration
	}{
		{"AMP-041", amp.TaskDispatch, true, 0, 300 * time.Second},
		{"AMP-071", amp.TaskResult, true, 0, 120 * time.Second},
		{"AMP-101", amp.ReviewRequest, true, 0, 600 * time.Second},
		{"AMP-121", amp.ReviewVerdict, true, 0, 60 * time.Second},
		{"AMP-151", amp.EscalationMsg, false, 0, 0},
		{"A18", amp.EscalationMsg, true, 0, 0},
		{"A18", amp.EscalationMsg, true, 90, 90 * time.Second},
		{"AMP-026", amp.TaskDispatch, true, 5, 5 * time.Second},
		{"AMP-026", amp.TaskDispatch, true, 1<<53 - 1, math.MaxInt64 / time.Second * time.Second},
	} {
		m := amp.Message{Type: c.typ, RequiresAck: c.ack, AckTimeoutSec: c.sec}
		if got := m.AckTimeout(); got != c.want {
			t.Errorf("%s: AckTimeout of a %s with requires_ack %t and %d s = %v, want %v", c.rule, c.typ, c.ack, c.sec, got, c.want)
		}
	}
}

func TestParseTimestamp(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{ // AMP-022
		"2026-02-26T14:32:07+00:00":     "2026-02-26T14:32:07Z",
		"2026-02-26T14:32:07Z":          "2026-02-26T14:32:07Z",
		"2026-02-26T14:32:07.25+02:00":  "2026-02-26T12:32:07.25Z",
		"2026-02-26T14:32:07,25-0130":   "2026-02-26T16:02:07.25Z",
		"2026-02-26T14:32+01":           "2026-02-26T13:32:00Z",
		"2024-02-29T00:00:00Z":          "2024-02-29T00:00:00Z",
		"2026-02-26T14:32:07":           "",
		"2026-02-26":                    "",
		"2026-02-26 14:32:07Z":          "",
		"2026-02-26t14:32:07z":          "",
		"2026-02-26T4:32:07Z":           "",
		"2026-02-29T14:32:07Z":          "",
		"2026-13-01T14:32:07Z":          "",
		"2026-02-26T24:00:00Z":          "",
		"2026-02-26T14:32:60Z":          "",
		"2026-02-26T14:32:07+24:00":     "",
		"2026-02-26T14:32:07+01:60":     "",
		"2026-02-26T14:32:07 Z":         "",
		"2026-02-26T14:32:07Z\n":        "",
		"":                              "",
		"２026-02-26T14:32:07Z":          "",
		"+002026-02-26T14:32:07Z":       "",
		"2026-W09-4T14:32:07Z":          "",
		"2026-02-26T14:32:07[UTC]":      "",
		"2026-02-26T14:32:07.+00:00":    "",
		"20260226T143207Z":              "",
		"2026-02-26T14:32:07+00:00:00Z": "",
	} {
		got, err := amp.ParseTimestamp(s)
		switch {
		case want == "" && err == nil:
			t.Errorf("ParseTimestamp(%q) = %v, want an error", s, got)
		case want != "" && (err != nil || got.UTC().Format(time.RFC3339Nano) != want):
			t.Errorf("ParseTimestamp(%q) = %v, %v; want %s", s, got, err, want)
		}
	}
}

// TestParseTimestamp_anyTime: what Go formats with a zone is read, and the schema agrees.
func TestParseTimestamp_anyTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		zone := time.FixedZone("", rapid.IntRange(-23*60-59, 23*60+59).Draw(rt, "zone")*60)
		at := time.Unix(rapid.Int64Range(-62135596800, 253402300799-24*3600).Draw(rt, "unix"), 0).In(zone)
		if at.Year() < 0 || at.Year() > 9999 {
			rt.Skip()
		}
		s := at.Format(time.RFC3339)
		got, err := amp.ParseTimestamp(s)
		if err != nil || !got.Equal(at) {
			rt.Fatalf("ParseTimestamp(%s) = %v, %v", s, got, err)
		}
		agree(rt, sample(t, amp.EscalationMsg, `timestamp = "`+s+`"`))
	})
}

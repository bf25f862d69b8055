package events

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// Of every type that is known each key that is missing is a warning with the type's own rule, and each that has another type a refusal
// (EVT-040 to EVT-064): the samples are those of the contracts.
func TestDecode_eachKey(t *testing.T) {
	t.Parallel()
	done := map[string]bool{}
	for name, data := range samples(t) {
		if strings.Count(name, ".") > 1 || strings.HasPrefix(name, Batch) {
			continue // no whole message
		}
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		typ := m["type"].(string)
		body := m["data"].(map[string]any)
		for _, f := range catalog()[typ].fields {
			was := body[f.name]
			judge := func() (errs, warnings []amp.Problem) {
				line, err := json.Marshal(m)
				if err != nil {
					t.Fatal(err)
				}
				_, errs, warnings = Decode(line)
				return errs, slices.DeleteFunc(warnings, func(p amp.Problem) bool { return p.Rule == "EVT-020" })
			}
			delete(body, f.name)
			if errs, warnings := judge(); len(errs) > 0 || (len(warnings) == 1) == f.optional || len(warnings) == 1 && (warnings[0].Rule != catalog()[typ].rule || warnings[0].Field != "data."+f.name) {
				t.Errorf("%s without %s: %v %v", typ, f.name, errs, warnings)
			}
			if f.kind != "" {
				body[f.name] = true
				if errs, _ := judge(); len(errs) != 1 || errs[0].Rule != catalog()[typ].rule || !strings.HasPrefix(errs[0].Message, "Message validation failed: ") {
					t.Errorf("%s with another %s: %v", typ, f.name, errs)
				}
			}
			if body[f.name] = was; was == nil {
				delete(body, f.name)
			}
		}
		done[catalog()[typ].rule] = true
	}
	for _, rule := range []string{
		"EVT-040", "EVT-041", "EVT-042", "EVT-043", "EVT-044", "EVT-045", "EVT-046", "EVT-047", "EVT-048", "EVT-049", "EVT-050", "EVT-051", "EVT-052",
		"EVT-053", "EVT-054", "EVT-055", "EVT-056", "EVT-057", "EVT-058", "EVT-059", "EVT-060", "EVT-061", "EVT-062", "EVT-063", "EVT-064",
	} {
		if !done[rule] {
			t.Errorf("no sample of %s", rule)
		}
	}
}

// What is taken although it is not as we write it, and what is not.
func TestDecode_lenient(t *testing.T) {
	t.Parallel()
	with := func(old, fresh string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("the sample does not hold %s", old)
		}
		return strings.Replace(good, old, fresh, 1)
	}
	for rule, tc := range map[string]struct {
		text string
		good bool
	}{
		"E03 an id of ours in the data":                   {good, true},
		"E03 an id with other letters":                    {with("T-2026-044", "b9a8c7d6-4g3h-zzzz"), true},
		"E05 another shape":                               {`{"id":"550e8400-e29b-41d4-a716-446655440010","timestamp":"2025-03-29T05:42:30Z","sender":"x","data":{}}`, false},
		"E06 another word":                                {with("in_progress", "completed"), true},
		"E06 a priority in words":                         {with(`"data":`, `"metadata":{"priority":"high"},"data":`), true},
		"E06 EVT-103 a priority in numbers":               {with(`"data":`, `"metadata":{"priority":1},"data":`), true},
		"E04 a version that is not ours":                  {with(`"data":`, `"metadata":{"schema_version":"2.7"},"data":`), true},
		"EVT-073 EVT-074 old and new keys together":       {with(`"agent_id":"codex"`, `"agent_id":"codex","agent":{"id":"codex"}`), true},
		"EVT-074 the old key is gone, the new one unread": {with(`"agent_id":"codex"`, `"agent":{"id":"codex"}`), true},
		"E08 EVT-001 a comment":                           {with(`"data":`, "/* x */\"data\":"), false},
	} {
		if _, errs, _ := Decode([]byte(tc.text)); (len(errs) == 0) != tc.good {
			t.Errorf("%s: %v", rule, errs)
		}
	}
	other := with("in_progress", "blocked") // E07: the same id on another event is no matter of one event
	first, _, _ := Decode([]byte(good))
	second, errs, _ := Decode([]byte(other))
	if len(errs) > 0 || first.ID != second.ID {
		t.Errorf("E07: %v", errs)
	}
	for range 2 { // EVT-097: what came before changes nothing
		_, _, _ = Decode([]byte("garbage"))
		if again, errs, warnings := Decode([]byte(good)); len(errs)+len(warnings) > 0 || again.Type != first.Type {
			t.Errorf("EVT-097: %v %v", errs, warnings)
		}
	}
}

// The registry holds every schema with its version and says which (EVT-070, EVT-072, EVT-080, EVT-085).
func TestRegistry_discovery(t *testing.T) {
	t.Parallel()
	r := NewRegistry()
	list := r.List()
	for _, typ := range append(Types(), Batch) {
		i := slices.IndexFunc(list, func(s Schema) bool { return s.Type == typ })
		if i < 0 || list[i].Version != SchemaVersion || list[i].Schema != nil {
			t.Errorf("EVT-085: the list has no %s", typ)
			continue
		}
		s, ok := r.Schema(typ, SchemaVersion)
		if !ok || !bytes.Contains(s.Schema, []byte(`"urn:arbiter:event:`+typ+"@"+SchemaVersion+`"`)) {
			t.Errorf("EVT-070: %s@%s = %s", typ, SchemaVersion, s.Schema)
		}
		if _, ok := r.Schema(typ, "9"); ok {
			t.Errorf("EVT-072: %s has a version that nobody registered", typ)
		}
	}
	if err := r.Register(Schema{Type: "task.created", Version: "1.1", Schema: []byte(`{"type":"object"}`)}); err != nil {
		t.Fatal(err)
	}
	if old, ok := r.Schema("task.created", "1.0"); !ok || old.Version != "1.0" { // EVT-073
		t.Error("EVT-070: the older version is gone")
	}
	if newest, _ := r.Schema("task.created", ""); newest.Version != "1.1" {
		t.Errorf("EVT-085: the newest is %s", newest.Version)
	}
}

// What every event of ours has: a time with microseconds in UTC (EVT-091), one correlation id for all of a task and another for another one
// (EVT-092, EVT-099), the version of its schema (E04), the word of the priority where it is high (EVT-103, E06), and a type of the 25 (E02).
func TestDerive_rules(t *testing.T) {
	t.Parallel()
	stampForm := regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$`)
	correlations := map[string]bool{}
	for n := 1; n <= 2; n++ {
		task := ssottest.Task(n)
		log, entries := journalOf(t, ssottest.Submit("c1", task), ssottest.Propose("p1", task, "Hello"), ssottest.Approve("c2", task), ssottest.Dispatch(task, ssottest.Start.Add(time.Minute)))
		_, all := typesOf(t, NewDeriver(log.Read), entries)
		own := map[string]bool{}
		for _, e := range all {
			own[e.CorrelationID], correlations[e.CorrelationID] = true, true
			if !stampForm.MatchString(e.Timestamp) {
				t.Errorf("EVT-091: %s", e.Timestamp)
			}
			if e.Metadata["schema_version"] != SchemaVersion || !slices.Contains(Types(), e.Type) {
				t.Errorf("E02, E04: %s %v", e.Type, e.Metadata)
			}
		}
		if len(own) != 1 || len(all) == 0 {
			t.Errorf("EVT-092: %d correlation ids in %d events", len(own), len(all))
		}
	}
	if len(correlations) != 2 {
		t.Errorf("EVT-099: %d correlation ids of two tasks", len(correlations))
	}
	for risk, want := range map[amp.RiskLevel]any{amp.High: "high", amp.Medium: nil, amp.Low: nil} {
		m := &made{entry: &amp.Entry{}, task: &amp.Task{ID: "T-2026-001", Plan: &amp.Plan{RiskLevel: risk}}, n: map[string]int{}}
		m.add("task.updated", map[string]any{})
		if got := m.events[0].Metadata["priority"]; got != want {
			t.Errorf("EVT-103: priority %v at %s risk", got, risk)
		}
	}
}

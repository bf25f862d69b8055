package events

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"arbiter/amp"
)

// samples are the examples of the specification, comments removed (E08), by file name.
func samples(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil || len(files) < 28 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	all := map[string][]byte{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".json")] = data
	}
	return all
}

// Every example of the specification is valid, and only those that say that they are cut lack a key.
func TestDecode_examples_EVT_040_to_EVT_064(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name, data := range samples(t) {
		e, errs, warnings := Decode(data)
		if len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
			continue
		}
		seen[e.Type] = true
		template := strings.Count(name, ".") > 1 || e.Type == Batch
		for _, w := range warnings {
			if !template && w.Rule != "EVT-020" {
				t.Errorf("%s: %v", name, w)
			}
		}
	}
	for _, typ := range append(Types(), Batch) {
		if !seen[typ] {
			t.Errorf("no example of %s", typ)
		}
	}
	if len(Types()) != 25 {
		t.Errorf("%d types, want 25", len(Types()))
	}
}

const good = `{"id":"550e8400-e29b-41d4-a716-446655440010","type":"task.status_changed","source":"planning-system","timestamp":"2025-03-29T05:42:30.123456Z",` +
	`"correlation_id":"5d976e66-8c32-483f-a9d1-8feaade0e1e0","data":{"task_id":"T-2026-044","previous_status":"pending","new_status":"in_progress","agent_id":"codex"}}`

// Each rule has a sample that breaks it and nothing else.
func TestDecode_rules(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		old, new string
		rule     string
		warning  bool
	}{
		"EVT-002 no id":                {`"id":"550e8400-e29b-41d4-a716-446655440010",`, "", "EVT-002", false},
		"EVT-002 no source":            {`"source":"planning-system",`, "", "EVT-002", false},
		"EVT-002 no data":              {`,"data":{"task_id":"T-2026-044","previous_status":"pending","new_status":"in_progress","agent_id":"codex"}`, "", "EVT-002", false},
		"EVT-003 no UUID":              {"550e8400-e29b-41d4-a716-446655440010", "550e8400", "EVT-003", false},
		"EVT-003 a number":             {`"550e8400-e29b-41d4-a716-446655440010"`, "7", "EVT-003", false},
		"EVT-004 no type":              {`"type":"task.status_changed",`, "", "EVT-004", false},
		"EVT-005 no dot":               {"task.status_changed", "task", "EVT-005", false},
		"EVT-005 no action":            {"task.status_changed", "task.", "EVT-005", false},
		"EVT-006 another domain":       {"task.status_changed", "user.created", "EVT-006", false},
		"EVT-083 E02 unknown type":     {"task.status_changed", "task.execution.completed", "EVT-083", false},
		"EVT-007 empty source":         {`"planning-system"`, `""`, "EVT-007", false},
		"EVT-008 no zone":              {"05:42:30.123456Z", "05:42:30.123456", "EVT-008", false},
		"EVT-009 no UUID":              {"5d976e66-8c32-483f-a9d1-8feaade0e1e0", "startup", "EVT-009", false},
		"EVT-010 data is a list":       {`{"task_id":"T-2026-044","previous_status":"pending","new_status":"in_progress","agent_id":"codex"}`, "[]", "EVT-010", false},
		"EVT-011 metadata is a string": {`"data":`, `"metadata":"x","data":`, "EVT-011", false},
		"EVT-012 unknown property":     {`"data":`, `"extra":1,"data":`, "EVT-012", true},
		"EVT-020 another source":       {"planning-system", "somebody", "EVT-020", true},
		"EVT-053 a key is missing":     {`,"agent_id":"codex"`, "", "EVT-053", true},
		"EVT-084 EVT-053 wrong type":   {`"codex"`, "7", "EVT-053", false},
		"EVT-104 ttl is no int":        {`"data":`, `"metadata":{"ttl_seconds":1.5},"data":`, "EVT-104", false},
		"EVT-072 version is no text":   {`"data":`, `"metadata":{"schema_version":1},"data":`, "EVT-072", false},
		"EVT-001 twice":                {`"data":`, `"id":"550e8400-e29b-41d4-a716-446655440010","data":`, "EVT-001", false},
		"EVT-001 a list":               {good, "[]", "EVT-001", false},
		"EVT-001 null":                 {good, "null", "EVT-001", false},
		"EVT-001 nothing":              {good, "", "EVT-001", false},
		"EVT-001 too deep":             {good, strings.Repeat("[", 100), "EVT-001", false},
		"EVT-001 too long":             {good, `{"id":"` + strings.Repeat("a", MaxEvent) + `"}`, "EVT-001", false},
		"EVT-001 a comment":            {`"data":`, "// no\n\"data\":", "EVT-001", false},
	} {
		if !strings.Contains(good, tc.old) {
			t.Fatalf("%s: the sample does not hold %s", name, tc.old)
		}
		_, errs, warnings := Decode([]byte(strings.Replace(good, tc.old, tc.new, 1)))
		got := errs
		if tc.warning {
			got = warnings
			if len(errs) > 0 {
				t.Errorf("%s: refused: %v", name, errs)
			}
		}
		if len(got) != 1 || got[0].Rule != tc.rule {
			t.Errorf("%s: %v, want one of %s", name, got, tc.rule)
		}
	}
	if _, errs, warnings := Decode([]byte(good)); len(errs)+len(warnings) > 0 {
		t.Errorf("the sample itself: %v %v", errs, warnings)
	}
	_, errs, _ := Decode([]byte(strings.Replace(good, "task.status_changed", "task.nothing", 1)))
	if len(errs) != 1 || errs[0].Message != "Unknown message type: task.nothing" {
		t.Errorf("EVT-083: %v", errs)
	}
	_, errs, _ = Decode([]byte(strings.Replace(good, `"codex"`, "7", 1)))
	if len(errs) != 1 || !strings.HasPrefix(errs[0].Message, "Message validation failed: ") {
		t.Errorf("EVT-084: %v", errs)
	}
}

// E01: system events may have a correlation id that is no UUID.
func TestDecode_E01(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("task.status_changed", "system.service_started", "5d976e66-8c32-483f-a9d1-8feaade0e1e0", "system-startup-correlation-id").Replace(good)
	if _, errs, _ := Decode([]byte(text)); len(errs) > 0 {
		t.Error(errs)
	}
}

// A bad message in a batch does not lose the others.
func TestDecode_batch_EVT_100_EVT_101(t *testing.T) {
	t.Parallel()
	bad := strings.Replace(good, "task.status_changed", "task.nothing", 1)
	batch := func(size string, messages ...string) []byte {
		return []byte(`{"id":"550e8400-e29b-41d4-a716-446655440025","type":"batch","source":"x","timestamp":"2025-03-29T05:55:00Z",` +
			`"correlation_id":"5d976e66-8c32-483f-a9d1-8feaade0e1e0","data":{"batch_size":` + size + `,"messages":[` + strings.Join(messages, ",") + `]}}`)
	}
	data := batch("2", good, bad)
	_, errs, warnings := Decode(data)
	if len(errs) > 0 || len(warnings) != 1 || warnings[0].Field != "data.messages[1].type" {
		t.Errorf("errors %v, warnings %v", errs, warnings)
	}
	if m := Messages(data); len(m) != 2 || string(m[0]) != good {
		t.Errorf("messages %s", m)
	}
	for size, rule := range map[string]string{"3": "EVT-101", `"2"`: "EVT-100", "-1": "EVT-100", "1.5": "EVT-100"} {
		if _, errs, _ := Decode(batch(size, good, bad)); len(errs) == 0 || errs[0].Rule != rule {
			t.Errorf("batch_size %s: %v, want %s", size, errs, rule)
		}
	}
}

func TestExpired_EVT_104(t *testing.T) {
	t.Parallel()
	e, _, _ := Decode([]byte(strings.Replace(good, `"data":`, `"metadata":{"ttl_seconds":300},"data":`, 1)))
	at := time.Date(2025, 3, 29, 5, 42, 30, 0, time.UTC)
	if e.Expired(at.Add(299*time.Second)) || !e.Expired(at.Add(302*time.Second)) {
		t.Error("an event expires 300 s after its timestamp")
	}
	if e, _, _ := Decode([]byte(good)); e.Expired(at.AddDate(1, 0, 0)) {
		t.Error("an event without ttl expired")
	}
}

// The published schemas agree with Decode on the examples, and on what a mutation makes of them.
func TestSchemas_agree(t *testing.T) {
	t.Parallel()
	registry := NewRegistry()
	compiled := map[string]*jsonschema.Schema{}
	for _, s := range registry.List() {
		full, _ := registry.Schema(s.Type, s.Version)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(full.Schema))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("urn:"+s.Type, doc); err != nil {
			t.Fatal(err)
		}
		if compiled[s.Type], err = c.Compile("urn:" + s.Type); err != nil {
			t.Fatalf("%s: %v", s.Type, err)
		}
	}
	checked := 0
	agree := func(what string, data []byte, typ string) {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		checked++
		_, errs, _ := Decode(data)
		errs = slices.DeleteFunc(errs, func(p amp.Problem) bool { return p.Rule == "EVT-101" }) // the length of a list is beyond a schema
		if bad := compiled[typ].Validate(doc); (bad == nil) != (len(errs) == 0) {
			t.Errorf("%s: the schema says %v, Decode %v\n%s", what, bad, errs, data)
		}
	}
	for name, data := range samples(t) {
		var m map[string]any
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatal(err)
		}
		typ := m["type"].(string)
		agree(name, data, typ)
		mutate(m, func(path string) {
			changed, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			agree(name+" with another "+path, changed, typ)
		})
	}
	if checked < 1000 {
		t.Errorf("only %d samples were compared", checked)
	}
}

// mutate puts other values in every place of m, one at a time, and takes each one away, calling f with each.
func mutate(m map[string]any, f func(path string)) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		was := m[k]
		for _, v := range []any{nil, "", "text", 7.0, 1.5, -1.0, 1e300, true, []any{}, []any{7.0}, []any{map[string]any{}}, map[string]any{}} {
			if k == "type" && v == "text" {
				continue // of another type: another schema
			}
			m[k] = v
			f(k)
		}
		delete(m, k)
		f("no " + k)
		m[k] = was
		inner, ok := was.(map[string]any)
		if list, listed := was.([]any); listed && len(list) > 0 { // of a list what is in it
			inner, ok = list[0].(map[string]any)
			for _, v := range []any{nil, "", 7.0, []any{}, map[string]any{}} {
				first := list[0]
				list[0] = v
				f(k + "[0]")
				list[0] = first
			}
		}
		if ok && k != "messages" { // the messages of a batch are judged one by one, and the schema leaves them open
			mutate(inner, func(path string) { f(k + "." + path) })
		}
	}
	m["more"] = map[string]any{"x": 1.0}
	f("more")
	delete(m, "more")
}

// What breaks a rule is not sent (EVT-081, EVT-093), and holds up none of the others (EVT-094).
func TestPublisher_sound_EVT_081(t *testing.T) {
	t.Parallel()
	sample := func(change func(*Event)) Event {
		e, errs, _ := Decode([]byte(good))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		change(e)
		return *e
	}
	var log bytes.Buffer
	p := NewPublisher(nil, nil)
	p.Logger = slog.New(slog.NewTextHandler(&log, nil))
	all, err := p.sound([]Event{
		sample(func(e *Event) { e.ID = "7" }), sample(func(e *Event) { e.CorrelationID = "" }), sample(func(e *Event) { e.Timestamp = "yesterday" }),
		sample(func(e *Event) { e.Source = "somebody" }), sample(func(e *Event) { e.Type = "task.nothing" }), sample(func(e *Event) { e.Data = nil }),
		sample(func(e *Event) { delete(e.Data, "agent_id") }), sample(func(e *Event) { e.Data["agent_id"] = 7.0 }),
		sample(func(e *Event) { e.Data["agent_id"] = strings.Repeat("a", MaxEvent) }),
		sample(func(e *Event) { e.Metadata = map[string]any{"ttl_seconds": 1.5} }), sample(func(*Event) {}),
	})
	if err != nil || len(all) != 1 || all[0].Data["agent_id"] != "codex" {
		t.Errorf("sent: %d events, %v", len(all), err)
	}
	for _, rule := range []string{"EVT-001", "EVT-003", "EVT-008", "EVT-009", "EVT-010", "EVT-020", "EVT-053", "EVT-083", "EVT-104"} {
		if !strings.Contains(log.String(), rule) {
			t.Errorf("the log does not name %s", rule)
		}
	}
}

func TestRegister_EVT_071_EVT_073(t *testing.T) {
	t.Parallel()
	first, _ := NewRegistry().Schema("task.assigned", "")
	change := func(old, with string) []byte {
		if !bytes.Contains(first.Schema, []byte(old)) {
			t.Fatalf("the schema does not hold %s", old)
		}
		return bytes.Replace(first.Schema, []byte(old), []byte(with), 1)
	}
	required := "\"required\": [\n    \"id\","
	for name, tc := range map[string]struct {
		schema []byte
		why    string
	}{
		"the same":                 {first.Schema, ""},
		"one more property":        {change(`"agent_id": {`, `"team": {}, "agent_id": {`), ""},
		"less required":            {change(`"id",`, ""), ""},
		"more required":            {change(required, required+"\n    \"metadata\","), "metadata is required now"},
		"a new property of a type": {change(`"agent_id": {`, `"team": {"type": "string"}, "agent_id": {`), "data.team has the type"},
		"another type":             {change("\"agent_id\": {\n          \"type\": \"string\"", `"agent_id": {"type": "number"`), "data.agent_id has the type [number], which was [string]"},
		"a wider type":             {change("\"agent_id\": {\n          \"type\": \"string\"", `"agent_id": {"type": ["string", "null"]`), ""},
		"closed":                   {change(`"title":`, `"additionalProperties": false, "title":`), "takes no further properties now"},
		"an enum":                  {change("\"agent_id\": {\n          \"type\": \"string\"", `"agent_id": {"type": "string", "enum": ["a"]`), "has a fixed set of values now"},
		"no JSON":                  {[]byte("{"), "no JSON object"},
		"a narrower pattern":       {change(`"pattern": "^[0-9a-fA-F]{8}-`, `"pattern": "^[0-9a-f]{8}-`), "has another pattern"},
		"a first pattern":          {change("\"agent_id\": {\n          \"type\": \"string\"", `"agent_id": {"type": "string", "pattern": "^a"`), "data.agent_id has pattern now"},
		"a longer least length":    {change(`"minLength": 1`, `"minLength": 2`), "has another minLength"},
		"a shorter least length":   {change(`"minLength": 1`, `"minLength": 0`), ""},
		"a higher least number":    {change(`"minimum": 0`, `"minimum": 10`), "metadata.ttl_seconds has another minimum"},
		"a lower largest number":   {change(`"maximum": 9007199254740992`, `"maximum": 3600`), "metadata.ttl_seconds has another maximum"},
		"a higher largest number":  {change(`"maximum": 9007199254740992`, `"maximum": 9007199254740993000`), ""},
		"any number":               {change("\"ttl_seconds\": {\n          \"maximum\": 9007199254740992,\n          \"minimum\": 0,\n          \"type\": \"integer\"", "\"ttl_seconds\": {\n          \"type\": \"number\""), ""},
		"another const":            {change(`"const": "task.assigned"`, `"const": "task.assigned.v2"`), "type has another const"},
		"an unknown keyword":       {change(`"title":`, `"not": {"required": ["data"]}, "title":`), "the event has not now"},
		"only some more members":   {change(`"title":`, `"additionalProperties": {"type": "string"}, "title":`), "the event has additionalProperties now"},
		"another title":            {change(`"title": "task.assigned"`, `"title": "An assignment"`), ""},
	} {
		r := NewRegistry()
		err := r.Register(Schema{Type: "task.assigned", Version: "1.1", Schema: tc.schema})
		if (err == nil) != (tc.why == "") || err != nil && !strings.Contains(err.Error(), tc.why) {
			t.Errorf("%s: %v, want %q", name, err, tc.why)
		}
		if _, ok := r.Schema("task.assigned", "1.0"); !ok {
			t.Errorf("%s: the older version is gone", name)
		}
		if s, _ := r.Schema("task.assigned", ""); (s.Version == "1.1") != (tc.why == "") {
			t.Errorf("%s: the newest is %s", name, s.Version)
		}
	}
	r := NewRegistry()
	if err := r.Register(Schema{Type: "task.assigned", Version: "1.0", Schema: []byte(`{}`)}); err == nil {
		t.Error("a version was replaced")
	}
	if err := r.Register(Schema{Type: "../x", Version: "1", Schema: []byte(`{}`)}); err == nil {
		t.Error("a bad name was taken")
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		patterns []string
		typ      string
		want     bool
	}{
		{nil, "task.created", true},
		{[]string{"*"}, "task.created", true},
		{[]string{"task.*"}, "task.created", true},
		{[]string{"task.created"}, "task.created", true},
		{[]string{"task.assigned", "agent.*"}, "task.created", false},
		{[]string{"tas.*"}, "task.created", false},
	} {
		if got := Match(tc.patterns, tc.typ); got != tc.want {
			t.Errorf("Match(%v, %s) = %v", tc.patterns, tc.typ, got)
		}
	}
	for p, want := range map[string]bool{"*": true, "task.*": true, "task.created": true, "task": false, "user.*": false, "task.nothing": false, "": false} {
		if Pattern(p) != want {
			t.Errorf("Pattern(%q) = %v", p, !want)
		}
	}
}

// Whatever comes in is judged without a panic; what is accepted comes out the same and is accepted again (EVT-098).
func FuzzDecode(f *testing.F) {
	for _, data := range samples(f) {
		f.Add(data)
	}
	f.Add([]byte(good))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, errs, _ := Decode(data)
		Messages(data)
		if len(errs) > 0 {
			return
		}
		out, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, errs, _ := Decode(out)
		if len(errs) > 0 || again.ID != e.ID || again.Type != e.Type {
			t.Fatalf("accepted, then %v\n%s", errs, out)
		}
		e.Expired(time.Time{})
	})
}

// An event that breaks a rule a hundred thousand times is refused in a few words: what is kept of it is no larger than what came.
func TestDecode_fewWords(t *testing.T) {
	t.Parallel()
	envelope := `{"id":"5a1d7a1e-2f0b-5c0e-9d63-a4b1747e6a01","source":"planning-system","timestamp":"2026-11-22T08:00:00Z","correlation_id":"5a1d7a1e-2f0b-5c0e-9d63-a4b1747e6a01",`
	for name, rest := range map[string]string{
		"errors":   `"type":"task.completed","data":{"artifacts":[1` + strings.Repeat(",1", 100_000) + `]}}`,
		"warnings": `"type":"task.updated","data":{"updated_fields":["a"` + strings.Repeat(`,"x"`, 100_000) + `]}}`,
		"batch":    `"type":"batch","data":{"batch_size":1000,"messages":[{}` + strings.Repeat(",{}", 999) + `]}}`,
	} {
		_, errs, warnings := Decode([]byte(envelope + rest))
		if n := len(errs) + len(warnings); n == 0 || n > 2*maxProblems {
			t.Errorf("%s: %d and %d of them", name, len(errs), len(warnings))
		}
	}
}

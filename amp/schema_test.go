package amp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"arbiter/amp"
)

func diff(want, got any) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

// compiled are the published schemas by name.
var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	out := map[string]*jsonschema.Schema{}
	for _, name := range amp.SchemaNames() {
		data, err := amp.Schema(name)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			return nil, err
		}
		c := jsonschema.NewCompiler() // one each: every schema must stand alone
		url := doc.(map[string]any)["$id"].(string)
		if err := c.AddResource(url, doc); err != nil {
			return nil, err
		}
		if out[name], err = c.Compile(url); err != nil {
			return nil, err
		}
	}
	return out, nil
})

// outsideSchema reports whether a schema cannot say what p says: two fields that must be equal or differ, and names in another case.
func outsideSchema(p amp.Problem) bool {
	return p.Rule == "AMP-001" || p.Rule == "AMP-052" || p.Rule == "AMP-012" && strings.Contains(p.Message, "is about")
}

// agree wants the schema of a message and the Go validators to say the same of data.
func agree(t interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}, data []byte,
) {
	t.Helper()
	all, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	bySchema := all["message@"+amp.SchemaVersion].Validate(v)
	_, _, byGo := amp.Decode(data)
	var left []amp.Problem
	if inv, ok := errors.AsType[*amp.InvalidError](byGo); ok {
		left = slices.DeleteFunc(slices.Clone(inv.Problems), outsideSchema)
	}
	if (bySchema == nil) != (len(left) == 0) {
		t.Errorf("schema: %v\nvalidators: %v\nof %s", bySchema, left, data)
	}
}

func TestSchema_standsAlone(t *testing.T) {
	t.Parallel()
	all, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 7 {
		t.Errorf("%d schemas, want the message, the envelope and five payloads", len(all))
	}
	for _, typ := range types {
		s := all[string(typ)+"@"+amp.SchemaVersion]
		if err := s.Validate(parse(t, specExample(t, string(typ)))); err != nil {
			t.Errorf("AMP-176: the specification's %s: %v", typ, err)
		}
		if err := s.Validate(map[string]any{}); err == nil {
			t.Errorf("schema %s takes an empty payload", typ)
		}
	}
}

func TestSchema_names(t *testing.T) {
	t.Parallel()
	for _, name := range amp.SchemaNames() {
		base, _, _ := strings.Cut(name, "@")
		with, err1 := amp.Schema(name)
		without, err2 := amp.Schema(base)
		if err1 != nil || err2 != nil || !bytes.Equal(with, without) || !json.Valid(with) {
			t.Errorf("Schema(%s) and Schema(%s): %v, %v, or no equal valid JSON", name, base, err1, err2)
		}
	}
	for _, name := range []string{"", "task", "task_result@2.0", "../schema", "message@"} {
		if _, err := amp.Schema(name); err == nil || !strings.Contains(err.Error(), "task_result@1.0") {
			t.Errorf("Schema(%q) = %v, want an error that lists the names", name, err)
		}
	}
}

// TestSchema_agreesOnMutants changes samples at random places and wants the schema and the validators to say the same.
func TestSchema_agreesOnMutants(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		typ := rapid.SampledFrom(types).Draw(rt, "type")
		root := parse(t, sample(t, typ, rapid.SampledFrom(variants[typ]).Draw(rt, "variant")...))
		for range rapid.IntRange(1, 3).Draw(rt, "mutations") {
			root = mutate(rt, root)
		}
		data, err := json.Marshal(root)
		if err != nil {
			rt.Fatal(err)
		}
		agree(rt, data)
	})
}

// variants are valid messages that reach the conditional parts of the schemas.
var variants = map[amp.MessageType][][]string{
	amp.TaskDispatch: {{}, {`ack_timeout_sec = 300`, `context_ref = ["task_result-T-2026-043-001"]`}},
	amp.TaskResult: {
		{},
		{`payload.completion_status = "partial"`, `payload.blockers = ["no simulator here"]`},
		{`payload.completion_status = "failed"`, `payload.blockers = ["", "it does not build"]`},
	},
	amp.ReviewRequest: {{}, {`payload.reject_count = 2`, `payload.coordinator_notes = "lock is APPROACHING"`}},
	amp.ReviewVerdict: {
		{},
		{`payload.decision = "approved"`, `payload.criteria_results[0].passed = true`},
		{
			`payload.decision = "approved_with_fix"`, `payload.criteria_results[0].passed = true`, `payload.issues = []`,
			`payload.direct_fixes = [{"file":"a.go","change_type":"import","diff_lines":4}]`,
		},
	},
	amp.EscalationMsg: {{}, {
		`from = "system"`, `payload.triggered_by = "system"`, `payload.escalation_type = "unknown"`,
		`payload.severity = "info"`, `payload.auto_suspended = false`,
	}, {`requires_ack = true`, `ack_timeout_sec = 60`}},
}

// strange are values that a field may suddenly have.
var strange = []string{
	`null`, `true`, `false`, `""`, `" "`, `"x"`, `"main"`, `" refs/remotes/up/master"`, `"origin/feature/x"`, `"a..b"`,
	`"-D"`, `"remotes/x"`, `"main/x"`, `"T-2026-44"`, `"2026-02-29T10:00:00Z"`, `"2024-02-29T10:00Z"`, `"2026-02-26T14:32:07"`,
	`"2026-02-26T1:32:07Z"`, `"2026-02-26 14:32:07Z"`, `"2026-02-26T14:32:07,5+0200"`, `"2026-02-26T14:32:07+24:00"`,
	`"2026-12-31T23:59:60Z"`, `"approved"`, `"approved_with_fix"`, `"rejected"`, `"critical"`, `"warning"`, `"info"`, `"partial"`,
	`"failed"`, `"admin"`, `"system"`, `"executor"`, `"escalation"`, `"Lock is approaching"`, `"locked"`, `"hallucination_lock"`,
	`"C:\\x"`, `"/x"`, `0`, `1`, `2`, `4`, `5`, `-1`, `0.5`, `1.5`, `9007199254740991`, `9007199254740992`,
	`-99999999999999999999`, `[]`, `[""]`, `["x"]`, `[null]`, `[1]`, `{}`, `{"x":null}`,
}

// oddity is a fresh one of them.
func oddity(rt *rapid.T) any {
	dec := json.NewDecoder(strings.NewReader(rapid.SampledFrom(strange).Draw(rt, "value")))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		rt.Fatal(err)
	}
	return v
}

// mutate drops, renames, retypes, negates or doubles one value somewhere in v.
func mutate(rt *rapid.T, v any) any {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return v
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		name := rapid.SampledFrom(names).Draw(rt, "name")
		if rapid.Bool().Draw(rt, "deeper") {
			v[name] = mutate(rt, v[name])
			return v
		}
		switch rapid.SampledFrom([]string{"drop", "rename", "retype", "negate", "add"}).Draw(rt, "how") {
		case "drop":
			delete(v, name)
		case "rename":
			v["x_"+name] = v[name]
			delete(v, name)
		case "retype":
			v[name] = oddity(rt)
		case "negate":
			v[name] = negate(v[name])
		case "add":
			v["x_"+name] = oddity(rt)
		}
		return v
	case []any:
		if len(v) == 0 {
			return append(v, oddity(rt))
		}
		i := rapid.IntRange(0, len(v)-1).Draw(rt, "element")
		switch rapid.SampledFrom([]string{"drop", "double", "deeper", "deeper", "deeper"}).Draw(rt, "how") {
		case "drop":
			return slices.Delete(v, i, i+1)
		case "double":
			return append(v, clone(v[i]))
		}
		v[i] = mutate(rt, v[i])
		return v
	}
	return oddity(rt)
}

// clone keeps a doubled value from being changed in two places.
func clone(v any) any {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		panic(err)
	}
	return out
}

func negate(v any) any {
	switch v := v.(type) {
	case bool:
		return !v
	case float64:
		return -v
	case string:
		return ""
	case []any:
		return []any{}
	}
	return v
}

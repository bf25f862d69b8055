package api

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/brief"
	"arbiter/providers/modeltest"
)

func answerSchema(t *testing.T, role amp.Role) []byte {
	t.Helper()
	p, err := brief.Write(&providers.Turn{ID: "t", Role: role, Message: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return p.Schema
}

func compiled(t *testing.T, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:x", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:x")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestExact: every role's schema has a form that services enforce: objects name all that they hold, nothing is in it that they refuse, and
// answers that follow the one follow the other.
func TestExact(t *testing.T) {
	t.Parallel()
	good := map[amp.Role]string{
		amp.Reviewer: verdict("rejected", "true", "null"),
		amp.Coordinator: `{"thought":"t","status":"success","message":"m","data":{"title":"t","description":"d","subtasks":[{"description":"s","estimated_lines":1}],` +
			`"acceptance_criteria":["a"],"risk_level":"low","reasons":"r"}}`,
	}
	for role, answer := range good {
		for _, all := range []bool{false, true} {
			raw := answerSchema(t, role)
			text := exact(raw, all)
			if len(text) == 0 {
				t.Fatalf("%s has no exact schema", role)
			}
			var walk func(any)
			walk = func(v any) {
				m, _ := v.(object)
				if m["type"] == "object" {
					properties, _ := m["properties"].(object)
					if m["additionalProperties"] != false || m["properties"] == nil || all && len(required(m)) != len(properties) {
						t.Errorf("%s, all %v: object %v", role, all, m)
					}
				}
				for name, one := range m {
					if name == "properties" {
						for _, s := range one.(object) {
							walk(s)
						}
						continue
					}
					if !slices.Contains([]string{"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "description"}, name) {
						t.Errorf("%s: a service may refuse %q", role, name)
					}
					if list, ok := one.([]any); ok && name == "anyOf" {
						for _, s := range list {
							walk(s)
						}
					}
					if name == "items" {
						walk(one)
					}
				}
			}
			var schema any
			if err := json.Unmarshal(text, &schema); err != nil {
				t.Fatal(err)
			}
			walk(schema)
			said := answer
			if all { // as a strict service writes it: everything is there, and null where it was left out
				said = filled(t, text, answer)
			}
			doc, _ := jsonschema.UnmarshalJSON(strings.NewReader(said))
			if err := compiled(t, text).Validate(doc); err != nil {
				t.Errorf("%s, all %v: %v\n%s", role, all, err, said)
			}
			if all {
				said = withoutNulls(raw, said)
			}
			doc, _ = jsonschema.UnmarshalJSON(strings.NewReader(said))
			if err := compiled(t, raw).Validate(doc); err != nil {
				t.Errorf("%s, all %v: %v\n%s", role, all, err, said)
			}
			if strings.Count(said, "null") != strings.Count(answer, "null") {
				t.Errorf("%s: %s became %s", role, answer, said)
			}
		}
	}
}

// filled puts null for every property of data that an answer leaves out.
func filled(t *testing.T, schema []byte, answer string) string {
	t.Helper()
	var s, a object
	if json.Unmarshal(schema, &s) != nil || json.Unmarshal([]byte(answer), &a) != nil {
		t.Fatal("no JSON")
	}
	data := s["properties"].(object)["data"].(object)["anyOf"].([]any)[0].(object)
	for _, name := range required(data) {
		if _, there := a["data"].(object)[name]; !there {
			a["data"].(object)[name] = nil
		}
	}
	return string(encode(a))
}

func TestExact_none(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{`{"type":"object"}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"array"}`, `[]`, ``, `{"anyOf":[1]}`} {
		if got := exact([]byte(schema), false); got != nil {
			t.Errorf("exact(%s) = %s", schema, got)
		}
	}
}

func TestWithoutNulls_leavesTheRest(t *testing.T) {
	t.Parallel()
	schema := answerSchema(t, amp.Reviewer)
	for _, text := range []string{"prose", "{} {}", verdict("approved", "null"), `{"data":{"confidence":null}}`, "[1]", ""} {
		if got := withoutNulls(schema, text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := withoutNulls(schema, `{"data":{"issues":null,"confidence":0.12345678901234567890}}`); got != `{"data":{"confidence":0.12345678901234567890}}` {
		t.Errorf("got %s", got)
	}
}

// TestAgent_asksForTheSchema: where each dialect puts it, and that nothing is enforced where the configuration says so.
func TestAgent_asksForTheSchema(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		d    Dialect
		e    Enforcement
		path []string // to the schema, or to the word json_object; empty for none
	}{
		"claude":          {Claude, "", []string{"output_config", "format", "schema"}},
		"gemini":          {Gemini, "", []string{"generationConfig", "responseJsonSchema"}},
		"responses":       {Responses, "", []string{"text", "format", "schema"}},
		"chat":            {Chat, "", []string{"response_format", "json_schema", "schema"}},
		"chat, object":    {Chat, JSONObject, []string{"response_format", "type"}},
		"chat, none":      {Chat, NoSchema, nil},
		"claude, none":    {Claude, NoSchema, nil},
		"gemini, none":    {Gemini, NoSchema, nil},
		"responses, none": {Responses, NoSchema, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := modeltest.New(modeltest.Script{Plain: true, Steps: []modeltest.Step{modeltest.Say(verdict("approved", "true", "true"))}})
				if res := play(t, Config{Dialect: tc.d, Enforcement: tc.e, Transport: modeltest.Transport(m)}, reviewer()); res.err != nil {
					t.Fatal(res.err)
				}
				var body any
				if err := json.Unmarshal(m.Requests()[0].Body, &body); err != nil {
					t.Fatal(err)
				}
				for _, step := range tc.path {
					body = body.(object)[step]
				}
				switch {
				case tc.e == JSONObject && body != "json_object":
					t.Errorf("format = %v", body)
				case tc.e == "" && (body == nil || body.(object)["additionalProperties"] != false):
					t.Errorf("schema = %v", body)
				case tc.e == NoSchema:
					top := body.(object)
					if generation, ok := top["generationConfig"].(object); top["output_config"] != nil || top["text"] != nil ||
						top["response_format"] != nil || ok && len(generation) > 0 {
						t.Errorf("body = %v", top)
					}
				}
			})
		})
	}
}

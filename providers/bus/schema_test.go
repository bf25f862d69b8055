package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"arbiter/amp"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("urn:agentmessage", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("urn:agentmessage")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// agree wants the schema and the decoder to say the same of a message.
func agree(t interface {
	Helper()
	Fatal(...any)
	Errorf(string, ...any)
}, s *jsonschema.Schema, data []byte,
) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	_, _, byGo := Decode(data)
	if inv, ok := errors.AsType[*amp.InvalidError](byGo); byGo != nil && (!ok || len(inv.Problems) == 0) {
		t.Errorf("an error without a rule: %v", byGo)
	}
	if bySchema := s.Validate(doc); (bySchema == nil) != (byGo == nil) {
		t.Errorf("the schema says %v, Decode %v\n%s", bySchema, byGo, data)
	}
}

// others are what stands in a place that should hold something else, and what may.
var others = []any{
	nil, "", "text", "a://b", "bell\a", "\u202e", "2026-11-22T08:00:00", "2026-11-22T08:00:00+0100", "low", "sync", "linear", "300s", "heartbeat",
	strings.Repeat("x", 257), "2026-02-30", "critical", "exponential", "async",
	7.0, 1.5, -1.0, 1e300, true,
	[]any{},
	slices.Repeat([]any{"a"}, 17),
	[]any{7.0},
	[]any{"a://b"},
	[]any{"a", ""},
	map[string]any{},
	map[string]any{"agent_id": "a", "framework": "b"},
}

// places are the paths to all members of a message, and to some that it has not.
func places(m map[string]any, at []string) (all [][]string) {
	for _, k := range append(slices.Sorted(maps.Keys(m)), "more") {
		path := append(slices.Clone(at), k)
		all = append(all, path)
		if inner, ok := m[k].(map[string]any); ok {
			all = append(all, places(inner, path)...)
		}
	}
	return all
}

// put puts a copy of a value into a place, or takes away what is there; a place that is gone by now changes nothing.
func put(m map[string]any, path []string, v any, away bool) {
	for _, k := range path[:len(path)-1] {
		inner, ok := m[k].(map[string]any)
		if !ok {
			return
		}
		m = inner
	}
	if last := path[len(path)-1]; away {
		delete(m, last)
	} else if inner, ok := v.(map[string]any); ok {
		m[last] = maps.Clone(inner) // the next mutation may be within it
	} else {
		m[last] = v
	}
}

// The published schema and the decoder agree on the examples of the specification, and on what mutations make of them.
func TestSchema_agrees(t *testing.T) {
	t.Parallel()
	s := compiledSchema(t)
	all := examples(t)
	fresh := func(name string) (m map[string]any) {
		if err := json.Unmarshal(all[name], &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	encode := func(m map[string]any) []byte {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	names := slices.Sorted(maps.Keys(all))
	for _, name := range names {
		agree(t, s, all[name])
		for _, path := range places(fresh(name), nil) {
			for i := range len(others) + 1 {
				m := fresh(name)
				if i == len(others) {
					put(m, path, nil, true)
				} else {
					put(m, path, others[i], false)
				}
				agree(t, s, encode(m))
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		m := fresh(rapid.SampledFrom(names).Draw(rt, "example"))
		for range rapid.IntRange(1, 4).Draw(rt, "mutations") {
			path := rapid.SampledFrom(places(m, nil)).Draw(rt, "path")
			put(m, path, rapid.SampledFrom(others).Draw(rt, "value"), rapid.IntRange(0, 3).Draw(rt, "away") == 0)
		}
		agree(rt, s, encode(m))
	})
}

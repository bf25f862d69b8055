package events

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// SchemaVersion is the version of the schemas of our own events (E04).
const SchemaVersion = "1.0"

// Schema is a JSON Schema (draft 2020-12) of a type of event in one version.
type Schema struct {
	Type    string         `json:"type"`
	Version string         `json:"version"`
	Schema  jsontext.Value `json:"schema"`
}

// Registry keeps the schemas of all types and versions (EVT-070, EVT-080). It is safe for concurrent use.
type Registry struct {
	mu  sync.Mutex
	all map[string][]Schema // by type, oldest first
}

// NewRegistry returns a registry with the schemas of the contracts.
func NewRegistry() *Registry {
	r := &Registry{all: map[string][]Schema{}}
	for _, typ := range append(Types(), Batch) {
		data, err := json.Marshal(schemaOf(typ), json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			panic(err) // it is made of plain values
		}
		r.all[typ] = []Schema{{Type: typ, Version: SchemaVersion, Schema: data}}
	}
	return r
}

var typeName = regexp.MustCompile(`^[a-z_]+(\.[a-z_]+)+$`)

// Register adds a version of a type's schema. It fails when the new version refuses what an older one takes (EVT-071), and when the
// version is there with another schema.
func (r *Registry) Register(s Schema) error {
	if !typeName.MatchString(s.Type) || s.Version == "" || strings.ContainsAny(s.Version, "@/ ") {
		return fmt.Errorf("schema %s@%s has no name of the form domain.action@version", s.Type, s.Version)
	}
	var form map[string]any
	if err := json.Unmarshal(s.Schema, &form); err != nil {
		return fmt.Errorf("schema %s@%s is no JSON object: %w", s.Type, s.Version, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, old := range r.all[s.Type] {
		var before map[string]any
		if err := json.Unmarshal(old.Schema, &before); err != nil {
			return fmt.Errorf("schema %s@%s: %w", old.Type, old.Version, err)
		}
		if old.Version == s.Version {
			if !slices.Equal(canonical(before), canonical(form)) {
				return fmt.Errorf("schema %s@%s is registered with another content", s.Type, s.Version)
			}
			return nil
		}
		if why := incompatible("", before, form); why != "" {
			return fmt.Errorf("schema %s@%s refuses what %s takes: %s", s.Type, s.Version, old.Version, why)
		}
	}
	r.all[s.Type] = append(r.all[s.Type], s)
	return nil
}

func canonical(v any) []byte {
	data, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil
	}
	return data
}

// List are all schemas, without their content, by type and then oldest first (EVT-085).
func (r *Registry) List() []Schema {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := []Schema{}
	for typ := range sorted(r.all) {
		for _, s := range r.all[typ] {
			out = append(out, Schema{Type: s.Type, Version: s.Version})
		}
	}
	return out
}

// Schema is the schema of a type in a version, or in its newest one when version is "".
func (r *Registry) Schema(typ, version string) (Schema, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range slices.Backward(r.all[typ]) {
		if version == "" || s.Version == version {
			return s, true
		}
	}
	return Schema{}, false
}

// incompatible says why a schema refuses what another one takes, "" when it does not. It knows the keywords that the schemas of events
// use; one that it does not know has to stay as it is.
func incompatible(at string, before, after map[string]any) string {
	takes := func(now []string) func(string) bool {
		return func(k string) bool {
			return slices.Contains(now, k) || k == "integer" && slices.Contains(now, "number")
		}
	}
	if was, now := kinds(before), kinds(after); now != nil && (was == nil || slices.ContainsFunc(was, func(k string) bool { return !takes(now)(k) })) {
		return fmt.Sprintf("%s has the type %v, which was %v", name(at), now, was)
	}
	for k := range sorted(after) {
		if why := narrower(k, before[k], after[k]); why != "" {
			return name(at) + " " + why
		}
	}
	was, _ := before["required"].([]any)
	now, _ := after["required"].([]any)
	for _, f := range now {
		if !slices.Contains(was, f) {
			return fmt.Sprintf("%s.%v is required now", name(at), f)
		}
	}
	if enum, ok := after["enum"].([]any); ok {
		old, bounded := before["enum"].([]any)
		if !bounded {
			return name(at) + " has a fixed set of values now"
		}
		for _, v := range old {
			if !slices.Contains(enum, v) {
				return fmt.Sprintf("%s may not be %v any more", name(at), v)
			}
		}
	}
	old, _ := before["properties"].(map[string]any)
	fresh, _ := after["properties"].(map[string]any)
	if after["additionalProperties"] == false {
		if before["additionalProperties"] != false {
			return name(at) + " takes no further properties now"
		}
		for p := range sorted(old) {
			if fresh[p] == nil {
				return fmt.Sprintf("%s.%s is not known any more", name(at), p)
			}
		}
	}
	for p := range sorted(fresh) {
		b, _ := old[p].(map[string]any)
		a, _ := fresh[p].(map[string]any)
		if b == nil && before["additionalProperties"] == false {
			continue // it could not be there
		}
		if why := incompatible(at+"."+p, b, a); why != "" {
			return why
		}
	}
	if items, ok := after["items"].(map[string]any); ok {
		b, _ := before["items"].(map[string]any)
		return incompatible(at+"[]", b, items)
	}
	return ""
}

// narrower says how a keyword takes less than before, "" when it does not, or is judged elsewhere.
func narrower(keyword string, before, after any) string {
	was, bounded := before.(float64)
	now, number := after.(float64)
	switch keyword {
	case "type", "properties", "required", "items", "enum": // judged with what is around them
		return ""
	case "$schema", "$id", "$comment", "title", "description", "default", "examples", "producerRequired": // say nothing of what is taken
		return ""
	case "additionalProperties":
		if _, flag := after.(bool); flag {
			return ""
		}
	case "minLength", "minItems", "minProperties", "minimum":
		if number && (bounded && now <= was || keyword != "minimum" && now <= 0) {
			return ""
		}
	case "maxLength", "maxItems", "maxProperties", "maximum":
		if number && bounded && now >= was {
			return ""
		}
	}
	if bytes.Equal(canonical(before), canonical(after)) {
		return ""
	}
	if before == nil {
		return "has " + keyword + " now"
	}
	return "has another " + keyword
}

func name(at string) string {
	if at == "" {
		return "the event"
	}
	return strings.TrimPrefix(at, ".")
}

// kinds are the JSON types that a schema takes, nil for all.
func kinds(s map[string]any) []string {
	switch v := s["type"].(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, k := range v {
			if text, ok := k.(string); ok {
				out = append(out, text)
			}
		}
		return out
	}
	return nil
}

func sorted[V any](m map[string]V) iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}

// schemaOf is what a receiver takes: a key of the data may be missing (the warning is a receiver's, "producerRequired" a producer's), and
// what is there has its type.
func schemaOf(typ string) map[string]any {
	text := func() map[string]any { return map[string]any{"type": "string", "minLength": 1} }
	id := map[string]any{"type": "string", "pattern": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"}
	correlation := id
	if strings.HasPrefix(typ, "system.") {
		correlation = text()
	}
	stamp := text()
	stamp["pattern"] = `^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}(:?\d{2})?)$`
	data := map[string]any{"type": "object"}
	if typ == Batch {
		data["properties"] = map[string]any{
			"batch_size": map[string]any{"type": "integer", "minimum": 0, "maximum": maxWhole},
			"messages":   map[string]any{"type": "array", "maxItems": MaxBatch},
		}
		data["required"] = []string{"batch_size", "messages"}
	} else {
		describe(data, catalog()[typ].fields)
		if strings.HasSuffix(typ, ".updated") {
			data["properties"].(map[string]any)["updated_fields"] = map[string]any{"type": "array", "items": map[string]any{"type": "string"}}
		}
	}
	return map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:arbiter:event:" + typ + "@" + SchemaVersion,
		"title": typ, "type": "object",
		"properties": map[string]any{
			"id": id, "type": map[string]any{"const": typ}, "source": text(), "timestamp": stamp, "correlation_id": correlation, "data": data,
			"metadata": map[string]any{"type": "object", "properties": map[string]any{
				"ttl_seconds": map[string]any{"type": "integer", "minimum": 0, "maximum": maxWhole}, "schema_version": text(),
			}},
		},
		"required": []string{"id", "type", "source", "timestamp", "correlation_id", "data"},
	}
}

func describe(into map[string]any, fields []field) {
	properties, wanted := map[string]any{}, []string{}
	for i := range fields {
		f := &fields[i]
		form := map[string]any{}
		if f.kind != "" {
			form["type"] = f.kind
		}
		switch {
		case f.kind == "object":
			describe(form, f.of)
		case f.kind == "array" && f.of != nil:
			items := map[string]any{"type": "object"}
			describe(items, f.of)
			form["items"] = items
		}
		properties[f.name] = form
		if !f.optional {
			wanted = append(wanted, f.name)
		}
	}
	into["properties"], into["producerRequired"] = properties, wanted
}

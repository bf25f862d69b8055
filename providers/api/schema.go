package api

import (
	"bytes"
	"encoding/json"
	"slices"
)

// The services enforce a part of JSON Schema only, and refuse a request that holds more: every object says that it takes nothing else, and
// bounds are left out. What is left out here is still said in the prompt and checked afterwards.

// exact is a schema in the form that services enforce, empty when it cannot be said so: an object with any names has no such form.
// With all, every property is required and one that was optional may be null, as OpenAI wants it; see [withoutNulls].
func exact(schema []byte, all bool) json.RawMessage {
	var in object
	if json.Unmarshal(schema, &in) != nil {
		return nil
	}
	out, ok := narrow(in, all)
	if !ok {
		return nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}

func narrow(in object, all bool) (object, bool) {
	out := object{}
	if text, ok := in["description"].(string); ok {
		out["description"] = text
	}
	if list, ok := in["anyOf"].([]any); ok {
		alternatives := make([]any, len(list))
		for i, one := range list {
			s, ok := one.(object)
			if !ok {
				return nil, false
			}
			if alternatives[i], ok = narrow(s, all); !ok {
				return nil, false
			}
		}
		out["anyOf"] = alternatives
		return out, true
	}
	if list, ok := in["enum"].([]any); ok {
		out["enum"] = list
		if !slices.ContainsFunc(list, func(v any) bool { _, text := v.(string); return !text }) {
			out["type"] = "string"
		}
		return out, true
	}
	switch in["type"] {
	case nil:
		return nil, false
	case "object":
		return narrowObject(in, out, all)
	case "array":
		items, ok := in["items"].(object)
		if !ok {
			return nil, false
		}
		out["type"] = "array"
		out["items"], ok = narrow(items, all)
		return out, ok
	default:
		out["type"] = in["type"]
		return out, true
	}
}

func narrowObject(in, out object, all bool) (object, bool) {
	properties, _ := in["properties"].(object)
	if len(properties) == 0 && in["maxProperties"] != float64(0) && in["additionalProperties"] != false {
		return nil, false
	}
	need := required(in)
	kept := object{}
	names := []string{}
	for name, one := range properties {
		s, ok := one.(object)
		if !ok {
			return nil, false
		}
		n, ok := narrow(s, all)
		if !ok {
			return nil, false
		}
		if !slices.Contains(need, name) {
			if !all {
				kept[name] = n
				continue
			}
			if !nullable(s) {
				n = object{"anyOf": []any{n, object{"type": "null"}}}
			}
		}
		kept[name] = n
		names = append(names, name)
	}
	slices.Sort(names)
	out["type"], out["properties"], out["required"], out["additionalProperties"] = "object", kept, names, false
	return out, true
}

func required(schema object) []string {
	var names []string
	list, _ := schema["required"].([]any)
	for _, v := range list {
		if name, ok := v.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

func nullable(schema object) bool {
	switch typ := schema["type"].(type) {
	case string:
		return typ == "null"
	case []any:
		return slices.Contains(typ, any("null"))
	}
	return false
}

// withoutNulls takes the nulls out of an answer that stand for optional properties which are not there. What is no JSON is returned as it is.
func withoutNulls(schema []byte, text string) string {
	var s object
	d := json.NewDecoder(bytes.NewReader([]byte(text)))
	d.UseNumber()
	var v any
	if json.Unmarshal(schema, &s) != nil || d.Decode(&v) != nil || d.More() || !prune(s, v) {
		return text
	}
	b, err := json.Marshal(v)
	if err != nil {
		return text
	}
	return string(b)
}

// prune reports whether it took anything out.
func prune(schema object, v any) bool {
	changed := false
	alternatives, _ := schema["anyOf"].([]any)
	for _, one := range alternatives {
		if s, ok := one.(object); ok {
			changed = prune(s, v) || changed
		}
	}
	properties, _ := schema["properties"].(object)
	items, _ := schema["items"].(object)
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			changed = prune(items, one) || changed
		}
	case object:
		need := required(schema)
		for name, one := range v {
			s, known := properties[name].(object)
			if !known {
				continue
			}
			if one == nil && !slices.Contains(need, name) && !nullable(s) {
				delete(v, name)
				changed = true
				continue
			}
			changed = prune(s, one) || changed
		}
	}
	return changed
}

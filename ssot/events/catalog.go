package events

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
	"sync"
)

//go:embed catalog.txt
var catalogLines string

// field is one key of an event's data.
type field struct {
	name string
	// kind is the JSON type: string, number, array, object, or "" for any.
	kind string
	// of are the keys of an object, or of the objects in an array.
	of       []field
	optional bool
}

// entry is one type of event: its rule, and the keys of its data.
type entry struct {
	rule, typ string
	fields    []field
}

// catalog are the types of events by name, as catalog.txt says: a rule, a type, and keys. A key is a string; one with # is a number,
// with * anything, with [] an array, with {} an object, whose own keys stand in the brackets; ? may be left out.
var catalog = sync.OnceValue(func() map[string]*entry {
	all := map[string]*entry{}
	for line := range strings.Lines(catalogLines) {
		words := strings.Fields(line)
		e := &entry{rule: words[0], typ: words[1]}
		for _, w := range words[2:] {
			e.fields = append(e.fields, parseField(w))
		}
		all[e.typ] = e
	}
	return all
})

func parseField(w string) field {
	f := field{kind: "string"}
	if w, f.optional = strings.CutSuffix(w, "?"); f.optional {
		f.name = w
		return f
	}
	f.name = w
	if name, ok := strings.CutSuffix(w, "#"); ok {
		f.name, f.kind = name, "number"
	} else if name, ok := strings.CutSuffix(w, "*"); ok {
		f.name, f.kind = name, ""
	} else if i := strings.IndexAny(w, "[{"); i >= 0 {
		f.name, f.kind = w[:i], "array"
		if w[i] == '{' {
			f.kind = "object"
		}
		for part := range strings.SplitSeq(w[i+1:len(w)-1], ",") {
			if part != "" {
				f.of = append(f.of, parseField(part))
			}
		}
	}
	return f
}

// Batch is the type of a message that carries others (EVT-100).
const Batch = "batch"

// Types are the types of events, sorted; [Batch] is not among them.
func Types() []string { return slices.Sorted(maps.Keys(catalog())) }

// domains are the first words of types, and who produces them (EVT-006, EVT-020).
var domains = map[string]string{
	"agent": "agent-orchestrator", "project": "project-coordinator", "task": "planning-system", "model": "model-orchestration",
	"tool": "tool-integration", "workflow": "service-integration", "system": "arbiter",
}

// Match reports whether a type is selected: by its name, by a domain as "task.*", or by "*". No pattern selects everything.
func Match(patterns []string, typ string) bool {
	if len(patterns) == 0 {
		return true
	}
	domain, _, _ := strings.Cut(typ, ".")
	return slices.ContainsFunc(patterns, func(p string) bool { return p == "*" || p == typ || p == domain+".*" })
}

// Pattern reports whether a text selects any type at all.
func Pattern(p string) bool {
	domain, all := strings.CutSuffix(p, ".*")
	_, known := domains[domain]
	return p == "*" || all && known || catalog()[p] != nil
}

package amp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"arbiter/amp"
)

// types are the five message types.
var types = []amp.MessageType{amp.TaskDispatch, amp.TaskResult, amp.ReviewRequest, amp.ReviewVerdict, amp.EscalationMsg}

// directions are sender and receiver of the samples.
var directions = map[amp.MessageType][2]amp.Role{
	amp.TaskDispatch:  {amp.Coordinator, amp.Executor},
	amp.TaskResult:    {amp.Executor, amp.Coordinator},
	amp.ReviewRequest: {amp.Coordinator, amp.Reviewer},
	amp.ReviewVerdict: {amp.Reviewer, amp.Coordinator},
	amp.EscalationMsg: {amp.Coordinator, amp.Admin},
}

var comment = regexp.MustCompile(`(?m)^\s*//.*\n`)

// specExample is an example of the specification as printed, with its comments removed (AMP-176).
func specExample(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "spec", name+".jsonc"))
	if err != nil {
		t.Fatal(err)
	}
	return comment.ReplaceAll(data, nil)
}

// sample is the specification's example payload of a type in a valid envelope, changed by edits: "path = json" sets a value,
// "- path" removes it.
func sample(t testing.TB, typ amp.MessageType, edits ...string) []byte {
	t.Helper()
	m := map[string]any{
		"msg_id":           fmt.Sprintf("%s-T-2026-044-1740576727001", typ),
		"protocol_version": "AMP/1.0",
		"type":             string(typ),
		"from":             string(directions[typ][0]),
		"to":               string(directions[typ][1]),
		"task_id":          "T-2026-044",
		"timestamp":        "2026-02-26T14:32:07+00:00",
		"requires_ack":     typ != amp.EscalationMsg,
		"payload":          parse(t, specExample(t, string(typ))),
	}
	var root any = m
	for _, e := range edits {
		root = edit(t, root, e)
	}
	data, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parse(t testing.TB, data []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func edit(t testing.TB, root any, e string) any {
	t.Helper()
	if path, ok := strings.CutPrefix(e, "- "); ok {
		return change(t, root, steps(path), nil, true)
	}
	path, value, ok := strings.Cut(e, " = ")
	if !ok {
		t.Fatalf("edit %q has no value", e)
	}
	return change(t, root, steps(path), parse(t, []byte(value)), false)
}

// steps takes a path like payload.issues[0].line apart.
func steps(path string) []string {
	return strings.Split(strings.ReplaceAll(path, "[", ".["), ".")
}

func change(t testing.TB, v any, path []string, to any, remove bool) any {
	t.Helper()
	if len(path) == 0 {
		return to
	}
	if i, ok := strings.CutPrefix(path[0], "["); ok {
		n, err := strconv.Atoi(strings.TrimSuffix(i, "]"))
		list, isList := v.([]any)
		if err != nil || !isList || n > len(list) {
			t.Fatalf("no element %s in %v", path[0], v)
		}
		switch {
		case len(path) == 1 && remove:
			return slices.Delete(list, n, n+1)
		case n == len(list):
			return append(list, to)
		}
		list[n] = change(t, list[n], path[1:], to, remove)
		return list
	}
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("no member %s in %v", path[0], v)
	}
	if len(path) == 1 && remove {
		if _, ok := m[path[0]]; !ok {
			t.Fatalf("no member %s to remove", path[0])
		}
		delete(m, path[0])
		return m
	}
	m[path[0]] = change(t, m[path[0]], path[1:], to, remove)
	return m
}

// ruleCase is a message that breaks one rule and nothing else.
type ruleCase struct {
	rule  string
	field string
	edits []string
	// says is a part of the sentence that a person reads.
	says string
}

// brokenBy reads each message, wants that one problem, and wants the schemas to agree.
func brokenBy(t *testing.T, typ amp.MessageType, cases []ruleCase) {
	t.Helper()
	for _, c := range cases {
		name := c.rule + " " + c.field
		if len(c.edits) > 0 {
			name += " " + c.edits[0]
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := sample(t, typ, c.edits...)
			m, _, err := amp.Decode(data)
			if m != nil {
				t.Fatalf("%s: Decode took %s", c.rule, data)
			}
			got := problems(t, err)
			if len(got) != 1 || got[0].Rule != c.rule || got[0].Field != c.field || !strings.Contains(got[0].Message, c.says) {
				t.Errorf("problems = %v\nwant only %s: …%s… (%s)", got, c.field, c.says, c.rule)
			}
			agree(t, data)
		})
	}
}

// warnCase is a message that is taken with a warning, or, without a rule, with none.
type warnCase struct {
	rule  string
	field string
	edits []string
}

func takenWith(t *testing.T, typ amp.MessageType, cases []warnCase) {
	t.Helper()
	for _, c := range cases {
		name := "taken " + c.rule + " " + c.field
		if len(c.edits) > 0 {
			name += " " + c.edits[0]
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := sample(t, typ, c.edits...)
			m, warnings, err := amp.Decode(data)
			if err != nil {
				t.Fatalf("%v\nin %s", err, data)
			}
			switch {
			case c.rule == "" && len(warnings) != 0:
				t.Errorf("warnings = %v, want none", warnings)
			case c.rule != "" && (len(warnings) != 1 || warnings[0].Rule != c.rule || warnings[0].Field != c.field):
				t.Errorf("warnings = %v, want only %s at %s", warnings, c.rule, c.field)
			}
			agree(t, data)
			roundTrip(t, m)
		})
	}
}

// roundTrip writes a message and reads it again.
func roundTrip(t *testing.T, m *amp.Message) {
	t.Helper()
	out, err := amp.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := amp.DecodeStrict(out)
	if err != nil {
		t.Fatalf("Decode refuses what Encode wrote: %v", err)
	}
	if diff := diff(m, again); diff != "" {
		t.Errorf("after Encode and Decode (-want +got):\n%s", diff)
	}
}

// problems are those of an *InvalidError.
func problems(t *testing.T, err error) []amp.Problem {
	t.Helper()
	inv, ok := errors.AsType[*amp.InvalidError](err)
	if !ok {
		t.Fatalf("error is %T %v, want *amp.InvalidError", err, err)
	}
	return inv.Problems
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return out
}

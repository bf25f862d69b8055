package sentient

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"arbiter/amp"
	"arbiter/providers/sacp"
)

// maxSaid bounds how many problems one message can have; a hostile one has as many as it likes.
const maxSaid = 100

// reader reads the members of a message and collects what is wrong with them.
type reader struct {
	Report
	strict bool
	// mends are errors that a session may repair, by field.
	mends map[string]bool
}

func (r *reader) errorf(rule, field, format string, args ...any) {
	if len(r.Errors) < maxSaid {
		r.Errors = append(r.Errors, amp.Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

func (r *reader) warn(rule, field, format string, args ...any) {
	if len(r.Warnings) < maxSaid {
		r.Warnings = append(r.Warnings, amp.Problem{Rule: rule, Field: field, Message: fmt.Sprintf(format, args...)})
	}
}

// node is an object of the message that is being read; known are the members that were asked for.
type node struct {
	path    string
	members map[string]jsontext.Value
	known   map[string]bool
}

func (n *node) field(name string) string {
	if n.path == "" {
		return name
	}
	return n.path + "." + name
}

// take is a member, and whether it is there: all fields are required (SEN-002).
func (r *reader) take(n *node, name, missing string) (jsontext.Value, bool) {
	n.known[name] = true
	v, ok := n.members[name]
	if !ok && n.members != nil {
		r.errorf(missing, n.field(name), "is missing; all fields are required, null where they do not apply")
	}
	return v, ok
}

// object is a member that must be an object; one that is not has no members, and nothing more is said of them.
func (r *reader) object(n *node, name, rule string) *node {
	sub := &node{path: n.field(name), known: map[string]bool{}}
	missing := rule
	if rule == "" {
		rule, missing = "SEN-001", "SEN-002"
	}
	v, ok := r.take(n, name, missing)
	if !ok {
		return sub
	}
	if v.Kind() != '{' {
		r.errorf(rule, sub.path, "is %s, expected an object", sacp.KindName(v.Kind()))
		return sub
	}
	sub.members = members(v)
	return sub
}

// rest warns about the members that nobody asked for (SEN-005).
func (r *reader) rest(n *node) {
	for _, name := range slices.Sorted(maps.Keys(n.members)) {
		if n.known[name] {
			continue
		}
		say := r.warn
		if r.strict {
			say = r.errorf
		}
		say("SEN-005", n.field(clip(name)), "is not known; it is kept")
	}
}

// text is a member that must be a string.
func (r *reader) text(n *node, name, rule string) string {
	s, _ := r.textOr(n, name, rule, false)
	return s
}

// filled is a member that must be a string with something in it.
func (r *reader) filled(n *node, name, rule string) string {
	s, ok := r.textOr(n, name, rule, false)
	if ok && strings.TrimSpace(s) == "" {
		r.errorf(rule, n.field(name), "is empty")
	}
	return s
}

// maybe is a member that must be a string or null.
func (r *reader) maybe(n *node, name, rule string) *string {
	s, ok := r.textOr(n, name, rule, true)
	if !ok {
		return nil
	}
	return &s
}

// textOr reports whether the member is a string.
func (r *reader) textOr(n *node, name, rule string, nullable bool) (string, bool) {
	v, ok := r.take(n, name, "SEN-002")
	switch {
	case !ok || v.Kind() == 'n' && nullable:
		return "", false
	case v.Kind() != '"':
		want := "a string"
		if nullable {
			want += " or null"
		}
		r.errorf(rule, n.field(name), "is %s, expected %s", sacp.KindName(v.Kind()), want)
		return "", false
	}
	return str(v), true
}

func (r *reader) boolean(n *node, name, rule string) bool {
	v, ok := r.take(n, name, "SEN-002")
	if ok && v.Kind() != 't' && v.Kind() != 'f' {
		r.errorf(rule, n.field(name), "is %s, expected true or false", sacp.KindName(v.Kind()))
	}
	return v.Kind() == 't'
}

// integer is a member that must be a whole number, or null where that is allowed.
func (r *reader) integer(n *node, name, rule string, least int, nullable bool) *int {
	v, ok := r.take(n, name, "SEN-002")
	if !ok || v.Kind() == 'n' && nullable {
		return nil
	}
	i, whole := wholeNumber(v)
	switch {
	case !whole:
		r.errorf(rule, n.field(name), "is %s, expected a whole number", describe(v))
		return nil
	case i < least:
		r.errorf(rule, n.field(name), "is %d, expected %d or more", i, least)
	}
	return &i
}

// value is a member of one of the kinds.
func (r *reader) value(n *node, name, rule, kinds, want string) jsontext.Value {
	v, ok := r.take(n, name, "SEN-002")
	if ok && !strings.ContainsRune(kinds, rune(v.Kind())) {
		r.errorf(rule, n.field(name), "is %s, expected %s", sacp.KindName(v.Kind()), want)
	}
	return v
}

// list is a member that must be an array; its elements are handed on with their paths.
func (r *reader) list(n *node, name, missing, rule string, each func(field string, v jsontext.Value)) {
	v, ok := r.take(n, name, missing)
	if !ok {
		return
	}
	if v.Kind() != '[' {
		r.errorf(rule, n.field(name), "is %s, expected a list", sacp.KindName(v.Kind()))
		return
	}
	for i, e := range elements(v) {
		each(fmt.Sprintf("%s[%d]", n.field(name), i), e)
	}
}

// among is a string that must be one of some words.
func (r *reader) among(n *node, name, rule string, words ...string) string {
	s, ok := r.textOr(n, name, rule, false)
	if ok && !slices.Contains(words, s) {
		r.errorf(rule, n.field(name), "is %q, expected %s", clip(s), strings.Join(words, ", "))
	}
	return s
}

// members are the members of an object, nil of anything else.
func members(v jsontext.Value) map[string]jsontext.Value {
	var out map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}

func elements(v jsontext.Value) []jsontext.Value {
	var out []jsontext.Value
	if v.Kind() != '[' || json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}

func str(v jsontext.Value) string {
	var s string
	if v.Kind() != '"' || json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// wholeNumber reads 3, and 3.0 too: JSON does not tell them apart.
func wholeNumber(v jsontext.Value) (int, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int(f), true
}

// equal reports whether two values are the same JSON, however they are written.
func equal(a, b jsontext.Value) bool {
	x, y := a.Clone(), b.Clone()
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}

func describe(v jsontext.Value) string {
	if v.Kind() == '0' {
		return clip(string(v))
	}
	return sacp.KindName(v.Kind())
}

// clip shortens what a model wrote, for the text of a problem.
func clip(s string) string { return sacp.Clip(s, 60) }

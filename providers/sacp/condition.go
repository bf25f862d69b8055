package sacp

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Rule is the object form of a condition (P06): one comparison, or several joined by AND or OR.
type Rule struct {
	// Path is below the answer, with or without "response." before it.
	Path string `json:"path,omitzero"`
	// Op is eq, neq, contains, gt, lt, gte, lte, exists or json_contains.
	Op    string         `json:"op,omitzero"`
	Value jsontext.Value `json:"value,omitzero"`
	// Join is AND or OR, over Rules.
	Join  string `json:"join,omitzero"`
	Rules []Rule `json:"rules,omitzero"`
}

// textOps are the operators of the text form; the longer ones come first.
var textOps = []struct{ sign, op string }{
	{"==", "eq"}, {"!=", "neq"}, {">=", "gte"}, {"<=", "lte"}, {">", "gt"}, {"<", "lt"}, {" contains ", "contains"},
}

// ParseCondition reads the text form of a condition, `response.data.score > 0.8` (SACP-020). `response.data.x exists` asks for
// presence alone.
func ParseCondition(text string) (Rule, error) {
	if where, ok := strings.CutSuffix(strings.TrimSpace(text), " exists"); ok {
		r := Rule{Path: strings.TrimSpace(where), Op: "exists"}
		return r, r.check()
	}
	at, found := -1, textOps[0]
	for _, op := range textOps {
		if i := strings.Index(text, op.sign); i >= 0 && (at < 0 || i < at) {
			at, found = i, op
		}
	}
	if at < 0 {
		return Rule{}, fmt.Errorf("condition %q: expected a path, one of == != > < >= <= contains, and a value (SACP-020)", clip(text))
	}
	value := jsontext.Value(strings.TrimSpace(text[at+len(found.sign):]))
	if !value.IsValid() {
		return Rule{}, fmt.Errorf("condition %q: %q is no JSON value; text stands in double quotes", clip(text), clip(string(value)))
	}
	r := Rule{Path: strings.TrimSpace(text[:at]), Op: found.op, Value: value}
	return r, r.check()
}

// check refuses a rule whose form is not known.
func (r Rule) check() error {
	if r.Join != "" || len(r.Rules) > 0 {
		switch {
		case r.Join != "AND" && r.Join != "OR":
			return fmt.Errorf("condition: join is %q, expected AND or OR (P06)", clip(r.Join))
		case r.Path != "" || r.Op != "":
			return fmt.Errorf("condition: a rule compares or joins, not both (P06)")
		case len(r.Rules) == 0:
			return fmt.Errorf("condition: %s joins nothing (P06)", r.Join)
		}
		for _, sub := range r.Rules {
			if err := sub.check(); err != nil {
				return err
			}
		}
		return nil
	}
	if _, err := parsePath(r.path()); err != nil {
		return fmt.Errorf("condition: %w", err)
	}
	switch r.Op {
	case "exists":
		return nil
	case "eq", "neq", "contains", "gt", "lt", "gte", "lte", "json_contains":
		if !r.Value.IsValid() {
			return fmt.Errorf("condition on %s: its value is no JSON", clip(r.Path))
		}
		return nil
	}
	return fmt.Errorf("condition on %s: op is %q, which is not known (P06)", clip(r.Path), clip(r.Op))
}

func (r Rule) path() string { return strings.TrimPrefix(r.Path, "response.") }

// Holds reports whether the condition is true of an answer. A form that is not known is false and an error, and so is a comparison
// of order between values that have none (P06, P10). A path that leads nowhere is false, and true only of neq.
func (r Rule) Holds(a Answer) (bool, error) {
	if err := r.check(); err != nil {
		return false, err
	}
	return r.holds(a)
}

func (r Rule) holds(a Answer) (bool, error) {
	if r.Join != "" {
		all := r.Join == "AND"
		for _, sub := range r.Rules {
			ok, err := sub.holds(a)
			if err != nil {
				return false, err
			}
			if ok != all {
				return ok, nil
			}
		}
		return all, nil
	}
	p, err := parsePath(r.path())
	if err != nil {
		return false, err
	}
	v, ok := a.lookup(p)
	switch r.Op {
	case "exists":
		return ok, nil
	case "neq":
		return !ok || !equal(v, r.Value), nil
	}
	if !ok {
		return false, nil
	}
	switch r.Op {
	case "eq":
		return equal(v, r.Value), nil
	case "contains":
		return contains(v, r.Value), nil
	case "json_contains":
		return jsonContains(v, r.Value), nil
	}
	c, err := order(v, r.Value)
	if err != nil {
		return false, fmt.Errorf("condition on %s: %w", clip(r.Path), err)
	}
	switch r.Op {
	case "gt":
		return c > 0, nil
	case "lt":
		return c < 0, nil
	case "gte":
		return c >= 0, nil
	}
	return c <= 0, nil // lte: check knows no other
}

// equal compares by type, numbers by value, objects without order (P10).
func equal(a, b jsontext.Value) bool {
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case '0':
		c, err := order(a, b)
		return err == nil && c == 0
	case '[':
		x, y := list(a), list(b)
		if len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case '{':
		x, y := members(a), members(b)
		if len(x) != len(y) {
			return false
		}
		for name, v := range x {
			if w, ok := y[name]; !ok || !equal(v, w) {
				return false
			}
		}
		return true
	case '"':
		return str(a) == str(b)
	default:
		return true // null, true, false
	}
}

// order compares numbers by value and strings by their bytes.
func order(a, b jsontext.Value) (int, error) {
	switch {
	case a.Kind() == '0' && b.Kind() == '0':
		x, y, err := numbers(a, b)
		if err != nil {
			return 0, err
		}
		return x.Cmp(y), nil
	case a.Kind() == '"' && b.Kind() == '"':
		return cmp.Compare(str(a), str(b)), nil
	}
	return 0, fmt.Errorf("%s and %s have no order", KindName(a.Kind()), KindName(b.Kind()))
}

// precision is enough for every integer of 1,000 digits; exponents are bounded, so that a model cannot make a number of a gigabyte.
const precision = 3400

func numbers(a, b jsontext.Value) (x, y *big.Float, err error) {
	if x, _, err = big.ParseFloat(string(a), 10, precision, big.ToNearestEven); err != nil {
		return nil, nil, fmt.Errorf("number %q cannot be compared", clip(string(a)))
	}
	if y, _, err = big.ParseFloat(string(b), 10, precision, big.ToNearestEven); err != nil {
		return nil, nil, fmt.Errorf("number %q cannot be compared", clip(string(b)))
	}
	return x, y, nil
}

// contains is text in text, a value in a list, or a name in an object.
func contains(v, part jsontext.Value) bool {
	switch {
	case v.Kind() == '"' && part.Kind() == '"':
		return strings.Contains(str(v), str(part))
	case v.Kind() == '[':
		for _, x := range list(v) {
			if equal(x, part) {
				return true
			}
		}
	case v.Kind() == '{' && part.Kind() == '"':
		_, ok := members(v)[str(part)]
		return ok
	}
	return false
}

// jsonContains reports whether everything in part is in v: all members of an object, all values of a list.
func jsonContains(v, part jsontext.Value) bool {
	switch {
	case v.Kind() == '{' && part.Kind() == '{':
		in := members(v)
		for name, want := range members(part) {
			if got, ok := in[name]; !ok || !jsonContains(got, want) {
				return false
			}
		}
		return true
	case v.Kind() == '[' && part.Kind() == '[':
		for _, want := range list(part) {
			found := false
			for _, got := range list(v) {
				found = found || jsonContains(got, want)
			}
			if !found {
				return false
			}
		}
		return true
	}
	return equal(v, part)
}

func list(v jsontext.Value) []jsontext.Value {
	var out []jsontext.Value
	if json.Unmarshal(v, &out) != nil {
		return nil
	}
	return out
}

func str(v jsontext.Value) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

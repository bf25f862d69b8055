package sacp

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Nodes are the answers of a chain so far, by the name of the node that gave them.
type Nodes map[string]Answer

// reference is a place in a text that another node's answer fills: {{node_A.data.extracted_names}}.
var reference = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// Map fills the references in an input (SACP-021). An input that is one reference alone becomes that value with its type, a list or an
// object too (SACP-023); inside a longer text a string stands without quotes and anything else as compact JSON. A reference that leads
// nowhere, and one to a thought (SACP-012), is an error that names it: it never stays in the text.
func (n Nodes) Map(input string) (jsontext.Value, error) {
	if m := reference.FindStringSubmatch(strings.TrimSpace(input)); m != nil && m[0] == strings.TrimSpace(input) {
		return n.resolve(m[1])
	}
	var out strings.Builder
	at := 0
	for _, m := range reference.FindAllStringSubmatchIndex(input, -1) {
		out.WriteString(input[at:m[0]])
		v, err := n.resolve(input[m[2]:m[3]])
		if err != nil {
			return nil, err
		}
		if v.Kind() == '"' {
			out.WriteString(str(v))
		} else {
			out.Write(v)
		}
		at = m[1]
	}
	out.WriteString(input[at:])
	v, err := jsontext.AppendQuote(nil, out.String())
	if err != nil {
		return nil, fmt.Errorf("input is no valid UTF-8: %w", err)
	}
	return v, nil
}

// resolve finds the value of one reference.
func (n Nodes) resolve(ref string) (jsontext.Value, error) {
	name, where, ok := strings.Cut(strings.TrimSpace(ref), ".")
	if !ok {
		return nil, fmt.Errorf("reference {{%s}}: expected a node and a path, such as {{node_A.data.x}} (SACP-021)", clip(ref))
	}
	a, ok := n[name]
	if !ok {
		return nil, fmt.Errorf("reference {{%s}}: there is no answer of a node %q (SACP-021)", clip(ref), clip(name))
	}
	if where == "thought" {
		return nil, fmt.Errorf("reference {{%s}}: a thought is for people, never for the next agent (SACP-012)", clip(ref))
	}
	v, ok, err := a.Lookup(where)
	if err != nil {
		return nil, fmt.Errorf("reference {{%s}}: %w", clip(ref), err)
	}
	if !ok {
		return nil, fmt.Errorf("reference {{%s}}: the answer of %s has no %s (SACP-021)", clip(ref), name, clip(where))
	}
	v = v.Clone() // compacting works in place
	if err := v.Compact(); err != nil {
		return nil, fmt.Errorf("reference {{%s}}: %w", clip(ref), err)
	}
	return v, nil
}

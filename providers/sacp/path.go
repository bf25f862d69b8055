package sacp

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// path is a way into a JSON value: names and, in lists, numbers from 0.
type path []string

// parsePath reads "response.data.items[0].name"; ".0" and "[0]" are the same (SACP-022, P07). A name that holds other signs is written
// in brackets and quotes: data["a.b"].
func parsePath(s string) (path, error) {
	var p path
	rest := s
	for first := true; rest != ""; first = false {
		var step string
		switch {
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if strings.HasPrefix(rest, `["`) {
				if end = strings.Index(rest, `"]`); end >= 0 {
					end++
				}
			}
			if end < 0 {
				return nil, fmt.Errorf("path %q: a bracket is not closed", clip(s))
			}
			step, rest = rest[1:end], rest[end+1:]
			if name, ok := strings.CutPrefix(step, `"`); ok {
				step = strings.TrimSuffix(name, `"`)
			} else if _, err := strconv.Atoi(step); err != nil {
				return nil, fmt.Errorf("path %q: [%s] is no number", clip(s), clip(step))
			}
		default:
			if !first {
				if rest[0] != '.' {
					return nil, fmt.Errorf("path %q: expected a dot before %q", clip(s), clip(rest))
				}
				rest = rest[1:]
			}
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			step, rest = rest[:end], rest[end:]
			if step == "" || strings.ContainsAny(step, " \t\r\n\"'{}") {
				return nil, fmt.Errorf("path %q: %q is no name", clip(s), clip(step))
			}
		}
		p = append(p, step)
	}
	if len(p) == 0 {
		return nil, fmt.Errorf("a path is empty")
	}
	return p, nil
}

// walk follows a path; ok is false when it leads nowhere.
func walk(v jsontext.Value, p path) (out jsontext.Value, ok bool) {
	for _, step := range p {
		switch v.Kind() {
		case '{':
			if v, ok = members(v)[step]; !ok {
				return nil, false
			}
		case '[':
			var list []jsontext.Value
			i, err := strconv.Atoi(step)
			if err != nil || json.Unmarshal(v, &list) != nil || i < 0 || i >= len(list) {
				return nil, false
			}
			v = list[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// Lookup finds a value of an answer by its path below the answer, "data.guesses[0]" or "message". ok is false when there is none.
// The thought is never found: it is for people (SACP-012).
func (a Answer) Lookup(where string) (v jsontext.Value, ok bool, err error) {
	p, err := parsePath(where)
	if err != nil {
		return nil, false, err
	}
	v, ok = a.lookup(p)
	return v, ok, nil
}

func (a Answer) lookup(p path) (jsontext.Value, bool) {
	text := func(s string) (jsontext.Value, bool) {
		v, err := jsontext.AppendQuote(nil, s)
		return v, err == nil && len(p) == 1
	}
	switch p[0] {
	case "status":
		return text(string(a.Status))
	case "message":
		return text(a.Message)
	case "next_step_hint":
		if a.NextStepHint == "" {
			return nil, false
		}
		return text(a.NextStepHint)
	case "data":
		return walk(a.Data, p[1:])
	case "thought":
		return nil, false
	}
	return walk(a.Unknown, p)
}

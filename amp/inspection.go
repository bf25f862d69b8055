package amp

import (
	"bytes"
	"strconv"
	"strings"
)

// inspection walks over valid JSON beside a shape and reports every difference: wrong types, nulls, missing and unknown members.
// It stands on bytes, since it looks at every message: a decoder cannot tell a missing member from a zero one.
type inspection struct {
	*report
	data   []byte
	strict bool
	// clean is what has the shape, with zero values in the place of what has not; it is written only when repair is set.
	repair bool
	clean  []byte

	i    int
	path []step
}

// step is one part of a path: a member's name, or an index when name is empty.
type step struct {
	name  string
	index int
}

// value inspects the value that comes next. A wrong type breaks rule.
func (in *inspection) value(s *shape, rule string) {
	in.space()
	start := in.i
	got := kindOf(in.data[start:])
	switch {
	case got == "null" && s.nullable:
	case got != string(s.kind) && (got != "number" || s.kind != isInteger):
		in.mismatch(s, rule, "is "+article(got)+", expected "+article(string(s.kind)))
		return
	case s.kind == isObject && !s.free:
		in.object(s)
		return
	case s.kind == isArray:
		in.array(s, rule)
		return
	}
	in.skip()
	raw := in.data[start:in.i]
	if why := s.number(raw); why != "" {
		in.i = start
		in.mismatch(s, rule, why)
		return
	}
	in.write(raw)
}

// mismatch reports the value that comes next and steps over it.
func (in *inspection) mismatch(s *shape, rule, why string) {
	path := in.place()
	in.refuse(rule, path, "%s", why)
	in.flag(path)
	in.skip()
	in.write([]byte(s.zero()))
}

func (in *inspection) object(s *shape) {
	in.i++
	in.write([]byte{'{'})
	var seen uint64
	for n, next := 0, 0; ; n++ {
		if in.space(); in.data[in.i] == '}' {
			break
		}
		if n > 0 {
			in.i++ // the comma
			in.space()
		}
		name := in.name()
		m := s.find(name, next)
		if m < 0 {
			in.unknown(s, string(name))
			in.skip()
			continue
		}
		if in.repair {
			if seen != 0 {
				in.clean = append(in.clean, ',')
			}
			in.clean = append(quote(in.clean, s.members[m].name), ':')
		}
		seen |= 1 << m
		next = m + 1
		in.path = append(in.path, step{name: s.members[m].name})
		in.value(s.members[m].shape, s.members[m].rule)
		in.path = in.path[:len(in.path)-1]
	}
	in.i++
	in.write([]byte{'}'})
	for m := range s.members {
		if mb := &s.members[m]; seen&(1<<m) == 0 && !mb.optional {
			path := join(in.place(), mb.name)
			in.refuse(mb.missing, path, "is missing, expected %s", article(string(mb.shape.kind)))
			in.flag(path)
		}
	}
}

func (in *inspection) array(s *shape, rule string) {
	in.i++
	in.write([]byte{'['})
	in.path = append(in.path, step{})
	for n := 0; ; n++ {
		if in.space(); in.data[in.i] == ']' {
			break
		}
		if n > 0 {
			in.i++
			in.write([]byte{','})
		}
		in.path[len(in.path)-1].index = n
		in.value(s.elem, rule)
	}
	in.path = in.path[:len(in.path)-1]
	in.i++
	in.write([]byte{']'})
}

// unknown reports a name that the shape does not have. A known name in another case is never what its writer meant.
func (in *inspection) unknown(s *shape, name string) {
	path := join(in.place(), name)
	for _, m := range s.members {
		if strings.EqualFold(m.name, name) {
			in.refuse("AMP-001", path, "is an unknown name; names are case-sensitive, this one is written %q", m.name)
			return
		}
	}
	if in.strict {
		in.refuse("AMP-031", path, "is an unknown name, refused because the reading is strict")
		return
	}
	in.warn("AMP-031", path, "is an unknown name; it is kept and not used")
}

// name reads a member's name and the colon after it.
func (in *inspection) name() []byte {
	end := stringEnd(in.data, in.i)
	raw := in.data[in.i+1 : end]
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = unquote(in.data[in.i : end+1])
	}
	in.i = end + 1
	in.space()
	in.i++
	return raw
}

// skip steps over the value that comes next.
func (in *inspection) skip() {
	in.space()
	open := 0
	for ; in.i < len(in.data); in.i++ {
		switch in.data[in.i] {
		case '"':
			in.i = stringEnd(in.data, in.i)
			if open == 0 {
				in.i++
				return
			}
		case '{', '[':
			open++
		case '}', ']':
			if open--; open <= 0 {
				in.i += 1 + open // a literal ends before the bracket, an object or array after it
				return
			}
		case ',', ' ', '\t', '\r', '\n':
			if open == 0 {
				return
			}
		}
	}
}

func (in *inspection) space() {
	for in.i < len(in.data) {
		switch in.data[in.i] {
		case ' ', '\t', '\r', '\n':
			in.i++
		default:
			return
		}
	}
}

func (in *inspection) write(b []byte) {
	if in.repair {
		in.clean = append(in.clean, b...)
	}
}

// place is the path of the value that comes next.
func (in *inspection) place() string {
	path := ""
	for _, s := range in.path {
		if s.name == "" {
			path = at(path, s.index)
		} else {
			path = join(path, s.name)
		}
	}
	return path
}

// kindOf is the type of the JSON value that data begins with, in words; "nothing" when there is none.
func kindOf(data []byte) string {
	for _, c := range data {
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		case '{':
			return "object"
		case '[':
			return "array"
		case '"':
			return "string"
		case 't', 'f':
			return "boolean"
		case 'n':
			return "null"
		}
		return "number"
	}
	return "nothing"
}

// article puts the article before the name of a kind or of a message type.
func article(kind string) string {
	switch kind {
	case "object", "array", "integer", string(EscalationMsg):
		return "an " + kind
	case "null", "nothing":
		return kind
	}
	return "a " + kind
}

// join is the path of a member of the object at path. A name that is no plain word is quoted.
func join(path, name string) string {
	plain := name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	switch {
	case plain && path == "":
		return name
	case plain:
		return path + "." + name
	}
	return path + "[" + strconv.Quote(clip(name, 64)) + "]"
}

// at is the path of the i-th element of the array at path.
func at(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// clip cuts s after at most n bytes, not inside a character.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

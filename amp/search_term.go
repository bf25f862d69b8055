package amp

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Terms are what an index of the journal keeps of an entry, each once, sorted: every word in its text, in one case, and the values
// of its fields as name and value behind "=". Which terms a search asks for, [Search.Clauses] says. Raise searchVersion in
// ssot/sqlite when they change.
func Terms(e *Entry) []string {
	seen := map[string]struct{}{}
	var buf []byte
	for _, s := range textOf(e) {
		buf = addWords(seen, buf, s)
	}
	seen[anyEntry] = struct{}{}
	f := facetsOf(e)
	seen[nameTerm("kind", string(e.Kind))] = struct{}{}
	seen[nameTerm("role", string(e.Role))] = struct{}{}
	seen[nameTerm("task", string(e.TaskID))] = struct{}{}
	fieldTerms(seen, "type", f.types)
	fieldTerms(seen, "from", f.from)
	fieldTerms(seen, "to", f.to)
	fieldTerms(seen, "agent", f.agents)
	fieldTerms(seen, "status", f.statuses)
	fieldTerms(seen, "decision", f.decisions)
	fieldTerms(seen, "severity", f.severities)
	fieldTerms(seen, "rule", f.rules)
	fieldTerms(seen, "is", f.is)
	terms := make([]string, 0, len(seen))
	for t := range seen {
		terms = append(terms, t)
	}
	slices.Sort(terms)
	return terms
}

// anyEntry is a term of every entry.
const anyEntry = "="

// maxTerm is how many characters of a word are a term; what is longer is cut.
const maxTerm = 32

// addWords adds the term of every place in s where a word begins.
func addWords(seen map[string]struct{}, buf []byte, s string) []byte {
	prev := rune(0)
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if startsWord(prev, r, s[i+size:]) {
			buf, _ = appendTerm(buf[:0], s[i:])
			if _, known := seen[string(buf)]; !known {
				seen[string(buf)] = struct{}{}
			}
		}
		prev = r
		i += size
	}
	return buf
}

// appendTerm appends the term of the word that s begins with, and returns how many bytes of s the word has, as far as it counts.
func appendTerm(dst []byte, s string) ([]byte, int) {
	n := 0
	for i, r := range s {
		switch {
		case i == 0 && !joins(r):
			return utf8.AppendRune(dst, foldCase(r)), utf8.RuneLen(r)
		case !joins(r) || n == maxTerm:
			return dst, i
		}
		dst = utf8.AppendRune(dst, foldCase(r))
		n++
	}
	return dst, len(s)
}

func fieldTerms[T ~string](seen map[string]struct{}, name string, values []T) {
	for _, v := range values {
		seen[fieldTerm(name, string(v))] = struct{}{}
	}
}

// fieldTerm is the term of a field's value: two values have the same one when they are equal in any case.
func fieldTerm(name, value string) string { return nameTerm(name, strings.Map(foldCase, value)) }

// nameTerm is the term of a value that no other one has.
func nameTerm(name, value string) string { return "=" + name + "=" + value }

// Term is one thing that an index is asked for.
type Term struct {
	Text string
	// Prefix asks for every term that begins with Text.
	Prefix bool
}

// Clauses are what an index can tell of a search: an entry that matches has at least one term of every clause of all, and none
// of without. exact says that this is all that the search asks of an entry besides its time, so that Match need not be called.
func (s *Search) Clauses() (all [][]Term, without []Term, exact bool) {
	exact = true
	if s.Empty() {
		return nil, nil, true
	}
	all = appendField(all, "kind", s.Kinds, nameTerm)
	all = appendField(all, "role", s.Roles, nameTerm)
	all = appendField(all, "task", s.Tasks, nameTerm)
	all = appendField(all, "type", s.Types, fieldTerm)
	all = appendField(all, "from", s.From, fieldTerm)
	all = appendField(all, "to", s.To, fieldTerm)
	all = appendField(all, "agent", s.Agents, fieldTerm)
	all = appendField(all, "status", s.Statuses, fieldTerm)
	all = appendField(all, "decision", s.Decisions, fieldTerm)
	all = appendField(all, "severity", s.Severities, fieldTerm)
	all = appendField(all, "rule", s.Rules, fieldTerm)
	all = appendField(all, "is", s.Is, fieldTerm)
	for _, n := range s.needles() {
		terms, whole := n.terms()
		exact = exact && whole
		for _, t := range terms {
			if !slices.ContainsFunc(all, func(c []Term) bool { return len(c) == 1 && c[0] == t }) {
				all = append(all, []Term{t})
			}
		}
	}
	for i := range s.Not {
		n := &s.Not[i]
		inner, nested, whole := n.Clauses()
		if !whole || len(inner) != 1 || len(nested) > 0 || !n.Since.IsZero() || !n.Until.IsZero() {
			exact = false // Match looks at it
			continue
		}
		without = append(without, inner[0]...)
	}
	if len(all) == 0 && len(without) > 0 {
		all = [][]Term{{{Text: anyEntry}}}
	}
	return all, without, exact
}

func appendField[T ~string](all [][]Term, name string, values []T, term func(name, value string) string) [][]Term {
	if len(values) == 0 {
		return all
	}
	clause := make([]Term, len(values))
	for i, v := range values {
		clause[i] = Term{Text: term(name, string(v))}
	}
	return append(all, clause)
}

// terms are those of an entry in which the needle stands, and whether an entry that has them is one for certain.
func (n needle) terms() (terms []Term, exact bool) {
	prev := rune(0)
	for i := 0; i < len(n.text); {
		r, size := utf8.DecodeRuneInString(n.text[i:])
		if !isWord(r) || joins(r) && joins(prev) {
			prev = r
			i += size
			continue
		}
		word, length := appendTerm(nil, n.text[i:])
		end := i + length
		count := utf8.RuneCount(word)
		last := end == len(n.text)
		terms = append(terms, Term{Text: string(word), Prefix: joins(r) && last && !n.whole && count < maxTerm})
		exact = i == 0 && last && count < maxTerm
		prev, _ = utf8.DecodeLastRuneInString(n.text[:end])
		i = end
	}
	return terms, exact
}

package amp

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Terms calls f with what an index of the journal keeps of an entry, in any order, some of it more than once: every word in its text,
// in one case, the values of its fields as name and value behind "=", and which words stand side by side. A term is valid during
// the call. Which terms a search asks for, [Search.Clauses] says. No term is longer than [MaxTerm]. Raise search.Version when they change.
func Terms(e *Entry, f func(term []byte)) {
	t := termer{each: f}
	for _, s := range textOf(e) {
		t.words(s)
	}
	t.pairs.each(f)
	t.add(anyEntry)
	v := facetsOf(e)
	t.add(nameTerm("kind", string(e.Kind)))
	t.add(nameTerm("role", string(e.Role)))
	t.add(nameTerm("task", string(e.TaskID)))
	fieldTerms(&t, "type", v.types)
	fieldTerms(&t, "from", v.from)
	fieldTerms(&t, "to", v.to)
	fieldTerms(&t, "agent", v.agents)
	fieldTerms(&t, "status", v.statuses)
	fieldTerms(&t, "decision", v.decisions)
	fieldTerms(&t, "severity", v.severities)
	fieldTerms(&t, "rule", v.rules)
	fieldTerms(&t, "is", v.is)
}

// termer finds the terms of an entry.
type termer struct {
	each  func(term []byte)
	pairs wordPairs
	buf   []byte
	// told are the words that each was called with, by a part of their hash, as long as no other word took their place; arena holds them.
	told  [256]told
	arena []byte
}

// told is where a word lies in the arena.
type told struct {
	hash      uint64
	from, end int
}

func (t *termer) add(term string) {
	t.buf = append(t.buf[:0], term...)
	t.each(t.buf)
}

// word adds a word: most stand in a text more than once. inside and apart are as in [wordPairs].
func (t *termer) word(term []byte, inside, apart bool) {
	h := hashTerm(term)
	t.pairs.add(h, inside, apart)
	k := &t.told[h>>56]
	if k.end > 0 && k.hash == h && string(t.arena[k.from:k.end]) == string(term) {
		return
	}
	t.each(term)
	from := len(t.arena)
	t.arena = append(t.arena, term...)
	*k = told{hash: h, from: from, end: len(t.arena)}
}

// anyEntry is a term of every entry.
const anyEntry = "="

// maxWord is how many characters of a word are a term; what is longer is cut.
const maxWord = 32

// words adds the term of every place in s where a word begins, and the pairs of words.
func (t *termer) words(s string) {
	prev, space, buf := rune(0), true, t.buf
	t.pairs.end()
	for i := 0; i < len(s); {
		// Nearly all there is: ASCII that begins no word, since it is none or goes on with one.
		if c := s[i]; c < utf8.RuneSelf && prev < utf8.RuneSelf {
			switch k := classes[c]; {
			case k == noWord:
				space = space || c == ' '
				prev = rune(c)
				i++
				continue
			case classes[prev] == noWord:
				if n := plainWord(s[i:]); n > 0 {
					buf = append(buf[:0], s[i:i+n]...)
					if k == upperCase {
						buf[0] += 'a' - 'A'
					}
					t.word(buf, false, space)
					prev, space = rune(s[i+n-1]), false
					i += n
					continue
				}
			case k != upperCase:
				prev = rune(c)
				i++
				continue
			}
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case startsWord(prev, r, s[i+size:]):
			buf, _ = appendTerm(buf[:0], s[i:])
			t.word(buf, joins(r) && joins(prev), space || isUnspaced(r))
			space = false
		case r == ' ':
			space = true
		}
		prev = r
		i += size
	}
	t.buf = buf
}

// The classes of ASCII characters.
const (
	noWord = iota
	lowerCase
	upperCase
	digit
)

var classes = func() (all [utf8.RuneSelf]uint8) {
	for c := range all {
		switch {
		case 'a' <= c && c <= 'z':
			all[c] = lowerCase
		case 'A' <= c && c <= 'Z':
			all[c] = upperCase
		case '0' <= c && c <= '9':
			all[c] = digit
		}
	}
	return all
}()

// plainWord is the length of the word that s begins with when it is one of ASCII without another one inside, as nearly all are, else 0.
func plainWord(s string) int {
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c >= utf8.RuneSelf || i > maxWord:
			return 0
		case classes[c] == noWord:
			return i
		case classes[c] == upperCase:
			return 0
		}
	}
	if len(s) > maxWord {
		return 0
	}
	return len(s)
}

// appendTerm appends the term of the word that s begins with, and returns how many bytes of s the word has, as far as it counts.
func appendTerm(dst []byte, s string) ([]byte, int) {
	n := 0
	for ; n < len(s) && n < maxWord; n++ { // ASCII, of which one character is one byte
		c := s[n]
		if c >= utf8.RuneSelf || classes[c] == noWord {
			break
		}
		if classes[c] == upperCase {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	ascii := n
	for at, r := range s[ascii:] {
		i := ascii + at
		switch {
		case i == 0 && !joins(r):
			return utf8.AppendRune(dst, foldCase(r)), utf8.RuneLen(r)
		case !joins(r) || n == maxWord:
			return dst, i
		}
		dst = utf8.AppendRune(dst, foldCase(r))
		n++
	}
	return dst, len(s)
}

func fieldTerms[T ~string](t *termer, name string, values []T) {
	for _, v := range values {
		t.add(fieldTerm(name, string(v)))
	}
}

// fieldTerm is the term of a field's value: two values have the same one when they are equal in any case.
func fieldTerm(name, value string) string { return nameTerm(name, strings.Map(foldCase, value)) }

// MaxTerm is how many bytes a term has at most.
const MaxTerm = 256

// nameTerm is the term of a value that no other one has. In the place of a long value stands its sum.
func nameTerm(name, value string) string {
	if len(value) > MaxTerm-len(name)-2 {
		value = fmt.Sprintf("sha256=%x", sha256.Sum256([]byte(value)))
	}
	return "=" + name + "=" + value
}

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
	if len(all) == 0 && (len(without) > 0 || !s.Since.IsZero() || !s.Until.IsZero()) {
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
	var pairs wordPairs
	prev, space := rune(0), true
	for i := 0; i < len(n.text); {
		r, size := utf8.DecodeRuneInString(n.text[i:])
		if !isWord(r) || joins(r) && joins(prev) {
			space = space || r == ' '
			prev = r
			i += size
			continue
		}
		word, length := appendTerm(nil, n.text[i:])
		end := i + length
		count := utf8.RuneCount(word)
		last := end == len(n.text)
		prefix := joins(r) && last && !n.whole && count < maxWord
		terms = append(terms, Term{Text: string(word), Prefix: prefix})
		if !prefix {
			pairs.add(hashTerm(word), false, space || isUnspaced(r))
		}
		space = false
		exact = i == 0 && last && count < maxWord
		prev, _ = utf8.DecodeLastRuneInString(n.text[:end])
		i = end
	}
	pairs.each(func(term []byte) { terms = append(terms, Term{Text: string(term)}) })
	return terms, exact
}

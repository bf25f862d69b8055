package amp

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// textOf is what an entry says: the strings and numbers in its body without the names of members, who wrote it, its id and its
// task. What was refused is searched as it came. A body that is no JSON is one text.
func textOf(e *Entry) []string {
	text := []string{e.Actor, e.ID, string(e.TaskID)}
	body, skip := e.Body, ""
	if e.Kind == KindRefusal {
		if r, err := DecodeBody[Refusal](e); err == nil {
			text, skip = values(text, r.Raw, ""), "raw"
		}
	}
	return values(text, body, skip)
}

func values(text []string, data []byte, skip string) []string {
	n := len(text)
	if err := eachValue(data, skip, func(s string) { text = append(text, s) }); err != nil {
		return append(text[:n], string(data))
	}
	return text
}

// needle is a text that is looked for, in any case.
type needle struct {
	text string // folded
	word bool   // it begins with a character of a word
	// whole says that it must end where a word ends.
	whole bool
}

func newNeedle(text string, whole bool) needle {
	folded := strings.Map(foldCase, text)
	first, _ := utf8.DecodeRuneInString(folded)
	return needle{text: folded, word: isWord(first), whole: whole}
}

// plain reports whether JSON need not escape the needle.
func (n needle) plain() bool {
	return !strings.ContainsFunc(n.text, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError })
}

func (n needle) in(s string) bool { start, _ := n.find(s, 0); return start >= 0 }

// find returns where the needle stands in s at or after from, or -1.
func (n needle) find(s string, from int) (start, end int) {
	if n.text == "" {
		return -1, -1
	}
	first, _ := utf8.DecodeRuneInString(n.text)
	if first < utf8.RuneSelf && ASCII(s) {
		return n.findASCII(s, from)
	}
	for i := from; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if foldCase(r) == first && (!n.word || n.begins(s, i, r, size)) {
			if end := n.at(s, i); end >= 0 {
				return i, end
			}
		}
		i += size
	}
	return -1, -1
}

// findASCII is find in a text of ASCII alone, as nearly all are: it looks only at places with the first letter of the needle.
func (n needle) findASCII(s string, from int) (start, end int) {
	next := func(c byte, from int) int {
		if i := strings.IndexByte(s[from:], c); i >= 0 {
			return from + i
		}
		return len(s)
	}
	lower, upper := n.text[0], n.text[0]
	if 'a' <= lower && lower <= 'z' {
		upper -= 'a' - 'A'
	}
	for i, j := next(lower, from), next(upper, from); min(i, j) < len(s); {
		start := min(i, j)
		if !n.word || n.begins(s, start, rune(s[start]), 1) {
			if end := n.at(s, start); end >= 0 {
				return start, end
			}
		}
		if i == start {
			i = next(lower, start+1)
		}
		if j == start {
			j = next(upper, start+1)
		}
	}
	return -1, -1
}

// ASCII reports whether s holds ASCII characters only.
func ASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (n needle) begins(s string, i int, r rune, size int) bool {
	prev, _ := utf8.DecodeLastRuneInString(s[:i])
	return startsWord(prev, r, s[i+size:])
}

// at returns where the needle ends when it stands in s at i, or -1.
func (n needle) at(s string, i int) int {
	last := rune(0)
	for _, want := range n.text {
		r, size := utf8.DecodeRuneInString(s[i:])
		if size == 0 || foldCase(r) != want {
			return -1
		}
		last = r
		i += size
	}
	if n.whole && joins(last) {
		if next, size := utf8.DecodeRuneInString(s[i:]); size > 0 && joins(next) {
			return -1
		}
	}
	return i
}

// foldCase gives all cases of a letter the same rune.
func foldCase(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	return unicode.ToLower(least)
}

// isWord reports whether words are made of r.
func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r))
}

// unspaced are the scripts that are written without a space between words: in them every character begins one.
var unspaced = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

func isUnspaced(r rune) bool { return r >= 0xe00 && unicode.In(r, unspaced...) }

// joins reports whether r makes one word with a neighbour that joins too.
func joins(r rune) bool { return isWord(r) && (r < utf8.RuneSelf || !isUnspaced(r)) }

// startsWord reports whether a word begins with r, which stands between prev and the rest: after anything that is no word, and
// inside an identifier at each of its parts, as in BreathSession and HTTPServer.
func startsWord(prev, r rune, rest string) bool {
	switch {
	case r < utf8.RuneSelf && prev < utf8.RuneSelf && (r < 'A' || r > 'Z'): // nearly all there is
		return isWord(r) && !isWord(prev)
	case !isWord(r):
		return false
	case !joins(r), !joins(prev):
		return true
	case !unicode.IsUpper(r):
		return false
	case !unicode.IsUpper(prev):
		return true
	}
	next, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsLower(next)
}

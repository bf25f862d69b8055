package amp

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxSearch is how many bytes a search may have, MaxSearchTerms how many words, phrases and fields.
const (
	MaxSearch      = 4096
	MaxSearchTerms = 64
)

// SearchError says which word of a search could not be read, and what is allowed in its place.
type SearchError struct {
	// Word is the word as it was typed, At its byte offset.
	Word    string
	At      int
	Message string
}

// Error names the word and what is allowed.
func (e *SearchError) Error() string {
	if e.Word == "" {
		return "search: " + e.Message
	}
	return fmt.Sprintf("search: %s: %s", clip(e.Word, 60), e.Message)
}

// ParseSearch reads a search as a person types it: words and "exact phrases", which must all be there, and fields as name:value,
// of which [SearchFields] has the names. Of a field that stands more than once, one value is enough. A minus before a word, a
// phrase or a field is what must not be there. A value with spaces is quoted, and so is a word with a colon; a quote that is not
// closed goes on to the end. The filter asks for the newest entries first. The error is a *[SearchError].
//
// now is the moment that ages count from; days begin in its time zone.
func ParseSearch(text string, now time.Time) (Filter, error) {
	f := Filter{Newest: true}
	if len(text) > MaxSearch {
		return f, &SearchError{Message: fmt.Sprintf("it is longer than %d bytes", MaxSearch)}
	}
	p := &searchParser{now: now}
	s := &Search{}
	terms := 0
	for at := 0; ; {
		w, next := nextWord(text, at)
		if w.typed == "" {
			break
		}
		if terms++; terms > MaxSearchTerms {
			return f, &SearchError{Word: w.typed, At: w.at, Message: fmt.Sprintf("there are more than %d words and fields", MaxSearchTerms)}
		}
		if why := p.term(&f, s, w); why != "" {
			return f, &SearchError{Word: w.typed, At: w.at, Message: why}
		}
		at = next
	}
	if len(s.Tasks) == 1 { // stores find the entries of one task, and kinds, without a search
		f.TaskID, s.Tasks = s.Tasks[0], nil
	}
	f.Kinds, s.Kinds = s.Kinds, nil
	if !s.Empty() {
		f.Search = s
	}
	return f, nil
}

type searchParser struct{ now time.Time }

// searchWord is one word of a search.
type searchWord struct {
	typed string
	at    int
	not   bool
	// field is what stands before the colon, value what stands after it or the whole; quoted says that the value was in quotes.
	field  string
	value  string
	quoted bool
}

// nextWord cuts the next word off; typed is empty at the end of the text.
func nextWord(text string, at int) (w searchWord, next int) {
	at += len(text[at:]) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
	w.at = at
	rest := text[at:]
	if len(rest) > 1 && rest[0] == '-' && !startsSpace(rest[1:]) {
		w.not, rest = true, rest[1:]
	}
	if i := strings.IndexByte(rest, ':'); i > 0 && letters(rest[:i]) {
		w.field, rest = strings.ToLower(rest[:i]), rest[i+1:]
	}
	if strings.HasPrefix(rest, `"`) {
		w.quoted = true
		w.value, rest, _ = strings.Cut(rest[1:], `"`)
	} else {
		end := strings.IndexFunc(rest, unicode.IsSpace)
		if end < 0 {
			end = len(rest)
		}
		w.value, rest = rest[:end], rest[end:]
	}
	next = len(text) - len(rest)
	w.typed = text[at:next]
	return w, next
}

func startsSpace(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsSpace(r)
}

func letters(s string) bool {
	for i := range len(s) {
		if c := s[i] | 0x20; c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}

// term takes one word into the search and says what is wrong with it, or "".
func (p *searchParser) term(f *Filter, s *Search, w searchWord) string {
	to := s
	if w.not {
		to = &Search{}
	}
	switch {
	case w.field != "":
		if why := p.field(f, to, w); why != "" {
			return why
		}
	case strings.TrimSpace(w.value) == "":
		if w.quoted {
			return "the phrase is empty"
		}
		return "it holds nothing to look for"
	case w.quoted:
		add(&to.Phrases, w.value)
	default:
		add(&to.Words, w.value)
	}
	if w.not {
		s.Not = append(s.Not, *to)
	}
	return ""
}

func (p *searchParser) field(f *Filter, s *Search, w searchWord) string {
	field := searchField(w.field)
	if field == nil {
		if !w.quoted && (strings.HasPrefix(w.value, "//") || strings.HasPrefix(w.value, ":")) { // an address, a name as in std::sort
			add(&s.Words, strings.TrimPrefix(w.typed, "-"))
			return ""
		}
		names := make([]string, len(searchFields))
		for i := range searchFields {
			names[i] = searchFields[i].Name
		}
		return "there is no field " + quoted(w.field) + suggest(w.field, names, ":") + "; fields are " + strings.Join(names, ", ") +
			`; put the word in quotes to look for it as it is`
	}
	value := strings.TrimSpace(w.value)
	if value == "" {
		if len(field.Values) > 0 {
			return w.field + ": needs one of " + strings.Join(field.Values, ", ")
		}
		return w.field + ": needs " + field.Takes
	}
	if w.not {
		switch w.field {
		case "since":
			return "it has no opposite; use until:"
		case "until":
			return "it has no opposite; use since:"
		case "seq":
			return "it has no opposite; give the range that is to be searched"
		}
	}
	return field.set(p, f, s, value)
}

package notify

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf16"

	"arbiter/tui/textsafe"
)

// maxPage is how much of a message is written at most, in the UTF-16 units that Telegram counts; it takes 4,096.
const maxPage = 3600

// span is a part of a line. Of quoted ones the words are somebody else's.
type span struct {
	s      string
	quoted bool
	bold   bool
}

// text is a message before it has the form of a channel. Words of others stand in it only as quotes: cleaned, bounded, and in a form
// that no channel makes a link, a mention or a command of.
type text struct {
	lines [][]span
	// cut says that a quote was longer than its bound.
	cut bool
}

// say adds a line of our own words. What args bring must be numbers, ids or words of this program.
func (t *text) say(format string, args ...any) {
	t.lines = append(t.lines, []span{{s: fmt.Sprintf(format, args...)}})
}

// head adds a line of our own words that stands out.
func (t *text) head(format string, args ...any) {
	t.lines = append(t.lines, []span{{s: fmt.Sprintf(format, args...), bold: true}})
}

// quote adds a label of ours and words of somebody else in one line, at most limit characters of them.
func (t *text) quote(label, s string, limit int) {
	s, cut := clean(s, limit)
	t.cut = t.cut || cut
	if s == "" {
		s = "(nothing)"
	}
	for label != "" || s != "" { // a long one is several lines, so that each fits a page
		part := s[:boundary(s, 3000)]
		s = s[len(part):]
		t.lines = append(t.lines, []span{{s: label}, {s: part, quoted: true}})
		label = ""
	}
}

// boundary is the largest index up to n at which a character of s begins or s ends.
func boundary(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return n
}

// clean is one line of somebody's words without anything that cannot be seen or moves the text around it, and whether it was cut at
// limit characters.
func clean(s string, limit int) (string, bool) {
	cut := len(s) > 4*limit+64
	s = s[:boundary(s, 4*limit+64)]
	s = strings.Join(strings.Fields(textsafe.Drop(s)), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…", true
	}
	return s, cut
}

// pages are the lines in as few messages as hold them; never none.
func (t *text) pages() []text {
	out := []text{{cut: t.cut}}
	size := 0
	for _, l := range t.lines {
		n := 1
		for _, s := range l {
			n += units(s.s)
		}
		if size+n > maxPage && size > 0 {
			out = append(out, text{cut: t.cut})
			size = 0
		}
		last := &out[len(out)-1]
		last.lines = append(last.lines, l)
		size += n
	}
	return out
}

func units(s string) int { return len(utf16.Encode([]rune(s))) }

// marks are how a channel writes what is special to it, quotes and bold words.
type marks struct {
	escape      func(string) string
	quote, bold [2]string
}

var (
	// Telegram finds no link, mention, command or tag in code.
	telegramMarks = marks{html.EscapeString, [2]string{"<code>", "</code>"}, [2]string{"<b>", "</b>"}}
	slackMarks    = marks{
		strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "`", "ˋ").Replace, [2]string{"`", "`"}, [2]string{"*", "*"},
	}
)

// html is the form of Telegram.
func (t *text) html() string { return t.form(telegramMarks.span) }

// slack is the form of Slack and what follows it.
func (t *text) slack() string { return t.form(slackMarks.span) }

func (m marks) span(s span) string {
	e := m.escape(s.s)
	switch {
	case e == "":
		return ""
	case s.quoted:
		return m.quote[0] + e + m.quote[1]
	case s.bold:
		return m.bold[0] + e + m.bold[1]
	}
	return e
}

// plain is the text without any form; words of others stand in quotation marks.
func (t *text) plain() string {
	return t.form(func(s span) string {
		if s.quoted {
			return "«" + s.s + "»"
		}
		return s.s
	})
}

func (t *text) form(one func(span) string) string {
	var b strings.Builder
	for i, l := range t.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, s := range l {
			b.WriteString(one(s))
		}
	}
	return b.String()
}

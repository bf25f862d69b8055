// Package textsafe makes text from agents, files and networks safe to print in a terminal.
//
// What it returns holds no ESC, no C0 control (but the newlines of [Block]), no C1 control, no bidirectional
// control and no invisible character: each is shown as something a person can see. Its width in cells is the
// width that x/ansi measures. It is meant for display only: what is stored, hashed or copied is the original.
package textsafe

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Caps on what one call returns. Longer input is cut and the cut is shown.
const (
	MaxLine  = 4 << 10   // bytes of input that Line looks at
	MaxBlock = 256 << 10 // bytes of input that Block looks at
	maxMarks = 4         // combining marks kept on one base character
	tabStop  = 4
)

// Line returns s as one line: newlines and tabs become visible or blank, everything unsafe becomes visible, and
// input over [MaxLine] bytes ends in an ellipsis. Clean text is returned as it is, without an allocation.
func Line(s string) string {
	if clean(s, MaxLine) {
		return s
	}
	cut := len(s) > MaxLine
	if cut {
		s = s[:runeStart(s, MaxLine)]
	}
	w := writer{}
	w.b.Grow(len(s) + 16)
	w.text(s, false)
	if cut {
		w.b.WriteString("…")
	}
	return w.b.String()
}

// Block returns the lines of s, each safe like the result of [Line] but with tabs expanded to stops of four
// cells. CR LF counts as one newline, a lone CR is shown. Input over [MaxBlock] bytes is cut and a last line
// says how many bytes are missing.
func Block(s string) []string {
	more := 0
	if len(s) > MaxBlock {
		end := runeStart(s, MaxBlock)
		more = len(s) - end
		s = s[:end]
	}
	s = strings.TrimSuffix(s, "\n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		l = strings.TrimSuffix(l, "\r")
		if !clean(l, len(l)) {
			w := writer{}
			w.b.Grow(len(l) + 16)
			w.text(l, true)
			l = w.b.String()
		}
		lines[i] = l
	}
	if more > 0 {
		lines = append(lines, "… "+Thousands(more)+" more bytes are not shown")
	}
	return lines
}

// Cut returns s, which must be safe already, in at most w cells; where it had to cut, the last cell is "…".
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if len(s) <= w && ascii(s) {
		return s
	}
	return ansi.Truncate(s, w, "…")
}

// Clean reports whether [Line] would return s unchanged.
func Clean(s string) bool { return clean(s, MaxLine) || Line(s) == s }

// clean reports, without looking further than needed, that s is short and plain printable ASCII.
func clean(s string, limit int) bool { return len(s) <= limit && ascii(s) }

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

// runeStart returns the largest index up to n at which a rune of s begins.
func runeStart(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

type writer struct {
	b     strings.Builder
	marks int  // combining marks since the last base character
	base  bool // a character that can carry marks was written
	last  rune // the last character that was written as it is
	col   int  // the width of the first seen bytes
	seen  int
}

// column returns the width written so far; each byte is measured once, so that a line of tabs stays linear.
func (w *writer) column() int {
	s := w.b.String()
	w.col += ansi.StringWidth(s[w.seen:])
	w.seen = len(s)
	return w.col
}

func (w *writer) text(s string, expandTabs bool) {
	prev := rune(0)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		next, _ := utf8.DecodeRuneInString(s[i+n:])
		switch {
		case r == utf8.RuneError && n == 1:
			w.visible("\uFFFD")
		case r == '\t' && expandTabs:
			w.visible("    "[:tabStop-w.column()%tabStop])
		case r == '\t':
			w.visible(" ")
		case r == 0x7f:
			w.visible("\u2421")
		case r < 0x20:
			w.visible(string(0x2400 + r))
		case r == 0x200d && pictograph(prev) && pictograph(next):
			// a joined emoji is drawn as its parts: no two terminals agree on the width of the whole
		case r == 0xfe0e || r == 0xfe0f:
			// choosing between text and emoji form changes the width in some terminals only
		case hidden(r), w.joins(r):
			w.visible(mark(r))
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc):
			w.mark(r)
		default:
			w.b.WriteRune(r)
			w.base, w.marks, w.last = true, 0, r
		}
		prev = r
		i += n
	}
}

func (w *writer) visible(s string) {
	w.b.WriteString(s)
	w.base, w.marks, w.last = false, 0, 0
}

// joins reports a skin tone or voicing mark that would join a character to which it does not belong.
func (w *writer) joins(r rune) bool {
	return tone(r) && (tone(w.last) || !pictograph(w.last)) || voicing(r) && !halfKana(w.last)
}

// mark writes a combining mark where it has something to stand on; towers of marks are cut.
func (w *writer) mark(r rune) {
	w.last = 0
	switch w.marks++; {
	case !w.base:
		w.b.WriteString(mark(r))
	case w.marks <= maxMarks:
		w.b.WriteRune(r)
	case w.marks == maxMarks+1:
		w.b.WriteString("\uFFFD")
	}
}

// hidden reports that r cannot be seen, moves the text around it, or has no agreed shape.
func hidden(r rune) bool {
	switch {
	case r >= 0x80 && r < 0xa0: // C1
		return true
	case r == 0x034f, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0: // fillers
		return true
	case r >= 0xfe00 && r <= 0xfe0d, r >= 0xe0000 && r <= 0xe0fff: // selectors and tags that smuggle text
		return true
	case r == 0x20e3: // keycap: one cell or two
		return true
	case prepends(r):
		return true
	case r&0xfffe == 0xfffe, r >= 0xfdd0 && r <= 0xfdef: // not characters
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs)
}

// prepends reports a letter that joins whatever is written behind it, which may be the frame of the screen.
func prepends(r rune) bool {
	switch r {
	case 0xd4e, 0x111c2, 0x111c3, 0x113d1, 0x1193f, 0x11941, 0x11a3a, 0x11d46, 0x11f02:
		return true
	}
	return r >= 0x11a84 && r <= 0x11a89
}

// tone reports a skin tone. Alone it would join the character before it, which may be the frame of the screen.
func tone(r rune) bool { return r >= 0x1f3fb && r <= 0x1f3ff }

// voicing reports a halfwidth voicing mark, which joins the character before it as a skin tone does.
func voicing(r rune) bool { return r == 0xff9e || r == 0xff9f }

// halfKana reports a halfwidth katakana letter, which a voicing mark belongs to.
func halfKana(r rune) bool { return r >= 0xff66 && r <= 0xff9d }

func pictograph(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff || r >= 0x2600 && r <= 0x27bf || r == 0x2b50 || r == 0x2b1b || r == 0x2b1c ||
		r == 0xfe0f
}

const hex = "0123456789ABCDEF"

// mark returns "<U+202E>" for a rune.
func mark(r rune) string {
	b := []byte("<U+")
	digits := 4
	if r > 0xffff {
		digits = 5
	}
	if r > 0xfffff {
		digits = 6
	}
	for i := digits - 1; i >= 0; i-- {
		b = append(b, hex[r>>(4*i)&0xf])
	}
	return string(append(b, '>'))
}

// Thousands returns n with separators.
func Thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	rest := strconv.Itoa(n % 1000)
	return Thousands(n/1000) + "," + "000"[len(rest):] + rest
}

// Drop returns s without anything that [Line] would have to show in another form, for text that a person types
// or pastes into a field. Newlines stay, tabs become a blank, towers of marks are cut.
func Drop(s string) string {
	if ascii(s) {
		return s
	}
	w := writer{}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == '\n':
			w.b.WriteByte('\n')
			w.base, w.last = false, 0
		case r == '\t':
			w.visible(" ")
		case r == utf8.RuneError && n == 1, r < 0x20, r == 0x7f, r == 0xfe0e, r == 0xfe0f, hidden(r), w.joins(r):
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc):
			if w.marks++; w.base && w.marks <= maxMarks {
				w.b.WriteRune(r)
				w.last = 0
			}
		default:
			w.b.WriteRune(r)
			w.base, w.marks, w.last = true, 0, r
		}
	}
	return w.b.String()
}

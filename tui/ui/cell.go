package ui

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// Cut returns s in at most w cells. Where it had to cut, the last cell is "…". Styles inside s survive.
func Cut(s string, w int) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	return truncate(s, w)
}

// truncate is ansi.Truncate with an ellipsis, for text that is wider than w. Plain text is cut in one step.
func truncate(s string, w int) string {
	n, end := 0, -1
	for i, r := range s {
		cells := 1
		if r < 0x20 || r > 0x7e {
			if cells = lone(r); cells == 0 || r == utf8.RuneError {
				return ansi.Truncate(s, w, "…")
			}
		}
		if n += cells; end < 0 && n > w-1 {
			end = i
		}
	}
	return s[:max(end, 0)] + "…"
}

// CutLeft returns s in at most w cells and keeps its end: for paths, whose end says more. s must be plain.
func CutLeft(s string, w int) string {
	n := Width(s)
	switch {
	case w <= 0:
		return ""
	case n <= w:
		return s
	case w == 1:
		return "…"
	}
	return "…" + dropCells(s, n-w+1)
}

// Pad returns s in exactly w cells, at the left: cut when longer, filled with blanks when shorter.
func Pad(s string, w int) string {
	if w <= 0 {
		return ""
	}
	n := Width(s)
	if n > w {
		s = truncate(s, w)
		n = Width(s) // a wide character at the edge leaves a blank cell
	}
	if n == w {
		return s
	}
	return s + blanks(w-n)
}

// PadLeft returns s in exactly w cells, at the right.
func PadLeft(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s = Cut(s, w)
	return blanks(w-Width(s)) + s
}

// Center returns s in exactly w cells, in the middle.
func Center(s string, w int) string {
	if w <= 0 {
		return ""
	}
	s = Cut(s, w)
	left := (w - Width(s)) / 2
	return Pad(blanks(left)+s, w)
}

// Spread returns left and right in exactly w cells, at the two ends. When both do not fit, left is cut first,
// down to nothing, then right.
func Spread(left, right string, w int) string {
	if right == "" {
		return Pad(left, w)
	}
	right = Cut(right, w)
	rest := w - Width(right)
	if rest <= 1 {
		return Pad(blanks(max(rest, 0))+right, w)
	}
	left = Cut(left, rest-1)
	return left + blanks(rest-Width(left)) + right
}

// Safe returns text of an unknown source as one safe line. It costs nothing for plain ASCII.
func Safe(s string) string { return textsafe.Line(s) }

// Quote returns text of an agent as the interface shows it: safe, in quotation marks, in the role of quotes.
func Quote(th *theme.Theme, s string) string {
	return th.S(theme.Quote, th.Signs.QuoteOpen+textsafe.Line(s)+th.Signs.QuoteClose)
}

// manyBlanks is wider than most screens: blanks cost nothing up to it.
const manyBlanks = "                                                                " +
	"                                                                " +
	"                                                                " +
	"                                                                "

func blanks(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(manyBlanks) {
		return manyBlanks[:n]
	}
	return strings.Repeat(" ", n)
}

// repeat returns n cells of a sign that is one cell wide.
func repeat(sign string, n int) string {
	if n <= 0 {
		return ""
	}
	return strings.Repeat(sign, n)
}

// dropCells returns s without its first n cells; styles that began in them go on, and half of a wide character
// becomes a blank.
func dropCells(s string, n int) string {
	var b strings.Builder
	used, i := 0, 0
	for i < len(s) && used < n {
		if s[i] == 0x1b {
			end := strings.IndexByte(s[i:], 'm')
			if end < 0 {
				break
			}
			b.WriteString(s[i : i+end+1])
			i += end + 1
			continue
		}
		cluster, w := ansi.FirstGraphemeCluster(s[i:], ansi.GraphemeWidth)
		used += w
		i += len(cluster)
	}
	b.WriteString(blanks(used - n))
	b.WriteString(s[i:])
	return b.String()
}

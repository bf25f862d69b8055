package ui

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/theme"
)

// anchor returns a row of a frame that stands in its columns whatever the terminal holds the widths of rare
// characters to be: behind each run of them the cursor is put where it belongs. Terminals disagree about flags,
// new emoji, spacing marks of Indic scripts and Thai; a row without such characters is returned as it is.
func anchor(row string) string {
	at := disputed(row)
	if at < 0 {
		return row
	}
	var b strings.Builder
	b.Grow(len(row) + 64)
	// a cell that the terminal skips would keep what was there before
	b.WriteString("\x1b[2K")
	b.WriteString(row[:at])
	col := Width(row[:at])
	for i := at; i < len(row); {
		if n := plainRun(row[i:]); n > 0 {
			b.WriteString(row[i : i+n])
			col += Width(row[i : i+n])
			i += n
			continue
		}
		cluster, w := ansi.FirstGraphemeCluster(row[i:], ansi.GraphemeWidth)
		b.WriteString(cluster)
		col += w
		i += len(cluster)
		if i < len(row) && plainRun(row[i:]) > 0 {
			b.WriteString("\x1b[" + strconv.Itoa(col+1) + "G")
		}
	}
	b.WriteString(theme.Reset)
	return b.String()
}

// disputed returns the index of the first character of a row whose width is not sure everywhere, -1 for none.
func disputed(row string) int {
	n := plainRun(row)
	if n == len(row) {
		return -1
	}
	return n
}

// plainRun returns the length of the beginning of s whose width every terminal agrees on.
func plainRun(s string) int {
	last, i := 0, 0 // last: start of the character before, which a mark would join
	for i < len(s) {
		start := i
		switch c := s[i]; {
		case c >= 0x20 && c <= 0x7e:
			i++
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			if lone(r) == 0 {
				if joins(r) {
					return last
				}
				return i
			}
			i += size
		case c == 0x1b && sgrEnd(s[i:]) > 0:
			i += sgrEnd(s[i:])
			continue
		default:
			return i
		}
		last = start
	}
	return i
}

// joins reports whether r may be one character with what stands before it.
func joins(r rune) bool {
	cluster, _ := ansi.FirstGraphemeCluster("a"+string(r), ansi.GraphemeWidth)
	return len(cluster) > 1
}

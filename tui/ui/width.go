package ui

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Width returns the cells that s takes on a screen. Escape sequences take none. It is the only measure of width
// in the program, and it agrees with x/ansi always; styles, letters and signs are counted without its help.
func Width(s string) int {
	n := 0
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c >= 0x20 && c <= 0x7e:
			n++
			i++
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(s[i:])
			w := lone(r)
			if w == 0 {
				return ansi.StringWidth(s)
			}
			n += w
			i += size
		case c == 0x1b:
			end := sgrEnd(s[i:])
			if end == 0 {
				return ansi.StringWidth(s)
			}
			i += end
		default:
			return ansi.StringWidth(s)
		}
	}
	return n
}

// sgrEnd returns the length of the style sequence that s begins with, 0 if it begins with another one.
func sgrEnd(s string) int {
	if len(s) < 3 || s[1] != '[' {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// lone returns the width of characters that never join their neighbours, 0 for all others. It holds what the
// screens are full of: Latin, Greek and Cyrillic letters, lines and signs, kana, ideographs, Hangul syllables.
func lone(r rune) int {
	switch {
	case r < 0x300:
		if r >= 0xa0 && r != 0xa9 && r != 0xad && r != 0xae {
			return 1
		}
	case r >= 0x391 && r <= 0x3ff, r >= 0x400 && r <= 0x482, r >= 0x48a && r <= 0x52f:
		return 1
	case r >= 0x2010 && r <= 0x2027, r >= 0x2190 && r <= 0x2193, r >= 0x2420 && r <= 0x2426, r >= 0x2400 && r <= 0x241f,
		r >= 0x2500 && r <= 0x25a9, r >= 0x25ac && r <= 0x25b5, r >= 0x25b7 && r <= 0x25bf, r >= 0x25c1 && r <= 0x25fa:
		return 1
	case r == 0x21b5 || r == 0x2713 || r == 0x2717 || r == 0x203a || r == 0x2039 || r == 0x2212:
		return 1
	case r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30fa, r == 0x30fc, r >= 0x4e00 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3,
		r == 0x3000 || r == 0x3001 || r == 0x3002:
		return 2
	}
	return 0
}

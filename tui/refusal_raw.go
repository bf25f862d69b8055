package tui

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/textsafe"
)

// rawPiece is how many bytes of raw text are made safe at once.
const rawPiece = 64 << 10

// visible returns raw bytes as safe text: what is no UTF-8 as <0x9B>, a carriage return as its sign, every other control as
// textsafe shows it. Its lines are those of the raw bytes.
func visible(raw []byte) string {
	var b strings.Builder
	b.Grow(len(raw) + len(raw)/8)
	for n := 0; len(raw) > 0; raw = raw[n:] {
		n = min(len(raw), rawPiece)
		for n < len(raw) && n > rawPiece-utf8.UTFMax && !utf8.RuneStart(raw[n]) {
			n--
		}
		b.WriteString(strings.Join(textsafe.Block(marked(raw[:n])), "\n"))
		if raw[n-1] == '\n' {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// marked gives bytes that are no UTF-8, and carriage returns, a form that a person can see.
func marked(raw []byte) string {
	var b strings.Builder
	b.Grow(len(raw))
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "<0x%02X>", raw[0])
		case r == '\r':
			b.WriteRune('␍')
		default:
			b.Write(raw[:n])
		}
		raw = raw[n:]
	}
	return b.String()
}

// broken breaks the lines of safe text after w cells, wherever that is: raw bytes have no words.
func broken(text string, w int) string {
	if w < 1 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/w)
	used := 0
	for len(text) > 0 {
		if text[0] == '\n' {
			b.WriteByte('\n')
			text, used = text[1:], 0
			continue
		}
		cluster, cells := text[:1], 1
		if text[0] >= utf8.RuneSelf || len(text) > 1 && text[1] >= utf8.RuneSelf {
			cluster, cells = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		}
		if used+cells > w && used > 0 {
			b.WriteByte('\n')
			used = 0
		}
		b.WriteString(cluster)
		used += cells
		text = text[len(cluster):]
	}
	return b.String()
}

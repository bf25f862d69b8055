package tui

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// hit is one row of History: an entry and what it says.
type hit struct {
	entry amp.Entry
	line  line
	// found is the text of the entry that the search is about, cut around the hit; "" when no word is looked for.
	found string
}

const (
	// aroundHit is how much text is kept on each side of a hit, in bytes.
	aroundHit = 240
	// beforeHit is how many cells of a row stand before a hit at most.
	beforeHit = 16
)

// readHits puts entries into words and finds the text that a search is about.
func readHits(entries []amp.Entry, s *amp.Search) []hit {
	out := make([]hit, len(entries))
	for i := range entries {
		out[i] = hit{entry: entries[i], line: describe(&entries[i]), found: around(s.Found(&entries[i]), s)}
	}
	return out
}

// around is a text cut around the first hit in it.
func around(text string, s *amp.Search) string {
	marks := s.Mark(text)
	if len(marks) == 0 {
		return ""
	}
	from, to := marks[0][0], marks[0][1]
	head, tail := text[:from], text[to:]
	if cut := len(head) - aroundHit; cut > 0 {
		for cut < len(head) && !utf8.RuneStart(head[cut]) {
			cut++
		}
		head = "…" + head[cut:]
	}
	if cut := aroundHit; len(tail) > cut {
		for cut > 0 && !utf8.RuneStart(tail[cut]) {
			cut--
		}
		tail = tail[:cut] + "…"
	}
	return head + text[from:to] + tail
}

// snippet is a text with a hit for one row of w cells: what stands before the hit is cut so that the hit is seen.
func snippet(text string, s *amp.Search, w int) string {
	text = ui.Safe(text)
	marks := s.Mark(text)
	if len(marks) == 0 || ui.Width(text[:marks[0][1]]) <= w {
		return text
	}
	if over := ui.Width(text[:marks[0][0]]) - min(beforeHit, w/3); over > 0 {
		text = "…" + ansi.TruncateLeft(text, over+1, "")
	}
	return text
}

// mark shows what a search looks for in a row, which may hold styles, as hits.
func (e *env) mark(row string, s *amp.Search) string {
	plain := ansi.Strip(row)
	marks := s.Mark(plain)
	if len(marks) == 0 {
		return row
	}
	w := ui.Width(plain)
	for _, m := range marks {
		word := plain[m[0]:m[1]]
		row = ui.Splice(row, e.Theme.S(theme.Hit, word), ui.Width(plain[:m[0]]), ui.Width(word), w)
	}
	return row
}

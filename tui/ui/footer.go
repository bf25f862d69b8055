package ui

import (
	"strings"

	"arbiter/tui/theme"
)

// KeyHint is a key and what it does, as the footer shows them.
type KeyHint struct{ Key, Text string }

// KeyRows returns at most n rows of hints in w cells, "↵ open  / filter": as many as fit, never one cut in half.
// right stands at the end of the last row and is given room first; it may hold styles. Rows without hints are
// left out, but there is always the last row.
func KeyRows(th *theme.Theme, w, n int, hints []KeyHint, right string) []string {
	if n < 1 || w < 1 {
		return nil
	}
	gap := "  "
	if w >= 120 {
		gap = "   "
	}
	right = Cut(right, w)
	var rows []string
	rest := hints
	for len(rows) < n {
		last := len(rows) == n-1
		room := w - 1
		if last && right != "" {
			room = w - 2 - Width(right)
		}
		row, left := keyRow(th, room, gap, rest)
		if !last && right != "" && len(left) == 0 { // all fits: is there room for the right end too?
			if alone, over := keyRow(th, w-2-Width(right), gap, rest); len(over) == 0 {
				return append(rows, Spread(" "+alone, right, w))
			}
		} else if !last && len(left) == 0 {
			return append(rows, Pad(" "+row, w))
		}
		rest = left
		if last {
			return append(rows, Spread(" "+row, right, w))
		}
		rows = append(rows, Pad(" "+row, w))
	}
	return rows
}

// keyRow draws the hints that fit into room and returns the others.
func keyRow(th *theme.Theme, room int, gap string, hints []KeyHint) (string, []KeyHint) {
	var row strings.Builder
	row.Grow(2 * max(room, 0))
	used := 0
	for i, h := range hints {
		need := Width(h.Key) + 1 + Width(h.Text)
		if i > 0 {
			need += len(gap)
		}
		if used+need > room {
			return row.String(), hints[i:]
		}
		if i > 0 {
			row.WriteString(gap)
		}
		row.WriteString(th.On(theme.Key))
		row.WriteString(h.Key)
		if th.On(theme.Key) != "" {
			row.WriteString(theme.Reset)
		}
		row.WriteByte(' ')
		row.WriteString(h.Text)
		used += need
	}
	return row.String(), nil
}

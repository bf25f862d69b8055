package ui

import (
	"strings"

	"arbiter/tui/theme"
)

// Beside returns two blocks next to each other with a line of one cell between them. Where a rule line of one
// of them meets the line, the sign is a tee. The block is as high as the higher of the two. The first row is a
// tee down where both begin with a rule, for the header that stands above.
func Beside(left, right *Block) *Block {
	th := left.Theme
	b := NewBlock(th, left.w+1+right.w)
	h := max(left.Height(), right.Height())
	b.Grow(h)
	bar := th.S(theme.Line, th.Signs.Bar)
	var all strings.Builder // one string that every row is a part of: a frame has many rows and little time
	ends, rules := make([]int, h), make([]bool, h)
	for i := range h {
		l, lr := left.row(i)
		r, rr := right.row(i)
		line := bar
		if lr || rr {
			line = th.S(theme.Line, tee(th.Signs, i == 0, lr, rr))
		}
		if i == 0 {
			all.Grow(h * (len(l) + len(line) + len(r) + 64))
		}
		all.WriteString(l)
		all.WriteString(line)
		all.WriteString(r)
		ends[i], rules[i] = all.Len(), lr && rr
	}
	rows, begin := all.String(), 0
	for i, end := range ends {
		b.put(rows[begin:end], rules[i])
		begin = end
	}
	return b
}

// RuleUp appends the line that closes two panes below: a rule with a tee at column x, where [Beside] drew its
// separator (the width of its left block).
func (b *Block) RuleUp(x int) *Block {
	sg := b.Theme.Signs
	if x < 0 || x >= b.w {
		return b.Rule("", "")
	}
	on, off := around(b.Theme, theme.Line)
	var row strings.Builder
	row.Grow(len(on) + len(sg.Rule)*b.w + len(sg.TeeUp) + len(off))
	row.WriteString(on)
	for i := range b.w {
		if i == x {
			row.WriteString(sg.TeeUp)
		} else {
			row.WriteString(sg.Rule)
		}
	}
	row.WriteString(off)
	b.put(row.String(), true)
	return b
}

// RuleUpLine is a rule line with a title that closes two panes above it at column x.
func RuleUpLine(th *theme.Theme, w, x int, title string) string {
	sg := th.Signs
	if Width(title)+6 > x || x >= w { // no room for the title before the tee
		return Splice(RuleLine(th, w, title, ""), th.S(theme.Line, sg.TeeUp), x, 1, w)
	}
	return RuleLine(th, x, title, "") + th.S(theme.Line, sg.TeeUp+repeat(sg.Rule, w-x-1))
}

func (b *Block) row(i int) (row string, rule bool) {
	if i < len(b.rows) {
		return b.rows[i], b.isRule(i)
	}
	return blanks(b.w), false
}

func tee(sg *theme.Signs, first, left, right bool) string {
	switch {
	case left && right && first:
		return sg.TeeDown
	case left && right:
		return sg.Cross
	case left:
		return sg.TeeLeft
	default:
		return sg.TeeRight
	}
}

// Split returns the widths of two panes and their line in w cells: the left one gets share (0 to 1), and each
// at least the cells given. ok is false when there is no room for both.
func Split(w int, share float64, minLeft, minRight int) (left, right int, ok bool) {
	if w < minLeft+1+minRight {
		return w, 0, false
	}
	left = min(max(int(float64(w-1)*share+0.5), minLeft), w-1-minRight)
	return left, w - 1 - left, true
}

// Box returns the block inside a frame of two more cells and rows: "╭─ title ── facts ─╮" above and
// "╰─ foot ── more ─╯" below. It is for overlays only; pages have no outer boxes.
func (b *Block) Box(title, facts, foot, more string) *Block {
	th, sg := b.Theme, b.Theme.Signs
	out := NewBlock(th, b.w+2)
	edge := func(l, r, a, z string) {
		out.put(th.S(theme.Line, l)+RuleLine(th, b.w, a, z)+th.S(theme.Line, r), false)
	}
	bar := th.S(theme.Line, sg.Bar)
	edge(sg.CornerTL, sg.CornerTR, title, facts)
	for _, r := range b.rows {
		out.put(bar+r+bar, false)
	}
	edge(sg.CornerBL, sg.CornerBR, foot, more)
	return out
}

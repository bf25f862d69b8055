package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/theme"
)

// Frame is a whole screen: exactly H rows of W cells, each beginning and ending with a reset, because the
// renderer skips equal rows and an open style would bleed into what it skipped.
type Frame struct {
	th   *theme.Theme
	w, h int
	rows []string
}

// NewFrame returns a blank frame of w by h cells.
func NewFrame(th *theme.Theme, w, h int) *Frame {
	f := &Frame{th: th, w: max(w, 0), h: max(h, 0)}
	f.rows = make([]string, f.h)
	blank := blanks(f.w)
	for i := range f.rows {
		f.rows[i] = blank
	}
	return f
}

// Size returns the width and height in cells.
func (f *Frame) Size() (w, h int) { return f.w, f.h }

// Rows returns the rows without the outer resets. The slice is the frame's own.
func (f *Frame) Rows() []string { return f.rows }

// Put sets rows from y on to those of a block, as wide as the frame. Rows outside of the frame are dropped.
func (f *Frame) Put(y int, b *Block) *Frame {
	for i, r := range b.rows {
		if at := y + i; at >= 0 && at < f.h {
			if b.w != f.w {
				r = Pad(r, f.w)
			}
			f.rows[at] = r
		}
	}
	return f
}

// Overlay draws a block over the frame with its upper left corner at x, y; what lies outside is cut.
func (f *Frame) Overlay(x, y int, b *Block) *Frame {
	for i, r := range b.rows {
		if at := y + i; at >= 0 && at < f.h {
			f.rows[at] = Splice(f.rows[at], r, x, b.w, f.w)
		}
	}
	return f
}

// Center draws a block over the middle of the frame.
func (f *Frame) Center(b *Block) *Frame {
	return f.Overlay(max((f.w-b.w)/2, 0), max((f.h-b.Height())/2, 0), b)
}

// String returns the frame as the program prints it: H rows of W cells joined by newlines, signs in the set of
// the theme. A row of a wrong width, which is a defect of the page, is repaired and never reaches the terminal.
func (f *Frame) String() string { return new(Painter).Paint(f) }

// Painter prints one frame after the other. What it has made of a row it uses again while the row is the same, which most are
// from one frame to the next. The zero value is ready; it belongs to one goroutine.
type Painter struct {
	rows  []paintedRow
	w     int
	epoch uint64
}

// paintedRow is a row of a frame and what is printed of it.
type paintedRow struct{ row, out string }

// Paint returns what [Frame.String] returns.
func (p *Painter) Paint(f *Frame) string {
	if p.w != f.w || p.epoch != f.th.Epoch() || len(p.rows) != f.h {
		p.rows, p.w, p.epoch = make([]paintedRow, f.h), f.w, f.th.Epoch()
	}
	n := 0
	for i, r := range f.rows {
		if c := &p.rows[i]; c.out == "" || c.row != r {
			c.row = r
			if Width(r) != f.w {
				r = Pad(r, f.w)
			}
			c.out = anchor(f.th.Signs.Plain(r))
		}
		n += len(p.rows[i].out) + 2*len(theme.Reset) + 1
	}
	var out strings.Builder
	out.Grow(n)
	for i := range p.rows {
		if i > 0 {
			out.WriteByte('\n')
		}
		out.WriteString(theme.Reset)
		out.WriteString(p.rows[i].out)
		out.WriteString(theme.Reset)
	}
	return out.String()
}

// Splice returns row, of total cells, with patch, of w cells, drawn over it at x. The result has total cells.
// A wide character that is cut in half becomes a blank.
func Splice(row, patch string, x, w, total int) string {
	if x < 0 {
		patch, w, x = dropCells(patch, -x), w+x, 0
	}
	if w = min(w, total-x); w <= 0 {
		return row
	}
	left := Pad(ansi.Truncate(row, x, ""), x)
	right := dropCells(row, x+w)
	return left + theme.Reset + Pad(patch, w) + theme.Reset + Pad(right, total-x-w)
}

package ui

import (
	"strings"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// Column describes one column of a table.
type Column struct {
	Title string
	Width int  // cells; for a flexible column the least it needs
	Flex  bool // takes the room that is left; several share it
	Right bool // cells stand at the right
	Keep  int  // columns with the lowest Keep are dropped first when the room is short; equal ones from the right
}

// Cell is one value in a row.
type Cell struct {
	Text   string     // plain text of any origin, made safe while drawing
	Role   theme.Role // how Text looks
	Styled string     // text with styles from the theme, used instead of Text
	Live   bool       // changes every second: it becomes the slot of the line and is drawn apart from the cache
}

// Line is one row of a list: a slot of Slot cells between Head and Tail that changes more often than the rest,
// such as a countdown. Without a slot all is in Head.
type Line struct {
	Head string
	Slot int
	Tail string
}

// Join returns the row with text in its slot.
func (l Line) Join(text string) string {
	if l.Slot == 0 {
		return l.Head
	}
	n := Width(text)
	if n > l.Slot {
		text = Pad(text, l.Slot)
		n = l.Slot
	}
	return l.Head + text + blanks(l.Slot-n) + l.Tail
}

// Columns is a layout of columns for one width. Its rows begin with a gutter of two cells.
type Columns struct {
	th   *theme.Theme
	w    int
	cols []Column
	wide []int // cells of each column, 0: dropped
	head string
}

const gutterCells = 2

// NewColumns lays columns out in w cells with one blank between them. Columns that find no room are dropped in
// the order of [Column.Keep]; the last one is cut instead.
func NewColumns(th *theme.Theme, w int, cols ...Column) *Columns {
	c := &Columns{th: th, w: max(w, 0), cols: cols, wide: make([]int, len(cols))}
	shown := len(cols)
	for i, col := range cols {
		c.wide[i] = max(col.Width, 1)
	}
	for shown > 1 && c.need() > c.w {
		c.drop()
		shown--
	}
	c.stretch()
	return c
}

// need returns the cells that the shown columns take at least.
func (c *Columns) need() int {
	n := gutterCells - 1
	for _, w := range c.wide {
		if w > 0 {
			n += w + 1
		}
	}
	return n
}

func (c *Columns) drop() {
	worst := -1
	for i, w := range c.wide {
		if w > 0 && (worst < 0 || c.cols[i].Keep <= c.cols[worst].Keep) {
			worst = i
		}
	}
	c.wide[worst] = 0
}

// stretch gives what is left to the flexible columns, and cuts the last column when even it has no room.
func (c *Columns) stretch() {
	rest := c.w - c.need()
	flex := 0
	for i, w := range c.wide {
		if w > 0 && c.cols[i].Flex {
			flex++
		}
	}
	for i, w := range c.wide {
		if w == 0 {
			continue
		}
		if rest < 0 {
			c.wide[i] = max(w+rest, 0)
			continue
		}
		if c.cols[i].Flex {
			add := rest / flex
			c.wide[i] += add
			rest -= add
			flex--
		}
	}
}

// Shows reports whether the column with this title found room.
func (c *Columns) Shows(title string) bool {
	for i, col := range c.cols {
		if col.Title == title {
			return c.wide[i] > 0
		}
	}
	return false
}

// Head returns the row of titles.
func (c *Columns) Head() string {
	if c.head != "" {
		return c.head
	}
	cells := make([]Cell, len(c.cols))
	for i, col := range c.cols {
		cells[i] = Cell{Text: col.Title, Role: theme.Muted}
	}
	c.head = c.Row(false, cells...).Head
	return c.head
}

// Row returns one row of exactly the width. A selected row has the gutter sign, and its cells of role Text turn
// to Strong. Missing cells are blank. At most one cell may be live.
func (c *Columns) Row(selected bool, cells ...Cell) Line {
	var b strings.Builder
	b.Grow(c.w + 48)
	b.WriteString(Gutter(c.th, selected))
	used := gutterCells
	line := Line{}
	first := true
	for i, w := range c.wide {
		if w == 0 {
			continue
		}
		if !first {
			b.WriteByte(' ')
			used++
		}
		first = false
		used += w
		cell := Cell{}
		if i < len(cells) {
			cell = cells[i]
		}
		if cell.Live && line.Slot == 0 {
			line.Head, line.Slot = b.String(), w
			b.Reset()
			continue
		}
		c.cell(&b, cell, w, c.cols[i].Right, selected)
	}
	b.WriteString(blanks(c.w - used))
	if line.Slot > 0 {
		line.Tail = b.String()
		return line
	}
	line.Head = b.String()
	if used > c.w {
		line.Head = Pad(line.Head, c.w)
	}
	return line
}

func (c *Columns) cell(b *strings.Builder, cell Cell, w int, right, selected bool) {
	text, role := cell.Styled, cell.Role
	if text == "" {
		text = textsafe.Line(cell.Text)
		if selected && role == theme.Text {
			role = theme.Strong
		}
	} else {
		role = theme.Text
	}
	if right {
		text = PadLeft(text, w)
	} else {
		text = Pad(text, w)
	}
	on := c.th.On(role)
	if on == "" {
		b.WriteString(text)
		return
	}
	b.WriteString(on)
	b.WriteString(text)
	b.WriteString(theme.Reset)
}

// Gutter returns the two cells that begin a row: the selection sign and a blank, or two blanks.
func Gutter(th *theme.Theme, selected bool) string {
	if !selected {
		return "  "
	}
	return th.S(theme.Accent, th.Signs.Gutter) + " "
}

package tui

import "arbiter/tui/ui"

// column is a page of rows with items among them that a cursor walks through. It is built whole, from what is in
// memory, and shown in part.
type column struct {
	*ui.Block
	items []columnItem
}

// columnItem is the rows from..to of a column.
type columnItem struct {
	id       string
	from, to int
}

func (e *env) newColumn(w int) *column {
	return &column{Block: ui.NewBlock(e.Theme, w).Grow(e.Height), items: make([]columnItem, 0, 16)}
}

// item makes an item of the rows that draw adds.
func (c *column) item(id string, draw func()) {
	from := c.Height()
	draw()
	c.items = append(c.items, columnItem{id, from, c.Height()})
}

// behead takes the first row away, where another one says the same.
func (c *column) behead() {
	c.Block = c.Slice(1, c.Height())
	for i := range c.items {
		c.items[i].from, c.items[i].to = c.items[i].from-1, c.items[i].to-1
	}
}

func (c *column) index(id string) int {
	for i, it := range c.items {
		if it.id == id {
			return i
		}
	}
	return -1
}

// scroller is the part of a column that is on the screen, and the cursor in it. The cursor is an id.
type scroller struct {
	id     string
	at     int // where the id was seen last
	top, h int
	rows   int
	reveal bool // the cursor moved: it must be on the screen in the next frame
	lazy   bool // there is no cursor before a person moves: what stands on top is read first
	items  []columnItem
}

// settle finds the cursor again in a new column.
func (s *scroller) settle(c *column) {
	s.items, s.rows = c.items, c.Height()
	if i := c.index(s.id); i >= 0 {
		s.at = i
		return
	}
	if len(c.items) > 0 && !(s.lazy && s.id == "") {
		s.at = min(s.at, len(c.items)-1)
		s.id = c.items[s.at].id
	}
}

// show returns h rows of the column.
func (s *scroller) show(c *column, h int) *ui.Block {
	s.settle(c)
	if h != s.h {
		s.h, s.reveal = h, true
	}
	if s.reveal && s.id != "" && s.at < len(s.items) {
		it := s.items[s.at]
		if it.to > s.top+h {
			s.top = it.to - h
		}
		if it.from < s.top {
			s.top = it.from
		}
		if s.at == 0 && it.to <= h { // what stands above the first item is seen with it
			s.top = 0
		}
		s.reveal = false
	}
	s.top = max(min(s.top, s.rows-h), 0)
	return c.Slice(s.top, s.top+h).Fit(h)
}

// visible reports whether all rows of an item were on the screen in the last frame.
func (s *scroller) visible(it columnItem) bool { return it.from >= s.top && it.to <= s.top+s.h }

// step moves the cursor by one item, or scrolls by a row where the item, or what follows the last one, goes on.
func (s *scroller) step(down bool) {
	if len(s.items) == 0 {
		s.roll(map[bool]int{true: 1, false: -1}[down])
		return
	}
	it := s.items[min(s.at, len(s.items)-1)]
	if s.id == "" {
		if !down || s.items[0].to > s.top+s.h {
			s.roll(map[bool]int{true: 1, false: -1}[down])
			return
		}
		s.set(0)
		return
	}
	switch {
	case down && it.to > s.top+s.h && it.from <= s.top, !down && it.from < s.top && it.to >= s.top+s.h:
		s.roll(map[bool]int{true: 1, false: -1}[down])
	case down && s.at+1 < len(s.items):
		s.set(s.at + 1)
	case !down && s.at > 0:
		s.set(s.at - 1)
	default:
		s.roll(map[bool]int{true: 1, false: -1}[down])
	}
}

// roll scrolls without the cursor.
func (s *scroller) roll(n int) { s.top = max(min(s.top+n, s.rows-s.h), 0) }

func (s *scroller) set(i int) {
	if i >= 0 && i < len(s.items) {
		s.at, s.id, s.reveal = i, s.items[i].id, true
	}
}

// cursor moves the cursor to an id.
func (s *scroller) cursor(id string) { s.id, s.reveal = id, true }

// intent applies a movement and reports whether the intent was one.
func (s *scroller) intent(id string) bool {
	switch id {
	case moveDown:
		s.step(true)
	case moveUp:
		s.step(false)
	case moveTop:
		if !s.lazy {
			s.set(0)
		} else {
			s.id = ""
		}
		s.top = 0
	case moveBottom:
		s.set(len(s.items) - 1)
		s.reveal, s.top = false, max(s.rows-s.h, 0)
	case halfDown, pageDown, halfUp, pageUp:
		n := max(s.h/2, 1)
		if id == pageDown || id == pageUp {
			n = max(s.h-1, 1)
		}
		if id == halfUp || id == pageUp {
			n = -n
		}
		s.roll(n)
		s.into()
	default:
		return false
	}
	return true
}

// into moves the cursor to the nearest item that is on the screen after a scroll.
func (s *scroller) into() {
	if s.id == "" {
		return
	}
	for d := range len(s.items) {
		for _, i := range []int{s.at + d, s.at - d} {
			if i >= 0 && i < len(s.items) && s.items[i].from < s.top+s.h && s.items[i].to > s.top {
				s.at, s.id = i, s.items[i].id
				return
			}
		}
	}
}

// click selects the item at a row of the last frame.
func (s *scroller) click(y int) bool {
	for i, it := range s.items {
		if row := s.top + y; row >= it.from && row < it.to {
			s.at, s.id = i, it.id
			return true
		}
	}
	return false
}

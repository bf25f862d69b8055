package ui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// HelpItem is one row of the help; with an id it runs that action.
type HelpItem struct {
	ID   string // "" for a row that only explains
	Key  string
	Text string
	Off  string // why the action is off now
}

// HelpSection is a group of rows under a heading.
type HelpSection struct {
	Title string
	Items []HelpItem
	Right bool // belongs to the right column
	Aside bool // explains: stands in a column of its own where there is room for three
}

// Help shows every action of a screen and the global ones; each row runs. Typing filters.
type Help struct {
	Title    string
	sections []HelpSection
	filter   *Field
	rows     []HelpItem // what can be highlighted, in the order of drawing
	at       int
	top      int
}

// NewHelp returns the help with the first row that runs highlighted.
func NewHelp(title string, sections []HelpSection) *Help {
	h := &Help{Title: title, sections: sections, filter: NewField("")}
	h.collect()
	return h
}

// Item returns the highlighted row; ok is false when there is none.
func (h *Help) Item() (HelpItem, bool) {
	if h.at < 0 || h.at >= len(h.rows) {
		return HelpItem{}, false
	}
	return h.rows[h.at], true
}

// Key handles one key; "?" and esc close, enter runs the highlighted row.
func (h *Help) Key(k tea.KeyMsg) Picked {
	switch k.String() {
	case "esc", "ctrl+c", "?":
		return PickClosed
	case "up", "ctrl+p":
		h.at = max(h.at-1, 0)
	case "down", "ctrl+n", "tab":
		h.at = min(h.at+1, max(len(h.rows)-1, 0))
	case "pgup":
		h.at = max(h.at-10, 0)
	case "pgdown":
		h.at = min(h.at+10, max(len(h.rows)-1, 0))
	case "enter":
		switch item, ok := h.Item(); {
		case !ok:
			return PickNone
		case item.Off != "":
			return PickOff
		default:
			return PickChosen
		}
	case "/": // the filter has the keys already
		if h.filter.Text() == "" {
			return PickMoved
		}
		h.filter.Insert("/")
		h.collect()
	default:
		if !h.filter.Key(k) {
			return PickNone
		}
		h.collect()
	}
	return PickMoved
}

func (h *Help) matches(i HelpItem) bool {
	q := strings.ToLower(strings.TrimSpace(h.filter.Text()))
	return q == "" || strings.Contains(strings.ToLower(i.Key+" "+i.Text+" "+i.ID), q)
}

func (h *Help) collect() {
	h.rows, h.at, h.top = h.rows[:0], 0, 0
	for _, right := range []bool{false, true} {
		for _, aside := range []bool{false, true} {
			for _, s := range h.sections {
				for _, it := range s.Items {
					if s.Right == right && s.Aside == aside && it.ID != "" && h.matches(it) {
						h.rows = append(h.rows, it)
					}
				}
			}
		}
	}
}

// helpRow is one drawn row and the index of its action, -1 for none.
type helpRow struct {
	text string
	item int
}

// The least cells that two and three columns of the help need.
const (
	twoColumns   = 60
	threeColumns = 126
)

// Render returns the help as a box of w by h cells: three columns from 128 cells on, two from 62, one below.
func (h *Help) Render(th *theme.Theme, w, h2 int) *Block {
	inner := max(w-2, 1)
	n := 1
	switch {
	case inner >= threeColumns:
		n = 3
	case inner >= twoColumns:
		n = 2
	}
	cols := (inner - (n - 1)) / n
	next := 0
	columns := make([][]helpRow, n)
	for _, right := range []bool{false, true} { // in the order of the rows that run
		for _, aside := range []bool{false, true} {
			at := 0
			switch {
			case aside && n == 3:
				at = 2
			case right && n > 1:
				at = 1
			}
			columns[at] = h.column(th, columns[at], func(s *HelpSection) bool { return s.Right == right && s.Aside == aside }, cols, &next)
		}
	}
	rows := max(h2-2, 1)
	h.reveal(columns, rows)
	b := NewBlock(th, inner)
	for i := h.top; i < h.top+rows; i++ {
		var line strings.Builder
		for at, c := range columns {
			if at > 0 {
				line.WriteString(" ")
			}
			line.WriteString(Pad(textAt(c, i), cols))
		}
		b.Add(line.String())
	}
	facts := "/ type to filter"
	if q := h.filter.Text(); q != "" {
		facts = "/ " + textsafe.Line(q)
	}
	count := "nothing matches"
	if len(h.rows) > 0 {
		count = fmt.Sprintf("%d of %d", h.at+1, len(h.rows))
	}
	return b.Box(h.Title, facts, th.Signs.Enter+" run the highlighted row · ? or esc close", count)
}

func textAt(rows []helpRow, i int) string {
	if i < len(rows) {
		return rows[i].text
	}
	return ""
}

// reveal scrolls so that the highlighted row is on the screen.
func (h *Help) reveal(columns [][]helpRow, rows int) {
	longest := 0
	for _, col := range columns {
		longest = max(longest, len(col))
		for i, r := range col {
			if r.item != h.at {
				continue
			}
			if i < h.top {
				h.top = i
			}
			if i >= h.top+rows {
				h.top = i - rows + 1
			}
		}
	}
	h.top = max(min(h.top, longest-rows), 0)
}

// column appends the rows of some sections, in w cells.
func (h *Help) column(th *theme.Theme, out []helpRow, of func(s *HelpSection) bool, w int, next *int) []helpRow {
	for i := range h.sections {
		s := &h.sections[i]
		if !of(s) {
			continue
		}
		var body []helpRow
		for _, it := range s.Items {
			if !h.matches(it) {
				continue
			}
			at := -1
			if it.ID != "" {
				at = *next
				*next++
			}
			body = append(body, helpRow{h.row(th, it, at, w), at})
		}
		if len(body) == 0 {
			continue
		}
		if len(out) > 0 {
			out = append(out, helpRow{"", -1})
		}
		out = append(out, helpRow{" " + th.S(theme.Title, strings.ToUpper(textsafe.Line(s.Title))), -1})
		out = append(out, body...)
	}
	return out
}

const helpKeyWidth = 7

func (h *Help) row(th *theme.Theme, it HelpItem, at, w int) string {
	key := th.S(theme.Key, Pad(textsafe.Line(it.Key), helpKeyWidth))
	if Width(it.Key) > helpKeyWidth {
		key = th.S(theme.Key, textsafe.Line(it.Key))
	}
	text := textsafe.Line(it.Text)
	if it.Off != "" {
		key = Pad(textsafe.Line(it.Key), helpKeyWidth)
		return Cut(" "+Gutter(th, at == h.at && at >= 0)+th.S(theme.Disabled, key+" "+text+"  off: "+textsafe.Line(it.Off)), w)
	}
	return Cut(" "+Gutter(th, at == h.at && at >= 0)+key+" "+text, w)
}

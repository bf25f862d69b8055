package ui

import (
	"strings"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// Tab is one screen in the header.
type Tab struct {
	Key    string // "1"
	Title  string // "History"
	Short  string // "Hist"; "" means Title
	Badge  string // "▲4", "" for none
	Active bool
}

// Header is the first row of the screen.
type Header struct {
	Name   string // "ARBITER"
	Facts  string // "local · rw"
	Tabs   []Tab
	Right  string // "● live", may hold styles
	Detail string // shown behind Right where there is room: " · 14:32:07"
	Zones  *Zones // takes the place of each tab, by its key; nil for none
}

// Row returns the header in exactly w cells. What gives way, in this order: the detail, the facts, the long
// titles, the name (to its first letter), the titles of all but the active tab, and at last the tabs from the
// left, never the active one. The right end stays.
func (h Header) Row(th *theme.Theme, w int) string {
	right := h.Right
	rightWidth := Width(right)
	first := ""
	if h.Name != "" {
		first = string([]rune(h.Name)[:1])
	}
	type try struct {
		head   string
		detail bool
		level  int
	}
	name, facts := th.S(theme.Strong, h.Name), textsafe.Line(h.Facts)
	tries := []try{
		{join2(name, facts), true, 0},
		{join2(name, facts), false, 0},
		{name, false, 0},
		{name, false, 1},
		{th.S(theme.Strong, first), false, 1},
		{th.S(theme.Strong, first), false, 2},
		{"", false, 2},
	}
	for _, t := range tries {
		tail := right
		if t.detail {
			tail += h.Detail
		}
		left := t.head + h.tabs(th, t.level, 0, Width(t.head))
		if Width(left)+1+Width(tail) <= w {
			return Spread(left, tail, w)
		}
	}
	for skip := 1; skip <= h.active(); skip++ {
		if left := h.tabs(th, 2, skip, 0); Width(left)+1+rightWidth <= w {
			return Spread(left, right, w)
		}
	}
	return Spread(h.tabs(th, 2, h.active(), 0), right, w)
}

func join2(name, facts string) string {
	if facts == "" {
		return name
	}
	return name + "  " + facts
}

func (h Header) active() int {
	for i, t := range h.Tabs {
		if t.Active {
			return i
		}
	}
	return 0
}

// tabs draws the tabs from skip on; "[1 Now]" reads without colour. Level 0 is full titles with a blank before
// the badge, 1 is short titles, 2 is numbers and badges but for the active tab. They begin at column x.
func (h Header) tabs(th *theme.Theme, level, skip, x int) string {
	if h.Zones != nil {
		h.Zones.Reset()
	}
	zone := func(t *Tab, w int) {
		if h.Zones != nil {
			h.Zones.Add(t.Key, x, 0, w, 1)
		}
		x += w
	}
	var b strings.Builder
	b.Grow(256)
	for i, t := range h.Tabs {
		if i < skip {
			continue
		}
		text, badge := t.Key, t.Badge
		title := t.Title
		if level > 0 && t.Short != "" {
			title = t.Short
		}
		if level < 2 || t.Active {
			text += " " + textsafe.Line(title)
			if level == 0 && badge != "" {
				badge = " " + badge
			}
		}
		if t.Active {
			b.WriteString(" " + th.S(theme.Accent, "["+text+badge+"]"))
			x++
			zone(&t, Width(text+badge)+2)
			continue
		}
		// the bracket of the active tab takes the place of the blank around its neighbours
		b.WriteByte(' ')
		if i == skip || !h.Tabs[i-1].Active {
			b.WriteByte(' ')
			x++
		}
		x++
		zone(&t, Width(text+badge))
		b.WriteString(text)
		if badge != "" {
			b.WriteString(th.On(theme.Time))
			b.WriteString(badge)
			if th.On(theme.Time) != "" {
				b.WriteString(theme.Reset)
			}
		}
	}
	return b.String()
}

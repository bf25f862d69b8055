package ui

import (
	"strings"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// Pager shows text of any size: only the visible lines are made safe, wrapped and drawn. A Pager is not safe for
// concurrent use.
type Pager struct {
	th     *theme.Theme
	text   string
	starts []int // byte offset of each line
	top    int   // first line on the screen
	skip   int   // wrapped rows of it above the screen
	left   int   // first column when not wrapped
	wrap   bool
	h      int
	query  string
	hits   []int // lines with the query, found on search
}

// NewPager returns an empty pager.
func NewPager(th *theme.Theme) *Pager { return &Pager{th: th} }

// SetTheme changes the look.
func (p *Pager) SetTheme(th *theme.Theme) { p.th = th }

// SetText shows text of any origin from its first line on.
func (p *Pager) SetText(text string) {
	p.text, p.top, p.skip, p.left = text, 0, 0, 0
	p.starts = append(p.starts[:0], 0)
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 || at+i+1 == len(text) {
			break
		}
		at += i + 1
		p.starts = append(p.starts, at)
	}
	p.Search(p.query)
}

// Update shows a text that goes on from the one before, of which the beginning may be gone: the lines on the screen stay. Where the
// two have nothing in common it is [Pager.SetText].
func (p *Pager) Update(text string) {
	const probe = 4 << 10
	old, top, left := p.text, p.top, p.left
	head := text[:min(len(text), probe)]
	at := strings.Index(old, head)
	if strings.HasPrefix(text, old) {
		at = 0
	}
	p.SetText(text)
	if old == "" || at < 0 {
		return
	}
	p.left = left
	p.Goto(top - strings.Count(old[:at], "\n"))
}

// Lines returns the number of lines, Top the index of the first one on the screen.
func (p *Pager) Lines() int {
	if p.text == "" {
		return 0
	}
	return len(p.starts)
}

// Top returns the index of the first line on the screen.
func (p *Pager) Top() int { return p.top }

// Wrap turns the wrapping of long lines on or off; off, they are cut and Shift moves sideways.
func (p *Pager) Wrap(on bool) { p.wrap, p.skip, p.left = on, 0, 0 }

// Wrapped reports whether long lines are wrapped.
func (p *Pager) Wrapped() bool { return p.wrap }

// Shift moves n columns to the right when lines are not wrapped.
func (p *Pager) Shift(n int) {
	if !p.wrap {
		p.left = max(p.left+n, 0)
	}
}

// Scroll moves by n lines, down when positive; when wrapped, the first rows of a long line count too.
func (p *Pager) Scroll(n int) {
	p.skip = 0
	p.top = min(max(p.top+n, 0), max(p.Lines()-1, 0))
}

// Page moves by n screens.
func (p *Pager) Page(n float64) { p.Scroll(int(n * float64(max(p.h, 2)))) }

// Goto puts a line on the first row; Home and End are Goto(0) and Goto(Lines()).
func (p *Pager) Goto(line int) { p.top, p.skip = min(max(line, 0), max(p.Lines()-1, 0)), 0 }

// Search marks a text, without regard to case, and returns the number of lines that have it; "" ends the search.
func (p *Pager) Search(query string) int {
	p.query, p.hits = query, p.hits[:0]
	if query == "" {
		return 0
	}
	low := strings.ToLower(query)
	for i := range p.Lines() {
		if strings.Contains(strings.ToLower(p.raw(i)), low) {
			p.hits = append(p.hits, i)
		}
	}
	return len(p.hits)
}

// Next moves to the next line with the query, or to the previous one; false when there is none.
func (p *Pager) Next(forward bool) bool {
	if forward {
		for _, l := range p.hits {
			if l > p.top {
				p.Goto(l)
				return true
			}
		}
		return false
	}
	for i := len(p.hits) - 1; i >= 0; i-- {
		if p.hits[i] < p.top {
			p.Goto(p.hits[i])
			return true
		}
	}
	return false
}

func (p *Pager) raw(i int) string {
	end := len(p.text)
	if i+1 < len(p.starts) {
		end = p.starts[i+1]
	}
	return strings.TrimRight(p.text[p.starts[i]:end], "\r\n")
}

// Render returns exactly h rows of w cells.
func (p *Pager) Render(w, h int) *Block {
	b := NewBlock(p.th, w)
	p.h = h
	p.settle(w, h)
	for i, skip := p.top, p.skip; i < p.Lines() && b.Height() < h; i, skip = i+1, 0 {
		rows := p.rows(i, b.w)
		for _, r := range rows[min(skip, len(rows)):] {
			if b.Height() < h {
				b.Add(p.mark(r))
			}
		}
	}
	return b.Fit(h)
}

// settle keeps the last screen full.
func (p *Pager) settle(w, h int) {
	n := p.Lines()
	if n == 0 {
		p.top = 0
		return
	}
	room := h
	for i := n - 1; i >= p.top; i-- {
		rows := 1
		if p.wrap {
			rows = len(p.rows(i, w))
		}
		if room -= rows; room < 0 {
			return
		}
	}
	for p.top > 0 {
		rows := 1
		if p.wrap {
			rows = len(p.rows(p.top-1, w))
		}
		if room -= rows; room < 0 {
			return
		}
		p.top--
	}
}

func (p *Pager) rows(i, w int) []string {
	raw := p.raw(i)
	if !p.wrap {
		return []string{p.window(raw, w)}
	}
	safe := textsafe.Block(raw)
	var out []string
	for _, l := range safe {
		out = append(out, Wrap(l, w)...)
	}
	return out
}

// window returns the part of a line that is on the screen; only that much of a huge line is looked at.
func (p *Pager) window(raw string, w int) string {
	if limit := (p.left + w + 1) * 16; len(raw) > limit {
		raw = raw[:limit]
	}
	l := textsafe.Block(raw)[0]
	if p.left > 0 {
		l = dropCells(l, p.left)
	}
	return Cut(l, w)
}

// mark shows the query in a row.
func (p *Pager) mark(row string) string {
	if p.query == "" {
		return row
	}
	return Highlight(p.th, row, p.query)
}

// Highlight returns plain text with every occurrence of query, without regard to case, in the role of hits.
func Highlight(th *theme.Theme, text, query string) string {
	low, q := strings.ToLower(text), strings.ToLower(query)
	if q == "" || len(low) != len(text) || !strings.Contains(low, q) {
		return text
	}
	var b strings.Builder
	for {
		i := strings.Index(low, q)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		b.WriteString(th.S(theme.Hit, text[i:i+len(q)]))
		text, low = text[i+len(q):], low[i+len(q):]
	}
}

package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// Block is a column of rows of one width: the unit that pages are put together from. Every row has exactly
// Width cells at every moment, whatever was added. A Block is not safe for concurrent use.
type Block struct {
	Theme *theme.Theme
	w     int
	rows  []string
	rules []int // the rows that are rule lines, so that panes can be joined with the right tees
}

// NewBlock returns an empty block of w cells; a negative width counts as 0.
func NewBlock(th *theme.Theme, w int) *Block { return &Block{Theme: th, w: max(w, 0)} }

// Width returns the cells of each row, Height the number of rows so far.
func (b *Block) Width() int { return b.w }

// Height returns the number of rows so far.
func (b *Block) Height() int { return len(b.rows) }

// Rows returns the rows. The slice is the block's own and valid until the next change.
func (b *Block) Rows() []string { return b.rows }

// Add appends rows that may hold styles made with [theme.Theme.S]; each is cut or padded to the width.
func (b *Block) Add(rows ...string) *Block {
	for _, r := range rows {
		b.put(Pad(r, b.w), false)
	}
	return b
}

// exact appends rows that are known to have the width already.
func (b *Block) exact(rows ...string) {
	for _, r := range rows {
		b.put(r, false)
	}
}

func (b *Block) put(row string, rule bool) {
	if rule {
		b.rules = append(b.rules, len(b.rows))
	}
	if b.rows == nil {
		b.rows = make([]string, 0, fewRows)
	}
	b.rows = append(b.rows, row)
}

// fewRows is what a block has room for when it gets its first row.
const fewRows = 16

// Grow makes room for n more rows at once, for a page that knows about how many will come.
func (b *Block) Grow(n int) *Block {
	b.rows = slices.Grow(b.rows, max(n, 0))
	return b
}

// isRule reports whether a row is a rule line.
func (b *Block) isRule(i int) bool {
	_, ok := slices.BinarySearch(b.rules, i)
	return ok
}

// Blank appends n empty rows.
func (b *Block) Blank(n int) *Block {
	if n <= 0 {
		return b
	}
	b.Grow(n)
	blank := blanks(b.w)
	for range n {
		b.put(blank, false)
	}
	return b
}

// Spread appends a row with left and right at its two ends.
func (b *Block) Spread(left, right string) *Block {
	b.put(Spread(left, right, b.w), false)
	return b
}

// Say appends one safe line of plain text in a role.
func (b *Block) Say(r theme.Role, text string) *Block {
	text = Cut(textsafe.Line(text), b.w)
	on, off := around(b.Theme, r)
	b.put(on+text+blanks(b.w-Width(text))+off, false)
	return b
}

// around is what stands before and behind a text in a role: a row is put together in one piece, since a frame has many.
func around(th *theme.Theme, r theme.Role) (on, off string) {
	if on = th.On(r); on != "" {
		off = theme.Reset
	}
	return on, off
}

// Rule appends a rule line with a title at its left and facts at its right: "─ Title ───── facts ─". Both are
// made safe. With neither it is a plain line.
func (b *Block) Rule(title, facts string) *Block {
	b.put(RuleLine(b.Theme, b.w, textsafe.Line(title), textsafe.Line(facts)), true)
	return b
}

// RuleSeen draws the rule line at a row anew, with its title and facts, where the list below it did not fit: what of it is on the
// screen stands before the facts then. It is called after [List.Render].
func (b *Block) RuleSeen(at int, title, facts string, l *List) *Block {
	part := l.Part()
	if part == "" {
		return b
	}
	if facts != "" {
		part += " · " + facts
	}
	return b.RuleAt(at, title, part)
}

// RuleAt draws the rule line at a row anew.
func (b *Block) RuleAt(at int, title, facts string) *Block {
	b.rows[at] = RuleLine(b.Theme, b.w, textsafe.Line(title), textsafe.Line(facts))
	return b
}

// RuleStyled is [Block.Rule] for a title and facts that hold styles and are safe already.
func (b *Block) RuleStyled(title, facts string) *Block {
	b.put(RuleLine(b.Theme, b.w, title, facts), true)
	return b
}

// Fields appends "  label     text" rows: the label in width cells, the text wrapped beside it. Text may hold
// styles; agent text must be made safe before.
func (b *Block) Fields(labelWidth int, pairs ...string) *Block {
	for i := 0; i+1 < len(pairs); i += 2 {
		b.Field(labelWidth, pairs[i], pairs[i+1])
	}
	return b
}

// Field appends one label with its text; see [Block.Fields].
func (b *Block) Field(labelWidth int, label, text string) *Block {
	inner := b.w - labelWidth - 3
	if inner < 4 { // too narrow to stand beside each other
		return b.Add("  "+b.Theme.S(theme.Muted, label), "  "+text)
	}
	label = Cut(label, labelWidth)
	on, off := around(b.Theme, theme.Muted)
	only := [1]string{text}
	for i, l := range wrapped(only[:], inner) {
		end := blanks(inner - Width(l))
		if i > 0 {
			b.put(blanks(labelWidth+3)+l+end, false)
			continue
		}
		b.put("  "+on+label+blanks(labelWidth-Width(label))+off+" "+l+end, false)
	}
	return b
}

// wrapped is [Wrap] of the one text in only, which it returns when that fits.
func wrapped(only []string, w int) []string {
	if w > 0 && Width(only[0]) <= w && !strings.Contains(only[0], "\n") {
		return only
	}
	return Wrap(only[0], w)
}

// Para appends text wrapped at words, indented by indent cells. Text may hold styles.
func (b *Block) Para(indent int, text string) *Block {
	only := [1]string{text}
	for _, l := range wrapped(only[:], b.w-indent) {
		if end := b.w - indent - Width(l); end >= 0 {
			b.put(blanks(indent)+l+blanks(end), false)
		} else {
			b.Add(blanks(indent) + l)
		}
	}
	return b
}

// Quote appends text of an agent: safe, behind a bar, in quotation marks, wrapped, at most limit rows (0: all).
// Agent text can not draw anything outside of this.
func (b *Block) Quote(indent int, text string, limit int) *Block {
	sg := b.Theme.Signs
	inner := b.w - indent - 2
	var only [1]string
	var lines, out []string
	if textsafe.Clean(text) { // most are one line of plain text
		only[0] = sg.QuoteOpen + text + sg.QuoteClose
		out = wrapped(only[:], inner)
	} else {
		lines = textsafe.Block(text)
		lines[0] = sg.QuoteOpen + lines[0]
		lines[len(lines)-1] += sg.QuoteClose
	}
	for i := range lines {
		out = append(out, wrapped(lines[i:i+1], inner)...)
		if limit > 0 && len(out) > limit {
			break
		}
	}
	if limit > 0 && len(out) > limit {
		out = out[:limit]
		out[limit-1] = Cut(out[limit-1]+" …", inner)
		if Width(out[limit-1]) == inner {
			out[limit-1] = Cut(out[limit-1], inner-1) + "…"
		}
	}
	lineOn, lineOff := around(b.Theme, theme.Line)
	on, off := around(b.Theme, theme.Quote)
	for _, l := range out {
		l = Cut(l, inner)
		if end := inner - Width(l); end >= 0 && l != "" {
			b.put(blanks(indent)+lineOn+sg.Bar+lineOff+" "+on+l+off+blanks(end), false)
		} else {
			b.Add(blanks(indent) + lineOn + sg.Bar + lineOff + " " + b.Theme.S(theme.Quote, l))
		}
	}
	return b
}

// Append adds the rows of other blocks; rows of another width are cut or padded.
func (b *Block) Append(others ...*Block) *Block {
	for _, o := range others {
		if o == nil {
			continue
		}
		b.Grow(len(o.rows))
		for _, i := range o.rules {
			b.rules = append(b.rules, len(b.rows)+i)
		}
		for _, r := range o.rows {
			if o.w != b.w {
				r = Pad(r, b.w)
			}
			b.rows = append(b.rows, r)
		}
	}
	return b
}

// Fit makes the block exactly h rows high: it cuts at the bottom or adds blank rows.
func (b *Block) Fit(h int) *Block {
	h = max(h, 0)
	if len(b.rows) > h {
		b.rows = b.rows[:h]
		for len(b.rules) > 0 && b.rules[len(b.rules)-1] >= h {
			b.rules = b.rules[:len(b.rules)-1]
		}
	}
	return b.Blank(h - len(b.rows))
}

// minFacts is the room that facts need to say anything.
const minFacts = 4

// RuleLine returns a rule line of exactly w cells with a title at the left and facts at the right, both safe
// already. The facts give way first, the last of them before the others, then the title.
func RuleLine(th *theme.Theme, w int, title, facts string) string {
	sg := th.Signs
	if w <= 0 {
		return ""
	}
	if title == "" && facts == "" || w < 6 {
		return th.S(theme.Line, repeat(sg.Rule, w))
	}
	room := w - 6 // "─ " + title + " ─" and the last " ─"
	if title != "" {
		title = Cut(title, room)
	}
	if left := room - Width(title) - 2; left < minFacts {
		facts = ""
	} else {
		facts = cutFacts(facts, left)
	}
	var out strings.Builder
	out.Grow(len(sg.Rule)*w + len(title) + len(facts) + 96)
	lines := w
	write := func(parts ...string) {
		for _, p := range parts {
			out.WriteString(p)
		}
	}
	write(th.On(theme.Line))
	if title != "" {
		write(sg.Rule, " ", theme.Reset, th.On(theme.Title), title, theme.Reset, th.On(theme.Line), " ")
		lines -= Width(title) + 3
	}
	if facts != "" {
		lines -= Width(facts) + 3
	}
	for range lines {
		out.WriteString(sg.Rule)
	}
	if facts != "" {
		write(" ", theme.Reset, th.On(theme.Muted), facts, theme.Reset, th.On(theme.Line), " ", sg.Rule)
	}
	write(theme.Reset)
	return out.String()
}

// tellingFact is how much of a fact that is cut must be left, with the ellipsis, to say anything.
const tellingFact = 10

// cutFacts returns as many of the facts between dots, from the first on, as fit into w cells. The last one is cut only where enough
// of it stays.
func cutFacts(facts string, w int) string {
	for Width(facts) > w {
		i := strings.LastIndex(facts, " · ")
		if i < 0 || w-Width(facts[:i])-3 >= tellingFact {
			return Cut(facts, w)
		}
		facts = facts[:i]
	}
	return facts
}

// Wrap returns s broken at blanks into rows of at most w cells; words that are longer are broken inside. Styles
// are closed at the end of a row and opened again in the next. It returns at least one row.
func Wrap(s string, w int) []string {
	if w < 1 {
		return []string{""}
	}
	if Width(s) <= w && !strings.Contains(s, "\n") {
		return []string{s}
	}
	rows := strings.Split(ansi.Wrap(s, w, ""), "\n")
	if strings.Contains(s, "\x1b") {
		carryStyles(rows)
	}
	for i, r := range rows {
		rows[i] = Cut(r, w) // a blank that hangs over the edge
	}
	return rows
}

// carryStyles makes each row whole in itself: what is open at its end is closed and opened again in the next.
func carryStyles(rows []string) {
	open := ""
	for i, r := range rows {
		row := open + r
		for rest := r; ; {
			at := strings.Index(rest, "\x1b[")
			if at < 0 {
				break
			}
			end := strings.IndexByte(rest[at:], 'm')
			if end < 0 {
				break
			}
			seq := rest[at : at+end+1]
			if seq == theme.Reset || seq == "\x1b[m" {
				open = ""
			} else {
				open += seq
			}
			rest = rest[at+end+1:]
		}
		if open != "" {
			row += theme.Reset
		}
		rows[i] = row
	}
}

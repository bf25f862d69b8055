package ui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/sahilm/fuzzy"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// Choice is one row of a picker or of the palette.
type Choice struct {
	ID    string
	Text  string // any origin; made safe while drawing
	Hint  string // at the right: a key, a kind
	Off   string // why it can not be chosen now, "" when it can
	Match string // what the query is compared with besides Text, such as an id
}

// Picked is the answer of a picker to a key.
type Picked uint8

// The answers.
const (
	PickNone   Picked = iota // not a key of the picker
	PickMoved                // cursor or query changed
	PickChosen               // the choice under the cursor was taken: see [Picker.Choice]
	PickOff                  // enter on a choice that is off; its Off says why
	PickClosed               // esc
)

// Picker lets a person choose one of some things by typing a part of it.
type Picker struct {
	Title string
	query *Field
	all   []Choice
	found []found
	at    int
	top   int
}

type found struct {
	Choice
	matched []int // byte offsets in Text
}

// NewPicker returns a picker with the cursor on the first choice.
func NewPicker(title string, choices []Choice) *Picker {
	p := &Picker{Title: title, query: NewField(""), all: choices}
	p.filter()
	return p
}

// SetChoices replaces the choices; the cursor stays on its id if that is still there.
func (p *Picker) SetChoices(choices []Choice) {
	id := ""
	if c, ok := p.Choice(); ok {
		id = c.ID
	}
	p.all = choices
	p.filter()
	for i, f := range p.found {
		if f.ID == id {
			p.at = i
		}
	}
}

// All returns every choice, whatever was typed.
func (p *Picker) All() []Choice { return p.all }

// Query returns what was typed.
func (p *Picker) Query() string { return p.query.Text() }

// SetQuery replaces what was typed.
func (p *Picker) SetQuery(q string) {
	p.query.SetText(q)
	p.filter()
}

// Choice returns the choice under the cursor; ok is false when nothing matches.
func (p *Picker) Choice() (Choice, bool) {
	if p.at < 0 || p.at >= len(p.found) {
		return Choice{}, false
	}
	return p.found[p.at].Choice, true
}

// Key handles one key.
func (p *Picker) Key(k tea.KeyMsg) Picked {
	switch k.String() {
	case "esc", "ctrl+c":
		return PickClosed
	case "up", "ctrl+p", "shift+tab":
		p.at = max(p.at-1, 0)
	case "down", "ctrl+n", "tab":
		p.at = min(p.at+1, max(len(p.found)-1, 0))
	case "pgup", "pgdown":
		d := 10
		if k.String() == "pgup" {
			d = -10
		}
		p.at = min(max(p.at+d, 0), max(len(p.found)-1, 0))
	case "enter":
		switch c, ok := p.Choice(); {
		case !ok:
			return PickNone
		case c.Off != "":
			return PickOff
		default:
			return PickChosen
		}
	default:
		if !p.query.Key(k) {
			return PickNone
		}
		p.filter()
	}
	return PickMoved
}

// filter ranks the choices by how well they match; without a query they keep their order.
func (p *Picker) filter() {
	p.at, p.top = 0, 0
	p.found = p.found[:0]
	q := strings.TrimSpace(p.query.Text())
	if q == "" {
		for _, c := range p.all {
			p.found = append(p.found, found{Choice: c})
		}
		return
	}
	for _, m := range fuzzy.FindFrom(q, choiceTexts(p.all)) {
		c := p.all[m.Index]
		f := found{Choice: c}
		for _, at := range m.MatchedIndexes {
			if at < len(c.Text) {
				f.matched = append(f.matched, at)
			}
		}
		p.found = append(p.found, f)
	}
	// what has the query for its name comes first, then what contains it as it is, what can not be chosen last
	slices.SortStableFunc(p.found, func(a, b found) int { return cmp.Compare(rank(a.Choice, q), rank(b.Choice, q)) })
}

func rank(c Choice, q string) int {
	if strings.EqualFold(c.Match, q) {
		return -1
	}
	low := strings.ToLower(c.Text + " " + c.Match)
	r := 0
	if !strings.Contains(low, strings.ToLower(q)) {
		r++
	}
	if c.Off != "" {
		r += 2
	}
	return r
}

type choiceTexts []Choice

func (c choiceTexts) String(i int) string { return c[i].Text + " " + c[i].Match }
func (c choiceTexts) Len() int            { return len(c) }

// Render returns the picker as a box of w by h cells.
func (p *Picker) Render(th *theme.Theme, w, h int) *Block {
	in := NewBlock(th, max(w-2, 1))
	in.Add(" " + th.S(theme.Accent, ":") + " " + p.query.Row(th, in.w-4, true))
	rows := max(h-3, 1)
	if p.at < p.top {
		p.top = p.at
	}
	if p.at >= p.top+rows {
		p.top = p.at - rows + 1
	}
	for i := p.top; i < len(p.found) && in.Height() <= rows; i++ {
		in.Add(p.row(th, in.w, i))
	}
	if len(p.found) == 0 {
		in.Say(theme.Muted, "  nothing matches; backspace takes a letter back")
	}
	return in.Fit(rows+1).Box(p.Title, counted(len(p.found), len(p.all)), th.Signs.Enter+" choose · esc close", "")
}

const shortHint = 14

func (p *Picker) row(th *theme.Theme, w, i int) string {
	c := p.found[i]
	text := textsafe.Line(c.Text)
	// a long hint gives way to the text; a short one is a key or a word that is looked for
	hint := th.S(theme.Muted, Cut(textsafe.Line(c.Hint), max(w-2-Width(text)-3, shortHint)))
	switch {
	case c.Off != "":
		text = th.S(theme.Disabled, text+"  off: "+textsafe.Line(c.Off))
	case i == p.at:
		text = th.S(theme.Strong, text)
	case text == c.Text:
		text = emphasise(th, text, c.matched)
	}
	return Gutter(th, i == p.at) + Spread(text, hint+" ", w-2)
}

// emphasise shows the matched letters; only ASCII ones, whose offsets are sure.
func emphasise(th *theme.Theme, s string, at []int) string {
	if len(at) == 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for _, i := range at {
		if i < from || i >= len(s) || s[i] >= 0x80 {
			continue
		}
		b.WriteString(s[from:i])
		b.WriteString(th.S(theme.Hit, s[i:i+1]))
		from = i + 1
	}
	b.WriteString(s[from:])
	return b.String()
}

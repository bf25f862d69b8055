package tui

import (
	"errors"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// searchLine is the field that a search is typed in, with what completes it and what is wrong in it.
type searchLine struct {
	e      *env
	field  *ui.Field
	typing bool
	bad    *amp.SearchError // nil when the text is a search

	back  int    // how far back in the past searches the text is, 0: not
	draft string // what was typed before going back

	offers   []string // what the word can be completed to, nil for none
	offerAt  int      // the offer in the field, -1 for none yet
	from, to int      // the word in the text that they complete
}

func newSearchLine(e *env) searchLine {
	f := ui.NewField("search")
	f.Placeholder, f.Limit = "words, \"a phrase\", type:review_verdict, from:codex, since:7d", amp.MaxSearch
	return searchLine{e: e, field: f}
}

func (l *searchLine) text() string { return strings.TrimSpace(l.field.Text()) }

func (l *searchLine) begin() { l.typing = true }

// leave gives the keys back and remembers the search.
func (l *searchLine) leave() {
	l.typing, l.back, l.offers = false, 0, nil
	l.remember()
}

func (l *searchLine) remember() {
	if l.bad == nil {
		l.e.desk.searches.remember(l.text())
	}
}

// set replaces the text.
func (l *searchLine) set(text string) {
	l.field.SetText(text)
	l.offers = nil
}

// clear empties the field and reports whether there was anything in it.
func (l *searchLine) clear() bool {
	was := l.field.Text() != ""
	l.set("")
	l.back = 0
	return was
}

// parse reads the text; without ok what is wrong is in bad.
func (l *searchLine) parse() (f amp.Filter, ok bool) {
	f, err := amp.ParseSearch(l.field.Text(), l.e.Now.In(l.e.Zone))
	l.bad = nil
	if err == nil {
		return f, true
	}
	if !errors.As(err, &l.bad) {
		l.bad = &amp.SearchError{Message: err.Error()}
	}
	return f, false
}

// key handles a key and reports whether the text is another one.
func (l *searchLine) key(k tea.KeyMsg) bool {
	before := l.field.Text()
	name := k.String()
	if name != "tab" && name != "shift+tab" {
		l.offers = nil
	}
	switch name {
	case "esc", "ctrl+c": // as in every filter: what is typed next is no text
		l.remember()
		l.clear()
		l.leave()
	case "enter":
		l.leave()
	case "up":
		l.older(1)
	case "down":
		l.older(-1)
	case "tab":
		l.complete(1)
	case "shift+tab":
		l.complete(-1)
	default:
		if l.field.Key(k) {
			l.back = 0
		}
	}
	return l.field.Text() != before
}

// older goes n steps back through the past searches, forward when negative.
func (l *searchLine) older(n int) {
	past := l.e.desk.searches.Past
	to := min(max(l.back+n, 0), len(past))
	if to == l.back {
		return
	}
	if l.back == 0 {
		l.draft = l.field.Text()
	}
	l.back = to
	if to == 0 {
		l.set(l.draft)
		return
	}
	l.set(past[len(past)-to])
}

// hints are the keys while the field is typed in.
func (l *searchLine) hints() []ui.KeyHint {
	out := []ui.KeyHint{{Key: l.e.Theme.Signs.Enter, Text: "to the results"}, {Key: "tab", Text: "complete"}}
	if len(l.e.desk.searches.Past) > 0 {
		out = append(out, ui.KeyHint{Key: l.e.Theme.Signs.Up, Text: "older queries"})
	}
	out = append(out, ui.KeyHint{Key: "ctrl+s", Text: "save search"})
	if l.field.Text() == "" {
		return append(out, ui.KeyHint{Key: "esc", Text: "leave"})
	}
	return append(out, ui.KeyHint{Key: "ctrl+u", Text: "empty"}, ui.KeyHint{Key: "esc", Text: "clear and leave"})
}

// draw appends the field, and below it what is wrong.
func (l *searchLine) draw(b *ui.Block) {
	th := l.e.Theme
	room := max(b.Width()-4, 1)
	head := " " + th.S(theme.Accent, "/") + " "
	switch {
	case l.typing:
		b.Add(head + l.field.Row(th, room, true))
	case l.field.Text() != "":
		b.Add(head + ui.Cut(ui.Safe(l.field.Text()), max(room-12, 1)) + th.S(theme.Muted, "  esc clears"))
	default:
		b.Add(head + th.S(theme.Muted, "searches the whole journal"))
	}
	if l.bad == nil {
		return
	}
	role := theme.Danger
	if end := l.bad.At + len(l.bad.Word); l.typing && l.field.Cursor() == end {
		role = theme.Muted // it may not be complete yet
	}
	text := l.field.Text()
	at, n := 0, 1
	if l.bad.At <= len(text) && ui.Width(text)+1 <= room {
		at, n = ui.Width(text[:l.bad.At]), max(ui.Width(l.bad.Word), 1)
	}
	arrow := strings.Repeat(" ", at) + strings.Repeat("^", n)
	say := ui.Safe(l.bad.Message)
	if at+n+1+ui.Width(say) <= room {
		b.Add("   " + th.S(role, arrow+" "+say))
		return
	}
	say, _, _ = strings.Cut(say, "; ") // what is allowed stands in the list of fields
	if at+n+1+ui.Width(say) <= room {
		b.Add("   " + th.S(role, arrow+" "+say))
		return
	}
	b.Add("   "+th.S(role, arrow), "   "+th.S(role, say))
}

// complete puts the next offer for the word before the cursor in its place; what all offers share comes first.
func (l *searchLine) complete(step int) {
	if l.offers != nil {
		l.offerAt = (max(l.offerAt, min(-step, 0)) + step + len(l.offers)) % len(l.offers)
		l.put(l.offers[l.offerAt])
		return
	}
	text, cur := l.field.Text(), l.field.Cursor()
	l.from, l.to = strings.LastIndexByte(text[:cur], ' ')+1, cur
	offers := l.e.completions(text[l.from:cur])
	switch {
	case len(offers) == 0:
		return
	case len(offers) == 1:
		l.put(offers[0])
		return
	}
	l.offers, l.offerAt = offers, -1
	if p := sharedPrefix(offers); len(p) > l.to-l.from {
		l.put(p)
	}
}

func (l *searchLine) put(s string) {
	l.field.Replace(l.from, l.to, s)
	l.to = l.from + len(s)
}

func sharedPrefix(words []string) string {
	p := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, p) {
			p = p[:len(p)-1]
		}
	}
	return p
}

// maxOffers is how many completions there are at most.
const maxOffers = 40

// completions are the fields and values that a word can become. What ends it has a blank behind it.
func (e *env) completions(word string) []string {
	minus := ""
	if strings.HasPrefix(word, "-") {
		minus, word = "-", word[1:]
	}
	name, value, hasValue := strings.Cut(word, ":")
	var out []string
	for _, f := range amp.SearchFields() {
		switch {
		case !hasValue:
			if strings.HasPrefix(f.Name, strings.ToLower(name)) {
				out = append(out, minus+f.Name+":")
			}
		case strings.EqualFold(f.Name, name):
			for _, v := range e.valuesOf(f) {
				if len(out) < maxOffers && strings.HasPrefix(strings.ToLower(v), strings.ToLower(value)) {
					out = append(out, minus+f.Name+":"+v+" ")
				}
			}
		}
	}
	return out
}

// valuesOf are the values of a field: its own, or what the board knows.
func (e *env) valuesOf(f amp.SearchField) []string {
	switch f.Name {
	case "task":
		out := make([]string, 0, len(e.Board.Order))
		for _, id := range e.Board.Order {
			out = append(out, string(id))
		}
		slices.Reverse(out)
		return out
	case "from":
		return append([]string{"admin", "coordinator", "executor", "reviewer", "system"}, e.agentNames()...)
	case "agent":
		return e.agentNames()
	case "since", "until":
		return []string{"today", "yesterday", "1h", "24h", "7d", "30d"}
	}
	return f.Values
}

// agentNames are the agents that are configured, and those that the tasks name.
func (e *env) agentNames() []string {
	names := map[string]bool{}
	if e.State != nil {
		for _, of := range e.State.Agents {
			for _, n := range of {
				names[n] = true
			}
		}
	}
	for _, t := range e.Board.Tasks {
		for _, r := range []amp.Role{amp.Executor, amp.Reviewer} {
			if n := e.agentOf(t, r); n != string(r) {
				names[n] = true
			}
		}
	}
	return sortedKeys(names)
}

// help appends what can be typed: the offers for the word, or all fields.
func (l *searchLine) help(b *ui.Block, rows int) {
	th := l.e.Theme
	title, facts := "Fields", ""
	var words []string
	if l.offers != nil {
		title, facts = "Complete", plural(len(l.offers), "choice")+", tab takes the next"
		for i, o := range l.offers {
			o = strings.TrimSpace(o)
			if i == l.offerAt {
				words = append(words, th.S(theme.Strong, "["+ui.Safe(o)+"]"))
				continue
			}
			words = append(words, ui.Safe(o))
		}
	} else {
		for _, f := range amp.SearchFields() {
			switch f.Name {
			case "seq":
				words = append(words, "seq:18000..18140")
			case "is":
				for _, v := range f.Values {
					words = append(words, "is:"+v)
				}
			default:
				words = append(words, f.Name+":")
			}
		}
		words = append(words, `"exact phrase"`, "-not")
	}
	b.Rule(title, facts)
	flow(b, words, rows-1, max(l.offerAt, 0))
}

// flow appends words in rows, at most so many, so that the word at is seen.
func flow(b *ui.Block, words []string, rows, at int) {
	var lines []string
	line, shown := "  ", 0
	for i, w := range words {
		if ui.Width(line)+ui.Width(w) > b.Width() && strings.TrimSpace(line) != "" {
			lines = append(lines, line)
			line = "  "
		}
		line += w + " "
		if i == at {
			shown = len(lines)
		}
	}
	lines = append(lines, line)
	first := max(min(shown-rows+1, len(lines)-rows), 0)
	for i := first; i < min(first+rows, len(lines)); i++ {
		b.Add(lines[i])
	}
}

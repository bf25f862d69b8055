package tui

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// listFilter is the text that a short list is narrowed by, and the field it is typed in.
type listFilter struct {
	field  *ui.Field
	typing bool
	query  string // lower case
}

var filterHints = []ui.KeyHint{{Key: "enter", Text: "keep the filter"}, {Key: "esc", Text: "clear it"}}

func newListFilter() listFilter { return listFilter{field: ui.NewField("filter")} }

func (f *listFilter) begin() { f.typing = true }

// key types; true means that the list must be narrowed anew.
func (f *listFilter) key(k tea.KeyMsg) bool {
	switch k.String() {
	case "enter", "up", "down", "tab":
		f.typing = false
		return false
	case "esc", "ctrl+c":
		return f.clear()
	}
	f.field.Key(k)
	was := f.query
	f.read()
	return f.query != was
}

func (f *listFilter) read() { f.query = strings.ToLower(strings.TrimSpace(f.field.Text())) }

// set puts a filter that was kept into the field.
func (f *listFilter) set(text string) {
	f.field.SetText(text)
	f.read()
}

// clear takes the filter away and reports whether there was one.
func (f *listFilter) clear() bool {
	was := f.query != "" || f.typing
	f.typing, f.query = false, ""
	f.field.Reset()
	return was
}

// leave takes one step out of a list: out of the zoom, the pane beside it, the kind that it shows only, the filter, in this order.
// again lists anew where more is shown after it. It is false when there is nothing to leave.
func leave[K ~string](f *listFilter, zoomed, beside *bool, only *K, again func()) bool {
	switch {
	case *zoomed:
		*zoomed = false
	case *beside:
		*beside = false
	case *only != "":
		*only = ""
		again()
	case f.clear():
		again()
	default:
		return false
	}
	return true
}

// keeps reports whether every word of the filter is in the text, which is in lower case.
func (f *listFilter) keeps(text string) bool {
	for w := range strings.FieldsSeq(f.query) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// row draws the field, or the filter as a chip, when there is one.
func (f *listFilter) row(e *env, b *ui.Block) {
	switch {
	case f.typing:
		b.Add(" " + e.Theme.S(theme.Accent, "/") + " " + f.field.Row(e.Theme, max(b.Width()-4, 1), true))
	case f.query != "":
		b.Add(" " + e.Theme.S(theme.Accent, "/ "+f.field.Text()) + e.Theme.S(theme.Muted, "  esc clears"))
	}
}

package ui

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	_ "arbiter/tui/preterm" // before Bubble Tea's init
	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// Field is a text field, of one line or of many. What is typed or pasted loses control characters and invisible
// ones. It keeps its text until it is reset, so a draft survives esc.
type Field struct {
	Label       string
	Placeholder string
	Multi       bool // enter inserts a newline; otherwise newlines become blanks and enter is not handled
	Limit       int  // bytes; 0 means 64 KiB

	text string
	cur  int  // byte offset, always at the start of a grapheme
	top  int  // first row shown when there are more than fit
	over bool // something did not fit and was left out
}

// NewField returns an empty field of one line.
func NewField(label string) *Field { return &Field{Label: label} }

// NewArea returns an empty field of many lines.
func NewArea(label string) *Field { return &Field{Label: label, Multi: true} }

// Text returns what was typed, with surrounding blanks.
func (f *Field) Text() string { return f.text }

// Filled reports whether there is anything but blanks in the field.
func (f *Field) Filled() bool { return strings.TrimSpace(f.text) != "" }

// SetText replaces the text and puts the cursor behind it.
func (f *Field) SetText(s string) {
	f.text, f.cur, f.top, f.over = "", 0, 0, false
	f.Insert(s)
}

// Reset empties the field.
func (f *Field) Reset() { f.SetText("") }

// Cursor returns the byte offset of the cursor in the text.
func (f *Field) Cursor() int { return f.cur }

// Replace puts s in the place of the bytes from..to, which must be starts of characters, and the cursor behind it.
func (f *Field) Replace(from, to int, s string) {
	f.remove(from, to)
	f.Insert(s)
}

// Insert types s at the cursor. What does not fit into the limit is left out, and the field says so until something is deleted.
func (f *Field) Insert(s string) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = textsafe.Drop(strings.ReplaceAll(s, "\r", "\n"))
	if !f.Multi {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	if room := f.limit() - len(f.text); len(s) > room {
		room, f.over = max(room, 0), true
		for room > 0 && !utf8.RuneStart(s[room]) {
			room--
		}
		s = s[:room]
	}
	f.text = f.text[:f.cur] + s + f.text[f.cur:]
	f.cur += len(s)
}

func (f *Field) limit() int {
	if f.Limit == 0 {
		return 64 << 10
	}
	return f.Limit
}

// overText says that something was left out.
func (f *Field) overText() string {
	return "! the end was left out: a field takes " + textsafe.Thousands(f.limit()) + " bytes"
}

// Key edits the text and reports whether the key meant something to the field. Enter in a field of one line,
// esc, tab and control keys it does not know are left to the caller.
func (f *Field) Key(k tea.KeyMsg) bool {
	switch k.Type {
	case tea.KeyRunes:
		if !k.Alt {
			f.Insert(string(k.Runes))
			return true
		}
	case tea.KeySpace:
		f.Insert(" ")
		return true
	}
	switch k.String() {
	case "left", "ctrl+b":
		f.cur = f.before(f.cur)
	case "right", "ctrl+f":
		f.cur = f.after(f.cur)
	case "alt+left", "ctrl+left", "alt+b":
		f.cur = f.wordBefore()
	case "alt+right", "ctrl+right", "alt+f":
		f.cur = f.wordAfter()
	case "home", "ctrl+a":
		f.cur = f.lineStart()
	case "end", "ctrl+e":
		f.cur = f.lineEnd()
	case "backspace", "ctrl+h":
		f.remove(f.before(f.cur), f.cur)
	case "delete":
		f.remove(f.cur, f.after(f.cur))
	case "ctrl+w", "alt+backspace":
		f.remove(f.wordBefore(), f.cur)
	case "ctrl+u":
		f.remove(f.lineStart(), f.cur)
	case "ctrl+k":
		f.remove(f.cur, f.lineEnd())
	case "enter", "ctrl+j":
		if !f.Multi {
			return false
		}
		f.Insert("\n")
	case "up", "down":
		return f.Multi && f.vertical(k.String() == "up")
	default:
		return false
	}
	return true
}

func (f *Field) remove(from, to int) {
	f.text = f.text[:from] + f.text[to:]
	f.cur, f.over = from, false
}

func (f *Field) lineStart() int { return strings.LastIndexByte(f.text[:f.cur], '\n') + 1 }

func (f *Field) lineEnd() int {
	if i := strings.IndexByte(f.text[f.cur:], '\n'); i >= 0 {
		return f.cur + i
	}
	return len(f.text)
}

// before returns the start of the grapheme that ends at i.
func (f *Field) before(i int) int {
	start := strings.LastIndexByte(f.text[:i], '\n') + 1
	if start == i {
		return max(i-1, 0)
	}
	for start < i {
		n := clusterLen(f.text[start:])
		if start+n >= i {
			break
		}
		start += n
	}
	return start
}

func (f *Field) after(i int) int {
	if i >= len(f.text) {
		return i
	}
	return i + clusterLen(f.text[i:])
}

func (f *Field) wordBefore() int {
	s := strings.TrimRightFunc(f.text[:f.cur], unicode.IsSpace)
	i := strings.LastIndexFunc(s, unicode.IsSpace)
	if i < 0 {
		return 0
	}
	_, n := utf8.DecodeRuneInString(s[i:])
	return i + n
}

func (f *Field) wordAfter() int {
	s := f.text[f.cur:]
	lead := len(s) - len(strings.TrimLeftFunc(s, unicode.IsSpace))
	if i := strings.IndexFunc(s[lead:], unicode.IsSpace); i >= 0 {
		return f.cur + lead + i
	}
	return len(f.text)
}

// vertical moves the cursor to the same column of the line above or below, false at the edge.
func (f *Field) vertical(up bool) bool {
	start := f.lineStart()
	col := Width(f.text[start:f.cur])
	var line int
	if up {
		if start == 0 {
			return false
		}
		line = strings.LastIndexByte(f.text[:start-1], '\n') + 1
	} else {
		end := f.lineEnd()
		if end == len(f.text) {
			return false
		}
		line = end + 1
	}
	f.cur = line
	for end := f.lineEnd(); f.cur < end && Width(f.text[line:f.after(f.cur)]) <= col; {
		f.cur = f.after(f.cur)
	}
	return true
}

func clusterLen(s string) int {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return 1
	}
	c, _ := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return len(c)
}

// Row returns a field of one line in exactly w cells, scrolled so that the cursor is seen when focused.
func (f *Field) Row(th *theme.Theme, w int, focused bool) string {
	if w <= 0 {
		return ""
	}
	if over := f.overText(); f.over && w >= 2*Width(over) {
		return f.row(th, w-Width(over)-1, focused) + " " + th.S(theme.Alert, over)
	}
	return f.row(th, w, focused)
}

func (f *Field) row(th *theme.Theme, w int, focused bool) string {
	if f.text == "" && !focused {
		return th.S(theme.Muted, Pad(f.Placeholder, w))
	}
	if !focused {
		return Pad(f.text, w)
	}
	head, tail := f.text[:f.cur], f.text[f.cur:]
	under := " "
	if tail != "" {
		n := clusterLen(tail)
		under, tail = tail[:n], tail[n:]
	}
	if over := Width(head) + Width(under) - w; over > 0 {
		head = dropCells(head, over)
	}
	rest := w - Width(head) - Width(under)
	if rest < 0 {
		return Pad("", w)
	}
	if f.text == "" && f.Placeholder != "" {
		tail = f.Placeholder
		return th.S(theme.Cursor, " ") + th.S(theme.Muted, Pad(tail, w-1))
	}
	return head + th.S(theme.Cursor, under) + Pad(tail, rest)
}

// Rows returns a field of many lines in exactly h rows of w cells, wrapped, scrolled to the cursor.
func (f *Field) Rows(th *theme.Theme, w, h int, focused bool) (rows []string) {
	b := NewBlock(th, w)
	if f.text == "" && !focused {
		return b.Say(theme.Muted, f.Placeholder).Fit(h).Rows()
	}
	if f.over && h > 1 {
		h--
		defer func() { rows = append(rows, th.S(theme.Alert, Pad(f.overText(), w))) }()
	}
	spans := f.wrap(max(w-1, 1))
	at := 0
	for i, s := range spans {
		if f.cur >= s.from {
			at = i
		}
	}
	if at < f.top {
		f.top = at
	}
	if at >= f.top+h {
		f.top = at - h + 1
	}
	f.top = max(min(f.top, len(spans)-h), 0)
	for i := f.top; i < len(spans) && b.Height() < h; i++ {
		line := f.text[spans[i].from:spans[i].to]
		if focused && i == at {
			line = withCursor(th, line, min(f.cur-spans[i].from, len(line)))
		}
		b.Add(line)
	}
	return b.Fit(h).Rows()
}

func withCursor(th *theme.Theme, line string, at int) string {
	head, tail, under := line[:at], line[at:], " "
	if tail != "" {
		n := clusterLen(tail)
		under, tail = tail[:n], tail[n:]
	}
	return head + th.S(theme.Cursor, under) + tail
}

type span struct{ from, to int }

// wrap returns the rows of the text: broken at newlines, at blanks, or inside words that are too long.
func (f *Field) wrap(w int) []span {
	var out []span
	from, blank, used := 0, -1, 0
	for i := 0; i < len(f.text); {
		n := clusterLen(f.text[i:])
		if f.text[i] == '\n' {
			out = append(out, span{from, i})
			from, blank, used = i+1, -1, 0
			i++
			continue
		}
		cells := Width(f.text[i : i+n])
		if used+cells > w && i > from {
			cut := i
			if blank > from {
				cut = blank
			}
			out = append(out, span{from, cut})
			from, blank = cut, -1
			used = Width(f.text[from:i])
		}
		used += cells
		i += n
		if f.text[i-n] == ' ' {
			blank = i
		}
	}
	return append(out, span{from, len(f.text)})
}

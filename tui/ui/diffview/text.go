package diffview

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"arbiter/tui/textsafe"
	"arbiter/tui/theme"
)

// maxWrapped is how much of a line is broken into rows.
const maxWrapped = 16 << 10

// stretch is a part of a safe line in a role.
type stretch struct {
	from, to int
	role     theme.Role
}

// clip returns the beginning of a line, at most limit bytes of it, and how many come after that. A character is not cut; what is no
// text is, wherever the limit lies.
func clip(s string, limit int) (shown string, more int) {
	if len(strings.TrimSuffix(s, "\r")) <= limit {
		return s, 0
	}
	at := limit
	for at > 0 && limit-at < utf8.UTFMax && !utf8.RuneStart(s[at]) {
		at--
	}
	if !utf8.RuneStart(s[at]) {
		at = limit
	}
	return s[:at], len(s) - at
}

// safe returns what is shown of a line: at most limit bytes of it, tabs as blanks, everything else visible.
func safe(s string, limit int) string {
	s, more := clip(s, limit)
	cr := more == 0 && strings.HasSuffix(s, "\r")
	if cr {
		s = s[:len(s)-1]
	}
	s = textsafe.Block(s)[0]
	if cr {
		s += "␍"
	}
	return s
}

// text draws the text of a line in rows of at most w cells: one, or more when lines are broken.
func (v *View) text(e *elem, l *Line, at, w int) []string {
	if v.wrap {
		s := safe(l.Text, maxWrapped)
		roles := v.roles(e, l, at, s)
		var out []string
		from := 0
		for to := range breaks(s, w) {
			out = append(out, v.paint(s, roles, from, to))
			from = to
		}
		if _, more := clip(l.Text, maxWrapped); more > 0 {
			out = append(out, v.th.S(theme.Time, "… "+bytes(more)+" more in this line"))
		}
		return out
	}
	limit := (v.left + w + 1) * 16
	s := safe(l.Text, limit)
	roles := v.roles(e, l, at, s)
	from, to := window(s, v.left, w)
	_, more := clip(l.Text, limit)
	cut := to < len(s) || more > 0
	if cut && w > 1 {
		_, n := window(s[from:], 0, w-1)
		to = from + n
	}
	row := v.paint(s, roles, from, to)
	if cut {
		row += v.th.S(theme.Muted, v.th.Signs.Ellipsis)
	}
	return []string{row}
}

// bytes is a size in words.
func bytes(n int) string {
	switch {
	case n >= 10<<20:
		return itoa(n>>20) + " MB"
	case n >= 10<<10:
		return itoa(n>>10) + " KB"
	}
	if n == 1 {
		return "1 byte"
	}
	return itoa(n) + " bytes"
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// window is the part of a safe line from column left on that fits into w cells, in bytes.
func window(s string, left, w int) (from, to int) {
	if ascii(s) {
		from = min(left, len(s))
		return from, min(from+w, len(s))
	}
	used := 0
	for from < len(s) && used < left {
		_, n, cells := next(s[from:])
		used += cells
		from += n
	}
	to = from
	for used = 0; to < len(s); {
		_, n, cells := next(s[to:])
		if used += cells; used > w {
			break
		}
		to += n
	}
	return from, to
}

// breaks are the ends of the rows of a safe line, at least one.
func breaks(s string, w int) iter.Seq[int] {
	return func(yield func(end int) bool) {
		plain := ascii(s)
		for from := 0; ; {
			to := min(from+w, len(s))
			if !plain {
				to = from
				for used := 0; to < len(s); {
					_, n, cells := next(s[to:])
					if used += cells; used > w && to > from { // one that is wider than a row is cut by who draws it
						break
					}
					to += n
				}
			}
			if !yield(to) || to >= len(s) {
				return
			}
			from = to
		}
	}
}

// countRows is how many rows a line takes when it is broken.
func countRows(l *Line, w int) int {
	if l == nil || l.Kind == Note {
		return 1
	}
	n := 0
	if _, more := clip(l.Text, maxWrapped); more > 0 {
		n++ // the row that says so
	}
	for range breaks(safe(l.Text, maxWrapped), max(w, 1)) {
		n++
	}
	return n
}

func next(s string) (cluster string, n, cells int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1, 1
	}
	cluster, cells = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	return cluster, len(cluster), cells
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// roles says in which role each byte of a safe line is shown.
func (v *View) roles(e *elem, l *Line, at int, s string) []theme.Role {
	base := theme.Text
	switch l.Kind {
	case Added:
		base = theme.Added
	case Removed:
		base = theme.Removed
	case Same, Note:
	}
	if cap(v.scratch) < len(s) {
		v.scratch = make([]theme.Role, len(s), 2*len(s)+64)
	}
	roles := v.scratch[:len(s)]
	for i := range roles {
		roles[i] = base
	}
	lay := func(from, to int, r theme.Role) {
		if from < 0 || to > len(s) || from >= to || joined(s, from) || joined(s, to) {
			return
		}
		for i := from; i < to; i++ {
			roles[i] = r
		}
	}
	here := spot{e.file, e.hunk, int32(at), e.filled}
	if l.Kind != Removed {
		for _, st := range v.colors[here] {
			lay(st.from, min(st.to, len(s)), st.role)
		}
	}
	if l.mate >= 0 && !e.filled {
		for _, t := range v.emphasis(e, l, at, s) {
			lay(t.from, min(t.to, len(s)), theme.Emph)
		}
	}
	if v.query != "" {
		for _, t := range occurrences(s, v.query) {
			lay(t.from, t.to, theme.Hit)
		}
	}
	return roles
}

// joined reports that a boundary at i would part a character from what belongs to it.
func joined(s string, i int) bool {
	if i <= 0 || i >= len(s) || s[i] < utf8.RuneSelf {
		return false
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Mc) || r >= 0x1f1e6 && r <= 0x1f1ff || r >= 0x1f3fb && r <= 0x1f3ff ||
		r == 0xff9e || r == 0xff9f || !utf8.RuneStart(s[i]) || r >= 0x1100 && r <= 0x11ff
}

// paint draws the bytes from..to of a safe line.
func (v *View) paint(s string, roles []theme.Role, from, to int) string {
	if from >= to {
		return ""
	}
	same := true
	for i := from + 1; i < to && same; i++ {
		same = roles[i] == roles[from]
	}
	if same {
		return v.th.S(roles[from], s[from:to])
	}
	var b strings.Builder
	for i := from; i < to; {
		k := i + 1
		for k < to && roles[k] == roles[i] {
			k++
		}
		b.WriteString(v.th.S(roles[i], s[i:k]))
		i = k
	}
	return b.String()
}

// maxEmph bounds the lines whose words are kept compared.
const maxEmph = 4096

// emphasis is what of a line its mate does not have, unless the two are too far from each other.
func (v *View) emphasis(e *elem, l *Line, at int, s string) []token {
	here := spot{e.file, e.hunk, int32(at), e.filled}
	if got, ok := v.emphCache[here]; ok {
		return got
	}
	mate := v.lineAt(e, l.mate)
	if mate == nil || len(l.Text) > maxPairLine || len(mate.Text) > maxPairLine {
		return nil
	}
	mine, _, d := compare(s, safe(mate.Text, 4*maxPairLine))
	if d >= far {
		mine = nil
	}
	if len(v.emphCache) > maxEmph {
		clear(v.emphCache)
	}
	v.emphCache[here] = mine
	return mine
}

// occurrences finds a text, without regard to case.
func occurrences(s, query string) []token {
	low, q := strings.ToLower(s), strings.ToLower(query)
	if q == "" || len(low) != len(s) {
		return nil
	}
	var out []token
	for at := 0; ; {
		i := strings.Index(low[at:], q)
		if i < 0 {
			return out
		}
		out = append(out, token{at + i, at + i + len(q)})
		at += i + len(q)
	}
}

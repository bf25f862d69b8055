package diffview

import (
	"fmt"
	"strconv"
	"strings"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

// Render returns exactly h rows of w cells: the line of the file that the first row belongs to, and the lines below it.
func (v *View) Render(w, h int) *ui.Block {
	b := ui.NewBlock(v.th, w)
	if w != v.w || max(h-1, 0) != v.h {
		v.w, v.h, v.reveal = w, max(h-1, 0), true
	}
	v.rowElems = v.rowElems[:0]
	if h <= 0 || len(v.elems) == 0 {
		return b.Fit(h)
	}
	wanted := v.reveal
	v.show()
	v.settle()
	if wanted && !v.onScreen() { // filling the last screen moved it away
		v.top, v.skip = v.cur, 0
	}
	v.put(b, v.top, v.stickyRow(w))
	i, skip := v.top, v.skip
	if v.elems[i].part == head {
		i, skip = i+1, 0
	} else if v.elems[i].file >= 0 {
		v.rowElems[0] = -1
	} else { // nothing stands above what belongs to no file
		b, v.rowElems = ui.NewBlock(v.th, w), v.rowElems[:0]
	}
	seen := run{to: -1}
	for ; i < len(v.elems) && b.Height() < h; i, skip = i+1, 0 {
		rows := v.cached(i, w)
		whole := skip == 0 && b.Height()+len(rows) <= h
		for _, r := range rows[min(skip, len(rows)):] {
			if b.Height() < h {
				v.put(b, i, r)
			}
		}
		if whole || skip+h >= len(rows) {
			v.saw(&seen, i)
		}
	}
	v.flush(&seen)
	return b.Fit(h)
}

// drawn is what the rows in the cache depend on.
type drawn struct {
	w, left            int
	split, wrap, brief bool
	query              string
	theme, changes     uint64
}

const maxDrawn = 2048

// cached are the rows of an element, drawn again only when something changed; those under the cursor or in a selection are not kept.
func (v *View) cached(i, w int) []string {
	if i == v.cur || v.mark >= 0 || v.elems[i].part == head {
		return v.rows(i, w)
	}
	key := drawn{w, v.left, v.split, v.wrap, v.brief, v.query, v.th.Epoch(), v.changes}
	if key != v.drawn || len(v.cache) > maxDrawn {
		v.drawn, v.cache = key, map[int][]string{}
	}
	rows, ok := v.cache[i]
	if !ok {
		rows = v.rows(i, w)
		for k := range rows {
			rows[k] = ui.Pad(rows[k], w)
		}
		v.cache[i] = rows
	}
	return rows
}

func (v *View) put(b *ui.Block, i int, row string) {
	if strings.HasPrefix(row, ruleMark) {
		b.RuleStyled(v.headParts(i))
		if i == v.cur && v.elems[i].part == head {
			rows := b.Rows()
			rows[len(rows)-1] = ui.Splice(rows[len(rows)-1], v.gutter(i), 0, 1, b.Width())
		}
	} else {
		b.Add(row)
	}
	v.rowElems = append(v.rowElems, i)
}

// ruleMark stands for the line of a file among rows: a block draws it as a rule.
const ruleMark = "\x00"

// stickyRow is the line of the file that the first row belongs to.
func (v *View) stickyRow(int) string { return ruleMark }

// headParts are the two ends of the line of the file that an element belongs to.
func (v *View) headParts(i int) (title, facts string) {
	n := int(v.elems[i].file)
	if n < 0 {
		return "", ""
	}
	f := &v.diff.Files[n]
	facts = "+" + strconv.Itoa(f.Added) + " −" + strconv.Itoa(f.Removed)
	if v.facts != nil {
		if more := v.facts(n); more != "" {
			facts = more + v.th.On(theme.Muted) + " · " + facts
		}
	}
	room := max(v.w-ui.Width(facts)-10, v.w/3)
	return v.Name(n, room), facts
}

// Name is a file in at most w cells: its status, its name, which names it had and what else changed. It is safe.
func (v *View) Name(file, w int) string {
	f := &v.diff.Files[file]
	name := ui.Safe(f.Path)
	more := ""
	if f.Old != "" {
		more += " ← " + ui.Safe(f.Old)
	}
	if f.OldMode != "" && f.NewMode != "" {
		more += " mode " + ui.Safe(f.OldMode) + " → " + ui.Safe(f.NewMode)
	} else if f.NewMode != "" && f.NewMode != "100644" {
		more += " mode " + ui.Safe(f.NewMode)
	}
	if f.Binary {
		more += " binary"
	}
	w -= 2
	if ui.Width(more) > w/2 {
		more = ui.Cut(more, w/2)
	}
	return string(f.Status) + " " + ui.CutLeft(name, w-ui.Width(more)) + more
}

// height is how many rows an element takes.
func (v *View) height(i int) int {
	e := &v.elems[i]
	switch e.part {
	case remark:
		return v.remarkRows(int(e.at)).Height()
	case line:
		switch {
		case !v.wrap:
		case v.split:
			lw := (v.w - 1) / 2
			rw := v.w - 1 - lw
			return max(countRows(v.lineAt(e, int(e.at)), lw-v.prefix(lw)), countRows(v.lineAt(e, int(e.right)), rw-v.prefix(rw)+1))
		default:
			return countRows(v.lineAt(e, int(e.at)), v.w-v.prefix(v.w))
		}
	case head, note, gap, noEnd:
	}
	return 1
}

// rows draws an element.
func (v *View) rows(i, w int) []string {
	e, th := &v.elems[i], v.th
	switch e.part {
	case head:
		return []string{ruleMark}
	case note:
		text := ""
		if e.file < 0 {
			text = v.diff.Notes[e.at]
		} else {
			text = v.diff.Files[e.file].Notes[e.at]
		}
		return []string{v.gutter(i) + "  " + th.S(theme.Time, ui.Safe(text))}
	case gap:
		return []string{v.gutter(i) + "  " + th.S(theme.Muted, v.gapText(e))}
	case noEnd:
		return []string{v.gutter(i) + strings.Repeat(" ", max(v.prefix(w)-3, 0)) + th.S(theme.Muted, `\ no newline at the end of the file`)}
	case remark:
		rows := v.remarkRows(int(e.at)).Rows()
		if i == v.cur {
			for k := range rows { // it may begin above the screen
				rows[k] = ui.Splice(rows[k], v.gutter(i), 0, 1, w)
			}
		}
		return rows
	case line:
	}
	return v.lineRows(i, w)
}

func (v *View) gapText(e *elem) string {
	n := v.gapSize(int(e.file), int(e.hunk))
	at := fill{int(e.file), int(e.hunk)}
	text := "··· to the end of the file ···  "
	if n > 0 {
		text = fmt.Sprintf("··· %d unchanged lines ···  ", n)
		if n == 1 {
			text = "··· 1 unchanged line ···  "
		}
	}
	what := "show"
	if v.open[at] {
		what = "hide"
	}
	text += v.th.Signs.Enter + " " + what
	if f := &v.diff.Files[e.file]; int(e.hunk) < len(f.Hunks) && f.Hunks[e.hunk].Section != "" {
		text += "   @@ " + ui.Cut(ui.Safe(f.Hunks[e.hunk].Section), max(v.w-ui.Width(text)-11, 0))
	}
	return text
}

// gutter says whether the cursor, or a selection, is on an element.
func (v *View) gutter(i int) string {
	switch {
	case i == v.cur:
		return v.th.S(theme.Accent, v.th.Signs.Gutter)
	case v.mark >= 0 && i >= min(v.mark, v.cur) && i <= max(v.mark, v.cur):
		return v.th.S(theme.Accent, v.th.Signs.Bar)
	}
	return " "
}

// The widths from which on there is room for both numbers, and for air around the sign.
const (
	oneNumber = 56
	airy      = 70
)

// prefix is the room before the text of a line, with the gutter.
func (v *View) prefix(w int) int {
	switch {
	case v.split:
		return 1 + v.digits + 3
	case w < oneNumber:
		return 1 + v.digits + 3
	case w < airy:
		return 1 + 2*v.digits + 4
	}
	return 1 + 2*v.digits + 6
}

// lineRows draws a line, or two beside each other; more rows than one when it is broken.
func (v *View) lineRows(i, w int) []string {
	e := &v.elems[i]
	if !v.split {
		return v.side(i, v.lineAt(e, int(e.at)), int(e.at), w, v.prefix(w), true)
	}
	lw := (w - 1) / 2
	rw := w - 1 - lw
	left := v.side(i, v.lineAt(e, int(e.at)), int(e.at), lw, v.prefix(lw), true)
	right := v.side(i, v.lineAt(e, int(e.right)), int(e.right), rw, v.prefix(rw)-1, false)
	bar := v.th.S(theme.Line, v.th.Signs.Bar)
	rows := make([]string, max(len(left), len(right)))
	for n := range rows {
		l, r := v.gutter(i), ""
		if n < len(left) {
			l = left[n]
		}
		if n < len(right) {
			r = right[n]
		}
		rows[n] = ui.Pad(l, lw) + bar + r
	}
	return rows
}

// side draws one side of a line in w cells. first is the left side, which has the gutter.
func (v *View) side(i int, l *Line, at, w, prefix int, first bool) []string {
	gutter := ""
	if first {
		gutter = v.gutter(i)
	}
	if l == nil {
		return []string{gutter}
	}
	th := v.th
	role := theme.Muted
	sign := " "
	switch l.Kind {
	case Added:
		role, sign = theme.Added, "+"
	case Removed:
		role, sign = theme.Removed, "-"
	case Note:
		return []string{gutter + "  " + th.S(theme.Time, ui.Safe(l.Text))}
	case Same:
	}
	var room [64]byte
	numbers := room[:0]
	num := func(n int) {
		var digits [20]byte
		text := digits[:0]
		if n > 0 {
			text = strconv.AppendInt(text, int64(n), 10)
		}
		for range v.digits - len(text) {
			numbers = append(numbers, ' ')
		}
		numbers = append(append(numbers, text...), ' ')
	}
	switch {
	case v.split && first, !v.split && w < oneNumber && l.New <= 0:
		num(l.Old)
	case v.split, w < oneNumber:
		num(l.New)
	case w < airy:
		num(l.Old)
		num(l.New)
	default:
		num(l.Old)
		num(l.New)
		numbers = append(numbers, "  "...)
	}
	front := gutter + th.S(role, string(append(numbers, sign...))) + " "
	e := &v.elems[i]
	texts := v.text(e, l, at, max(w-prefix, 1))
	rows := make([]string, len(texts))
	for n, t := range texts {
		if n > 0 {
			front = gutter + strings.Repeat(" ", max(prefix-ui.Width(gutter), 0))
		}
		rows[n] = front + t
	}
	return rows
}

// run is the part of a hunk that the frame shows.
type run struct {
	file, hunk, from, to int
}

// saw notes that an element is wholly on the screen.
func (v *View) saw(r *run, i int) {
	e := &v.elems[i]
	if v.seen == nil || e.part != line || e.filled {
		return
	}
	from, to := int(min(e.at, e.right)), int(max(e.at, e.right))
	if !v.split || from < 0 {
		from = max(from, to)
		if !v.split {
			from, to = int(e.at), int(e.at)
		}
	} else if i+1 < len(v.elems) && v.elems[i+1].part == line && v.elems[i+1].file == e.file && v.elems[i+1].hunk == e.hunk {
		to = from // the right side of a change is only seen with its last row
	}
	if r.to < r.from || r.file != int(e.file) || r.hunk != int(e.hunk) {
		v.flush(r)
		*r = run{int(e.file), int(e.hunk), from, to}
	}
	r.from, r.to = min(r.from, from), max(r.to, to)
}

// flush keeps what was seen of a hunk: from its first line on, and up to its last.
func (v *View) flush(r *run) {
	if r.to < r.from {
		return
	}
	key, n := v.hunkKey(r.file, r.hunk), len(v.diff.Files[r.file].Hunks[r.hunk].Lines)
	if r.from <= v.seen[key] {
		v.seen[key] = max(v.seen[key], r.to+1)
	}
	end := key + tailKey
	if r.to+1 >= n-v.seen[end] {
		v.seen[end] = max(v.seen[end], n-r.from)
	}
}

// tailKey is behind the key of a hunk for what was seen of its end.
const tailKey = "\x00end"

func (v *View) hunkKey(file, hunk int) string {
	return v.diff.Files[file].Key + "\x00" + strconv.Itoa(hunk)
}

// Seen counts the hunks that were on the screen from their first line to their last, and all hunks.
func (v *View) Seen() (seen, total int) {
	for i := range v.diff.Files {
		for h := range v.diff.Files[i].Hunks {
			total++
			if key := v.hunkKey(i, h); v.seen[key]+v.seen[key+tailKey] >= len(v.diff.Files[i].Hunks[h].Lines) {
				seen++
			}
		}
	}
	return seen, total
}

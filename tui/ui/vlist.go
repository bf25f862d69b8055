package ui

import (
	"strconv"

	"arbiter/tui/theme"
)

// Source gives a [List] its items. Len, ID and Lines are required. The functions are called from Render and
// from the movements, in the same goroutine, and must answer from memory.
type Source struct {
	Len     func() int
	ID      func(i int) string                   // unique and stable: the cursor is an id
	Version func(i int) uint64                   // changes when the item would be drawn differently; nil: never
	Lines   func(i, w int, selected bool) []Line // one or more rows of exactly w cells
	Live    func(i int) string                   // the text of the slot now; nil: blank
	Index   func(id string) (int, bool)          // finds an id faster than a search; optional
	Skip    func(i int) bool                     // items the cursor passes over, such as headings; optional
}

// One returns a single row without a slot, for Source.Lines of simple lists.
func One(row string) []Line { return []Line{{Head: row}} }

// List shows the visible part of a list of any length. Its cost depends on the rows on the screen alone. The
// cursor is an id: what is inserted or removed above does not move it. A List is not safe for concurrent use.
type List struct {
	src   Source
	th    *theme.Theme
	cache *rowCache

	id     string // the item under the cursor, "" when the list was never drawn with items
	at     int    // where it was seen last
	top    int    // first item on the screen
	skip   int    // rows of it that are above the screen
	topID  string
	inside string // the item, higher than the screen, whose rows the movements scroll through
	w, h   int
	follow bool
	pin    bool
	atHead bool       // the last Render began with the first item
	shown  []shownRow // what the last Render drew, for clicks
	count  int        // Len at the last Render
}

type shownRow struct {
	item int
	id   string
}

// NewList returns a list over a source with the cursor on its first item.
func NewList(th *theme.Theme, src Source) *List {
	return &List{src: src, th: th, cache: newRowCache(cacheRows)}
}

// SetTheme changes the look; rows are drawn anew.
func (l *List) SetTheme(th *theme.Theme) { l.th = th }

// SetSource changes the items, for another filter or sorting. The cursor stays on its id if that is still there.
func (l *List) SetSource(src Source) {
	l.src = src
	l.cache.clear()
}

// Forget drops the cached rows: for changes that neither id nor version tell.
func (l *List) Forget() { l.cache.clear() }

// Follow makes the cursor stay on the last item as items arrive. Any movement upwards ends it.
func (l *List) Follow(on bool) {
	l.follow = on
	if on {
		l.Bottom()
		l.follow = true
	}
}

// Following reports whether the cursor follows the last item.
func (l *List) Following() bool { return l.follow }

// Pin makes a list that shows its first item go on showing the first item when others are inserted above it, as long as
// the cursor stays on the screen. Without it what was on the screen stays.
func (l *List) Pin(on bool) { l.pin = on }

// Cursor returns the id and index of the item under the cursor; ok is false in an empty list.
func (l *List) Cursor() (id string, i int, ok bool) {
	l.sync()
	if l.src.Len() == 0 {
		return "", 0, false
	}
	return l.id, l.at, true
}

// Select moves the cursor to an id and reports whether it is there.
func (l *List) Select(id string) bool {
	i, ok := l.find(id)
	if ok {
		l.set(i)
		l.follow = false
	}
	return ok
}

// Move moves the cursor by n items, down when positive. Where the item is higher than the screen, its rows scroll
// first.
func (l *List) Move(n int) {
	l.sync()
	if n < 0 {
		l.follow = false
	}
	if l.scrollInside(n) {
		return
	}
	l.set(l.step(l.at, n))
}

// scrollInside scrolls through an item that is higher than the screen; false at its end.
func (l *List) scrollInside(n int) bool {
	if l.src.Len() == 0 || l.at != l.top || l.h == 0 {
		return false
	}
	over := len(l.rows(l.at)) - l.h
	next := max(min(l.skip+n, over), 0)
	if over <= 0 || next == l.skip {
		return false
	}
	l.skip, l.inside = next, l.id
	return true
}

// Page moves the cursor by n screens; half screens are Page(±0.5).
func (l *List) Page(n float64) {
	rows := int(n * float64(max(l.h, 1)))
	if rows == 0 {
		rows = 1
		if n < 0 {
			rows = -1
		}
	}
	l.Move(rows)
}

// Top moves the cursor to the first item, Bottom to the last.
func (l *List) Top() {
	l.follow = false
	l.set(l.step(0, 0))
}

// Bottom moves the cursor to the last item.
func (l *List) Bottom() { l.set(l.step(l.src.Len()-1, 0)) }

// Click selects the item drawn at row y of the last Render and reports whether there is one. It never opens it.
func (l *List) Click(y int) bool {
	if y < 0 || y >= len(l.shown) || l.shown[y].id == "" {
		return false
	}
	return l.Select(l.shown[y].id)
}

// Seen returns the indexes of the first and the last item that the last Render drew and the number of items
// there were: "first-last of n" counts from 1. All are 0 for an empty list.
func (l *List) Seen() (first, last, n int) {
	for _, s := range l.shown {
		if s.id == "" {
			continue
		}
		if first == 0 {
			first = s.item + 1
		}
		last = s.item + 1
	}
	return first, last, l.count
}

// Part says what the last Render drew, "1-9 of 16" or "3 of 16", "" when that was all.
func (l *List) Part() string {
	first, last, n := l.Seen()
	switch {
	case last-first+1 >= n:
		return ""
	case first == last:
		return strconv.Itoa(first) + " of " + strconv.Itoa(n)
	}
	return strconv.Itoa(first) + "-" + strconv.Itoa(last) + " of " + strconv.Itoa(n)
}

// SeenIDs returns the ids that the last Render drew, from top to bottom.
func (l *List) SeenIDs() []string {
	var ids []string
	for _, s := range l.shown {
		if s.id != "" && (len(ids) == 0 || ids[len(ids)-1] != s.id) {
			ids = append(ids, s.id)
		}
	}
	return ids
}

// Render returns exactly h rows of w cells with the cursor among them.
func (l *List) Render(w, h int) *Block {
	b := NewBlock(l.th, w)
	w, h = b.w, max(h, 0)
	l.w, l.h = w, h
	l.sync()
	if l.follow {
		l.set(l.step(l.src.Len()-1, 0))
	}
	l.count = l.src.Len()
	l.shown = l.shown[:0]
	if l.count == 0 || h == 0 {
		return b.Fit(h)
	}
	l.reveal()
	b.Grow(h)
	for i, skip := l.top, l.skip; i < l.count && b.Height() < h; i, skip = i+1, 0 {
		rows := l.rows(i)[skip:]
		for j := range rows {
			if b.Height() == h {
				break
			}
			l.shown = append(l.shown, shownRow{i, l.src.ID(i)})
			b.exact(l.live(i, &rows[j]))
		}
	}
	l.topID = l.src.ID(l.top)
	l.atHead = l.top == 0 && l.skip == 0
	return b.Fit(h)
}

// live returns a row with the text of its slot. It is joined again only when that changed.
func (l *List) live(i int, row *listRow) string {
	if row.Slot == 0 {
		return row.Head
	}
	text := ""
	if l.src.Live != nil {
		text = l.src.Live(i)
	}
	if row.joined == "" || row.text != text {
		row.text, row.joined = text, row.Join(text)
	}
	return row.joined
}

// sync finds the cursor again after the items changed. An item that is gone leaves the cursor where it was.
func (l *List) sync() {
	n := l.src.Len()
	if n == 0 {
		l.at, l.top, l.skip = 0, 0, 0
		return
	}
	if l.id == "" {
		l.set(l.step(0, 0))
		return
	}
	was := l.at
	if i, ok := l.find(l.id); ok {
		l.at = i
	} else {
		l.set(l.step(min(l.at, n-1), 0))
	}
	if l.pin && l.atHead {
		l.top, l.skip = 0, 0
	} else if l.topID != "" && (l.top >= n || l.src.ID(l.top) != l.topID) {
		if i, ok := l.near(l.topID, l.top); ok {
			l.top = i
		} else {
			l.top += l.at - was
		}
	}
	l.top = min(max(l.top, 0), n-1)
}

// find returns the index of an id; the places near the last one are tried first.
func (l *List) find(id string) (int, bool) {
	if i, ok := l.near(id, l.at); ok {
		return i, true
	}
	if l.src.Index != nil {
		return l.src.Index(id)
	}
	for i := range l.src.Len() {
		if l.src.ID(i) == id {
			return i, true
		}
	}
	return 0, false
}

func (l *List) near(id string, i int) (int, bool) {
	n := l.src.Len()
	for d := range 64 {
		if j := i + d; j >= 0 && j < n && l.src.ID(j) == id {
			return j, true
		}
		if j := i - d; j >= 0 && j < n && l.src.ID(j) == id {
			return j, true
		}
	}
	return 0, false
}

func (l *List) set(i int) {
	if i < 0 || i >= l.src.Len() {
		return
	}
	l.at, l.id = i, l.src.ID(i)
	if l.inside != l.id {
		l.inside = ""
	}
}

// step returns the item n places from i that the cursor may stand on; n of 0 means i or the nearest one.
func (l *List) step(i, n int) int {
	count := l.src.Len()
	if count == 0 {
		return 0
	}
	to := min(max(i+n, 0), count-1)
	if l.src.Skip == nil {
		return to
	}
	dir := 1
	if n < 0 {
		dir = -1
	}
	for _, d := range []int{dir, -dir} {
		for j := to; j >= 0 && j < count; j += d {
			if !l.src.Skip(j) {
				return j
			}
		}
	}
	return to
}

// reveal moves the top so that the item under the cursor is on the screen, from its first row on.
func (l *List) reveal() {
	if rows := len(l.rows(l.top)); l.skip >= rows {
		l.skip = 0
	}
	if l.at < l.top || l.at == l.top && l.skip > 0 && l.inside != l.id {
		l.top, l.skip = l.at, 0
	} else if l.below() {
		l.top, l.skip = l.endAt(l.at)
	}
	// no blank rows below the last item while there are items above
	if used := l.used(); used < l.h {
		top, skip := l.endAt(l.count - 1)
		if top < l.top || top == l.top && skip < l.skip {
			l.top, l.skip = top, skip
		}
	}
}

// below reports whether the last row of the item under the cursor is below the screen.
func (l *List) below() bool {
	if l.at-l.top > l.h {
		return true
	}
	used := -l.skip
	for i := l.top; i <= l.at; i++ {
		if used += len(l.rows(i)); used > l.h {
			return i < l.at || used-len(l.rows(i)) > 0
		}
	}
	return false
}

// endAt returns the top that puts the last row of item i on the last row of the screen; an item higher than
// the screen begins at its first row.
func (l *List) endAt(i int) (top, skip int) {
	room := l.h - len(l.rows(i))
	if room <= 0 {
		return i, 0
	}
	for top = i; top > 0; {
		rows := len(l.rows(top - 1))
		top--
		if room -= rows; room <= 0 {
			return top, -room
		}
	}
	return 0, 0
}

// used returns the rows from the top to the last item, or more than the screen has.
func (l *List) used() int {
	used := -l.skip
	for i := l.top; i < l.count && used < l.h; i++ {
		used += len(l.rows(i))
	}
	return used
}

// rows returns the rows of an item from the cache.
func (l *List) rows(i int) []listRow {
	k := rowKey{id: l.src.ID(i), w: l.w, selected: i == l.at, epoch: l.th.Epoch()}
	if l.src.Version != nil {
		k.version = l.src.Version(i)
	}
	if rows, ok := l.cache.get(k); ok {
		return rows
	}
	lines := l.src.Lines(i, l.w, k.selected)
	if len(lines) == 0 {
		lines = []Line{{Head: blanks(l.w)}}
	}
	rows := make([]listRow, len(lines))
	for j, r := range lines {
		if Width(r.Head)+r.Slot+Width(r.Tail) != l.w {
			r = Line{Head: Pad(r.Join(""), l.w)}
		}
		rows[j].Line = r
	}
	l.cache.put(k, rows)
	return rows
}

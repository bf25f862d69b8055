package diffview

import (
	"arbiter/tui/theme"
)

// View is a diff on the screen: where it is scrolled to, and what a person did to it. Only what is visible is drawn, so its size does
// not matter.
type View struct {
	th    *theme.Theme
	diff  *Diff
	elems []elem

	split, wrap bool
	left        int // columns of long lines that are scrolled away
	digits      int

	top, skip int // the first element on the screen, and rows of it above the screen
	cur       int // the element under the cursor
	reveal    bool
	w, h      int // of the last frame, without the line of the file
	mark      int // the other end of a selection, -1 for none
	rowElems  []int
	folded    map[int]bool
	open      map[fill]bool
	fills     map[fill][]Line
	remarks   []Remark
	homeless  []int
	atHead    map[int][]int
	onLine    map[int32]map[int][]int
	facts     func(file int) string
	seen      map[string]int
	query     string
	hits      []spot
	colors    map[spot][]stretch
	asked     map[spot]bool
	brief     bool
	scratch   []theme.Role
	emphCache map[spot][]token
	cache     map[int][]string
	drawn     drawn
	changes   uint64 // of what the cached rows show
}

// fill names a gap: hunk n of a file stands behind gap n.
type fill struct{ file, gap int }

// New returns an empty view.
func New(th *theme.Theme) *View {
	v := &View{th: th, mark: -1}
	v.Show(&Diff{})
	return v
}

// Show shows a diff from its beginning. Settings, remarks and what was seen stay; what was folded or opened does not.
func (v *View) Show(d *Diff) {
	v.diff = d
	v.folded, v.open, v.fills = map[int]bool{}, map[fill]bool{}, map[fill][]Line{}
	v.colors, v.asked, v.emphCache = map[spot][]stretch{}, map[spot]bool{}, map[spot][]token{}
	v.query, v.hits, v.mark, v.left = "", nil, -1, 0
	v.elems, v.top, v.skip, v.cur = nil, 0, 0, 0
	v.layout()
	v.cur = min(1, max(len(v.elems)-1, 0))
	v.reveal = true
}

// Diff is what is shown.
func (v *View) Diff() *Diff { return v.diff }

// Facts sets what stands at the right end of a file's line; it may hold styles and must be safe.
func (v *View) Facts(of func(file int) string) { v.facts = of }

// Progress sets where it is kept how far each hunk was seen, by [File.Key] and number.
func (v *View) Progress(seen map[string]int) { v.seen = seen }

// Split shows old and new beside each other, or below each other.
func (v *View) Split(on bool) {
	if v.split != on {
		v.split, v.mark = on, -1
		v.layout()
	}
}

// Wrap breaks long lines, or cuts them; then [View.Shift] moves sideways.
func (v *View) Wrap(on bool) { v.wrap, v.left, v.skip, v.reveal = on, 0, 0, true }

// IsSplit and IsWrapped say how lines are shown.
func (v *View) IsSplit() bool { return v.split }

// IsWrapped reports whether long lines are broken.
func (v *View) IsWrapped() bool { return v.wrap }

// Shift moves n columns to the right when lines are cut.
func (v *View) Shift(n int) {
	if !v.wrap {
		v.left = max(v.left+n, 0)
	}
}

// Fold hides the lines of a file, or shows them again.
func (v *View) Fold(file int, on bool) {
	if v.folded[file] != on {
		v.folded[file] = on
		v.layout()
	}
}

// anchor is the element under the cursor by what it is, to be found again in another layout.
type anchor struct {
	elem
	old, new int
	row      int
}

func (v *View) anchor() anchor {
	if v.cur >= len(v.elems) {
		return anchor{elem: elem{file: -2}}
	}
	a := anchor{elem: v.elems[v.cur], row: v.cur - v.top}
	if l := v.lineOf(&v.elems[v.cur]); l != nil {
		a.old, a.new = l.Old, l.New
	}
	return a
}

// find puts the cursor where it was.
func (v *View) find(a anchor) {
	v.mark, v.skip = -1, 0
	if a.file == -2 {
		v.cur, v.top = 0, 0
		return
	}
	best := -1
	for i := range v.elems {
		e := &v.elems[i]
		if e.file != a.file {
			if e.file > a.file {
				break
			}
			continue
		}
		if best < 0 {
			best = i
		}
		if e.part == a.part && a.part != line && e.hunk == a.hunk && e.at == a.at {
			best = i
			break
		}
		if a.part != line && e.part == head {
			continue
		}
		if l := v.lineOf(e); a.part == line && l != nil && (a.new > 0 && l.New == a.new || a.new == 0 && a.old > 0 && l.Old == a.old) {
			best = i
			break
		}
		if a.part != line && e.part == gap && e.hunk == a.hunk {
			best = i
		}
	}
	v.cur = max(min(max(best, 0), len(v.elems)-1), 0)
	v.top = max(v.cur-a.row, 0)
	v.reveal = true
}

// lineOf is the line of an element, the new one of two, nil for none.
func (v *View) lineOf(e *elem) *Line {
	if e.part != line && e.part != noEnd {
		return nil
	}
	if e.right >= 0 {
		return v.lineAt(e, int(e.right))
	}
	return v.lineAt(e, int(e.at))
}

func (v *View) lineAt(e *elem, i int) *Line {
	lines := v.linesOf(e)
	if i < 0 || i >= len(lines) {
		return nil
	}
	return &lines[i]
}

func (v *View) linesOf(e *elem) []Line {
	if e.file < 0 {
		return nil
	}
	if e.filled {
		return v.fills[fill{int(e.file), int(e.hunk)}]
	}
	f := &v.diff.Files[e.file]
	if int(e.hunk) >= len(f.Hunks) {
		return nil
	}
	return f.Hunks[e.hunk].Lines
}

// Spot is what the cursor stands on.
type Spot struct {
	// File is the index of the file, -1 for none; Hunk of the hunk, -1 when it stands on none.
	File, Hunk int
	// Old and New are the numbers of the line, 0 where there is none; From is the first one of a selection, of the same side.
	Old, New, From int
	// Gap says that it stands on unchanged lines that are not shown, or on their head.
	Gap bool
	// Head says that it stands on the line of a file; Remark is the id of a remark.
	Head   bool
	Remark string
}

// Cursor says what the cursor stands on.
func (v *View) Cursor() Spot {
	if v.cur >= len(v.elems) {
		return Spot{File: -1, Hunk: -1}
	}
	e := &v.elems[v.cur]
	s := Spot{File: int(e.file), Hunk: -1, Gap: e.part == gap, Head: e.part == head}
	switch e.part {
	case line, noEnd:
		if !e.filled {
			s.Hunk = int(e.hunk)
		}
		l := v.lineOf(e)
		s.Old, s.New = l.Old, l.New
		s.From = v.selectedFrom(s)
	case remark:
		s.Remark = v.remarks[e.at].ID
		s.Hunk = min(int(e.hunk), v.hunks(int(e.file))-1)
	case gap:
		s.Hunk = min(int(e.hunk), v.hunks(int(e.file))-1)
	case head, note:
	}
	return s
}

func (v *View) hunks(file int) int {
	if file < 0 {
		return 0
	}
	return len(v.diff.Files[file].Hunks)
}

// selectedFrom is the first line number of the selection, 0 when there is none or it leaves the file.
func (v *View) selectedFrom(s Spot) int {
	if v.mark < 0 || v.mark >= len(v.elems) {
		return 0
	}
	l := v.lineOf(&v.elems[v.mark])
	if l == nil || int(v.elems[v.mark].file) != s.File {
		return 0
	}
	if s.New > 0 {
		return l.New
	}
	return l.Old
}

// Select begins a selection at the cursor, or ends it.
func (v *View) Select() {
	if v.mark >= 0 {
		v.mark = -1
		return
	}
	v.mark = v.cur
}

// Selecting reports whether there is a selection.
func (v *View) Selecting() bool { return v.mark >= 0 }

// Goto puts the cursor on a line of a file, of the old side if said; false when it is not shown.
func (v *View) Goto(file, number int, old bool) bool {
	for i := range v.elems {
		e := &v.elems[i]
		if int(e.file) != file || e.part != line {
			continue
		}
		for _, k := range []int32{e.at, e.right} {
			if l := v.lineAt(e, int(k)); l != nil && (old && l.Old == number || !old && l.New == number) {
				v.jump(i)
				return true
			}
		}
	}
	return false
}

// GotoFile puts the cursor on the line of a file.
func (v *View) GotoFile(file int) {
	for i := range v.elems {
		if v.elems[i].part == head && int(v.elems[i].file) == file {
			v.jump(i)
			v.top, v.skip = i, 0
			return
		}
	}
}

// Gap is the gap under the cursor and its size, -1 when nobody knows; ok is false when the cursor stands on none.
func (v *View) Gap() (file, before, size int, ok bool) {
	if v.cur >= len(v.elems) || v.elems[v.cur].part != gap && !v.elems[v.cur].filled {
		return 0, 0, 0, false
	}
	e := &v.elems[v.cur]
	return int(e.file), int(e.hunk), v.gapSize(int(e.file), int(e.hunk)), true
}

// Open shows the lines of a gap, or hides them again; false when they are not known yet: [View.Fill] brings them.
func (v *View) Open(file, before int) bool {
	f := fill{file, before}
	if _, known := v.fills[f]; !known {
		return false
	}
	v.open[f] = !v.open[f]
	v.layout()
	return true
}

// Fill takes the unchanged lines of all gaps of a file from the same change with all lines around it; false when it is not the same
// change or was cut.
func (v *View) Fill(file int, whole *Diff) bool {
	if file < 0 || file >= len(v.diff.Files) || len(whole.Files) != 1 {
		return false
	}
	f, all := &v.diff.Files[file], &whole.Files[0]
	if all.Key != f.Key && (all.Path != f.Path || all.Added != f.Added || all.Removed != f.Removed) {
		return false
	}
	shown := map[int]bool{}
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			if l.New > 0 {
				shown[l.New] = true
			}
		}
	}
	gaps := make([][]Line, len(f.Hunks)+1)
	for _, h := range all.Hunks {
		for _, l := range h.Lines {
			if l.Kind == Note {
				return false
			}
			if l.Kind != Same || shown[l.New] {
				continue
			}
			n := 0
			for n < len(f.Hunks) && f.Hunks[n].New <= l.New {
				n++
			}
			gaps[n] = append(gaps[n], l)
		}
	}
	for n, lines := range gaps {
		v.fills[fill{file, n}] = lines
	}
	v.layout()
	return true
}

// Folded reports whether the lines of a file are hidden.
func (v *View) Folded(file int) bool { return v.folded[file] }

// Searching reports whether matches are marked.
func (v *View) Searching() bool { return len(v.hits) > 0 }

// SetTheme changes the look.
func (v *View) SetTheme(th *theme.Theme) { v.th = th }

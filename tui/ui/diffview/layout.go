package diffview

// part is what an element of the view shows.
type part uint8

const (
	head   part = iota // the line of a file
	note               // what the diff says of itself
	gap                // unchanged lines that are not shown
	line               // a line, or two beside each other
	noEnd              // a file that ends without a newline
	remark             // what somebody said about a line
)

// elem is one thing in the column that the view scrolls through; most take one row. Elements are small: there is one for each
// line of a diff.
type elem struct {
	part part
	// file and hunk say where it is. Of a gap, and of lines in an open one, hunk counts gaps: hunk n stands behind gap n.
	file, hunk int32
	// at is the line of the hunk, or of the gap when filled; right the one at the right side of a split view, -1 for none.
	// Of notes and remarks at is their index.
	at, right int32
	filled    bool
}

// spot is a line of the diff by its place.
type spot struct {
	file, hunk, at int32
	filled         bool
}

func (e *elem) spot() spot { return spot{e.file, e.hunk, e.at, e.filled} }

// layout builds the column anew and finds the cursor again.
func (v *View) layout() {
	was := v.anchor()
	v.changes++
	v.elems = v.elems[:0]
	v.place()
	for n := range v.diff.Notes {
		v.add(elem{part: note, file: -1, at: int32(n)})
	}
	for _, r := range v.homeless {
		v.add(elem{part: remark, file: -1, at: int32(r)})
	}
	for i := range v.diff.Files {
		v.layoutFile(i)
	}
	v.digits = v.numberWidth()
	v.find(was)
}

func (v *View) add(e elem) { v.elems = append(v.elems, e) }

func (v *View) layoutFile(i int) {
	f := &v.diff.Files[i]
	file := int32(i)
	v.add(elem{part: head, file: file})
	if v.folded[i] {
		return
	}
	for _, r := range v.atHead[i] {
		v.add(elem{part: remark, file: file, at: int32(r)})
	}
	for n := range f.Notes {
		v.add(elem{part: note, file: file, at: int32(n)})
	}
	for h := range f.Hunks {
		v.layoutGap(i, h)
		v.layoutLines(f.Hunks[h].Lines, elem{part: line, file: file, hunk: int32(h)})
	}
	if len(f.Hunks) > 0 {
		v.layoutGap(i, len(f.Hunks))
	}
}

// layoutGap adds the unchanged lines before a hunk, or behind the last one.
func (v *View) layoutGap(i, h int) {
	lines, known := v.fills[fill{i, h}]
	n := v.gapSize(i, h)
	if n == 0 || known && len(lines) == 0 {
		return
	}
	v.add(elem{part: gap, file: int32(i), hunk: int32(h)})
	if known && v.open[fill{i, h}] {
		v.layoutLines(lines, elem{part: line, file: int32(i), hunk: int32(h), filled: true})
	}
}

// layoutLines adds the lines of a hunk or of an open gap.
func (v *View) layoutLines(lines []Line, e elem) {
	if v.split {
		v.layoutSplit(lines, e)
		return
	}
	e.right = -1
	for k := range lines {
		e.at, e.part = int32(k), line
		v.add(e)
		v.below(&lines[k], e)
	}
}

// below adds what belongs under a line.
func (v *View) below(l *Line, e elem) {
	if l.NoEnd {
		e.part = noEnd
		v.add(e)
	}
	on := v.onLine[e.file]
	if len(on) == 0 {
		return
	}
	for _, r := range on[l.New] {
		if l.New > 0 && !v.remarks[r].Old {
			v.add(elem{part: remark, file: e.file, hunk: e.hunk, at: int32(r), right: -1})
		}
	}
	for _, r := range on[-l.Old] {
		if l.Old > 0 && v.remarks[r].Old {
			v.add(elem{part: remark, file: e.file, hunk: e.hunk, at: int32(r), right: -1})
		}
	}
}

// layoutSplit sets removed lines beside those that took their place.
func (v *View) layoutSplit(lines []Line, e elem) {
	put := func(left, right int) {
		e.part, e.at, e.right = line, int32(left), int32(right)
		v.add(e)
		if left >= 0 {
			v.below(&lines[left], e)
		}
		if right >= 0 && right != left {
			v.below(&lines[right], e)
		}
	}
	for i := 0; i < len(lines); {
		switch lines[i].Kind {
		case Removed, Added:
			mid := i
			for mid < len(lines) && lines[mid].Kind == Removed {
				mid++
			}
			end := mid
			for end < len(lines) && lines[end].Kind == Added {
				end++
			}
			left, right := i, mid
			for left < mid || right < end {
				switch {
				case left < mid && lines[left].mate < 0:
					if right < end && lines[right].mate < 0 {
						put(left, right)
						right++
					} else {
						put(left, -1)
					}
					left++
				case right < end && lines[right].mate < 0, left == mid:
					put(-1, right)
					right++
				case right == end:
					put(left, -1)
					left++
				default: // both have a mate, and mates stand in order
					put(left, right)
					left, right = left+1, right+1
				}
			}
			i = end
		default:
			put(i, i)
			i++
		}
	}
}

// gapSize is how many lines stand before a hunk and behind the one before, -1 when nobody knows: behind the last.
func (v *View) gapSize(i, h int) int {
	f := &v.diff.Files[i]
	if lines, ok := v.fills[fill{i, h}]; ok {
		return len(lines)
	}
	switch {
	case f.Status == 'A' || f.Status == 'D':
		return 0
	case h == len(f.Hunks):
		if tail(&f.Hunks[h-1]) < contextLines {
			return 0 // the file ends there
		}
		return -1
	case h == 0:
		return max(f.Hunks[0].New-1, 0)
	}
	last := &f.Hunks[h-1]
	return max(f.Hunks[h].New-last.New-last.NewLines, 0)
}

// contextLines is how many unchanged lines git shows around a change.
const contextLines = 3

// tail is how many unchanged lines a hunk ends with.
func tail(h *Hunk) int {
	n := 0
	for i := len(h.Lines) - 1; i >= 0 && h.Lines[i].Kind == Same; i-- {
		if h.Lines[i].NoEnd {
			return 0
		}
		n++
	}
	return n
}

// numberWidth is the room that line numbers need.
func (v *View) numberWidth() int {
	most := 0
	for i := range v.diff.Files {
		for _, h := range v.diff.Files[i].Hunks {
			most = max(most, h.Old+h.OldLines, h.New+h.NewLines)
		}
	}
	n := 1
	for ; most >= 10; most /= 10 {
		n++
	}
	return max(n, 4)
}

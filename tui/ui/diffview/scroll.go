package diffview

// Move moves the cursor by n elements; a line that is higher than the screen is scrolled through first.
func (v *View) Move(n int) {
	for ; n > 0; n-- {
		if over := v.under(); over > 0 && v.cur == v.top {
			v.skip++
			continue
		}
		if v.cur+1 < len(v.elems) {
			v.cur++
		}
	}
	for ; n < 0; n++ {
		if v.cur == v.top && v.skip > 0 {
			v.skip--
			continue
		}
		if v.cur > 0 {
			v.cur--
		}
	}
	v.reveal = true
}

// under is how many rows of the element under the cursor are below the screen.
func (v *View) under() int {
	if v.cur >= len(v.elems) || v.cur != v.top {
		return 0
	}
	return v.height(v.cur) - v.skip - v.h
}

// Scroll moves the screen by n rows; the cursor stays on it.
func (v *View) Scroll(n int) {
	v.reveal = false
	for ; n > 0; n-- {
		if v.skip+1 < v.shownHeight(v.top) {
			v.skip++
		} else if v.top+1 < len(v.elems) {
			v.top, v.skip = v.top+1, 0
		}
	}
	for ; n < 0; n++ {
		if v.skip > 0 {
			v.skip--
		} else if v.top > 0 {
			v.top--
			v.skip = max(v.shownHeight(v.top)-1, 0)
		}
	}
	v.settle()
	last := v.lastVisible()
	v.cur = min(max(v.cur, v.top), last)
}

// Page moves by a part of the screen.
func (v *View) Page(n float64) {
	was := v.cur - v.top
	v.Scroll(int(n * float64(max(v.h, 2))))
	v.cur = min(max(v.cur, v.top+was), v.lastVisible())
}

// Top and Bottom go to the ends.
func (v *View) Top() { v.cur, v.top, v.skip, v.reveal = 0, 0, 0, true }

// Bottom goes to the end.
func (v *View) Bottom() { v.jump(max(len(v.elems)-1, 0)) }

func (v *View) jump(i int) { v.cur, v.reveal = i, true }

// NextFile moves to the next file, or to the previous one; false when there is none.
func (v *View) NextFile(forward bool) bool {
	return v.seek(forward, func(i int) bool { return v.elems[i].part == head }, true)
}

// NextHunk moves to the next change, or to the previous one; false when there is none.
func (v *View) NextHunk(forward bool) bool {
	return v.seek(forward, v.begins, false)
}

// begins reports whether an element is the first changed line of a run.
func (v *View) begins(i int) bool {
	return v.changed(i) && (i == 0 || !v.changed(i-1))
}

func (v *View) changed(i int) bool {
	e := &v.elems[i]
	if e.part == noEnd || e.part == remark {
		return i > 0 && v.changed(i-1)
	}
	if e.part != line {
		return false
	}
	for _, k := range []int32{e.at, e.right} {
		if l := v.lineAt(e, int(k)); l != nil && (l.Kind == Added || l.Kind == Removed) {
			return true
		}
	}
	return false
}

// NextRemark moves to the next remark, or to the previous one, and goes on at the other end; false when there is none.
func (v *View) NextRemark(forward bool) bool {
	is := func(i int) bool { return v.elems[i].part == remark }
	if v.seek(forward, is, false) {
		return true
	}
	was := v.cur
	if v.cur = -1; !forward {
		v.cur = len(v.elems)
	}
	if v.seek(forward, is, false) {
		return true
	}
	v.cur = was
	return false
}

// seek moves the cursor to the next element that is asked for; onTop scrolls it to the first row.
func (v *View) seek(forward bool, is func(i int) bool, onTop bool) bool {
	step := 1
	if !forward {
		step = -1
	}
	for i := v.cur + step; i >= 0 && i < len(v.elems); i += step {
		if is(i) {
			v.jump(i)
			if onTop {
				v.top, v.skip = i, 0
			}
			return true
		}
	}
	return false
}

// shownHeight is how many rows an element takes when it is the first one: the line of a file stands in a row of its own then.
func (v *View) shownHeight(i int) int {
	if i < len(v.elems) && v.elems[i].part == head {
		return 0
	}
	if i >= len(v.elems) {
		return 0
	}
	return v.height(i)
}

// settle keeps the last screen full.
func (v *View) settle() {
	n := len(v.elems)
	if n == 0 || v.h <= 0 {
		v.top, v.skip = 0, 0
		return
	}
	v.top = min(max(v.top, 0), n-1)
	if v.skip > 0 { // it may have fewer rows than before
		v.skip = min(v.skip, max(v.shownHeight(v.top)-1, 0))
	}
	room := v.h + v.skip
	for i := v.top; i < n; i++ {
		rows := v.height(i)
		if i == v.top {
			rows = v.shownHeight(i)
		}
		if room -= rows; room < 0 {
			return
		}
	}
	if v.skip > 0 {
		back := min(v.skip, room)
		v.skip, room = v.skip-back, room-back
	}
	for v.top > 0 && room > 0 {
		rows := v.height(v.top - 1)
		if v.elems[v.top].part == head { // it gets a row of its own
			rows++
		}
		if v.elems[v.top-1].part == head {
			rows--
		}
		if room -= rows; room < 0 {
			if room+rows > 0 && rows > 1 {
				v.top--
				v.skip = rows - (room + rows)
			}
			return
		}
		v.top--
	}
}

// show scrolls so that the cursor is on the screen.
func (v *View) show() {
	if !v.reveal || len(v.elems) == 0 {
		return
	}
	v.reveal = false
	v.cur = min(max(v.cur, 0), len(v.elems)-1)
	if v.cur < v.top {
		v.top, v.skip = v.cur, 0
		return
	}
	if v.cur-v.top > 2*v.h { // far away: the cursor comes to the middle
		v.top, v.skip = v.cur, 0
		for room := v.h / 2; v.top > 0; v.top-- {
			if room -= v.height(v.top - 1); room < 0 {
				return
			}
		}
		return
	}
	used := -v.skip
	for i := v.top; i <= v.cur; i++ {
		if i == v.top {
			used += v.shownHeight(i)
		} else {
			used += v.height(i)
		}
	}
	for used > v.h && v.top < v.cur {
		used -= v.shownHeight(v.top) - v.skip
		v.skip = 0
		v.top++
		if v.elems[v.top].part == head {
			used--
		}
	}
}

// onScreen reports whether the element under the cursor begins on the screen.
func (v *View) onScreen() bool {
	used := -v.skip
	for i := v.top; i < v.cur && used < v.h; i++ {
		if i == v.top {
			used += v.shownHeight(i)
		} else {
			used += v.height(i)
		}
	}
	return v.cur >= v.top && used < v.h
}

// lastVisible is the last element on the screen.
func (v *View) lastVisible() int {
	room := v.h + v.skip - v.shownHeight(v.top)
	i := v.top
	for i+1 < len(v.elems) {
		if room -= v.height(i + 1); room < 0 {
			break
		}
		i++
	}
	return min(i, max(len(v.elems)-1, 0))
}

// Click puts the cursor on what a row of the last frame shows.
func (v *View) Click(y int) {
	if y >= 0 && y < len(v.rowElems) && v.rowElems[y] >= 0 {
		v.cur = v.rowElems[y]
	}
}

package diffview

import "strings"

// Find looks for a text in the lines of all hunks, without regard to case. It may run in any goroutine.
func (d *Diff) Find(query string) Hits {
	h := Hits{Query: query}
	q := strings.ToLower(query)
	if q == "" {
		return h
	}
	for f := range d.Files {
		for n := range d.Files[f].Hunks {
			lines := d.Files[f].Hunks[n].Lines
			for i := range lines {
				if strings.Contains(strings.ToLower(lines[i].Text), q) {
					h.at = append(h.at, spot{int32(f), int32(n), int32(i), false})
				}
			}
		}
	}
	return h
}

// Hits are the lines that hold a text.
type Hits struct {
	Query string
	at    []spot
}

// Len returns how many lines there are.
func (h Hits) Len() int { return len(h.at) }

// Hits marks what was found; the zero value ends that.
func (v *View) Hits(h Hits) { v.query, v.hits = h.Query, h.at }

// NextHit moves to the next line with the text, or to the previous one, and goes on at the other end; false when there is none.
func (v *View) NextHit(forward bool) bool {
	if len(v.hits) == 0 {
		return false
	}
	is := map[spot]bool{}
	folded := false
	for _, h := range v.hits {
		is[h] = true
		if v.folded[int(h.file)] {
			v.folded[int(h.file)], folded = false, true
		}
	}
	if folded {
		v.layout()
	}
	hit := func(i int) bool {
		e := &v.elems[i]
		if e.part != line {
			return false
		}
		s := e.spot()
		if is[s] {
			return true
		}
		s.at = e.right
		return is[s]
	}
	if v.seek(forward, hit, false) {
		return true
	}
	was := v.cur
	if v.cur = -1; !forward {
		v.cur = len(v.elems)
	}
	if v.seek(forward, hit, false) {
		return true
	}
	v.cur = was
	return false
}

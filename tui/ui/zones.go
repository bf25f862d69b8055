package ui

// Zones are the regions of a screen that the mouse can hit, recorded while drawing. A click gives focus or
// selects; nothing decides by a click. The zero value is ready.
type Zones struct{ all []zone }

type zone struct {
	id         string
	x, y, w, h int
}

// Reset forgets all regions: at the start of a frame.
func (z *Zones) Reset() { z.all = z.all[:0] }

// Add records a region; a later one lies over an earlier one.
func (z *Zones) Add(id string, x, y, w, h int) {
	z.all = append(z.all, zone{id, x, y, w, h})
}

// At returns the id of the topmost region at a cell, with the cell's place in it; ok is false for none.
func (z *Zones) At(x, y int) (id string, dx, dy int, ok bool) {
	for i := len(z.all) - 1; i >= 0; i-- {
		o := z.all[i]
		if x >= o.x && x < o.x+o.w && y >= o.y && y < o.y+o.h {
			return o.id, x - o.x, y - o.y, true
		}
	}
	return "", 0, 0, false
}

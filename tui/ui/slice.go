package ui

// Slice returns the rows from..to of the block as a block of the same width, for a page that shows a part of what it
// drew. Bounds outside of the block are moved to its edges.
func (b *Block) Slice(from, to int) *Block {
	to = min(max(to, 0), len(b.rows))
	from = min(max(from, 0), to)
	part := &Block{Theme: b.Theme, w: b.w, rows: append([]string(nil), b.rows[from:to]...)}
	for _, i := range b.rules {
		if i >= from && i < to {
			part.rules = append(part.rules, i-from)
		}
	}
	return part
}

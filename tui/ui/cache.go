package ui

// cacheRows is how many items a list keeps drawn: some forty screens.
const cacheRows = 2048

type rowKey struct {
	id       string
	version  uint64
	epoch    uint64
	w        int
	selected bool
}

// listRow is a row of a list, with its slot filled as it was drawn last.
type listRow struct {
	Line
	text, joined string
}

// rowCache keeps drawn rows in two generations: when the young one is full the old one is forgotten, so what is
// on the screen always survives and nothing is tracked per use.
type rowCache struct {
	limit      int
	young, old map[rowKey][]listRow
}

func newRowCache(limit int) *rowCache {
	return &rowCache{limit: max(limit/2, 1), young: map[rowKey][]listRow{}}
}

func (c *rowCache) get(k rowKey) ([]listRow, bool) {
	if rows, ok := c.young[k]; ok {
		return rows, true
	}
	rows, ok := c.old[k]
	if ok {
		c.put(k, rows)
	}
	return rows, ok
}

func (c *rowCache) put(k rowKey, rows []listRow) {
	if len(c.young) >= c.limit {
		c.young, c.old = make(map[rowKey][]listRow, c.limit/4), c.young
	}
	c.young[k] = rows
}

func (c *rowCache) clear() {
	clear(c.young)
	c.old = nil
}

func (c *rowCache) len() int { return len(c.young) + len(c.old) }

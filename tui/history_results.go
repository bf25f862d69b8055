package tui

import (
	"cmp"
	"slices"
	"sort"

	"arbiter/amp"
)

// results is the part of an answer that is in memory: matching entries, the newest first, a run without gaps and of
// bounded size.
type results struct {
	rows  []hit
	newer bool   // there may be matches before the first row
	older bool   // there are matches behind the last row
	upto  uint64 // without newer: the journal's seq up to which nothing is missing
	// count is how many entries match up to the seq counted; with many there are more.
	count   int
	many    bool
	counted uint64
}

// end is which end of the results a page is for.
type end uint8

const (
	endFirst  end = iota // a new answer, from the newest entry on
	endOldest            // the same answer, from the oldest entry on
	endOlder             // what follows the last row
	endNewer             // what stands before the first row
)

// query is the filter of a page of the answer to f.
func (r *results) query(f amp.Filter, at end) amp.Filter {
	f.Limit, f.Newest = windowPage, at == endFirst || at == endOlder
	switch {
	case len(r.rows) == 0:
		if at == endNewer {
			f.After = max(f.After, r.upto)
		}
	case at == endOlder:
		if seq := r.rows[len(r.rows)-1].entry.Seq; f.Before == 0 || seq < f.Before {
			f.Before = seq
		}
	case at == endNewer:
		f.After = max(f.After, r.rows[0].entry.Seq)
	}
	return f
}

// take adds a page that was asked for with query. Its rows come in the order of the answer.
func (r *results) take(at end, p amp.Page, rows []hit) {
	if at == endOldest || at == endNewer {
		slices.Reverse(rows)
	}
	switch at {
	case endFirst:
		*r = results{rows: rows, older: p.More, upto: p.Head.Seq, counted: p.Head.Seq, count: len(rows), many: p.More}
		if p.Count > 0 { // a search is counted; of other filters only what was read is known
			r.count, r.many = p.Count, p.CountCapped
		}
	case endOldest:
		r.rows, r.older, r.newer = rows, false, p.More
	case endOlder:
		r.rows, r.older = append(r.rows, rows...), p.More
		if len(r.rows) > windowLimit {
			r.rows, r.newer = slices.Clone(r.rows[len(r.rows)-windowLimit:]), true
		}
	case endNewer:
		for i := range rows {
			r.tally(rows[i].entry.Seq)
		}
		r.rows, r.newer = append(rows, r.rows...), p.More
		r.trimOld()
	}
	if !r.newer {
		r.upto = max(r.upto, p.Head.Seq)
	}
}

// tally counts a match unless the count has it already.
func (r *results) tally(seq uint64) {
	if seq > r.counted {
		r.count, r.counted = r.count+1, seq
	}
}

// follow takes the new entries of the journal that a filter selects. False means that some are missing in between: the
// newer ones must be asked for.
func (r *results) follow(entries []amp.Entry, f *amp.Filter) bool {
	if len(entries) == 0 || entries[len(entries)-1].Seq <= r.upto {
		return true
	}
	if !r.newer && entries[0].Seq > r.upto+1 {
		r.newer = true
		return false
	}
	var fresh []amp.Entry
	for i := range entries {
		if e := &entries[i]; e.Seq > r.upto && selects(f, e) {
			r.tally(e.Seq)
			fresh = append(fresh, *e)
		}
	}
	if r.newer {
		return true // they are read when somebody scrolls up to them
	}
	r.upto = entries[len(entries)-1].Seq
	if len(fresh) > 0 {
		rows := readHits(fresh, f.Search)
		slices.Reverse(rows)
		r.rows = append(rows, r.rows...)
		r.trimOld()
	}
	return true
}

// trimOld forgets the oldest rows when there are too many, a page at a time.
func (r *results) trimOld() {
	if len(r.rows) > windowLimit {
		r.rows, r.older = slices.Clone(r.rows[:windowLimit-windowPage]), true
	}
}

// index finds the row of an entry.
func (r *results) index(seq uint64) (int, bool) {
	return sort.Find(len(r.rows), func(i int) int { return cmp.Compare(r.rows[i].entry.Seq, seq) })
}

// selects reports whether a filter selects an entry, as a store decides it.
func selects(f *amp.Filter, e *amp.Entry) bool {
	switch {
	case e.Seq <= f.After, f.Before > 0 && e.Seq >= f.Before, f.TaskID != "" && e.TaskID != f.TaskID,
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, e.Kind):
		return false
	}
	return f.Search.Match(e)
}

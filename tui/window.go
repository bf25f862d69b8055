package tui

import (
	"cmp"
	"slices"

	"arbiter/amp"
)

const (
	windowPage  = 200
	windowLimit = 5 * windowPage
)

// window is a part of a task's history: a run of its entries without gaps, of bounded size.
type window struct {
	task    amp.TaskID
	entries []amp.Entry
	lines   []line // what the entries say, one each
	older   bool   // there are entries before the first
	newer   bool   // there are entries behind the last
	upto    uint64 // without newer: the journal's seq up to which nothing is missing
}

// olderQuery asks for the page before the window; with an empty window for the newest, or for those up to seq.
func (w *window) olderQuery(seq uint64) amp.Query {
	f := amp.Filter{TaskID: w.task, Newest: true, Limit: windowPage}
	switch {
	case len(w.entries) > 0:
		f.Before = w.entries[0].Seq
	case seq > 0:
		f.Before = seq + 1
	}
	return amp.Query{Kind: amp.QueryEntries, Filter: f}
}

// newerQuery asks for the page behind the window.
func (w *window) newerQuery() amp.Query {
	f := amp.Filter{TaskID: w.task, Limit: windowPage}
	if n := len(w.entries); n > 0 {
		f.After = w.entries[n-1].Seq
	}
	return amp.Query{Kind: amp.QueryEntries, Filter: f}
}

// prepend takes the answer to an olderQuery.
func (w *window) prepend(p amp.Page, first bool, seq uint64) {
	page := slices.Clone(p.Entries)
	slices.SortFunc(page, func(a, b amp.Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	w.older = p.More
	if first {
		w.upto = p.Head.Seq
		w.newer = seq > 0 && seq < p.Head.Seq
	}
	w.entries = append(page, w.entries...)
	w.lines = append(describeAll(page), w.lines...)
	if over := len(w.entries) - windowLimit; over > 0 {
		keep := len(w.entries) - over
		w.entries, w.lines, w.newer = w.entries[:keep:keep], w.lines[:keep:keep], true
	}
}

// extend takes the answer to a newerQuery.
func (w *window) extend(p amp.Page) {
	w.add(p.Entries)
	w.newer = p.More
	if !p.More {
		w.upto = max(w.upto, p.Head.Seq)
	}
}

// follow takes new entries of the journal; false means that some are missing in between: ask for newer ones.
func (w *window) follow(entries []amp.Entry) bool {
	if w.newer || len(entries) == 0 {
		return true
	}
	last := entries[len(entries)-1].Seq
	if last <= w.upto {
		return true
	}
	if entries[0].Seq > w.upto+1 {
		w.newer = true
		return false
	}
	w.add(entries)
	w.upto = last
	return true
}

// add appends the entries of the task that are not there yet, and forgets the oldest when there are too many.
func (w *window) add(entries []amp.Entry) {
	for _, e := range entries {
		if e.TaskID != w.task || len(w.entries) > 0 && e.Seq <= w.entries[len(w.entries)-1].Seq {
			continue
		}
		w.entries = append(w.entries, e)
		w.lines = append(w.lines, describe(&e))
	}
	if over := len(w.entries) - windowLimit; over > 0 {
		over = max(over, windowPage) // not one by one
		w.entries, w.lines, w.older = slices.Clone(w.entries[over:]), slices.Clone(w.lines[over:]), true
	}
}

func describeAll(entries []amp.Entry) []line {
	out := make([]line, len(entries))
	for i := range entries {
		out[i] = describe(&entries[i])
	}
	return out
}

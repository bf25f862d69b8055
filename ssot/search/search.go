// Package search finds entries by the index of searches: the [amp.Terms] of entries, without the entries themselves. It knows no
// database; each durable store keeps the rows of the index, [Store], and reads the journal, [Journal].
//
// A chunk of the index has the terms of a run of entries, sorted, each with the entries that have it, so that a search in the newest
// entries, or in those of a day, reads nothing of the others. The index narrows a search down and [ssot.Match] decides. Whatever is
// wrong with it is found by sums, [ErrBroken]: it can be made anew from the journal at any time.
package search

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// Version is raised when the terms of entries change, see [amp.Terms], or how they are written, here or in a store: an index with another one
// is made anew.
const Version = 7

// maxClauses is how many things the index is asked for at once; the rest is for Match.
const maxClauses = 24

// Journal is what an index is of.
type Journal interface {
	// Headers are the first n seqs behind after and before before, in the order of the filter, that its kinds and times select. Fewer than n
	// say that there are no others. It may leave out what another part of the filter does not select.
	Headers(ctx context.Context, f *amp.Filter, after, before uint64, n int) ([]uint64, error)
	// Within are those of some entries that were written from one millisecond to before another, ascending.
	Within(ctx context.Context, seqs []uint64, from, to int64) ([]uint64, error)
	// Entries are the entries with these seqs, ascending or, newest first, descending.
	Entries(ctx context.Context, seqs []uint64, newest bool) ([]amp.Entry, error)
}

// Search is one search, to be run once.
type Search struct {
	Journal Journal
	Filter  *amp.Filter
	// Last is the last entry that is searched.
	Last uint64
	// Store is nil without an index; Reach is the last entry in it.
	Store Store
	Reach uint64
	// Count says that matches behind the page are counted.
	Count bool

	limit int
	// clauses and without are for the index; exact says that what they select needs no look at the entry itself.
	clauses []clause
	without []amp.Term
	exact   bool

	out    ssot.Found
	looked int // candidates behind the page
	more   int // how many candidates to take because few of the last ones matched
	done   bool
	wrong  bool
}

// Wrong reports whether the index turned out to have what is not in the journal, so that it is to be made anew. What was found is right.
func (s *Search) Wrong() bool { return s.wrong }

// Find looks for what the filter selects and counts it as [ssot.Finder] says. An error of the store's, [ErrBroken] too, leaves the search
// without a result: it may be run anew, without the index.
func (s *Search) Find(ctx context.Context) (ssot.Found, error) {
	s.limit = ssot.Limit(s.Filter)
	s.ask()
	low, high := s.Filter.After, s.Last+1 // both exclusive
	if s.Filter.Before != 0 {
		high = min(high, s.Filter.Before)
	}
	for _, p := range s.parts(low, high) {
		if err := s.look(ctx, p); err != nil {
			return ssot.Found{}, err
		}
	}
	if s.out.Count > ssot.MaxCount {
		s.out.Count, s.out.Capped = ssot.MaxCount, true
	}
	return s.out, nil
}

// part is a range of seqs, both ends exclusive, that the index has or has not.
type part struct {
	low, high uint64
	indexed   bool
}

// parts are the ranges to look through, in the order of the answer: what the index has, and what was appended since.
func (s *Search) parts(low, high uint64) []part {
	if s.Store == nil {
		return []part{{low: low, high: high}}
	}
	parts := []part{{low, min(high, s.Reach+1), true}, {max(low, s.Reach), high, false}}
	if s.Filter.Newest {
		slices.Reverse(parts)
	}
	return parts
}

// ask translates the filter for the index.
func (s *Search) ask() {
	header := amp.Search{Kinds: s.Filter.Kinds}
	if s.Filter.TaskID != "" {
		header.Tasks = []amp.TaskID{s.Filter.TaskID}
	}
	all, _, _ := header.Clauses()
	said, without, exact := s.Filter.Search.Clauses()
	all, s.without, s.exact = append(all, said...), without, exact && s.Filter.Text == ""
	if len(all) > maxClauses || len(s.without) > maxClauses {
		all, s.without, s.exact = all[:min(len(all), maxClauses)], nil, false
	}
	for _, terms := range all {
		s.clauses = append(s.clauses, clause{terms: terms})
	}
	// A long word is likely rare, and what is rare ends the look at a chunk.
	slices.SortStableFunc(s.clauses, func(a, b clause) int { return len(b.terms[0].Text) - len(a.terms[0].Text) })
}

// look goes through a part until all that is asked for is known.
func (s *Search) look(ctx context.Context, p part) error {
	if p.low+1 >= p.high || s.done {
		return nil
	}
	if p.indexed && len(s.clauses) > 0 {
		return s.lookUp(ctx, p)
	}
	exact := s.exact && p.indexed
	for p.low+1 < p.high && !s.done {
		n := s.want(exact)
		seqs, err := s.Journal.Headers(ctx, s.Filter, p.low, p.high, n)
		if err != nil {
			return err
		}
		if err := s.take(ctx, seqs, exact); err != nil || len(seqs) < n {
			return err
		}
		if last := seqs[len(seqs)-1]; s.Filter.Newest {
			p.high = last
		} else {
			p.low = last
		}
	}
	return nil
}

const (
	// firstLookUp is about how many entries are looked up first: so many that what is common is among them, and so few that all of its
	// terms are quickly read when it is the beginning of many.
	firstLookUp = 1 << 12
	// moreLookUp is by how much more are looked up together when those before were not enough.
	moreLookUp = 8
)

// lookUp goes through the chunks of the index that have entries of a part.
func (s *Search) lookUp(ctx context.Context, p part) error {
	chunks, err := s.Store.Chunks(ctx, p.low, p.high, 0)
	if err != nil {
		return err
	}
	if err := sound(chunks, p.low+1, p.high-1); err != nil {
		return err
	}
	if !s.Filter.Newest {
		slices.Reverse(chunks)
	}
	from, to := s.times()
	chunks = slices.DeleteFunc(chunks, func(c Chunk) bool { return c.Late < from || c.Early >= to })
	for n := firstLookUp; len(chunks) > 0 && !s.done; n *= moreLookUp {
		some := firstChunks(chunks, n)
		chunks = chunks[len(some):]
		left, err := s.narrow(ctx, some)
		if err != nil {
			return err
		}
		// What turned out to be rare goes first.
		slices.SortStableFunc(s.clauses, func(a, b clause) int { return cmp.Compare(a.found*b.asked, b.found*a.asked) })
		if err := s.takeAll(ctx, p, left); err != nil {
			return err
		}
	}
	return nil
}

// firstChunks are as many as have about n entries, and at least one.
func firstChunks(chunks []Chunk, n int) []Chunk {
	for i := range chunks {
		if n -= chunks[i].size(); n <= 0 {
			return chunks[:i+1]
		}
	}
	return chunks
}

// takeAll takes what the index selects of chunks.
func (s *Search) takeAll(ctx context.Context, p part, left []selected) error {
	var seqs []uint64
	for i := 0; i < len(left) && !s.done; i++ {
		found, err := s.within(ctx, p, &left[i])
		if err != nil {
			return err
		}
		seqs = append(seqs, found...)
		// Few from each of many chunks are read together.
		for n := s.want(s.exact); len(seqs) > 0 && !s.done && (len(seqs) >= n || i == len(left)-1); n = s.want(s.exact) {
			some := seqs[:min(len(seqs), n)]
			seqs = seqs[len(some):]
			if err := s.take(ctx, some, s.exact); err != nil {
				return err
			}
		}
	}
	return nil
}

// within are the entries of a chunk that the index selects in a part and the time of the search, in the order of the answer.
func (s *Search) within(ctx context.Context, p part, c *selected) ([]uint64, error) {
	seqs := slices.DeleteFunc(c.seqs(), func(seq uint64) bool { return seq <= p.low || seq >= p.high })
	seqs, err := s.inTime(ctx, c.Chunk, seqs)
	if s.Filter.Newest {
		slices.Reverse(seqs)
	}
	return seqs, err
}

// times are the bounds of the search's time in milliseconds, the second one exclusive.
func (s *Search) times() (from, to int64) { return Times(s.Filter.Search) }

// Times are the bounds of a search's time in milliseconds since 1970, the second one exclusive: entries have no finer time.
func Times(q *amp.Search) (from, to int64) {
	from, to = math.MinInt64, math.MaxInt64
	if q != nil && !q.Since.IsZero() {
		from = milliseconds(q.Since)
	}
	if q != nil && !q.Until.IsZero() {
		to = milliseconds(q.Until)
	}
	return from, to
}

// milliseconds is the first whole millisecond that is not before t.
func milliseconds(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}

// inTime are those entries of a chunk that were written in the time of the search, all ascending. The journal itself is asked only about
// those beside which others were written at another time.
func (s *Search) inTime(ctx context.Context, c *Chunk, seqs []uint64) ([]uint64, error) {
	from, to := s.times()
	if c.Early >= from && c.Late < to || len(seqs) == 0 {
		return seqs, nil
	}
	data, err := s.Store.Times(ctx, c.First)
	if err != nil {
		return nil, err
	}
	moments, err := c.readMoments(data)
	if err != nil {
		return nil, err
	}
	var some, ask []uint64
	for _, seq := range seqs {
		switch m := moments[seq>>momentBits-c.First>>momentBits]; {
		case m.late < from || m.early >= to:
		case m.early >= from && m.late < to:
			some = append(some, seq)
		default:
			ask = append(ask, seq)
		}
	}
	if len(ask) > 0 {
		asked, err := s.Journal.Within(ctx, ask, from, to)
		if err != nil {
			return nil, err
		}
		some = append(some, asked...)
		slices.Sort(some)
	}
	return some, nil
}

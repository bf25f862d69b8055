package search

import (
	"context"
	"math"

	"arbiter/amp"
)

// MaxPage is how many entries are added together at most.
const MaxPage = newestChunk

const (
	// newestChunk is how many entries a chunk of the newest part holds at most. A search begins there, and what is common in it
	// costs as much as its chunk is large.
	newestChunk = 1 << 12
	// newestPart is how many entries the newest part holds before its older chunks become a large one, which are few for the sake of what is rare.
	newestPart = maxChunk + maxChunk/2
	// newestMost is how many chunks the newest part can have: two neighbours hold more than newestChunk together, but for the last few,
	// each of which has half as many as the one before.
	newestMost = 2*newestPart/newestChunk + 16
	// mostSheets is how many sheets chunks have together that are joined, about 15 MB: the terms of both are in memory then, at thirty times
	// that when no two entries have one in common. What ordinary texts are made of never comes to that.
	mostSheets = 1 << 13
)

// run is a run of entries with their terms.
type run struct {
	first, last uint64
	terms       []posting
	times       []moment
}

func (r *run) size() int { return int(r.last-r.first) + 1 }

// weight is about how many sheets it has, rather too many.
func (r *run) weight() int {
	n := 0
	for i := range r.terms {
		n += len(r.terms[i].term) + len(r.terms[i].at) + 4
	}
	return n / sheetSize
}

// grow puts the entries that follow behind those of r.
func (r *run) grow(behind *run) {
	r.terms, r.times = joined(r.terms, behind.terms, r.size()), joinMoments(r.times, behind.times, behind.first)
	r.last = behind.last
}

// Add puts the entries that come next into an index, at most [MaxPage]. They become a chunk that is joined with the one before as long as
// that is not much larger: so an entry is not written again often. What makes the newest part too large is then joined to a chunk that
// stays as it is.
func Add(ctx context.Context, w Writer, page []amp.Entry) error {
	newest, err := w.Chunks(ctx, 0, math.MaxInt64, newestMost)
	if err != nil {
		return err
	}
	first, last := uint64(1), page[0].Seq-1
	if len(newest) == newestMost {
		first = newest[newestMost-1].First
	}
	if err := sound(newest, first, last); err != nil {
		return err
	}
	if len(newest) > 0 && newest[0].Last > last {
		return ErrBroken
	}
	r := &run{first: page[0].Seq, last: page[len(page)-1].Seq, terms: postingsOf(page), times: momentsOf(page)}
	for len(newest) > 0 && newest[0].size() < 2*r.size() && newest[0].size()+r.size() <= newestChunk {
		heavy, err := weigh(ctx, w, &newest[0])
		if err != nil {
			return err
		}
		if heavy+r.weight() > mostSheets {
			break
		}
		before, err := take(ctx, w, &newest[0])
		if err != nil {
			return err
		}
		before.grow(r)
		r, newest = before, newest[1:]
	}
	if err := put(ctx, w, r); err != nil {
		return err
	}
	return settle(ctx, w, r.size(), newest)
}

// settle joins the oldest chunks of the newest part when it is too large. before are those before the one that has the last size entries,
// newest first.
func settle(ctx context.Context, w Writer, size int, before []Chunk) error {
	part := 0
	for part < len(before) && before[part].size() <= newestChunk {
		size += before[part].size()
		part++
	}
	if size < newestPart {
		return nil
	}
	var n int
	var err error
	for ; part > 1; part-- { // what is too heavy to be joined stays as it is
		if n, err = joinable(ctx, w, before[:part]); err != nil || n > 1 {
			break
		}
	}
	if err != nil || n < 2 {
		return err
	}
	runs := make([]*run, n)
	for i := range runs {
		if runs[i], err = take(ctx, w, &before[part-1-i]); err != nil {
			return err
		}
	}
	for len(runs) > 1 { // neighbours of a size, so that few terms are copied often
		for i := 0; i+1 < len(runs); i += 2 {
			runs[i].grow(runs[i+1])
			runs[i/2] = runs[i]
		}
		if odd := len(runs) - 1; odd%2 == 0 {
			runs[odd/2] = runs[odd]
		}
		runs = runs[:(len(runs)+1)/2]
	}
	return put(ctx, w, runs[0])
}

// joinable is how many of the oldest of some chunks, newest first, can be one.
func joinable(ctx context.Context, w Writer, chunks []Chunk) (n int, err error) {
	size, sheets := 0, 0
	for ; n < len(chunks); n++ {
		c := &chunks[len(chunks)-1-n]
		heavy, err := weigh(ctx, w, c)
		if err != nil {
			return 0, err
		}
		if size, sheets = size+c.size(), sheets+heavy; size > maxChunk || sheets > mostSheets {
			break
		}
	}
	return n, nil
}

// weigh is how many sheets a chunk has.
func weigh(ctx context.Context, w Writer, c *Chunk) (sheets int, err error) {
	data, err := w.Times(ctx, c.First)
	if err != nil {
		return 0, err
	}
	sheets, _, err = readWeight(data)
	return sheets, err
}

// take reads a chunk and removes it.
func take(ctx context.Context, w Writer, c *Chunk) (*run, error) {
	data, sheets, err := w.Take(ctx, c.First)
	if err != nil {
		return nil, err
	}
	r := &run{first: c.First, last: c.Last}
	if r.times, err = c.readMoments(data); err != nil {
		return nil, err
	}
	set := newBitset(c.size())
	for _, data := range sheets {
		if r.terms, err = readSheet(r.terms, data, set, c.size()); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func put(ctx context.Context, w Writer, r *run) error {
	all := bounds(r.times)
	c := &Chunk{First: r.first, Last: r.last, Early: all.early, Late: all.late}
	written := sheets(r.terms, c.size())
	return w.Put(ctx, c, c.writeMoments(r.times, len(written)), written)
}

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
)

// run is a run of entries with their terms.
type run struct {
	first, last uint64
	terms       []posting
	times       []moment
}

func (r *run) size() int { return int(r.last-r.first) + 1 }

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
	var runs []*run
	for size = 0; part > 0 && size+before[part-1].size() <= maxChunk; part-- {
		r, err := take(ctx, w, &before[part-1])
		if err != nil {
			return err
		}
		size += r.size()
		runs = append(runs, r)
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
	return w.Put(ctx, c, c.writeMoments(r.times), sheets(r.terms, c.size()))
}

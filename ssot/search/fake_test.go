package search

import (
	"context"
	"math"
	"slices"
	"testing"

	"arbiter/amp"
)

// held is an index in memory, and its journal.
type held struct {
	entries []amp.Entry // from entry 1 on
	chunks  map[uint64]heldChunk
	read    int // sheets
	puts    int // entries in chunks that were written
	// together is how many entries were read at once at most.
	together int
}

type heldChunk struct {
	Chunk
	times  []byte
	sheets []Sheet
}

var (
	_ Store   = (*held)(nil)
	_ Writer  = (*held)(nil)
	_ Journal = (*held)(nil)
)

func (h *held) Chunks(_ context.Context, after, before uint64, limit int) (all []Chunk, _ error) {
	for _, c := range h.chunks {
		if c.Last > after && c.First < before {
			all = append(all, c.Chunk)
		}
	}
	slices.SortFunc(all, func(a, b Chunk) int { return int(b.First) - int(a.First) })
	if limit != 0 {
		all = all[:min(len(all), limit)]
	}
	return all, nil
}

// all are its chunks, newest first.
func (h *held) all() []Chunk {
	chunks, _ := h.Chunks(context.Background(), 0, math.MaxInt64, 0)
	return chunks
}

func (h *held) Times(_ context.Context, first uint64) ([]byte, error) {
	return h.chunks[first].times, nil
}

func (h *held) Sheets(_ context.Context, firsts []uint64, low, high []byte, f func(int, []byte) error) error {
	for k, first := range firsts {
		c := h.chunks[first]
		from := 0
		for i, s := range c.sheets {
			if string(s.First) <= string(low) {
				from = i
			}
		}
		for _, s := range c.sheets[from:] {
			if string(s.First) >= string(high) {
				break
			}
			h.read++
			if err := f(k, s.Data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *held) Take(_ context.Context, first uint64) (times []byte, sheets [][]byte, _ error) {
	c := h.chunks[first]
	delete(h.chunks, first)
	for _, s := range c.sheets {
		sheets = append(sheets, s.Data)
	}
	return c.times, sheets, nil
}

func (h *held) Put(_ context.Context, c *Chunk, times []byte, sheets []Sheet) error {
	h.chunks[c.First] = heldChunk{*c, times, sheets}
	h.puts += c.size()
	return nil
}

func (h *held) Headers(_ context.Context, f *amp.Filter, after, before uint64, n int) (all []uint64, _ error) {
	from, to := Times(f.Search)
	for i := range h.entries {
		e := &h.entries[i]
		if f.Newest {
			e = &h.entries[len(h.entries)-1-i]
		}
		at := e.At.UnixMilli()
		if e.Seq > after && e.Seq < before && at >= from && at < to && len(all) < n && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, e.Kind)) {
			all = append(all, e.Seq)
		}
	}
	return all, nil
}

func (h *held) Within(_ context.Context, seqs []uint64, from, to int64) ([]uint64, error) {
	return slices.DeleteFunc(slices.Clone(seqs), func(seq uint64) bool {
		at := h.entries[seq-1].At.UnixMilli()
		return at < from || at >= to
	}), nil
}

func (h *held) Entries(_ context.Context, seqs []uint64, newest bool) (all []amp.Entry, _ error) {
	h.together = max(h.together, len(seqs))
	seqs = slices.Sorted(slices.Values(seqs))
	if newest {
		slices.Reverse(seqs)
	}
	for _, seq := range seqs {
		all = append(all, h.entries[seq-1])
	}
	return all, nil
}

// add indexes what comes next.
func (h *held) add(t testing.TB, page ...amp.Entry) {
	t.Helper()
	for i := range page {
		page[i].Seq = uint64(len(h.entries) + 1 + i)
	}
	h.entries = append(h.entries, page...)
	if err := Add(t.Context(), h, page); err != nil {
		t.Fatal(err)
	}
}

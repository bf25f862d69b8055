package search

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/ssottest"
)

// facts are all that a search may be asked for, some of them many times.
func facts(n int) (all []amp.Entry) {
	r := rand.New(rand.NewPCG(3, 4))
	records := ssottest.Hard()
	for i := range n {
		records = append(records, ssottest.Any(r, fmt.Sprint("any", i), ssottest.Start.Add(time.Duration(i)*50*time.Millisecond)))
	}
	for i, record := range records {
		all = append(all, amp.Entry{Seq: uint64(i + 1), Record: record})
	}
	return all
}

// What is common costs a search no more sheets when the journal is long.
func TestSearch_commonReadsTheNewest(t *testing.T) {
	t.Parallel()
	h := &held{chunks: map[uint64]heldChunk{}}
	for range 14 {
		h.add(t, notes(len(h.entries), MaxPage-1)...)
	}
	for _, text := range []string{"hay", "h", "h6"} {
		f := ssottest.Search(t, text)
		f.Limit, h.read = 50, 0
		s := Search{Journal: h, Filter: &f, Last: uint64(len(h.entries)), Store: h, Reach: uint64(len(h.entries))}
		if found, err := s.Find(t.Context()); err != nil || len(found.Entries) != 50 {
			t.Errorf("%q: %d found, %v", text, len(found.Entries), err)
		}
		if most := 2 * len(h.chunks[uint64(13*(MaxPage-1)+1)].sheets); h.read > most {
			t.Errorf("%q read %d sheets, at most %d wanted", text, h.read, most)
		}
	}
}

// What the index finds is what Match says, whatever of the journal it holds and however it got it.
func TestSearch_property(t *testing.T) {
	t.Parallel()
	all := facts(600)
	rapid.Check(t, func(r *rapid.T) {
		h := &held{chunks: map[uint64]heldChunk{}}
		for len(h.entries) < len(all) && rapid.IntRange(0, 9).Draw(r, "more") > 0 {
			n := rapid.IntRange(1, 200).Draw(r, "page")
			h.add(t, slices.Clone(all[len(h.entries):min(len(all), len(h.entries)+n)])...)
		}
		reach := uint64(len(h.entries))
		h.entries = all
		f := ssottest.Search(t, rapid.SampledFrom(ssottest.Searches).Draw(r, "search"))
		f.Newest, f.Limit = rapid.Bool().Draw(r, "newest"), rapid.IntRange(1, 60).Draw(r, "limit")
		var want []uint64
		for i := range all {
			if ssot.Match(&f, &all[i]) {
				want = append(want, all[i].Seq)
			}
		}
		if f.Newest {
			slices.Reverse(want)
		}
		s := Search{Journal: h, Filter: &f, Last: uint64(len(all)), Store: h, Reach: reach, Count: rapid.Bool().Draw(r, "count")}
		found, err := s.Find(t.Context())
		var got []uint64
		for i := range found.Entries {
			got = append(got, found.Entries[i].Seq)
		}
		if err != nil || s.Wrong() || !slices.Equal(got, want[:min(len(want), f.Limit)]) ||
			s.Count && (found.More != (len(want) > len(got)) || !found.Capped && found.Count != len(want)) {
			r.Fatalf("%v of %d found, count %d, capped %v, more %v, %v; want %v", got, len(all), found.Count, found.Capped, found.More, err, want)
		}
	})
}

// What the index alone selects is what matches, wherever it says that it is exact; otherwise it loses nothing.
func TestSearch_indexIsExact(t *testing.T) {
	t.Parallel()
	all := facts(600)
	h := &held{chunks: map[uint64]heldChunk{}}
	for page := range slices.Chunk(slices.Clone(all), 250) {
		h.add(t, page...)
	}
	exact := 0
	for _, text := range ssottest.Searches {
		f := ssottest.Search(t, text)
		s := &Search{Journal: h, Filter: &f, Store: h}
		s.ask()
		if len(s.clauses) == 0 || f.After != 0 || f.Before != 0 || f.Search != nil && (!f.Search.Since.IsZero() || !f.Search.Until.IsZero()) {
			continue
		}
		chunks := h.all()
		left, err := s.narrow(t.Context(), chunks)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		var got []uint64
		for i := range left {
			got = append(got, left[i].seqs()...)
		}
		for i := range all {
			match, found := ssot.Match(&f, &all[i]), slices.Contains(got, all[i].Seq)
			if match && !found || s.exact && found != match {
				t.Errorf("%q: entry %d matches: %v, in the index: %v, exact: %v", text, i+1, match, found, s.exact)
			}
		}
		if s.exact {
			exact++
		}
	}
	if exact < 30 {
		t.Errorf("only %d searches are exact", exact)
	}
}

// Chunks that do not follow each other are no index, for who reads and who adds.
func TestSound(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*held){
		"none":             func(h *held) { clear(h.chunks) },
		"last lost":        func(h *held) { delete(h.chunks, h.all()[0].First) },
		"first lost":       func(h *held) { delete(h.chunks, 1) },
		"one between lost": func(h *held) { delete(h.chunks, h.all()[2].First) },
		"one behind": func(h *held) {
			h.chunks[uint64(len(h.entries)+1)] = heldChunk{Chunk: Chunk{First: uint64(len(h.entries) + 1), Last: uint64(len(h.entries) + 1)}}
		},
		"longer": func(h *held) {
			c := h.chunks[1]
			c.Last++
			h.chunks[1] = c
		},
		"too long": func(h *held) {
			c := h.chunks[h.all()[0].First]
			c.Last += maxChunk
			h.chunks[c.First] = c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &held{chunks: map[uint64]heldChunk{}}
			for range 4 {
				h.add(t, notes(len(h.entries), newestChunk/2+1)...)
			}
			spoil(h)
			f := ssottest.Search(t, "h6")
			last := uint64(len(h.entries))
			s := Search{Journal: h, Filter: &f, Last: last, Store: h, Reach: last, Count: true}
			if _, err := s.Find(t.Context()); !errors.Is(err, ErrBroken) && name != "one behind" {
				t.Errorf("a search: %v", err)
			}
			page := notes(len(h.entries), 1)
			page[0].Seq = last + 1
			if err := Add(t.Context(), h, page); !errors.Is(err, ErrBroken) {
				t.Errorf("adding: %v", err)
			}
		})
	}
}

// Where few match, many are looked at together, but not many that are large.
func TestSearch_together(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ size, most, least int }{
		"small": {10, candidateMost, candidateMost}, "large": {candidateBytes / 200, 200, candidatePage / 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &held{chunks: map[uint64]heldChunk{}}
			body := strings.Repeat("x ", tc.size/2)
			for i := range 3000 {
				h.entries = append(h.entries, amp.Entry{Seq: uint64(i + 1), Record: ssottest.Raw(fmt.Sprint(i), "", []byte(body))})
			}
			f := ssottest.Search(t, "needle")
			s := Search{Journal: h, Filter: &f, Last: 3000}
			if found, err := s.Find(t.Context()); err != nil || len(found.Entries) != 0 {
				t.Fatalf("%+v, %v", found, err)
			}
			if h.together > tc.most || h.together < tc.least {
				t.Errorf("%d were looked at together, want %d to %d", h.together, tc.least, tc.most)
			}
		})
	}
}

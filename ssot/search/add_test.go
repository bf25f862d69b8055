package search

import (
	"crypto/md5" //nolint:gosec // for words by chance
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// notes are n entries with two words each, one of them common.
func notes(from, n int) []amp.Entry {
	page := make([]amp.Entry, n)
	for i := range page {
		r := ssottest.Note(fmt.Sprint("n", from+i), ssottest.Task(1), fmt.Sprintf("hay h%d", (from+i)%700))
		r.At = ssottest.Start.Add(time.Duration(from+i) * time.Second)
		page[i] = amp.Entry{Record: r}
	}
	return page
}

// However entries come, the newest chunks are small, all others large, every entry is in one, and few are written often.
func TestAdd_newestPart(t *testing.T) {
	t.Parallel()
	for name, pages := range map[string][]int{
		"one by one": slices.Repeat([]int{1}, 2*newestChunk),
		"full pages": slices.Repeat([]int{MaxPage}, 2*newestPart/MaxPage),
		"batches":    slices.Repeat([]int{4000}, 26),
		"uneven":     slices.Repeat([]int{MaxPage, 100, 1, 3000, 7}, 14),
		"odd":        slices.Repeat([]int{2049}, 45),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := &held{chunks: map[uint64]heldChunk{}}
			for _, n := range pages {
				h.add(t, notes(len(h.entries), n)...)
				all := h.all()
				small, next := 0, uint64(len(h.entries))
				for i, c := range all {
					if c.Last != next {
						t.Fatalf("after entry %d comes a chunk from %d to %d", next, c.First, c.Last)
					}
					next = c.First - 1
					if c.size() <= newestChunk {
						if small += c.size(); i >= newestMost {
							t.Fatalf("%d chunks of the newest part", i+1)
						}
					} else if c.size() < maxChunk-newestChunk || small < newestPart-maxChunk {
						t.Fatalf("a chunk of %d entries behind %d others", c.size(), small)
					}
				}
				if next != 0 || small >= newestPart {
					t.Fatalf("entries up to %d are in no chunk, %d are in the newest part", next, small)
				}
			}
			if often := float64(h.puts) / float64(len(h.entries)); often > 14 {
				t.Errorf("an entry is written %.1f times", often)
			}
		})
	}
}

// What is too heavy to be joined stays as it is, wherever it stands, and is found; what stands beside it is joined as ever.
func TestAdd_heavy(t *testing.T) {
	t.Parallel()
	h := &held{chunks: map[uint64]heldChunk{}}
	heavy := func(n int) {
		for range n {
			var body strings.Builder
			for i := range 1 << 15 { // a word is a sum, so that no two begin alike
				fmt.Fprintf(&body, "%x ", md5.Sum(fmt.Appendf(nil, "%d %d", len(h.entries), i)))
			}
			h.add(t, amp.Entry{Record: ssottest.Raw(fmt.Sprint("heavy", len(h.entries)), "", []byte(body.String()))})
		}
	}
	heavy(20)
	for range newestPart/MaxPage + 4 {
		h.add(t, notes(len(h.entries), MaxPage)...)
	}
	heavy(2)
	large, heaviest := 0, 0
	for _, c := range h.chunks {
		heaviest = max(heaviest, len(c.sheets))
		if c.size() > maxChunk/2 {
			large++
		}
	}
	if heaviest > mostSheets || heaviest < mostSheets/4 || large != 1 {
		t.Errorf("a chunk has %d sheets, %d chunks are large; want at most %d, and one", heaviest, large, mostSheets)
	}
	for _, seq := range []int{1, 7, 20, len(h.entries)} {
		f := ssottest.Search(t, fmt.Sprintf("%x", md5.Sum(fmt.Appendf(nil, "%d %d", seq-1, 5))))
		s := Search{Journal: h, Filter: &f, Last: uint64(len(h.entries)), Store: h, Reach: uint64(len(h.entries)), Count: true}
		if found, err := s.Find(t.Context()); err != nil || found.Count != 1 || found.Entries[0].Seq != uint64(seq) {
			t.Errorf("a word of entry %d is in %d entries, %v", seq, found.Count, err)
		}
	}
}

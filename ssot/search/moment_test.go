package search

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"arbiter/amp"
)

// Moments of runs that were joined and stored are those of all the entries, whatever their clocks said.
func TestMoments_property(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		first := rapid.Uint64Range(1, 600).Draw(r, "first")
		entries := make([]amp.Entry, rapid.IntRange(1, 1200).Draw(r, "entries"))
		step := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "seed"), 1))
		at := int64(-1000)
		for i := range entries {
			at += step.Int64N(2000) - 900
			entries[i] = amp.Entry{Seq: first + uint64(i), Record: amp.Record{At: time.UnixMilli(at)}}
		}
		var all []moment
		var c Chunk
		for left := entries; len(left) > 0; {
			n := rapid.IntRange(1, len(left)).Draw(r, "run")
			if run := momentsOf(left[:n]); all == nil {
				all = run
			} else {
				all = joinMoments(all, run, left[0].Seq)
			}
			left = left[n:]
		}
		span := bounds(all)
		c = Chunk{First: first, Last: entries[len(entries)-1].Seq, Early: span.early, Late: span.late}
		sheets := rapid.IntRange(0, 1<<20).Draw(r, "sheets")
		data := c.writeMoments(all, sheets)
		if got, _, err := readWeight(data); err != nil || got != sheets {
			r.Fatalf("%d sheets, %v, want %d", got, err, sheets)
		}
		got, err := c.readMoments(data)
		if err != nil || !slices.Equal(got, all) {
			r.Fatalf("%v, %v", err, cmp.Diff(all, got, cmp.AllowUnexported(moment{})))
		}
		want := map[uint64]moment{}
		for _, e := range entries {
			m := moment{e.At.UnixMilli(), e.At.UnixMilli()}
			if before, known := want[e.Seq>>momentBits]; known {
				m = before.join(m)
			}
			want[e.Seq>>momentBits] = m
		}
		for _, e := range entries {
			if k := e.Seq >> momentBits; got[k-first>>momentBits] != want[k] {
				r.Fatalf("entry %d: %v, want %v", e.Seq, got[k-first>>momentBits], want[k])
			}
		}
		data[rapid.IntRange(0, len(data)-1).Draw(r, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
		if _, err := c.readMoments(data); err == nil {
			r.Fatal("a changed bit was not found")
		}
	})
}

// FuzzMoments: no bytes make a reader panic, whatever their sum says.
func FuzzMoments(f *testing.F) {
	c := Chunk{First: 1, Last: 300}
	f.Add(c.writeMoments([]moment{{0, 5}, {3, 9}}, 7)[4:], uint64(1), uint64(299))
	f.Fuzz(func(_ *testing.T, data []byte, first, more uint64) {
		c := Chunk{First: first % (1 << 40)}
		c.Last = c.First + more%maxChunk
		_, _ = c.readMoments(sealed(data))
	})
}

package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
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
		var c chunk
		for left := entries; len(left) > 0; {
			n := rapid.IntRange(1, len(left)).Draw(r, "run")
			if run := momentsOf(left[:n]); all == nil {
				all = run
			} else {
				all = joinMoments(all, run, left[0].Seq)
			}
			left = left[n:]
		}
		c.first, c.last, c.moment = first, entries[len(entries)-1].Seq, bounds(all)
		data := c.writeMoments(all)
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
	c := chunk{first: 1, last: 300}
	f.Add(c.writeMoments([]moment{{0, 5}, {3, 9}})[4:], uint64(1), uint64(299))
	f.Fuzz(func(_ *testing.T, data []byte, first, more uint64) {
		c := chunk{first: first % (1 << 40)}
		c.last = c.first + more%maxChunk
		_, _ = c.readMoments(sealed(data))
	})
}

// Searches within a time find what was written in it, also after clocks stepped back, and wherever the index is.
func TestSearch_clocksStepBack(t *testing.T) {
	t.Parallel()
	log := openLog(t, t.TempDir())
	r := rand.New(rand.NewPCG(5, 6))
	at := ssottest.Start
	var records []amp.Record
	for i := range 1500 {
		if at = at.Add(time.Duration(r.IntN(3000)) * time.Millisecond); r.IntN(200) == 0 {
			at = at.Add(-time.Duration(r.IntN(900)) * time.Second)
		}
		n := ssottest.Note(fmt.Sprint("n", i), ssottest.Task(1+i%3), []string{"hello there", "there hello", "work"}[r.IntN(3)])
		n.At = at
		records = append(records, n)
	}
	for page := range slices.Chunk(records, 300) {
		if _, err := log.Append(t.Context(), page); err != nil {
			t.Fatal(err)
		}
	}
	all, err := ssottest.All(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	indexed(t, log)
	rapid.Check(t, func(r *rapid.T) {
		moment := func(label string) string {
			return ssottest.Start.Add(time.Duration(rapid.IntRange(-100, 2500).Draw(r, label)) * time.Second).Format(time.RFC3339)
		}
		text := rapid.SampledFrom([]string{"", "hello ", `"hello there" `, "-work ", "kind:plan ", "nowhere "}).Draw(r, "what")
		if rapid.Bool().Draw(r, "since") {
			text += "since:" + moment("from") + " "
		}
		if rapid.Bool().Draw(r, "until") || text == "" {
			text += "until:" + moment("to")
		}
		scanned(t, log, all, text)
	})
}

package search

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func drawPostings(r *rapid.T, label string, n int) []posting {
	byTerm := map[string][]uint16{}
	for range rapid.IntRange(1, 60).Draw(r, label) {
		term := rapid.StringOfN(rapid.SampledFrom([]rune("ab=é会")), 1, 6, -1).Draw(r, "term")
		if rapid.IntRange(0, 9).Draw(r, "long") == 0 {
			term += string(bytes.Repeat([]byte("x"), sheetSize/2))
		}
		var at []uint16
		for k := range n {
			if rapid.IntRange(0, 3).Draw(r, "has") == 0 {
				at = append(at, uint16(k))
			}
		}
		if len(at) > 0 {
			byTerm[term] = at
		}
	}
	var all []posting
	for t, at := range byTerm {
		all = append(all, posting{[]byte(t), at})
	}
	slices.SortFunc(all, func(a, b posting) int { return bytes.Compare(a.term, b.term) })
	return all
}

func readSheets(r *rapid.T, all []Sheet, n int) (out []posting) {
	for _, s := range all {
		first := true
		err := eachTerm(s.Data, func(term, list []byte, bitmap bool) bool {
			if first && !bytes.Equal(term, s.First) {
				r.Fatalf("a sheet of %q begins with %q", s.First, term)
			}
			first = false
			set := newBitset(n)
			if err := set.add(list, bitmap, n); err != nil {
				r.Fatal(err)
			}
			out = append(out, posting{slices.Clone(term), set.places()})
			return true
		})
		if err != nil {
			r.Fatal(err)
		}
	}
	return out
}

// What is written into sheets is read again, also after two runs were joined; a changed byte is found.
func TestSheets_property(t *testing.T) {
	t.Parallel()
	equal := cmp.AllowUnexported(posting{})
	rapid.Check(t, func(r *rapid.T) {
		n, m := rapid.IntRange(1, 40).Draw(r, "n"), rapid.IntRange(1, 40).Draw(r, "m")
		a, b := drawPostings(r, "a", n), drawPostings(r, "b", m)
		if got := readSheets(r, sheets(a, n), n); !cmp.Equal(a, got, equal) {
			r.Fatal(cmp.Diff(a, got, equal))
		}
		want := map[string][]uint16{}
		for _, p := range a {
			want[string(p.term)] = slices.Clone(p.at)
		}
		for _, p := range b {
			for _, k := range p.at {
				want[string(p.term)] = append(want[string(p.term)], k+uint16(n))
			}
		}
		written := sheets(joined(a, b, n), n+m)
		got := readSheets(r, written, n+m)
		if len(got) != len(want) || !slices.IsSortedFunc(got, func(a, b posting) int { return bytes.Compare(a.term, b.term) }) {
			r.Fatalf("%d terms, want %d in order", len(got), len(want))
		}
		for _, p := range got {
			if !slices.Equal(p.at, want[string(p.term)]) {
				r.Fatalf("%q is at %v, want %v", p.term, p.at, want[string(p.term)])
			}
		}
		if len(written) > 0 {
			s := written[rapid.IntRange(0, len(written)-1).Draw(r, "sheet")]
			s.Data[rapid.IntRange(0, len(s.Data)-1).Draw(r, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(r, "bit")
			if eachTerm(s.Data, func([]byte, []byte, bool) bool { return true }) == nil {
				r.Fatal("a changed bit was not found")
			}
		}
	})
}

// FuzzSheet: no bytes make a reader panic, whatever their sum says.
func FuzzSheet(f *testing.F) {
	f.Add(sheets([]posting{{[]byte("a"), []uint16{1}}, {[]byte("ab"), []uint16{0, 1, 2, 3}}}, 4)[0].Data[4:], 4)
	f.Fuzz(func(_ *testing.T, data []byte, n int) {
		n = 1 + int(uint(n)%maxChunk)
		_ = eachTerm(sealed(data), func(_, list []byte, bitmap bool) bool {
			return newBitset(n).add(list, bitmap, n) == nil
		})
	})
}

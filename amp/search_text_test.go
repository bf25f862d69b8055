package amp

import (
	"testing"

	"pgregory.net/rapid"
)

// In a text of ASCII a needle is found where a look at every place finds it.
func TestNeedle_ASCII(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.SampledFrom([]rune("aAbBkKsS09 ._-")))
	rapid.Check(t, func(r *rapid.T) {
		s := text.Draw(r, "text")
		what := text.Draw(r, "needle")
		if a, b := rapid.IntRange(0, len(s)).Draw(r, "begin"), rapid.IntRange(0, len(s)).Draw(r, "end"); a < b {
			what = s[a:b] // a piece of the text is likelier to be there
		}
		n := newNeedle(what, rapid.Bool().Draw(r, "whole"))
		for from := range len(s) + 1 {
			want, end := -1, -1
			for i := from; i < len(s) && want < 0 && what != ""; i++ {
				if n.word && !n.begins(s, i, rune(s[i]), 1) {
					continue
				}
				if e := n.at(s, i); e >= 0 {
					want, end = i, e
				}
			}
			if got, e := n.find(s, from); got != want || e != end {
				r.Fatalf("%q from %d in %q: %d to %d, want %d to %d", n.text, from, s, got, e, want, end)
			}
		}
	})
}

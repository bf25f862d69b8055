package ui

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"
)

// TestWidth_lone: every character that is counted by itself has the width that x/ansi gives it.
func TestWidth_lone(t *testing.T) {
	t.Parallel()
	n := 0
	for r := rune(0x80); r < 0x20000; r++ {
		w := lone(r)
		if w == 0 {
			continue
		}
		n++
		if got := ansi.StringWidth(string(r)); got != w {
			t.Errorf("%U %q is counted as %d, x/ansi says %d", r, r, w, got)
		}
	}
	if n < 30_000 {
		t.Errorf("only %d characters are counted, the table is wrong", n)
	}
}

func TestWidth_likeAnsi(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile), rapid.StringOf(rapid.Custom(func(r *rapid.T) rune {
		return rapid.RuneFrom([]rune("a│─▰承ー각é…«")).Draw(r, "r")
	})), rapid.SampledFrom([]string{"\x1b[1m", "\x1b[0m", "\x1b[38;2;1;2;3m", "\x1b]0;x\x07", "\x1b[2J", "\x1b[", "\u0301", "\u200d", "\ufe0f", "ᄀ", "ᅡ"}))
	rapid.Check(t, func(r *rapid.T) {
		s := piece.Draw(r, "a") + piece.Draw(r, "b") + piece.Draw(r, "c")
		if got, want := Width(s), ansi.StringWidth(s); got != want {
			r.Fatalf("Width(%q) = %d, x/ansi says %d", s, got, want)
		}
	})
}

// TestCut_likeAnsi: text is cut as x/ansi cuts it, with or without its help.
func TestCut_likeAnsi(t *testing.T) {
	t.Parallel()
	piece := rapid.OneOf(rapid.String(), rapid.SampledFrom(hostile), rapid.StringOf(rapid.Custom(func(r *rapid.T) rune {
		return rapid.RuneFrom([]rune("a│─▰承ー각é…« ")).Draw(r, "r")
	})), rapid.SampledFrom([]string{"\x1b[1m", "\x1b[0m", "\x1b]0;x\x07", "\x1b[", "\u0301", "\u200d", "\x01", "\xff"}))
	rapid.Check(t, func(r *rapid.T) {
		s, w := piece.Draw(r, "a")+piece.Draw(r, "b")+piece.Draw(r, "c"), rapid.IntRange(1, 24).Draw(r, "w")
		want := s
		if ansi.StringWidth(s) > w {
			want = ansi.Truncate(s, w, "…")
		}
		if got := Cut(s, w); got != want {
			r.Fatalf("Cut(%q, %d) = %q, x/ansi says %q", s, w, got, want)
		}
	})
}

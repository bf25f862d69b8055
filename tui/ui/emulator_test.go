package ui

import (
	"testing"

	"pgregory.net/rapid"

	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// TestEmulator_columns draws text of any origin in a terminal emulator that measures by code points, as most do
// and x/ansi does not, and looks whether what stands behind it is where it should be.
func TestEmulator_columns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		s := genText().Draw(r, "text")
		s2 := Safe(genText().Draw(r, "behind"))
		f := NewFrame(theme.Default(), 60, 1)
		f.Put(0, NewBlock(theme.Default(), 60).Add(Pad(Safe(s), 40)+"\x1b[1m║\x1b[0m"+s2))
		term := tuitest.NewTerminal(60, 2, nowhere{})
		defer term.Close()
		if _, err := term.Write([]byte(f.String())); err != nil {
			r.Fatal(err)
		}
		if x, _, ok := term.Find("║"); x != 40 {
			r.Fatalf("%q is drawn as %q: the line is at %d (%v), want 40", Safe(s), term.Rows()[0], x, ok)
		}
	})
}

type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

// TestEmulator_everyCharacter does the same for every third character there is, between two letters.
func TestEmulator_everyCharacter(t *testing.T) {
	t.Parallel()
	step := rune(3)
	if testing.Short() {
		step = 31
	}
	term := tuitest.NewTerminal(60, 1, nowhere{})
	defer term.Close()
	th := theme.Default()
	for r := rune(0xa0); r < 0x20000; r += step {
		if r >= 0xac00 && r < 0xf900 { // Hangul syllables, surrogates, private use
			continue
		}
		s := Safe("a" + string(r) + "b")
		f := NewFrame(th, 60, 1)
		f.Put(0, NewBlock(th, 60).Add(Pad(s, 20)+"║"))
		if _, err := term.Write([]byte("\x1b[H" + f.String())); err != nil {
			t.Fatal(err)
		}
		if x, _, _ := term.Find("║"); x != 20 && r != '║' {
			t.Errorf("%U: the line is at %d, want 20: %q", r, x, term.Rows()[0])
		}
	}
}

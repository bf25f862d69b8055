package tui

import (
	"testing"

	"arbiter/tui/term"
	"arbiter/tui/theme"
)

// What is configured wins over what the terminal seems to be able to draw.
func TestChooseSigns(t *testing.T) {
	t.Parallel()
	utf8, plain := term.Kind{UTF8: true}, term.Kind{}
	wide := term.Answer{Measured: true, WideSigns: true}
	for name, tc := range map[string]struct {
		want   string
		kind   term.Kind
		answer term.Answer
		signs  *theme.Signs
	}{
		"auto":                       {"", utf8, term.Answer{}, theme.UTF8},
		"auto without utf-8":         {"", plain, term.Answer{}, theme.ASCII},
		"auto, wide signs":           {"", utf8, wide, theme.Narrow},
		"utf8 without a locale":      {"utf8", plain, term.Answer{}, theme.UTF8},
		"utf8 though signs are wide": {"utf8", utf8, wide, theme.UTF8},
		"ascii":                      {"ascii", utf8, term.Answer{}, theme.Narrow},
		"ascii without utf-8":        {"ascii", plain, term.Answer{}, theme.ASCII},
	} {
		if got := chooseSigns(tc.want, tc.kind, tc.answer); got != tc.signs {
			t.Errorf("%s: signs %s, want %s", name, got.Name, tc.signs.Name)
		}
	}
}

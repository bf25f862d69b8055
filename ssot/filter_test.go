package ssot_test

import (
	"testing"

	"arbiter/ssot"
)

func TestContainsFold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body, text string
		want       bool
	}{
		"same":              {"hello", "ell", true},
		"case":              {"Hello", "hELLO", true},
		"not_there":         {"hello", "help", false},
		"longer":            {"he", "hello", false},
		"umlaut":            {"GRÖSSE", "größe", false},
		"umlaut_case":       {"Öl", "öL", true},
		"kelvin_is_no_k":    {"300 \u212a", "300 k", false},
		"dotted_is_no_i":    {"\u0130", "i", false},
		"beyond_ascii_both": {"\u212aä", "kÄ", true},
		"nul":               {"a\x00B", "\x00b", true},
		"no_utf8":           {"\xff\xfeA", "a", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ssot.ContainsFold([]byte(c.body), c.text); got != c.want {
				t.Errorf("ContainsFold(%q, %q) = %v, want %v", c.body, c.text, got, c.want)
			}
		})
	}
}

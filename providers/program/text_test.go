package program

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"two-byte letters": strings.Repeat("ä", MaxText), "odd cut": "a" + strings.Repeat("ä", MaxText),
		"four-byte signs": strings.Repeat("🜁", MaxText), "no UTF-8": strings.Repeat("\xff", 10*MaxText),
		"lines": strings.Repeat("\r\n", MaxText),
	} {
		got := Text([]byte(in))
		if !utf8.ValidString(got) || len(got) > 3*MaxText+8 || strings.ContainsAny(got, "\r\n") || got == "" {
			t.Errorf("%s: %d bytes, valid %v", name, len(got), utf8.ValidString(got))
		}
	}
	if got := Text([]byte("short ä")); got != "short ä" {
		t.Errorf("Text = %q", got)
	}
}

package action

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// namedKeys are the keys with a name, besides those with ctrl or alt and a letter.
var namedKeys = func() []string {
	keys := []string{"enter", "tab", "shift+tab", "esc", "space", "backspace", "delete", "insert", "pgup", "pgdown"}
	for _, k := range []string{"up", "down", "left", "right", "home", "end"} {
		keys = append(keys, k, "shift+"+k, "ctrl+"+k, "ctrl+shift+"+k)
	}
	keys = append(keys, "ctrl+pgup", "ctrl+pgdown")
	for i := 1; i <= 20; i++ {
		keys = append(keys, fmt.Sprintf("f%d", i))
	}
	return keys
}()

// otherNames are names that other programs have for keys.
var otherNames = map[string]string{
	"return": "enter", "cr": "enter", "ret": "enter", "escape": "esc", "bs": "backspace", "del": "delete", "ins": "insert",
	"pageup": "pgup", "pagedown": "pgdown", "page_up": "pgup", "page_down": "pgdown", "spacebar": "space", "backtab": "shift+tab",
	"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "esc", "ctrl+space": "ctrl+@",
}

// unknownKey says why a terminal never sends a key of that name, "" when it does.
func unknownKey(key string) string {
	rest, alt := strings.CutPrefix(key, "alt+")
	if slices.Contains(namedKeys, rest) {
		return ""
	}
	if alt && rest == "" {
		return "alt is no key by itself"
	}
	if r, n := utf8.DecodeRuneInString(rest); n == len(rest) && unicode.IsPrint(r) {
		return ""
	}
	low := strings.ToLower(rest)
	if same, ok := otherNames[low]; ok {
		return fmt.Sprintf("no key has that name; did you mean %q?", same)
	}
	if c, ok := strings.CutPrefix(rest, "ctrl+"); ok && len(c) == 1 {
		switch {
		case c[0] >= 'a' && c[0] <= 'z' || strings.Contains(`@\]^_`, c):
			return ""
		case c[0] >= 'A' && c[0] <= 'Z':
			return fmt.Sprintf("a terminal can not tell it from %q", "ctrl+"+strings.ToLower(c))
		}
		return "a terminal has no such key"
	}
	if c, ok := strings.CutPrefix(low, "c-"); ok && len(c) == 1 {
		return fmt.Sprintf("no key has that name; did you mean %q?", "ctrl+"+c)
	}
	if c, ok := strings.CutPrefix(low, "m-"); ok && len(c) == 1 {
		return fmt.Sprintf("no key has that name; did you mean %q?", "alt+"+c)
	}
	if best := Nearest(low, namedKeys); best != "" {
		return fmt.Sprintf("no key has that name; did you mean %q?", best)
	}
	return "no key has that name"
}

// Nearest is the word of known that was probably meant, "" when none is near.
func Nearest(word string, known []string) string {
	best, limit := "", len(word)/3+2
	for _, k := range known {
		if d := distance(word, k); d < limit {
			best, limit = k, d
		}
	}
	return best
}

// distance is how many letters have to be added, dropped or changed to make a of b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

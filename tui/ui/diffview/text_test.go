package diffview

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A line that is too long to be broken whole shows its beginning in full, and in a row of its own how much more there is.
func TestView_longLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		line, note string
		shown      int // bytes of the line; 0: not asked
	}{
		"minified, a megabyte":    {strings.Repeat("x", 1<<20), "… 1008 KB more in this line", maxWrapped},
		"as long as is broken":    {strings.Repeat("x", maxWrapped), "", maxWrapped},
		"and a carriage return":   {strings.Repeat("x", maxWrapped) + "\r", "", 0},
		"one byte more":           {strings.Repeat("x", maxWrapped+1), "… 1 byte more in this line", maxWrapped},
		"a character on the edge": {strings.Repeat("x", maxWrapped-1) + "é" + strings.Repeat("y", 8), "… 10 bytes more in this line", maxWrapped - 1},
		"a long one on the edge":  {strings.Repeat("x", maxWrapped-3) + "𝛼" + strings.Repeat("y", 8), "… 12 bytes more in this line", maxWrapped - 3},
		"wide characters":         {strings.Repeat("漢", 1<<18), "", 0},
		"no text at all":          {strings.Repeat("\x80", 1<<20), "… 1008 KB more in this line", 0},
	} {
		for _, split := range []bool{false, true} {
			v := New(plainTheme)
			v.Show(Parse("diff --git a/min.zzz b/min.zzz\n--- a/min.zzz\n+++ b/min.zzz\n@@ -1 +1 @@\n-old\n+" + tc.line + "\n"))
			v.Wrap(true)
			v.Split(split)
			checkRows(t, v, 100, 20)
			for i := range v.elems {
				rows := v.rows(i, 100)
				if got := v.height(i); got != len(rows) {
					t.Errorf("%s, split %v: element %d counts %d rows and draws %d", name, split, i, got, len(rows))
				}
				if e := &v.elems[i]; e.part != line || max(v.lineLen(int(e.at), e), v.lineLen(int(e.right), e)) < 100 {
					continue
				}
				last := strings.TrimSpace(strings.TrimLeft(sgr(rows[len(rows)-1]), " │"))
				if strings.HasPrefix(last, "…") != (tc.note != "" || name == "wide characters") || tc.note != "" && last != tc.note {
					t.Errorf("%s, split %v: the last row is %q, want %q", name, split, last, tc.note)
				}
				all := sgr(strings.Join(rows, ""))
				if !utf8.ValidString(all) {
					t.Errorf("%s, split %v: a character was cut", name, split)
				}
				if n := strings.Count(all, "x"); tc.shown > 0 && n != tc.shown {
					t.Errorf("%s, split %v: %d bytes are shown, want %d", name, split, n, tc.shown)
				}
				if name == "no text at all" && len(rows) < 100 {
					t.Errorf("%s, split %v: %d rows: nothing of it is shown", name, split, len(rows))
				}
			}
		}
	}
}

// lineLen is how long a line of an element is, 0 without one.
func (v *View) lineLen(at int, e *elem) int {
	if l := v.lineAt(e, at); l != nil {
		return len(l.Text)
	}
	return 0
}

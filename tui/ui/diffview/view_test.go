package diffview

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"arbiter/tui/theme"
	"arbiter/tui/ui"
)

var plainTheme = theme.Default()

// checkRows renders and fails unless there are h rows of w cells without controls, with the cursor among them.
func checkRows(t interface {
	Helper()
	Fatalf(string, ...any)
}, v *View, w, h int,
) []string {
	t.Helper()
	rows := v.Render(w, h).Rows()
	if len(rows) != h {
		t.Fatalf("%d rows at %dx%d", len(rows), w, h)
	}
	cursor := 0
	for y, r := range rows {
		if got := ui.Width(r); got != w {
			t.Fatalf("row %d at %dx%d has %d cells: %q", y, w, h, got, r)
		}
		plain := sgr(r)
		if i := strings.IndexFunc(plain, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e }); i >= 0 {
			t.Fatalf("row %d has a control: %q", y, r)
		}
		if strings.HasPrefix(plain, "▌") {
			cursor++
		}
	}
	if len(v.elems) > 0 && h > 3 && w > 20 && cursor == 0 {
		t.Fatalf("at %dx%d the cursor is not seen: element %d of %d, top %d", w, h, v.cur, len(v.elems), v.top)
	}
	return rows
}

func sgr(s string) string {
	for {
		i := strings.Index(s, "\x1b[")
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], 'm')
		if j < 0 {
			return s
		}
		s = s[:i] + s[i+j+1:]
	}
}

func remarks() []Remark {
	return []Remark{
		{ID: "a", Path: "internal/plan/types.go", Line: 103, Sign: "!", Head: "F1 critical", Facts: "claude", Role: theme.Danger, Body: []string{"one\ntwo", "fix: three"}},
		{ID: "b", Path: "internal/plan/types.go", Line: 20, Sign: "!", Head: "in a gap", Body: []string{"gap"}},
		{ID: "c", Path: "nowhere.go", Line: 1, Sign: "!", Head: "homeless\x1b[2J", Body: []string{"evil\x1b[2J\u202e"}},
		{ID: "d", Path: "docs/plan.md", Line: 3, Old: true, Sign: "!", Head: "about a removed line"},
	}
}

// TestView_everything: whatever is done at whatever size, there are exactly the rows and cells, and the cursor is seen.
func TestView_everything(t *testing.T) {
	t.Parallel()
	d, whole := fixture(t, "branch.diff"), fixture(t, "types-whole.diff")
	evil := Parse("diff --git a/e b/e\n--- a/e\n+++ b/e\n@@ -1,3 +1,4 @@\n-\x1b[2J\u202e\r\n+\x1b]0;x\x07\u200d👨‍👩‍👧 e\u0301\u0301 🇩🇪🇫🇷\r\n+" +
		strings.Repeat("漢", 5000) + "\n " + strings.Repeat("\t", 300) + "\n+" + strings.Repeat("x", 1<<20) + "\n-\xff\xfe\x80\n-\n")
	rapid.Check(t, func(r *rapid.T) {
		v := New(plainTheme)
		v.Progress(map[string]int{})
		v.Facts(func(i int) string { return fmt.Sprintf("file %d", i) })
		if rapid.Bool().Draw(r, "evil") {
			v.Show(evil)
		} else {
			v.Show(d)
		}
		for range rapid.IntRange(1, 25).Draw(r, "steps") {
			switch rapid.IntRange(0, 19).Draw(r, "do") {
			case 0:
				v.Split(!v.IsSplit())
			case 1:
				v.Wrap(!v.IsWrapped())
			case 2:
				v.Move(rapid.IntRange(-30, 30).Draw(r, "n"))
			case 3:
				v.Scroll(rapid.IntRange(-30, 30).Draw(r, "n"))
			case 4:
				v.Page(rapid.SampledFrom([]float64{-1, -0.5, 0.5, 1}).Draw(r, "page"))
			case 5:
				v.NextFile(rapid.Bool().Draw(r, "forward"))
			case 6:
				v.NextHunk(rapid.Bool().Draw(r, "forward"))
			case 7:
				v.NextRemark(rapid.Bool().Draw(r, "forward"))
			case 8:
				v.Remarks(remarks())
			case 9:
				v.Fold(rapid.IntRange(0, len(v.diff.Files)-1).Draw(r, "file"), rapid.Bool().Draw(r, "on"))
			case 10:
				if v.diff == d {
					v.Fill(4, whole)
				}
			case 11:
				if f, g, _, ok := v.Gap(); ok {
					v.Open(f, g)
				}
			case 12:
				v.Shift(rapid.IntRange(-40, 40).Draw(r, "n"))
			case 13:
				v.Hits(v.diff.Find(rapid.SampledFrom([]string{"e", "session", "漢", ""}).Draw(r, "query")))
				v.NextHit(true)
			case 14:
				v.Select()
			case 15:
				v.Top()
			case 16:
				v.Bottom()
			case 17:
				if j := v.Wants(40); j != nil {
					v.Paint(j.Run())
				}
			case 18:
				v.Brief(rapid.Bool().Draw(r, "brief"))
			case 19:
				v.Click(rapid.IntRange(-1, 30).Draw(r, "y"))
			}
			v.Cursor()
			checkRows(r, v, rapid.IntRange(1, 220).Draw(r, "w"), rapid.IntRange(1, 70).Draw(r, "h"))
		}
	})
}

// TestView_narrowWrapped: the cursor is seen after a size at which its row could not be drawn.
func TestView_narrowWrapped(t *testing.T) {
	t.Parallel()
	v := New(plainTheme)
	v.Show(fixture(t, "branch.diff"))
	v.Wrap(true)
	checkRows(t, v, 1, 1)
	v.Bottom()
	checkRows(t, v, 1, 5)
	v.NextFile(true)
	checkRows(t, v, 21, 4)
}

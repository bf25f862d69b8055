package diffview

import (
	"os"
	"strings"
	"testing"
)

func fixture(t testing.TB, name string) *Diff {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(string(data))
}

// TestParse_git: what git printed for renames, modes, binary files, new and deleted ones, and a file without a newline at its end.
func TestParse_git(t *testing.T) {
	t.Parallel()
	d := fixture(t, "branch.diff")
	want := []struct {
		status        byte
		path, old     string
		added, gone   int
		hunks         int
		mode, binary  bool
		keyHasNoHash  bool
		lastLineNoEnd bool
	}{
		{'R', "docs/new name.md", "docs/old name.md", 1, 1, 1, false, false, true, false},
		{'M', "docs/plan.md", "", 2, 2, 1, false, false, true, true},
		{'D', "internal/dispatch/legacy.go", "", 0, 4, 1, false, false, true, false},
		{'A', "internal/plan/keeper.go", "", 9, 0, 1, false, false, true, false},
		{'M', "internal/plan/types.go", "", 5, 4, 2, false, false, true, false},
		{'M', "logo.png", "", 0, 0, 0, false, true, true, false},
		{'M', "run.sh", "", 0, 0, 0, true, false, false, false},
	}
	if len(d.Files) != len(want) || len(d.Notes) > 0 {
		t.Fatalf("%d files, notes %q", len(d.Files), d.Notes)
	}
	var all strings.Builder
	for i, w := range want {
		f := &d.Files[i]
		all.WriteString(f.Text)
		if f.Status != w.status || f.Path != w.path || f.Old != w.old || f.Added != w.added || f.Removed != w.gone || len(f.Hunks) != w.hunks {
			t.Errorf("file %d = %c %q from %q +%d -%d, %d hunks", i, f.Status, f.Path, f.Old, f.Added, f.Removed, len(f.Hunks))
		}
		if (f.OldMode != "" && f.NewMode != "") != w.mode || f.Binary != w.binary || len(f.Notes) > 0 {
			t.Errorf("%s: modes %q %q, binary %v, notes %q", f.Path, f.OldMode, f.NewMode, f.Binary, f.Notes)
		}
		if strings.Contains(f.Key, "..") != w.keyHasNoHash {
			t.Errorf("%s: key %q", f.Path, f.Key)
		}
		if n := len(f.Hunks); n > 0 {
			lines := f.Hunks[n-1].Lines
			if lines[len(lines)-1].NoEnd != w.lastLineNoEnd {
				t.Errorf("%s: the last line ends with a newline: %v", f.Path, !w.lastLineNoEnd)
			}
		}
	}
	data, _ := os.ReadFile("testdata/branch.diff")
	if all.String() != string(data) {
		t.Error("the texts of the files are not the whole diff")
	}
	h := &d.Files[4].Hunks[0]
	if h.Section != "func step19(n int) int {" || h.Lines[3].Old != 96 || h.Lines[6].New != 96 || h.Lines[3].mate != 6 || h.Lines[6].mate != 3 {
		t.Errorf("hunk %q, lines %+v %+v", h.Section, h.Lines[3], h.Lines[6])
	}
	if !strings.HasPrefix(h.Text, "@@ -93,11 +93,12 @@") || !strings.HasSuffix(h.Text, " }\n \n") {
		t.Errorf("text of the hunk:\n%s", h.Text)
	}
}

func TestParse_key(t *testing.T) {
	t.Parallel()
	narrow, whole := fixture(t, "branch.diff"), fixture(t, "types-whole.diff")
	if narrow.Files[4].Key != whole.Files[0].Key {
		t.Error("more unchanged lines make another change")
	}
	text := "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
	if Parse(text).Files[0].Key == Parse(strings.Replace(text, "+b", "+c", 1)).Files[0].Key {
		t.Error("another text has the same key")
	}
}

func TestParse_names(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, path, old string }{
		{"diff --git a/x b/x", "x", ""},
		{"diff --git a/a b c.txt b/a b c.txt", "a b c.txt", ""},
		{`diff --git "a/t\tab" "b/t\tab"`, "t\tab", ""},
		{`diff --git "a/\346\211\277.md" "b/\346\211\277.md"`, "承.md", ""},
		{`diff --git "a/q\"\\.md" "b/q\"\\.md"`, `q"\.md`, ""},
		{`diff --git a/plain "b/q\n"`, "q\n", "plain"},
		{`diff --git "a/\351.txt" "b/\351.txt"`, "\xe9.txt", ""},
		{"diff --git a/b b/b b/b b/b", "b b/b", ""},
		{"diff --git nothing", "", "nothing"},
	} {
		f := Parse(tc.line + "\n").Files[0]
		if f.Path != tc.path || f.Old != tc.old {
			t.Errorf("%s: %q from %q, want %q from %q", tc.line, f.Path, f.Old, tc.path, tc.old)
		}
	}
}

// TestParse_hostile: a line of a file that looks like the diff's own stays a line of the file.
func TestParse_hostile(t *testing.T) {
	t.Parallel()
	d := Parse("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n+diff --git a/y b/y\n+++ b/forged\n--- a/forged\n+@@ -1 +1 @@\n-old\n")
	if len(d.Files) != 1 || d.Files[0].Added != 3 || d.Files[0].Removed != 2 || d.Files[0].Path != "x" {
		t.Errorf("%+v", d.Files)
	}
	d = Parse("diff --git a/x b/x\n@@ -1 +999999999999999999999 @@\n+a\n@@ nonsense @@\n+b\ndiff --cc z\n@@@ -1 -1 +1 @@@\n++merged\n")
	if len(d.Files) != 2 || d.Files[0].Added != 0 || len(d.Files[0].Notes) != 4 || len(d.Files[1].Notes) != 3 {
		t.Errorf("%d files, notes %q", len(d.Files), d.Files[0].Notes)
	}
	d = Parse("diff --git a/x b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n… cut: 77 more bytes of this file are not shown; git diff\ndiff --git a/y b/y\n@@ -0,0 +1 @@\n+c\n… cut: all\n")
	if n := d.Files[0].Hunks[0].Lines; len(d.Files) != 2 || n[2].Kind != Note || len(d.Files[1].Notes) != 1 {
		t.Errorf("cut: %+v, %q", n, d.Files[1].Notes)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"branch.diff", "types-whole.diff"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Add("diff --git \"a/\\3\n@@ -1,1 +1 @@\n\\ No newline\n+a\r\n\n")
	f.Add("diff --cc x\nindex a,b..c\n@@@ -1 -1 +1 @@@\n")
	f.Add("@@ -0,0 +1,2 @@\n+a\n+\x1b[2J\u202e\xff\n")
	f.Fuzz(func(t *testing.T, text string) {
		d := Parse(text)
		total := 0
		for i := range d.Files {
			for _, h := range d.Files[i].Hunks {
				total += len(h.Lines)
				for k, l := range h.Lines {
					if l.mate >= 0 && (l.mate >= len(h.Lines) || h.Lines[l.mate].mate != k || h.Lines[l.mate].Kind == l.Kind) {
						t.Fatalf("line %d has the mate %d", k, l.mate)
					}
				}
			}
		}
		if total != d.Lines {
			t.Fatalf("%d lines, counted %d", d.Lines, total)
		}
		v := New(plainTheme)
		v.Show(d)
		for i, size := range [][2]int{{80, 24}, {31, 5}, {200, 60}} {
			v.Split(i == 2)
			v.Wrap(i == 1)
			checkRows(t, v, size[0], size[1])
			v.Bottom()
			checkRows(t, v, size[0], size[1])
		}
	})
}

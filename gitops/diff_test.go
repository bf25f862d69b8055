package gitops

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"arbiter/amp"
)

// TestDiff: from base to tip by default, with what git counts, and no option by way of a commit name.
func TestDiff(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	d, err := b.g.Diff(t.Context(), w, "", "", amp.DiffOptions{})
	if err != nil || !strings.Contains(d.Text, "+++ b/lib.go\n") || !strings.Contains(d.Text, "+// Recieve gets.\n") {
		t.Errorf("diff = %s, %v", d.Text, err)
	}
	if d.From != w.BaseCommit || d.To != w.Commit || d.Commits < 1 || len(d.Files) == 0 {
		t.Errorf("facts = %+v", d)
	}
	if d, err = b.g.Diff(t.Context(), w, w.Commit, w.Commit[:12], amp.DiffOptions{}); err != nil || d.Text != "" || len(d.Files) != 0 || d.Commits != 0 {
		t.Errorf("diff of nothing = %+v, %v", d, err)
	}
	for _, bad := range []string{"--output=/tmp/x", "HEAD", strings.Repeat("0", 40)} {
		if _, err := b.g.Diff(t.Context(), w, bad, "", amp.DiffOptions{}); err == nil {
			t.Errorf("commit %q is accepted", bad)
		}
	}
}

// TestDiff_bounds: a huge file is cut by itself and says so, and the small file behind it is whole; asked for alone it has more room.
func TestDiff_bounds(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	w, _ = b.turn(w, "turn-3", map[string]string{
		"big.txt":  strings.Repeat("a line of some text\n", MaxDiff/8),
		"line.txt": strings.Repeat("0123456789", MaxFileDiff/5),
		"zz.txt":   "the last file\n",
	})
	d, err := b.g.Diff(t.Context(), w, "", "", amp.DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Text) > MaxDiff+4096 || strings.Count(d.Text, "\n… cut: ") != 2 || !strings.HasSuffix(d.Text, "+the last file\n") {
		t.Errorf("%d bytes, %d notes, ends %q", len(d.Text), strings.Count(d.Text, "\n… cut: "), d.Text[len(d.Text)-40:])
	}
	for _, f := range d.Files {
		if f.Path == "big.txt" && f.Added != MaxDiff/8 {
			t.Errorf("big.txt has %d lines: the count must not be cut", f.Added)
		}
	}
	one, err := b.g.Diff(t.Context(), w, "", "", amp.DiffOptions{Path: "big.txt"})
	if err != nil || len(one.Files) != 1 || len(one.Text) < MaxDiff-100 || strings.Contains(one.Text, "zz.txt") {
		t.Errorf("alone: %d bytes, %+v, %v", len(one.Text), one.Files, err)
	}
}

func TestDiff_manyFiles(t *testing.T) {
	t.Parallel()
	var b bounded
	b.left, b.perFile, b.rest = MaxDiff, MaxFileDiff, "git diff"
	pr := strings.NewReader(strings.Repeat("diff --git a/x b/x\nindex 1..2\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 200_000))
	err := b.read(pr)
	if !errors.Is(err, errCut) || !b.full || b.text.Len() > MaxDiff+maxHeaders+200 || !strings.HasSuffix(b.text.String(), "git diff\n") {
		t.Errorf("%d bytes, full %v, %v", b.text.Len(), b.full, err)
	}
}

// TestDiff_names: renames, blanks, quotes, tabs and letters of any script, and which of them the plan covers.
func TestDiff_names(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	names := []string{"a b.txt", "tab\there.txt", "quote\"d.txt", "承認/フロー.txt", "[x].txt", "-n.txt", "latin\xe9.txt"}
	p := b.prepare(w, "turn-3")
	for i, n := range names {
		b.write(p.Dir, n, fmt.Sprintf("text of file %d\nand a second line\nand a third\n", i))
	}
	was := b.commit(p.Dir, person, "names")
	b.sh(p.Dir, nil, "git", "mv", "a b.txt", "c d.txt")
	b.sh(p.Dir, nil, "git", "mv", "承認/フロー.txt", "docs.txt")
	b.sh(p.Dir, nil, "chmod", "+x", "[x].txt")
	w.Commit = b.commit(p.Dir, person, "rename")
	w.AllowedPaths = []string{"*.txt"}
	d, err := b.g.Diff(t.Context(), w, was, "", amp.DiffOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]amp.DiffFile{}
	for _, f := range d.Files {
		got[f.Path] = f
	}
	if f := got["c d.txt"]; f.From != "a b.txt" || !f.Planned {
		t.Errorf("renamed: %+v", f)
	}
	if f := got["docs.txt"]; f.From != "承認/フロー.txt" || f.Planned {
		t.Errorf("a file that came from outside of the plan: %+v", f)
	}
	if !strings.Contains(d.Text, "rename from a b.txt\nrename to c d.txt\n") || !strings.Contains(d.Text, "old mode 100644\nnew mode 100755\n") {
		t.Errorf("text:\n%s", d.Text)
	}
	one, err := b.g.Diff(t.Context(), w, was, "", amp.DiffOptions{Path: "docs.txt"})
	if err != nil || !strings.Contains(one.Text, "rename to docs.txt") || strings.Contains(one.Text, "c d.txt") {
		t.Errorf("a renamed file alone: %s, %v", one.Text, err)
	}
	one, err = b.g.Diff(t.Context(), w, "", "", amp.DiffOptions{Path: "[x].txt"})
	if err != nil || strings.Count(one.Text, "diff --git") != 1 || !strings.Contains(one.Text, "[x].txt") {
		t.Errorf("a name like a pattern: %s, %v", one.Text, err)
	}
	if one, err = b.g.Diff(t.Context(), w, "", "", amp.DiffOptions{Path: "nothing"}); err != nil || one.Text != "" {
		t.Errorf("a file that did not change: %s, %v", one.Text, err)
	}
}

func TestDiff_options(t *testing.T) {
	t.Parallel()
	b, w := reviewed(t)
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	w, _ = b.turn(w, "turn-3", map[string]string{"wide.txt": text.String()})
	was := w.Commit
	w, _ = b.turn(w, "turn-4", map[string]string{"wide.txt": strings.Replace(strings.Replace(text.String(), "line 5\n", "\tline   5\n", 1), "line 30\n", "line thirty\n", 1)})
	diff := func(how amp.DiffOptions) string {
		t.Helper()
		d, err := b.g.Diff(t.Context(), w, was, "", how)
		if err != nil {
			t.Fatal(err)
		}
		return d.Text
	}
	if got := diff(amp.DiffOptions{}); strings.Count(got, "\n@@ ") != 2 || !strings.Contains(got, "index ") {
		t.Errorf("plain:\n%s", got)
	}
	if got := diff(amp.DiffOptions{IgnoreSpace: true}); strings.Count(got, "\n@@ ") != 1 || !strings.Contains(got, "+line thirty") {
		t.Errorf("blanks ignored:\n%s", got)
	}
	if got := diff(amp.DiffOptions{Context: 100}); strings.Count(got, "\n@@ ") != 1 || !strings.Contains(got, " line 0\n") || !strings.Contains(got, " line 39\n") {
		t.Errorf("all unchanged lines:\n%s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.g.Diff(ctx, w, "", "", amp.DiffOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

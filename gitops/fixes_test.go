package gitops

import (
	"strings"
	"testing"

	"arbiter/amp"
)

// TestHunk_AMP_132_A14 has what each change type means, and what it does not.
func TestHunk_AMP_132_A14(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind     amp.ChangeType
		old, new string
		want     bool
	}{
		"trailing space":         {amp.Whitespace, "a  ", "a", true},
		"tabs":                   {amp.Whitespace, "    a = b", "\ta = b", true},
		"empty line added":       {amp.Whitespace, "", "\n", true},
		"line broken":            {amp.Whitespace, "f(a, b)", "f(a,\n\tb)", true},
		"no-break space":         {amp.Whitespace, "a\u00a0b", "a b", true},
		"space and a letter":     {amp.Whitespace, "a b", "a c", false},
		"whitespace, none":       {amp.Whitespace, "return x", "return y", false},
		"comment word":           {amp.Typo, "// recieve the mesage", "// receive the message", true},
		"identifier":             {amp.Typo, "x := lenght(y)", "x := length(y)", true},
		"string":                 {amp.Typo, `t.Error("wnat 1")`, `t.Error("want 1")`, true},
		"doubled word":           {amp.Typo, "the the end", "the end", true},
		"missing comma":          {amp.Typo, "first second, third", "first, second, third", true},
		"unicode":                {amp.Typo, "die Strase", "die Straße", true},
		"two lines":              {amp.Typo, "teh one\nteh two", "the one\nthe two", true},
		"another number":         {amp.Typo, "limit = 10", "limit = 90", false},
		"another word":           {amp.Typo, "allow(user)", "refuse(user)", false},
		"another short word":     {amp.Typo, "if on", "if up", false},
		"operator for operator":  {amp.Typo, "if a == b {", "if a != b {", false},
		"negation":               {amp.Typo, "if ok {", "if !ok {", false},
		"minus at the start":     {amp.Typo, "x", "-x", false},
		"one letter":             {amp.Typo, "a[i]", "a[j]", false},
		"words written as one":   {amp.Typo, "// atthe end", "// at the end", true},
		"less for greater":       {amp.Typo, "if a < b {", "if a > b {", false},
		"negation added":         {amp.Typo, "if ok {", "if !ok && x.valid() {", false},
		"a line more":            {amp.Typo, "a", "a\nb", false},
		"true for false":         {amp.Typo, "return true", "return false", false},
		"go imports":             {amp.ImportOrder, "\t\"os\"\n\t\"fmt\"", "\t\"fmt\"\n\t\"os\"", true},
		"go named import":        {amp.ImportOrder, "\tx \"a/b\"", "\ty \"a/b\"", true},
		"python":                 {amp.ImportOrder, "import os\nfrom a.b import c", "from a.b import c\nimport os", true},
		"include":                {amp.ImportOrder, "#include <a.h>\n#include \"b.h\"", "#include \"b.h\"\n#include <a.h>", true},
		"rust":                   {amp.ImportOrder, "use std::io;", "use std::fmt;\nuse std::io;", true},
		"javascript":             {amp.ImportOrder, "import a from 'a';", "import {a} from 'b';", true},
		"java":                   {amp.ImportOrder, "import java.util.List;", "import java.util.Map;", true},
		"import, but code":       {amp.ImportOrder, "import os\nx = 1", "import os\nx = 2", false},
		"import, a bare word":    {amp.ImportOrder, "continue", "break", false},
		"import, a call":         {amp.ImportOrder, "f(1)", "f(2)", false},
		"lint is anything small": {amp.Lint, "x = x + 1", "x++", true},
		"no such type":           {"refactor", "a", "b", false},
	} {
		h := hunk{old: strings.Split(tc.old, "\n"), new: strings.Split(tc.new, "\n")}
		if got := h.is(tc.kind); got != tc.want {
			t.Errorf("%s: is(%s) = %v, want %v", name, tc.kind, got, tc.want)
		}
	}
}

// TestMatchFixes_AMP_133_A15: at most four lines in each fix.
func TestMatchFixes_AMP_133_A15(t *testing.T) {
	t.Parallel()
	block := func(n int) hunk { return hunk{old: make([]string, n), new: make([]string, n)} }
	lint := amp.DirectFix{ChangeType: amp.Lint}
	for name, tc := range map[string]struct {
		hunks []hunk
		fixes []amp.DirectFix
		ok    bool
	}{
		"four in one":              {[]hunk{block(4)}, []amp.DirectFix{lint}, true},
		"five in one":              {[]hunk{block(5)}, []amp.DirectFix{lint}, false},
		"five in one, two listed":  {[]hunk{block(5)}, []amp.DirectFix{lint, lint}, false},
		"three and two":            {[]hunk{block(3), block(2)}, []amp.DirectFix{lint}, false},
		"three and two, both":      {[]hunk{block(3), block(2)}, []amp.DirectFix{lint, lint}, true},
		"five new lines":           {[]hunk{{new: make([]string, 5)}}, []amp.DirectFix{lint}, false},
		"four new lines":           {[]hunk{{new: make([]string, 4)}}, []amp.DirectFix{lint}, true},
		"another type":             {[]hunk{{old: []string{"a"}, new: []string{"b"}}}, []amp.DirectFix{{ChangeType: amp.Whitespace}}, false},
		"one of two types matches": {[]hunk{{old: []string{"a"}, new: []string{"b"}}}, []amp.DirectFix{{ChangeType: amp.Whitespace}, lint}, true},
	} {
		if why := matchFixes(tc.hunks, tc.fixes); (why == "") != tc.ok {
			t.Errorf("%s: %q, want ok = %v", name, why, tc.ok)
		}
	}
}

func FuzzTypoLine(f *testing.F) {
	f.Add("// recieve", "// receive")
	f.Add("", "x")
	f.Add("a\xffb", "ünï")
	f.Fuzz(func(t *testing.T, a, b string) {
		if got := strings.Join(words(a), ""); got != a {
			t.Errorf("words(%q) loses text: %q", a, got)
		}
		if !typoLine(a, a) {
			t.Errorf("%q is no typo of itself", a)
		}
		if d := distance(a, b, 4); d != distance(b, a, 4) {
			t.Errorf("distance(%q, %q) depends on the order", a, b)
		}
	})
}

func FuzzParseChanges(f *testing.F) {
	f.Add(":100644 100644 a b M\x00x\x001\t2\tx\x00")
	f.Add(":100644 100644 a b R100\x00x\x00y\x000\t0\t\x00x\x00y\x00")
	f.Fuzz(func(t *testing.T, out string) {
		all, err := parseChanges(out)
		if err == nil {
			paths(all)
			lines(all)
		}
	})
}

func FuzzParseReflog(f *testing.F) {
	f.Add("0000000000000000000000000000000000000000 1111111111111111111111111111111111111111 A <b> 1700000000 +0000\tcommit: x")
	f.Add("a b <> > < 1 +0\t")
	f.Fuzz(func(t *testing.T, s string) {
		if l, ok := parseReflog(s); ok && (!isHex(l.old) || !isHex(l.new)) {
			t.Errorf("%q parsed as %+v", s, l)
		}
	})
}

package textsafe

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"plain":              {"go test ./...", "go test ./..."},
		"umlauts and CJK":    {"Prüfung 承認フロー", "Prüfung 承認フロー"},
		"colour":             {"\x1b[31mred\x1b[0m", "␛[31mred␛[0m"},
		"clear screen":       {"a\x1b[2Jb", "a␛[2Jb"},
		"OSC 52":             {"\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"},
		"8-bit CSI":          {"\u009b31m", "<U+009B>31m"},
		"raw C1 byte":        {"a\x9bb", "a\uFFFDb"},
		"bidi override":      {"exe\u202egpj.", "exe<U+202E>gpj."},
		"bidi isolate":       {"\u2066x\u2069", "<U+2066>x<U+2069>"},
		"arabic mark":        {"\u061c", "<U+061C>"},
		"zero width":         {"ad\u200bmin", "ad<U+200B>min"},
		"word joiner":        {"a\u2060b\ufeffc", "a<U+2060>b<U+FEFF>c"},
		"soft hyphen":        {"a\u00adb", "a<U+00AD>b"},
		"tag characters":     {"a\U000E0041", "a<U+E0041>"},
		"filler":             {"\u3164", "<U+3164>"},
		"private use":        {"\ue0b0", "<U+E0B0>"},
		"noncharacter":       {"\ufffe", "<U+FFFE>"},
		"line separator":     {"a\u2028b", "a<U+2028>b"},
		"carriage return":    {"safe\revil", "safe␍evil"},
		"backspace":          {"ab\b\bxy", "ab␈␈xy"},
		"newline":            {"a\nb", "a␊b"},
		"tab":                {"a\tb", "a b"},
		"delete":             {"a\x7f", "a␡"},
		"NUL":                {"a\x00b", "a␀b"},
		"invalid UTF-8":      {"a\xffb", "a\uFFFDb"},
		"half a rune":        {"a\xe6\x89", "a\uFFFD\uFFFD"},
		"joined emoji":       {"👨\u200d👩\u200d👧", "👨👩👧"},
		"joiner in text":     {"a\u200db", "a<U+200D>b"},
		"emoji presentation": {"❤\ufe0f", "❤"},
		"keycap":             {"1\ufe0f\u20e3", "1<U+20E3>"},
		"accents":            {"e\u0301", "e\u0301"},
		"tower of marks":     {"a" + strings.Repeat("\u0301", 40) + "b", "a\u0301\u0301\u0301\u0301\uFFFDb"},
		"mark without base":  {"\u0301x", "<U+0301>x"},
		"prepended letter":   {"\u0d4e", "<U+0D4E>"},
		"plane 16":           {"\U00100000", "<U+100000>"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Line(tc.in); got != tc.want {
				t.Errorf("Line(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
}

func TestLine_cap(t *testing.T) {
	t.Parallel()
	got := Line(strings.Repeat("é", MaxLine))
	if !strings.HasSuffix(got, "é…") || len(got) > MaxLine+3 {
		t.Errorf("a line of %d bytes became %d bytes ending in %q", 2*MaxLine, len(got), got[len(got)-8:])
	}
	if got := Line(strings.Repeat("x", MaxLine)); len(got) != MaxLine {
		t.Errorf("a line at the cap has %d bytes, want %d", len(got), MaxLine)
	}
}

func TestBlock(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want []string
	}{
		"empty":        {"", []string{""}},
		"last line":    {"a\n", []string{"a"}},
		"CR LF":        {"a\r\nb", []string{"a", "b"}},
		"lone tone":    {"\U0001f3ffx", []string{"<U+1F3FF>x"}},
		"lone voicing": {"\uff9e", []string{"<U+FF9E>"}},
		"voicing":      {"\uff76\uff9e", []string{"\uff76\uff9e"}},
		"tone":         {"\U0001f44d\U0001f3ff", []string{"\U0001f44d\U0001f3ff"}},
		"lone CR":      {"a\rb", []string{"a␍b"}},
		"tabs":         {"a\tb\n\tc\nabcd\te", []string{"a   b", "    c", "abcd    e"}},
		"tab, wide":    {"漢\tx", []string{"漢  x"}},
		"blank lines":  {"a\n\n\nb", []string{"a", "", "", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Block(tc.in); strings.Join(got, "|") != strings.Join(tc.want, "|") {
				t.Errorf("Block(%q) = %q, want %q", tc.in, got, tc.want)
			}
		})
	}
	got := Block(strings.Repeat("x", MaxBlock+12345))
	if want := "… 12,345 more bytes are not shown"; got[len(got)-1] != want {
		t.Errorf("the last line of a cut block = %q, want %q", got[len(got)-1], want)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		w    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"漢字漢", 4, "漢…"}, {"漢字", 4, "漢字"}, {"abc", 0, ""}, {"abc", 1, "…"}} {
		if got := Cut(tc.in, tc.w); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.in, tc.w, got, tc.want)
		}
	}
}

func TestDrop(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a\x1b[2Jb": "a[2Jb", "x\u202ey": "xy", "a\nb\tc": "a\nb c", "ü漢": "ü漢", "\xff": "", "1\ufe0f\u20e3": "1",
		"e\u0301": "e\u0301", "\u0301a": "a",
	} {
		got := Drop(in)
		if got != want {
			t.Errorf("Drop(%q) = %q, want %q", in, got, want)
		}
		for l := range strings.SplitSeq(got, "\n") {
			if Line(l) != l {
				t.Errorf("Drop(%q) left %q, which Line shows as %q", in, l, Line(l))
			}
		}
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J\u202e", "👨\u200d👩", "a\u0301\u0301", "\xff\xfe", "1\ufe0f\u20e3", "🇩🇪", "\tab\r\n", "ᄀᄁ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		line := Line(s)
		safe(t, line)
		if again := Line(line); again != line && len(line) <= MaxLine {
			t.Errorf("Line(%q) = %q, but Line of that = %q", s, line, again)
		}
		if strings.ContainsRune(line, '\n') {
			t.Errorf("Line(%q) = %q has a newline", s, line)
		}
		cells := 0
		for rest := line; rest != ""; {
			c, w := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
			cells += w
			rest = rest[len(c):]
		}
		if got := ansi.StringWidth(line); got != cells {
			t.Errorf("Line(%q) = %q is %d cells wide, its characters are %d", s, line, got, cells)
		}
		for w := range 8 {
			if got := ansi.StringWidth(Cut(line, w)); got > w {
				t.Errorf("Cut(%q, %d) is %d cells wide", line, w, got)
			}
		}
		for _, l := range Block(s) {
			safe(t, l)
		}
		for l := range strings.SplitSeq(Drop(s), "\n") {
			if len(l) <= MaxLine && Line(l) != l {
				t.Errorf("Drop(%q) left %q", s, l)
			}
		}
	})
}

// safe fails unless s can be printed: this is the promise of the package, said again in other words.
func safe(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Errorf("%q is not UTF-8", s)
	}
	for _, r := range s {
		switch {
		case unicode.IsControl(r):
			t.Errorf("%q has the control character %U", s, r)
		case unicode.In(r, unicode.Bidi_Control, unicode.Cf, unicode.Zl, unicode.Zp):
			t.Errorf("%q has the invisible %U", s, r)
		}
	}
	if ansi.Strip(s) != s {
		t.Errorf("%q has a sequence: stripped it is %q", s, ansi.Strip(s))
	}
}

func BenchmarkLine(b *testing.B) {
	for name, s := range map[string]string{
		"ascii": "Extract the retry policy from the dispatcher", "cjk": "承認フローの翻訳を確認する", "hostile": "a\x1b[2J\u202eb",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Line(s)
			}
		})
	}
}

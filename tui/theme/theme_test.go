package theme

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// luminance is the relative luminance of WCAG 2.
func luminance(c color.Color) float64 {
	r, g, b, _ := c.RGBA()
	lin := func(v uint32) float64 {
		s := float64(v) / 0xffff
		if s <= 0.04045 {
			return s / 12.92
		}
		return math.Pow((s+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(r) + 0.7152*lin(g) + 0.0722*lin(b)
}

func contrast(a, b color.Color) float64 {
	x, y := luminance(a), luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func rgb(v uint32) color.Color {
	return ansi.RGBColor{R: uint8(v >> 16), G: uint8(v >> 8), B: uint8(v)}
}

// TestContrast: every colour of every theme is legible on each background it is meant for. Sixteen colours are
// the terminal's own and are checked as xterm defines them, on black or white.
func TestContrast(t *testing.T) {
	t.Parallel()
	const least = 4.5
	for _, p := range []*palette{&darkPalette, &lightPalette, &contrastPalette} {
		for _, prof := range []Profile{TrueColor, ANSI256, ANSI16} {
			grounds := p.grounds
			if prof == ANSI16 {
				grounds = grounds[:1]
			}
			for r, l := range p.looks {
				c := l.colour(prof)
				if c == nil {
					continue
				}
				for _, g := range grounds {
					want := least
					if p.name == "high-contrast" && prof != ANSI16 {
						want = 7
					}
					if got := contrast(c, rgb(g)); got < want {
						t.Errorf("%s, %s: %s on #%06x has %.2f:1, want %.1f:1", p.name, prof, Role(r), g, got, want)
					}
				}
			}
		}
	}
}

// TestDangerAndGood: red and green are told apart by more than their colour.
func TestDangerAndGood(t *testing.T) {
	t.Parallel()
	for _, s := range []*Signs{UTF8, ASCII, Narrow} {
		if s.Yes == s.No || s.Status("approved") == s.Status("terminated") || s.Severity("critical") == s.Severity("warning") {
			t.Errorf("%s: the signs of good and bad are the same", s.Name)
		}
	}
	for _, name := range Names() {
		for _, p := range []Profile{Mono, ANSI16, ANSI256, TrueColor} {
			th, err := New(name, p, UTF8)
			if err != nil {
				t.Fatal(err)
			}
			if th.On(Danger) == th.On(Good) || th.On(Danger) == th.On(Text) {
				t.Errorf("%s, %s: danger looks like something else", name, p)
			}
		}
	}
}

func TestMonoKeepsAttributes(t *testing.T) {
	t.Parallel()
	th, err := New("dark", Mono, UTF8)
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range map[Role]string{Strong: "\x1b[1m", Focus: "\x1b[1;7m", Time: "\x1b[4m", Hit: "\x1b[1;4m", Cursor: "\x1b[7m"} {
		if got := th.On(r); got != want {
			t.Errorf("%s = %q, want %q", r, got, want)
		}
	}
	for _, name := range Names() {
		th, _ := New(name, Mono, UTF8)
		for _, r := range Roles() {
			if on := th.On(r); strings.Contains(on, "3") && on != "\x1b[3m" || strings.Contains(on, "38") {
				t.Errorf("%s: %s has a colour without colours: %q", name, r, on)
			}
		}
	}
}

func TestS(t *testing.T) {
	t.Parallel()
	th := Default()
	if got := th.S(Text, "x"); got != "x" {
		t.Errorf("text = %q, want it bare", got)
	}
	if got, want := th.S(Strong, "x"), "\x1b[1mx\x1b[0m"; got != want {
		t.Errorf("strong = %q, want %q", got, want)
	}
	if got := th.S(Strong, ""); got != "" {
		t.Errorf("nothing in strong = %q", got)
	}
	if got, want := th.On(Accent), "\x1b[1;38;2;124;199;255m"; got != want {
		t.Errorf("accent = %q, want %q", got, want)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	if _, err := New("pink", TrueColor, UTF8); err == nil || !strings.Contains(err.Error(), "dark, light, high-contrast, mono") {
		t.Errorf("an unknown theme gave %v", err)
	}
	a, b := Default(), Default()
	if a.Epoch() == b.Epoch() {
		t.Error("two themes have one epoch")
	}
	for p := Mono; p <= TrueColor; p++ {
		if got, err := ParseProfile(p.String()); err != nil || got != p {
			t.Errorf("ParseProfile(%s) = %v, %v", p, got, err)
		}
	}
	if _, err := ParseProfile("512"); err == nil {
		t.Error("profile 512 is accepted")
	}
}

func TestSigns(t *testing.T) {
	t.Parallel()
	want := map[string][2]string{
		"drafting": {"○", "o"}, "awaiting_approval": {"◇", "?"}, "dispatched": {"→", ">"}, "executing": {"●", "*"},
		"verifying": {"◐", "%"}, "reviewing": {"◎", "&"}, "held": {"◆", "~"}, "suspended": {"‖", "="}, "locked": {"■", "#"},
		"approved": {"✓", "+"}, "delivered": {"»", "^"}, "terminated": {"✗", "x"},
	}
	seen := map[string]bool{}
	for _, word := range Statuses() {
		if got := [2]string{UTF8.Status(word), ASCII.Status(word)}; got != want[word] {
			t.Errorf("%s = %v, want %v", word, got, want[word])
		}
		seen[UTF8.Status(word)] = true
	}
	if len(seen) != len(want) {
		t.Errorf("%d signs for %d states", len(seen), len(want))
	}
	if UTF8.Status("nonsense") != "?" {
		t.Error("an unknown status has a sign")
	}
	for _, s := range []*Signs{UTF8, ASCII, Narrow} {
		one := []string{
			s.Gutter, s.Rule, s.Bar, s.TeeDown, s.TeeUp, s.TeeLeft, s.TeeRight, s.Cross, s.CornerTL, s.CornerTR, s.CornerBL,
			s.CornerBR, s.Full, s.Empty, s.Live, s.Retry, s.Off, s.Yes, s.No, s.Open, s.Dot, s.Arrow, s.Ellipsis, s.QuoteOpen, s.QuoteClose,
			s.Up, s.Down, s.Sort, s.Severity("warning"), s.Severity("info"),
		}
		one = append(one, s.Spark()...)
		for _, w := range Statuses() {
			one = append(one, s.Status(w))
		}
		for _, k := range []string{"sent", "received", "escalation", "accepted", "refused", "command", "check", "turn", "question", "refusal"} {
			one = append(one, s.Timeline(k))
		}
		for _, sign := range one {
			if ansi.StringWidth(sign) != 1 {
				t.Errorf("%s: %q is not one cell", s.Name, sign)
			}
			if s.IsASCII() && sign[0] > 126 {
				t.Errorf("%s: %q is not ASCII", s.Name, sign)
			}
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, ascii, narrow string }{
		{"plain", "plain", "plain"},
		{"▌ ● live · 2×", "> * live . 2x", "> * live . 2x"},
		{"承認 ◎", "???? &", "承認 &"},
		{"\x1b[1m─ Prüfung ─\x1b[0m", "\x1b[1m- Pr?fung -\x1b[0m", "\x1b[1m- Prüfung -\x1b[0m"},
		{"e\u0301x", "ex", "e\u0301x"},
		{"«x»", "\"x\"", "\"x\""},
	} {
		if got := UTF8.Plain(tc.in); got != tc.in {
			t.Errorf("UTF-8: %q became %q", tc.in, got)
		}
		if got := ASCII.Plain(tc.in); got != tc.ascii {
			t.Errorf("ASCII: %q became %q, want %q", tc.in, got, tc.ascii)
		}
		if got := Narrow.Plain(tc.in); got != tc.narrow {
			t.Errorf("narrow: %q became %q, want %q", tc.in, got, tc.narrow)
		}
	}
	for r, sign := range plainSigns {
		if ansi.StringWidth(string(r)) != 1 || len(sign) != 1 {
			t.Errorf("%q and %q are not one cell each", r, sign)
		}
	}
}

func ExampleTheme_S() {
	th, _ := New("dark", ANSI16, UTF8)
	fmt.Printf("%q\n", th.S(Danger, th.Signs.No+" refuted"))
	// Output: "\x1b[1;91m✗ refuted\x1b[0m"
}

package term

import (
	"encoding/base64"
	"os"
	"strings"
	"testing"

	"arbiter/tui/theme"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestDetect_profile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env  []string
		want theme.Profile
	}{
		"xterm":              {[]string{"TERM", "xterm"}, theme.ANSI16},
		"256":                {[]string{"TERM", "xterm-256color"}, theme.ANSI256},
		"COLORTERM":          {[]string{"TERM", "xterm-256color", "COLORTERM", "truecolor"}, theme.TrueColor},
		"kitty":              {[]string{"TERM", "xterm-kitty"}, theme.TrueColor},
		"direct":             {[]string{"TERM", "xterm-direct"}, theme.TrueColor},
		"linux console":      {[]string{"TERM", "linux"}, theme.ANSI16},
		"vt220":              {[]string{"TERM", "vt220"}, theme.Mono},
		"dumb":               {[]string{"TERM", "dumb", "COLORTERM", "truecolor"}, theme.Mono},
		"NO_COLOR":           {[]string{"TERM", "xterm-kitty", "NO_COLOR", "1"}, theme.Mono},
		"NO_COLOR empty":     {[]string{"TERM", "xterm-kitty", "NO_COLOR", ""}, theme.TrueColor},
		"CLICOLOR=0":         {[]string{"TERM", "xterm-256color", "CLICOLOR", "0"}, theme.Mono},
		"CLICOLOR_FORCE":     {[]string{"TERM", "xterm-256color", "CLICOLOR", "0", "CLICOLOR_FORCE", "1"}, theme.ANSI256},
		"tmux, truecolor":    {[]string{"TERM", "tmux-256color", "COLORTERM", "truecolor", "TMUX", "/tmp/x"}, theme.TrueColor},
		"screen has no true": {[]string{"TERM", "screen-256color", "COLORTERM", "truecolor"}, theme.ANSI256},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Detect(env(tc.env...)).Profile; got != tc.want {
				t.Errorf("profile = %s, want %s", got, tc.want)
			}
		})
	}
}

func TestDetect_signs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		env    []string
		answer Answer
		want   *theme.Signs
	}{
		"C locale":            {[]string{"LANG", "C"}, Answer{}, theme.ASCII},
		"nothing":             {nil, Answer{}, theme.ASCII},
		"UTF-8":               {[]string{"LANG", "en_GB.UTF-8"}, Answer{}, theme.UTF8},
		"LC_ALL wins":         {[]string{"LANG", "en_GB.UTF-8", "LC_ALL", "C"}, Answer{}, theme.ASCII},
		"utf8":                {[]string{"LC_CTYPE", "C.utf8"}, Answer{}, theme.UTF8},
		"CJK, not measured":   {[]string{"LANG", "ja_JP.UTF-8"}, Answer{}, theme.Narrow},
		"CJK, one cell":       {[]string{"LANG", "ja_JP.UTF-8"}, Answer{Measured: true}, theme.UTF8},
		"measured, two cells": {[]string{"LANG", "en_GB.UTF-8"}, Answer{Measured: true, WideSigns: true}, theme.Narrow},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Detect(env(tc.env...)).Signs(tc.answer); got != tc.want {
				t.Errorf("signs = %s, want %s", got.Name, tc.want.Name)
			}
		})
	}
}

func TestDetect_theme(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fgbg   string
		answer Answer
		want   string
	}{
		"nothing known": {"", Answer{}, "dark"}, "COLORFGBG light": {"0;15", Answer{}, "light"}, "COLORFGBG dark": {"15;default;0", Answer{}, "dark"},
		"the answer wins": {"15;0", Answer{Background: &RGB{250, 250, 240}}, "light"}, "dark answer": {"0;15", Answer{Background: &RGB{30, 30, 46}}, "dark"},
		"nonsense": {"x;y", Answer{}, "dark"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Detect(env("COLORFGBG", tc.fgbg)).ThemeName(tc.answer); got != tc.want {
				t.Errorf("theme = %s, want %s", got, tc.want)
			}
		})
	}
	if !Detect(env("TERM", "dumb")).Plain || Detect(env("TERM", "xterm")).Plain || !Detect(env()).Plain {
		t.Error("plain is for TERM=dumb and for no TERM")
	}
	if !Detect(env("SSH_TTY", "/dev/pts/1")).SSH {
		t.Error("ssh is not seen")
	}
}

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in         string
		background *RGB
		measured   bool
		wide       bool
		answered   bool
	}{
		"xterm":       {"\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[5;2R\x1b[?64;1c", &RGB{0x1e, 0x1e, 0x2e}, true, false, true},
		"wide signs":  {"\x1b[5;3R\x1b[?6c", nil, true, true, true},
		"two digits":  {"\x1b]11;rgb:ff/80/00\x07", &RGB{0xff, 0x80, 0}, false, false, true},
		"one digit":   {"\x1b]11;rgb:f/8/0\x07", &RGB{0xff, 0x88, 0}, false, false, true},
		"with alpha":  {"\x1b]11;rgba:ffff/ffff/ffff/ffff\x07", &RGB{0xff, 0xff, 0xff}, false, false, true},
		"hash":        {"\x1b]11;#fdf6e3\x07", &RGB{0xfd, 0xf6, 0xe3}, false, false, true},
		"typed keys":  {"jj\x1b[A", nil, false, false, false},
		"cut":         {"\x1b]11;rgb:1e1e/1e", nil, false, false, false},
		"nonsense":    {"\x1b]11;rgb:zz/1/2\x07\x1b[", nil, false, false, true},
		"empty parts": {"\x1b]11;rgb://\x07", nil, false, false, true},
		"nothing":     {"", nil, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parseAnswer([]byte(tc.in))
			if got.Answered != tc.answered || got.Measured != tc.measured || got.WideSigns != tc.wide ||
				(got.Background == nil) != (tc.background == nil) || got.Background != nil && *got.Background != *tc.background {
				t.Errorf("%q = %+v (background %v), want %+v", tc.in, got, got.Background, tc)
			}
		})
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add("\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\\x1b[5;2R\x1b[?64;1c")
	f.Fuzz(func(t *testing.T, s string) {
		a := parseAnswer([]byte(s))
		if a.WideSigns && !a.Measured || a.Background != nil && !a.Answered {
			t.Errorf("%q = %+v contradicts itself", s, a)
		}
	})
}

func TestClipboard(t *testing.T) {
	t.Parallel()
	text := "T-2026-044\n承認"
	b64 := base64.StdEncoding.EncodeToString([]byte(text))
	for m, want := range map[Mux]string{
		NoMux:  "\x1b]52;c;" + b64 + "\x07",
		Tmux:   "\x1bPtmux;\x1b\x1b]52;c;" + b64 + "\x07\x1b\\",
		Screen: "\x1bP\x1b]52;c;" + b64 + "\x07\x1b\\",
	} {
		if got, ok := Clipboard(m, text); got != want || !ok {
			t.Errorf("mux %d: %q, %v, want %q", m, got, ok, want)
		}
	}
	if seq, ok := Clipboard(NoMux, strings.Repeat("x", MaxClipboard+1)); ok || seq != "" {
		t.Error("a text over the limit is offered")
	}
	long, _ := Clipboard(Screen, strings.Repeat("x", 3000))
	for _, piece := range strings.SplitAfter(long, "\x1b\\") {
		if piece != "" && (!strings.HasPrefix(piece, "\x1bP") || len(piece) > screenChunk+4) {
			t.Errorf("a piece of %d bytes: %q", len(piece), piece[:8])
		}
	}
}

func TestNotifyAndTitle(t *testing.T) {
	t.Parallel()
	got := Notify(NoMux, "inbox", "T-1;\x07\x1b]0;evil\x07")
	if strings.Count(got, "\x07") != 4 || strings.Count(got, "\x1b") != 4 {
		t.Errorf("the text got out of its sequence: %q", got)
	}
	if !strings.Contains(got, "\x1b]9;inbox: T-1,") || !strings.Contains(got, "\x1b]777;notify;inbox;T-1,") {
		t.Errorf("notification = %q", got)
	}
	if got, want := Title("(4) inbox\x1b"), "\x1b]2;(4) inbox␛\x07"; got != want {
		t.Errorf("title = %q, want %q", got, want)
	}
}

func TestOut_raw(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	o := NewOut(w)
	frame := "one\ntwo"
	if n, err := o.Write([]byte(frame)); n != len(frame) || err != nil {
		t.Errorf("Write = %d, %v, want %d", n, err, len(frame))
	}
	if err := o.Raw("\x07"); err != nil {
		t.Error(err)
	}
	if _, err := o.WriteString("\x1b[?25l"); err != nil {
		t.Error(err)
	}
	if _, err := o.ReadFrom(strings.NewReader("a\nb")); err != nil {
		t.Error(err)
	}
	w.Close()
	buf := make([]byte, 200)
	n, _ := r.Read(buf)
	want := "\x1b[?2026hone\ntwo\x1b[?2026l\x07\x1b[?25l\x1b[?2026ha\nb\x1b[?2026l"
	if string(buf[:n]) != want {
		t.Errorf("written %q, want %q", buf[:n], want)
	}
	r.Close()
	if n, err := o.Write([]byte(frame)); err == nil || n > len(frame) {
		t.Errorf("writing to what is closed = %d, %v", n, err)
	}
}

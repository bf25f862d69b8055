package term

import (
	"strings"

	"arbiter/tui/theme"
)

// Kind is what the environment says of the terminal.
type Kind struct {
	Plain   bool          // no cursor movement at all: sentences and numbered choices
	Profile theme.Profile // colours
	UTF8    bool          // the locale is UTF-8
	CJK     bool          // a locale where ambiguous signs may take two cells
	Dark    *bool         // from COLORFGBG; nil: not said
	Mux     Mux
	SSH     bool
}

// Detect reads the environment: NO_COLOR, CLICOLOR, CLICOLOR_FORCE, COLORTERM, TERM, TERM_PROGRAM, COLORFGBG and
// the locale. It asks nothing of the terminal.
func Detect(env func(string) string) Kind {
	locale := firstOf(env, "LC_ALL", "LC_CTYPE", "LANG")
	low := strings.ToLower(locale)
	k := Kind{
		Plain:   env("TERM") == "dumb" || env("TERM") == "",
		Profile: profile(env),
		UTF8:    strings.Contains(low, "utf-8") || strings.Contains(low, "utf8"),
		CJK:     hasAnyPrefix(low, "zh", "ja", "ko"),
		Mux:     MuxOf(env),
		SSH:     env("SSH_TTY") != "" || env("SSH_CONNECTION") != "",
	}
	if _, bg, ok := cutLast(env("COLORFGBG"), ";"); ok {
		switch bg {
		case "0", "1", "2", "3", "4", "5", "6", "8":
			k.Dark = new(bool)
			*k.Dark = true
		case "7", "9", "10", "11", "12", "13", "14", "15":
			k.Dark = new(bool)
		}
	}
	return k
}

// Signs returns the set of signs for the terminal: UTF-8 where it is sure that each takes one cell.
func (k Kind) Signs(a Answer) *theme.Signs {
	switch {
	case !k.UTF8:
		return theme.ASCII
	case a.Measured && a.WideSigns, !a.Measured && k.CJK:
		return theme.Narrow
	default:
		return theme.UTF8
	}
}

// ThemeName returns "dark" or "light": the terminal's own answer first, then the environment, then dark.
func (k Kind) ThemeName(a Answer) string {
	dark := true
	switch {
	case a.Background != nil:
		dark = a.Background.Dark()
	case k.Dark != nil:
		dark = *k.Dark
	}
	if dark {
		return "dark"
	}
	return "light"
}

func profile(env func(string) string) theme.Profile {
	t := strings.ToLower(env("TERM"))
	switch {
	case env("NO_COLOR") != "", t == "dumb", t == "":
		return theme.Mono
	case env("CLICOLOR") == "0" && (env("CLICOLOR_FORCE") == "" || env("CLICOLOR_FORCE") == "0"):
		return theme.Mono
	case hasAnyPrefix(t, "vt1", "vt2", "vt3", "vt4", "vt5") || t == "xterm-mono":
		return theme.Mono
	}
	if screen := strings.HasPrefix(t, "screen") && env("TMUX") == ""; !screen {
		switch strings.ToLower(env("COLORTERM")) {
		case "truecolor", "24bit":
			return theme.TrueColor
		}
	}
	switch {
	case strings.HasSuffix(t, "-direct"), env("WT_SESSION") != "",
		hasAnyPrefix(t, "xterm-kitty", "xterm-ghostty", "alacritty", "wezterm", "foot", "contour", "rio"):
		return theme.TrueColor
	case env("TERM_PROGRAM") == "iTerm.app" && !strings.HasPrefix(t, "screen"):
		return theme.TrueColor
	case strings.Contains(t, "256color"):
		return theme.ANSI256
	default:
		return theme.ANSI16
	}
}

func firstOf(env func(string) string, names ...string) string {
	for _, n := range names {
		if v := env(n); v != "" {
			return v
		}
	}
	return ""
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// cutLast cuts around the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

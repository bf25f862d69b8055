// Package theme holds how things look: roles compiled once into SGR sequences, and the signs that stand beside
// the words. Drawing a styled text is one string concatenation; nothing here asks the terminal anything.
//
// A theme is immutable and safe for concurrent use. What was drawn with one is not valid under another: caches
// keep [Theme.Epoch] in their key.
package theme

import (
	"fmt"
	"strings"
	"sync/atomic"
)

// Profile is what the terminal can show.
type Profile uint8

// The profiles, from none to all. Mono keeps bold, underline and reverse.
const (
	Mono Profile = iota
	ANSI16
	ANSI256
	TrueColor
)

// String returns the name of the profile as configuration and goldens write it.
func (p Profile) String() string {
	switch p {
	case Mono:
		return "mono"
	case ANSI16:
		return "16"
	case ANSI256:
		return "256"
	case TrueColor:
		return "truecolor"
	default:
		return "profile?"
	}
}

// ParseProfile is the inverse of [Profile.String].
func ParseProfile(s string) (Profile, error) {
	for p := Mono; p <= TrueColor; p++ {
		if p.String() == s {
			return p, nil
		}
	}
	return Mono, fmt.Errorf("colour profile %q is not one of mono, 16, 256, truecolor", s)
}

// Reset ends every style. Each row of a frame begins and ends with it.
const Reset = "\x1b[0m"

// Theme is one compiled look with its signs.
type Theme struct {
	Signs *Signs // never nil

	name    string
	profile Profile
	epoch   uint64
	sgr     [roleCount]string
}

var epochs atomic.Uint64

// Names returns the names that [New] knows.
func Names() []string { return []string{"dark", "light", "high-contrast", "mono"} }

// New compiles the theme of that name for a profile. The error names the themes there are.
func New(name string, p Profile, signs *Signs) (*Theme, error) {
	for _, pal := range []*palette{&darkPalette, &lightPalette, &contrastPalette, &monoPalette} {
		if pal.name == name {
			return compile(pal, p, signs), nil
		}
	}
	return nil, fmt.Errorf("theme %q is not one of %s", name, strings.Join(Names(), ", "))
}

// Default returns the dark theme in true colour with UTF-8 signs: what tests and examples start from.
func Default() *Theme { return compile(&darkPalette, TrueColor, UTF8) }

func compile(pal *palette, p Profile, signs *Signs) *Theme {
	if signs == nil {
		signs = UTF8
	}
	t := &Theme{Signs: signs, name: pal.name, profile: p, epoch: epochs.Add(1)}
	for r, l := range pal.looks {
		t.sgr[r] = l.sgr(p)
	}
	return t
}

// Name returns the name that [New] was given.
func (t *Theme) Name() string { return t.name }

// Profile returns the profile that the theme was compiled for.
func (t *Theme) Profile() Profile { return t.profile }

// Epoch returns a number that no other theme of this process has.
func (t *Theme) Epoch() uint64 { return t.epoch }

// On returns the sequence that switches to a role, "" for the terminal's own look.
func (t *Theme) On(r Role) string { return t.sgr[r] }

// S returns text in a role, closed with a reset. Text must be safe to print.
func (t *Theme) S(r Role, text string) string {
	on := t.sgr[r]
	if on == "" || text == "" {
		return text
	}
	return on + text + Reset
}

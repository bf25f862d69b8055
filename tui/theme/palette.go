package theme

import (
	"image/color"

	"github.com/charmbracelet/x/ansi"
)

// attr is a set of attributes that every profile keeps, the colourless one too.
type attr uint8

const (
	bold attr = 1 << iota
	faint
	italic
	underline
	reverse
)

// look is how one role looks: a colour for terminals with many, an index for those with sixteen (-1: the
// terminal's own), and attributes. Mono attributes stand in where there is no colour at all.
type look struct {
	rgb   uint32 // 0 means the terminal's own colour
	basic int8
	attr  attr
	mono  attr
}

// palette is a theme before it is compiled. Its grounds are the backgrounds that its colours are legible on, the
// ones that common terminal schemes use.
type palette struct {
	name    string
	looks   [roleCount]look
	grounds []uint32
}

const own = -1

var darkPalette = palette{
	name:    "dark",
	grounds: []uint32{0x000000, 0x1e1e1e, 0x1a1b26, 0x282828, 0x002b36, 0x282a36, 0x2e3440},
	looks: [roleCount]look{
		Text:     {basic: own},
		Muted:    {rgb: 0xbcc4d0, basic: 7},
		Line:     {rgb: 0xa8a8a8, basic: 7},
		Strong:   {basic: own, attr: bold, mono: bold},
		Title:    {rgb: 0xd8dee9, basic: own, attr: bold, mono: bold},
		Accent:   {rgb: 0x7cc7ff, basic: 14, attr: bold, mono: bold},
		Time:     {rgb: 0xf0b64c, basic: 11, mono: underline},
		Danger:   {rgb: 0xff9a94, basic: 9, attr: bold, mono: bold | underline},
		Good:     {rgb: 0x8fd68f, basic: 10},
		Disabled: {rgb: 0x9ca3af, basic: 7, attr: italic, mono: faint},
		Key:      {rgb: 0x7cc7ff, basic: 14, mono: bold},
		Quote:    {rgb: 0xc9d1d9, basic: own, attr: italic, mono: italic},
		Hit:      {rgb: 0xf5e08a, basic: 11, attr: bold | underline, mono: bold | underline},
		Added:    {rgb: 0x8fd68f, basic: 10},
		Removed:  {rgb: 0xff9a94, basic: 9},
		Emph:     {rgb: 0xffffff, basic: 15, attr: bold | underline, mono: bold | underline},
		Button:   {basic: own},
		Focus:    {rgb: 0x7cc7ff, basic: 14, attr: bold | reverse, mono: bold | reverse},
		Cursor:   {basic: own, attr: reverse, mono: reverse},
		Alert:    {rgb: 0xffc966, basic: 11, attr: bold, mono: bold | underline},
		Keyword:  {rgb: 0xd2a8ff, basic: 13},
		Name:     {rgb: 0xd8dcff, basic: own},
		String:   {rgb: 0xa5d6ff, basic: 14},
		Number:   {rgb: 0x9be3ee, basic: 14},
		Comment:  {rgb: 0xb4bcc8, basic: 7, attr: italic, mono: italic},
	},
}

var lightPalette = palette{
	name:    "light",
	grounds: []uint32{0xffffff, 0xfafafa, 0xfdf6e3, 0xf9f5d7, 0xeff1f5},
	looks: [roleCount]look{
		Text:     {basic: own},
		Muted:    {rgb: 0x4e5561, basic: own},
		Line:     {rgb: 0x5d6470, basic: own},
		Strong:   {basic: own, attr: bold, mono: bold},
		Title:    {rgb: 0x24292f, basic: own, attr: bold, mono: bold},
		Accent:   {rgb: 0x0550ae, basic: 4, attr: bold, mono: bold},
		Time:     {rgb: 0x7d4500, basic: own, attr: underline, mono: underline},
		Danger:   {rgb: 0xa40e26, basic: 1, attr: bold, mono: bold | underline},
		Good:     {rgb: 0x0f5323, basic: own},
		Disabled: {rgb: 0x5d6470, basic: own, attr: italic, mono: faint},
		Key:      {rgb: 0x0550ae, basic: 4, mono: bold},
		Quote:    {rgb: 0x32383f, basic: own, attr: italic, mono: italic},
		Hit:      {rgb: 0x7d4500, basic: own, attr: bold | underline, mono: bold | underline},
		Added:    {rgb: 0x0f5323, basic: own},
		Removed:  {rgb: 0xa40e26, basic: 1},
		Emph:     {rgb: 0x000000, basic: 0, attr: bold | underline, mono: bold | underline},
		Button:   {basic: own},
		Focus:    {rgb: 0x0550ae, basic: 4, attr: bold | reverse, mono: bold | reverse},
		Cursor:   {basic: own, attr: reverse, mono: reverse},
		Alert:    {rgb: 0x7d4500, basic: own, attr: bold | underline, mono: bold | underline},
		Keyword:  {rgb: 0x6f2da8, basic: own},
		Name:     {rgb: 0x3b2a86, basic: own},
		String:   {rgb: 0x0a3069, basic: 4},
		Number:   {rgb: 0x004f63, basic: own},
		Comment:  {rgb: 0x57606a, basic: own, attr: italic, mono: italic},
	},
}

// contrastPalette leans on the terminal's own colours and on attributes; its colours pass 7:1 on black.
var contrastPalette = palette{
	name:    "high-contrast",
	grounds: []uint32{0x000000, 0x0a0a0a, 0x121212},
	looks: [roleCount]look{
		Text:     {rgb: 0xffffff, basic: 15},
		Muted:    {rgb: 0xe6e6e6, basic: 15},
		Line:     {rgb: 0xd0d0d0, basic: 15},
		Strong:   {rgb: 0xffffff, basic: 15, attr: bold, mono: bold},
		Title:    {rgb: 0xffffff, basic: 15, attr: bold | underline, mono: bold | underline},
		Accent:   {rgb: 0x5fd7ff, basic: 14, attr: bold, mono: bold},
		Time:     {rgb: 0xffd75f, basic: 11, attr: bold, mono: underline},
		Danger:   {rgb: 0xffafaf, basic: 15, attr: bold | underline, mono: bold | underline},
		Good:     {rgb: 0x87ff87, basic: 10, attr: bold},
		Disabled: {rgb: 0xd0d0d0, basic: 15, attr: italic, mono: faint},
		Key:      {rgb: 0x5fd7ff, basic: 14, attr: bold, mono: bold},
		Quote:    {rgb: 0xffffff, basic: 15, attr: italic, mono: italic},
		Hit:      {rgb: 0xffff87, basic: 11, attr: bold | underline, mono: bold | underline},
		Added:    {rgb: 0x87ff87, basic: 10, attr: bold},
		Removed:  {rgb: 0xffafaf, basic: 15, attr: bold},
		Emph:     {rgb: 0xffffff, basic: 15, attr: bold | underline, mono: bold | underline},
		Button:   {rgb: 0xffffff, basic: 15},
		Focus:    {rgb: 0xffff87, basic: 11, attr: bold | reverse, mono: bold | reverse},
		Cursor:   {rgb: 0xffffff, basic: 15, attr: reverse, mono: reverse},
		Alert:    {rgb: 0xffd75f, basic: 11, attr: bold | underline, mono: bold | underline},
		Keyword:  {rgb: 0xe5c7ff, basic: 15, attr: bold},
		Name:     {rgb: 0xffffff, basic: 15},
		String:   {rgb: 0xc0e2ff, basic: 14},
		Number:   {rgb: 0xb0f0ff, basic: 14},
		Comment:  {rgb: 0xdcdcdc, basic: 15, attr: italic, mono: italic},
	},
}

// monoPalette uses attributes alone, whatever the terminal can do.
var monoPalette = func() palette {
	p := palette{name: "mono"}
	for i, l := range darkPalette.looks {
		p.looks[i] = look{basic: own, attr: l.mono, mono: l.mono}
	}
	return p
}()

// sgr returns the sequence that switches to the look, "" where the look is the terminal's own.
func (l look) sgr(p Profile) string {
	a := l.attr
	if p == Mono {
		a = l.mono
	}
	var s ansi.Style
	for _, m := range []struct {
		bit  attr
		code ansi.Attr
	}{{bold, ansi.AttrBold}, {faint, ansi.AttrFaint}, {italic, ansi.AttrItalic}, {underline, ansi.AttrUnderline}, {reverse, ansi.AttrReverse}} {
		if a&m.bit != 0 {
			s = append(s, ansi.NewStyle(m.code)...)
		}
	}
	if c := l.colour(p); c != nil {
		s = s.ForegroundColor(c)
	}
	if len(s) == 0 {
		return ""
	}
	return s.String()
}

// colour returns the foreground of the look under a profile, nil for the terminal's own.
func (l look) colour(p Profile) color.Color {
	switch p {
	case TrueColor:
		if l.rgb != 0 || l.basic == 0 {
			return ansi.RGBColor{R: uint8(l.rgb >> 16), G: uint8(l.rgb >> 8), B: uint8(l.rgb)}
		}
	case ANSI256:
		if l.rgb != 0 || l.basic == 0 {
			return ansi.Convert256(ansi.RGBColor{R: uint8(l.rgb >> 16), G: uint8(l.rgb >> 8), B: uint8(l.rgb)})
		}
	case ANSI16:
		if l.basic >= 0 {
			return ansi.BasicColor(l.basic)
		}
	case Mono:
	}
	return nil
}

package term

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// number is one parameter of a control sequence with its first sub-parameter: "97:65".
type number struct {
	value, sub  int
	set, hasSub bool
}

// parameters returns the numbers between semicolons.
func parameters(p []byte) []number {
	var out []number
	var n number
	sub := 0
	for _, c := range p {
		switch {
		case c == ';':
			out = append(out, n)
			n, sub = number{}, 0
		case c == ':':
			sub++
			n.hasSub = true
		case c >= '0' && c <= '9' && sub == 0:
			n.value, n.set = min(n.value*10+int(c-'0'), 1<<24), true
		case c >= '0' && c <= '9' && sub == 1:
			n.sub = min(n.sub*10+int(c-'0'), 1<<24)
		}
	}
	return append(out, n)
}

func param(p []number, i int) number {
	if i < len(p) {
		return p[i]
	}
	return number{value: 1}
}

// The bits of the modifier parameter minus one.
const (
	modShift = 1 << iota
	modAlt
	modCtrl
	modSuper
	modHyper
	modMeta
	modCaps
)

const eventRelease = 3

// key returns the classic bytes of a key with modifiers. Releases, modifiers alone and combinations that have no
// classic form give nothing: a key must not turn into another one.
func key(code, mods number) []byte {
	m := max(mods.value-1, 0)
	if mods.sub == eventRelease || m&(modSuper|modHyper|modMeta) != 0 {
		return nil
	}
	r := rune(code.value)
	if r >= 57344 && r <= 63743 {
		if r = keypad(r); r == 0 {
			return nil
		}
	}
	var out []byte
	switch r {
	case 9:
		if m&modShift != 0 {
			out = []byte("\x1b[Z")
		} else {
			out = []byte{'\t'}
		}
	case 13:
		if m&modShift != 0 && m&modCtrl == 0 {
			out = []byte{'\n'} // shift+enter is the newline of a text field, ctrl+j to Bubble Tea
		} else {
			out = []byte{'\r'}
		}
	case 27, 127:
		out = []byte{byte(r)}
	case 8:
		out = []byte{127}
	default:
		out = character(r, code, m)
	}
	if out != nil && m&modAlt != 0 && len(out) < 3 {
		out = append([]byte{0x1b}, out...)
	}
	return out
}

// character returns a printable key, shifted or as a control character.
func character(r rune, code number, m int) []byte {
	if r < 32 || !utf8.ValidRune(r) {
		return nil
	}
	if m&modCtrl != 0 {
		return control(r)
	}
	switch {
	case m&modShift != 0 && code.sub > 32 && utf8.ValidRune(rune(code.sub)):
		r = rune(code.sub)
	case m&(modShift|modCaps) == modShift || m&(modShift|modCaps) == modCaps:
		if unicode.IsLower(r) {
			r = unicode.ToUpper(r)
		}
	}
	return utf8.AppendRune(nil, r)
}

// control returns the control character of a key, nothing where there is none.
func control(r rune) []byte {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '[' && r <= '_', r == '@':
		return []byte{byte(r) & 0x1f}
	case r == ' ' || r == '2':
		return []byte{0}
	case r == '/':
		return []byte{0x1f}
	case r == '?':
		return []byte{0x7f}
	}
	return nil
}

// keypad returns the character of a key of the keypad in kitty's private range, 0 for another key.
func keypad(r rune) rune {
	switch {
	case r >= 57399 && r <= 57408:
		return '0' + r - 57399
	case r == 57414:
		return 13
	case r >= 57409 && r <= 57413:
		return rune("./*-+"[r-57409])
	case r == 57415:
		return '='
	}
	return 0
}

// functional returns a function or arrow key without the kind of event, nothing for a release.
func functional(seq []byte, p []number, final byte) []byte {
	if p[1].sub == eventRelease {
		return nil
	}
	plain := fmt.Appendf(nil, "\x1b[%d;%d%c", p[0].value, max(p[1].value, 1), final)
	if p[1].value <= 1 {
		if final == '~' {
			plain = fmt.Appendf(nil, "\x1b[%d~", p[0].value)
		} else {
			plain = []byte{0x1b, '[', final}
		}
	}
	if len(plain) > len(seq) {
		return seq
	}
	return plain
}

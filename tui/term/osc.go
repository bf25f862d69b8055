package term

import (
	"encoding/base64"
	"strings"
	"unicode"

	"arbiter/tui/textsafe"
)

// MaxClipboard is the largest text that is offered to a terminal's clipboard; many drop longer ones silently.
const MaxClipboard = 74_994

// Mux is the multiplexer between the program and the terminal.
type Mux uint8

// The multiplexers.
const (
	NoMux Mux = iota
	Tmux
	Screen
)

// MuxOf returns the multiplexer that an environment tells of.
func MuxOf(env func(string) string) Mux {
	switch {
	case env("TMUX") != "":
		return Tmux
	case env("STY") != "" || strings.HasPrefix(env("TERM"), "screen"):
		return Screen
	default:
		return NoMux
	}
}

// Clipboard returns the sequence that puts text into the clipboard of the terminal, over ssh too. ok is false
// when the text is longer than [MaxClipboard].
func Clipboard(m Mux, text string) (seq string, ok bool) {
	if len(text) > MaxClipboard {
		return "", false
	}
	return wrap(m, "\x1b]52;c;"+base64.StdEncoding.EncodeToString([]byte(text))+"\x07"), true
}

// Notify returns the sequences of a desktop notification, for the three forms that terminals know (9, 777, 99).
// Terminals ignore the forms they do not know. The text is made safe.
func Notify(m Mux, title, body string) string {
	title, body = field(title), field(body)
	return wrap(m, "\x1b]9;"+title+": "+body+"\x07") +
		wrap(m, "\x1b]777;notify;"+title+";"+body+"\x07") +
		wrap(m, "\x1b]99;i=1:d=0;"+title+"\x07") + wrap(m, "\x1b]99;i=1:p=body;"+body+"\x07")
}

// Title returns the sequence that sets the title of the window. The text is made safe.
func Title(text string) string { return "\x1b]2;" + field(text) + "\x07" }

// The stack of titles that a terminal has, for windows and not for icons.
const (
	pushTitle = "\x1b[22;2t"
	popTitle  = "\x1b[23;2t"
)

// Bell rings the terminal's bell.
const Bell = "\x07"

// field returns text for the inside of a sequence: safe, short, without the separator.
func field(s string) string {
	s = textsafe.Cut(textsafe.Line(s), 120)
	return strings.Map(func(r rune) rune {
		if r == ';' || unicode.IsControl(r) {
			return ','
		}
		return r
	}, s)
}

// screenChunk is how much of a sequence screen passes on at once.
const screenChunk = 512

// wrap passes a sequence through the multiplexer to the terminal outside.
func wrap(m Mux, seq string) string {
	switch m {
	case Tmux:
		return "\x1bPtmux;" + strings.ReplaceAll(seq, "\x1b", "\x1b\x1b") + "\x1b\\"
	case Screen:
		// the sequences above end with BEL: ESC \ would end screen's own string
		var b strings.Builder
		for len(seq) > 0 {
			n := min(screenChunk, len(seq))
			b.WriteString("\x1bP" + seq[:n] + "\x1b\\")
			seq = seq[n:]
		}
		return b.String()
	default:
		return seq
	}
}

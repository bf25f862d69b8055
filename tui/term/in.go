package term

import (
	"bytes"
	"os"
	"unicode/utf8"
)

// In is the terminal's input with every key in its classic form: what terminals send under the kitty keyboard
// protocol (CSI u) or modifyOtherKeys is translated, because Bubble Tea v1 drops it and capitals are lost.
// Answers of the terminal that come late are swallowed, so that "\x1b]11;rgb:…" is not typed into the program.
// It embeds the file, so that raw mode and cancelling still work; it is read by one goroutine.
type In struct {
	*os.File
	keys Keys
}

// NewIn returns the input over a file, which stays the caller's to close.
func NewIn(f *os.File) *In { return &In{File: f} }

// Read reads once and translates in place. It may return 0 bytes and no error when all was swallowed. What of a paste is too much is
// read away at once.
func (in *In) Read(p []byte) (int, error) {
	for {
		held := copy(p, in.keys.held)
		n, err := in.File.Read(p[held:])
		in.keys.held = in.keys.held[:0]
		n = in.keys.Translate(p[:held+n], held+n == len(p))
		if n > 0 || err != nil || !in.keys.over() {
			return n, err
		}
	}
}

// Keys translates a stream of input bytes. The zero value is ready.
type Keys struct {
	held    []byte // the beginning of a sequence that a full buffer cut in two, or of the end of a paste
	inPaste bool
	pasted  int // bytes of the paste so far
}

const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	maxHeld    = 64
	// maxPaste is how much of a paste is passed on: more than any text field takes. Bubble Tea copies the whole paste for each read, so
	// that megabytes would hold up every key behind them.
	maxPaste = 256 << 10
)

// over reports whether what comes is the rest of a paste that is too long.
func (k *Keys) over() bool { return k.inPaste && k.pasted >= maxPaste }

// paste passes on what of a piece of a paste is not too much, and returns how many bytes that are.
func (k *Keys) paste(to, piece []byte) int {
	n := copy(to, piece[:min(len(piece), max(maxPaste-k.pasted, 0))])
	k.pasted += len(piece)
	return n
}

// Translate rewrites p in place and returns how many bytes it has now, never more. full says that more bytes may
// wait, so that a sequence cut at the end is held for the next read instead of being taken for keys.
func (k *Keys) Translate(p []byte, full bool) int {
	out := 0
	for i := 0; i < len(p); {
		if k.inPaste {
			end := bytes.Index(p[i:], []byte(pasteEnd))
			if end < 0 { // its beginning waits for the rest: nothing else follows in a paste
				body := len(p) - partialPasteEnd(p[i:])
				k.held = append(k.held[:0], p[body:]...)
				return out + k.paste(p[out:], p[i:body])
			}
			out += k.paste(p[out:], p[i:i+end])
			i += end
			out += copy(p[out:], p[i:i+len(pasteEnd)])
			i += len(pasteEnd)
			k.inPaste = false
			continue
		}
		seq, whole := sequence(p[i:])
		if !whole && full && len(p)-i <= maxHeld {
			k.held = append(k.held[:0], p[i:]...)
			return out
		}
		if string(seq) == pasteBegin {
			k.inPaste, k.pasted = true, 0
		}
		out += copy(p[out:], translate(seq))
		i += len(seq)
	}
	return out
}

// partialPasteEnd returns how many bytes at the end of p may be the beginning of the end of a paste.
func partialPasteEnd(p []byte) int {
	for n := min(len(pasteEnd)-1, len(p)); n > 0; n-- {
		if bytes.HasPrefix([]byte(pasteEnd), p[len(p)-n:]) {
			return n
		}
	}
	return 0
}

// sequence returns the first unit of p: an escape sequence, an answer of the terminal or one rune. whole is
// false when p ends inside of it.
func sequence(p []byte) (seq []byte, whole bool) {
	if p[0] != 0x1b {
		if p[0] < utf8.RuneSelf {
			return p[:1], true
		}
		if !utf8.FullRune(p) {
			return p[:1], false
		}
		_, n := utf8.DecodeRune(p)
		return p[:n], true
	}
	if len(p) == 1 {
		return p, false
	}
	switch p[1] {
	case '[':
		return csi(p)
	case ']', 'P', '_':
		return answer(p)
	}
	return p[:1], true
}

// csi returns a control sequence. The old mouse form, CSI M and three bytes, is one too.
func csi(p []byte) ([]byte, bool) {
	if len(p) > 2 && p[2] == 'M' {
		return p[:min(6, len(p))], len(p) >= 6
	}
	for i := 2; i < len(p); i++ {
		if c := p[i]; c >= 0x40 && c <= 0x7e {
			return p[:i+1], true
		} else if c < 0x20 || c > 0x7e {
			return p[:1], true // not a control sequence after all
		}
	}
	return p[:1], false
}

// answer returns an OSC, DCS or APC string with its end. What only looks like one, alt+] pressed, is two keys.
func answer(p []byte) ([]byte, bool) {
	if len(p) == 2 {
		return p[:1], false
	}
	if p[1] == ']' && (p[2] < '0' || p[2] > '9') {
		return p[:1], true
	}
	for i := 2; i < len(p); i++ {
		switch {
		case p[i] == 0x07:
			return p[:i+1], true
		case p[i] == 0x1b && i+1 < len(p) && p[i+1] == '\\':
			return p[:i+2], true
		case p[i] < 0x20 && p[i] != 0x1b:
			return p[:1], true
		}
	}
	return p[:1], false
}

// translate returns the classic form of one unit, empty for what is no key.
func translate(seq []byte) []byte {
	if len(seq) < 3 || seq[0] != 0x1b {
		return seq
	}
	if seq[1] != '[' {
		return nil // an answer
	}
	final := seq[len(seq)-1]
	params := parameters(seq[2 : len(seq)-1])
	switch {
	case seq[2] == '?' || seq[2] == '>': // device attributes, modes, the keyboard flags
		return nil
	case final == 'R' && len(params) == 2 && params[0].set && params[0].value > 1: // a cursor position; F3 has 1
		return nil
	case final == 'u' && len(params) > 0:
		return key(params[0], param(params, 1))
	case final == '~' && len(params) == 3 && params[0].value == 27:
		return key(params[2], params[1])
	case len(params) == 2 && params[1].hasSub: // kitty: a function key with the kind of event
		return functional(seq, params, final)
	}
	return seq
}

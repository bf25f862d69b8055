package program

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxText is the most bytes of a progress text that are passed on; the log has all.
const MaxText = 2000

// Text is one line of valid text of at most [MaxText] bytes. Control characters stay: whoever shows it makes it safe.
func Text(raw []byte) string { return Short(raw, MaxText) }

// Short is one line of valid text of at most n bytes, with a sign that something was cut.
func Short(raw []byte, n int) string {
	cut := len(raw) > n
	if cut {
		raw = raw[:n]
		for len(raw) > 0 && !utf8.RuneStart(raw[len(raw)-1]) {
			raw = raw[:len(raw)-1]
		}
		if n := len(raw); n > 0 && raw[n-1] >= utf8.RuneSelf {
			raw = raw[:n-1]
		}
	}
	s := strings.ToValidUTF8(string(raw), "\uFFFD")
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(s)
	if cut {
		s += "…"
	}
	return s
}

// LastLine is the last line of a text that is not empty, shortened: of standard error often the reason of an end.
func LastLine(s string) string {
	s = strings.TrimSpace(s)
	return Short([]byte(s[strings.LastIndexByte(s, '\n')+1:]), 300)
}

// Exit is an exit code in words; nil is that of a program that could not be ended. Codes over 128 are signals by convention.
func Exit(code *int) string {
	switch {
	case code == nil:
		return "no exit code"
	case *code > 128 && *code < 128+65:
		return fmt.Sprintf("exit code %d (signal %d)", *code, *code-128)
	}
	return fmt.Sprintf("exit code %d", *code)
}

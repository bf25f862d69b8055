package tuitest

import (
	"fmt"
	"strings"
	"testing"
)

// keyBytes are the bytes that a terminal sends for named keys.
var keyBytes = map[string]string{
	"enter": "\r", "tab": "\t", "esc": "\x1b", "space": " ", "backspace": "\x7f", "shift+tab": "\x1b[Z",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D", "home": "\x1b[H", "end": "\x1b[F",
	"insert": "\x1b[2~", "delete": "\x1b[3~", "pgup": "\x1b[5~", "pgdown": "\x1b[6~",
	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS", "f5": "\x1b[15~",
	"focus": "\x1b[I", "blur": "\x1b[O",
}

// Bytes returns what a terminal sends for a key by its name in Bubble Tea ("j", "G", "ctrl+d", "alt+b", "enter",
// "space"); it fails the test for a name it does not know.
func Bytes(tb testing.TB, key string) string {
	tb.Helper()
	if s, ok := keyBytes[key]; ok {
		return s
	}
	if rest, ok := strings.CutPrefix(key, "alt+"); ok && rest != "" {
		return "\x1b" + Bytes(tb, rest)
	}
	if rest, ok := strings.CutPrefix(key, "ctrl+"); ok && len(rest) == 1 {
		return string(rest[0] & 0x1f)
	}
	if len([]rune(key)) == 1 {
		return key
	}
	tb.Fatalf("there is no key %q", key)
	return ""
}

// PasteBytes returns what a terminal sends for pasted text when the program asked for marks.
func PasteBytes(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// ClickBytes returns what a terminal sends for a press and release of the left button at a cell counted from 0.
func ClickBytes(x, y int) string {
	return fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", x+1, y+1, x+1, y+1)
}

// WheelBytes returns what a terminal sends for one step of the wheel.
func WheelBytes(x, y int, down bool) string {
	button := 64
	if down {
		button = 65
	}
	return fmt.Sprintf("\x1b[<%d;%d;%dM", button, x+1, y+1)
}

// Package tuitest runs a program of the terminal interface in front of a terminal emulator and looks at the
// screen, never at the stream of bytes: what a person would see is what a test asserts.
//
// [Start] runs a Bubble Tea model in process, [Exec] a built binary in a pseudo terminal; both give a screen with
// the same questions. Waiting never sleeps: it is woken by every write and gives up when the screen stood still
// for a while, so a loaded machine only makes it slower. In process it also works inside a synctest bubble, where
// time is free.
package tuitest

import (
	"fmt"
	"image/color"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

const (
	quiet = 5 * time.Second  // a screen that stands still for so long will not change any more
	limit = 60 * time.Second // no wait is longer
)

// Terminal is an emulated terminal. It answers what a terminal answers. It is safe for concurrent use.
type Terminal struct {
	mu      sync.Mutex // guards all below; the emulator has no lock of its own that covers reading
	em      *vt.Emulator
	changed chan struct{} // closed at the next write
	writes  int
	bytes   int
	bells   int
	title   string
	modes   map[int]bool
	marker  string
	osc     []string
	hidden  bool
	closed  bool
}

// oscMarker is the number of the sequence that [Screen.Settle] looks for; no terminal knows it.
const oscMarker = 7997

// NewTerminal returns a terminal of w by h cells that sends its answers to replies until it is closed.
func NewTerminal(w, h int, replies io.Writer) *Terminal {
	t := &Terminal{em: vt.NewEmulator(w, h), changed: make(chan struct{}), modes: map[int]bool{}}
	t.em.SetCallbacks(vt.Callbacks{
		Bell:             func() { t.bells++ },
		Title:            func(s string) { t.title = s },
		CursorVisibility: func(v bool) { t.hidden = !v },
		EnableMode:       func(m ansi.Mode) { t.modes[m.Mode()] = true },
		DisableMode:      func(m ansi.Mode) { t.modes[m.Mode()] = false },
	})
	t.em.RegisterOscHandler(oscMarker, func(data []byte) bool {
		_, t.marker, _ = strings.Cut(string(data), ";")
		return true
	})
	for _, n := range []int{9, 52, 777, 99} {
		t.em.RegisterOscHandler(n, func(data []byte) bool {
			t.osc = append(t.osc, string(data))
			return true
		})
	}
	go func() { _, _ = io.Copy(replies, t.em) }() // ends with Close
	return t
}

// Close ends the terminal's answers.
func (t *Terminal) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		_ = t.em.InputPipe().(io.Closer).Close() // the emulator's own Close races with its Read
	}
}

// Write is the terminal's screen side.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return len(p), nil
	}
	t.writes++
	t.bytes += len(p)
	n, err := t.em.Write(p)
	close(t.changed)
	t.changed = make(chan struct{})
	return n, err
}

// Resize changes the size in cells.
func (t *Terminal) Resize(w, h int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.em.Resize(w, h)
}

// Size returns the size in cells.
func (t *Terminal) Size() (w, h int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.em.Width(), t.em.Height()
}

// Bytes returns how many bytes were written so far, Writes in how many pieces.
func (t *Terminal) Bytes() int { return locked(t, func() int { return t.bytes }) }

// Writes returns in how many pieces the bytes were written.
func (t *Terminal) Writes() int { return locked(t, func() int { return t.writes }) }

// Bells returns how often the bell rang.
func (t *Terminal) Bells() int { return locked(t, func() int { return t.bells }) }

// Title returns the title of the window.
func (t *Terminal) Title() string { return locked(t, func() string { return t.title }) }

// Mode reports whether a DEC mode is on: 1049 alternate screen, 1002 mouse, 2004 paste, 1004 focus.
func (t *Terminal) Mode(n int) bool { return locked(t, func() bool { return t.modes[n] }) }

// CursorHidden reports whether the cursor is hidden.
func (t *Terminal) CursorHidden() bool { return locked(t, func() bool { return t.hidden }) }

// OSC returns the payloads of clipboard and notification sequences, "52;c;…", in order.
func (t *Terminal) OSC() []string {
	return locked(t, func() []string { return append([]string(nil), t.osc...) })
}

func locked[T any](t *Terminal, f func() T) T {
	t.mu.Lock()
	defer t.mu.Unlock()
	return f()
}

// Rows returns the rows of the screen, each as wide as the screen.
func (t *Terminal) Rows() []string {
	return locked(t, func() []string {
		rows := make([]string, t.em.Height())
		for y := range rows {
			rows[y] = t.row(y)
		}
		return rows
	})
}

func (t *Terminal) row(y int) string {
	var b strings.Builder
	for x := 0; x < t.em.Width(); {
		c := t.em.CellAt(x, y)
		if c == nil || c.Content == "" {
			b.WriteByte(' ')
			x++
			continue
		}
		b.WriteString(c.Content)
		x += max(c.Width, 1)
	}
	return b.String()
}

// Find returns the cell, counted from 0, where text first begins on the screen; ok is false when it is not there.
// It compares characters with cells, so it tells what the terminal holds the widths to be.
func (t *Terminal) Find(text string) (x, y int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for y := range t.em.Height() {
		for x := range t.em.Width() {
			if t.begins(text, x, y) {
				return x, y, true
			}
		}
	}
	return 0, 0, false
}

func (t *Terminal) begins(text string, x, y int) bool {
	for x < t.em.Width() {
		c := t.em.CellAt(x, y)
		if c == nil || c.Content == "" || !strings.HasPrefix(text, c.Content) {
			return false
		}
		if text = text[len(c.Content):]; text == "" {
			return true
		}
		x += max(c.Width, 1)
	}
	return false
}

// Text returns the screen as text, trailing blanks of each row cut.
func (t *Terminal) Text() string {
	rows := t.Rows()
	for i, r := range rows {
		rows[i] = strings.TrimRight(r, " ")
	}
	return strings.Join(rows, "\n")
}

// Wait returns when ok says so of the text of the screen. It fails the test, with the screen, when the screen
// stood still for five seconds or done was closed.
func (t *Terminal) Wait(tb testing.TB, what string, done <-chan struct{}, ok func(text string) bool) {
	tb.Helper()
	over := time.After(limit)
	for {
		text := t.Text()
		changed := locked(t, func() chan struct{} { return t.changed })
		if ok(text) || ok(t.Text()) { // a write between the two lines is seen here or wakes below
			return
		}
		why := ""
		still := time.NewTimer(quiet)
		select {
		case <-changed:
		case <-still.C:
			why = "the screen stands still"
		case <-over:
			why = "the screen changes without end"
		case <-done:
			if ok(t.Text()) {
				still.Stop()
				return
			}
			why = "the program has ended"
		}
		still.Stop()
		if why != "" {
			tb.Fatalf("waiting for %s: %s:\n%s", what, why, t.Text())
		}
	}
}

// Snapshot returns the screen with a line of styles under each row that has any: one letter per cell, and the
// legend of the letters at the end. It is what goldens hold.
func (t *Terminal) Snapshot() string {
	return locked(t, func() string {
		var b strings.Builder
		legend := map[string]byte{}
		var names []string
		for y := range t.em.Height() {
			fmt.Fprintf(&b, "|%s|\n", t.row(y))
			if line := t.styles(y, legend, &names); line != "" {
				fmt.Fprintf(&b, ":%s\n", line)
			}
		}
		for _, n := range names {
			fmt.Fprintf(&b, "%c = %s\n", legend[n], n)
		}
		return b.String()
	})
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func (t *Terminal) styles(y int, legend map[string]byte, names *[]string) string {
	var b strings.Builder
	for x := range t.em.Width() {
		c := t.em.CellAt(x, y)
		if c == nil || c.Style.IsZero() {
			b.WriteByte(' ')
			continue
		}
		name := styleName(&c.Style)
		if _, ok := legend[name]; !ok {
			legend[name] = letters[len(*names)%len(letters)]
			*names = append(*names, name)
		}
		b.WriteByte(legend[name])
	}
	return strings.TrimRight(b.String(), " ")
}

// styleName returns a style in words.
func styleName(s *uv.Style) string {
	var words []string
	for _, a := range []struct {
		bit  uint8
		name string
	}{
		{uv.AttrBold, "bold"},
		{uv.AttrFaint, "faint"},
		{uv.AttrItalic, "italic"},
		{uv.AttrBlink, "blink"},
		{uv.AttrReverse, "reverse"},
		{uv.AttrConceal, "conceal"},
		{uv.AttrStrikethrough, "strike"},
	} {
		if s.Attrs&a.bit != 0 {
			words = append(words, a.name)
		}
	}
	if s.Underline != 0 {
		words = append(words, "underline")
	}
	if s.Fg != nil {
		words = append(words, colourName(s.Fg))
	}
	if s.Bg != nil {
		words = append(words, "on "+colourName(s.Bg))
	}
	return strings.Join(words, " ")
}

func colourName(c color.Color) string {
	switch c := c.(type) {
	case ansi.BasicColor:
		return fmt.Sprintf("colour %d", c)
	case ansi.IndexedColor:
		return fmt.Sprintf("colour %d of 256", c)
	default:
		r, g, b, _ := c.RGBA()
		return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
	}
}

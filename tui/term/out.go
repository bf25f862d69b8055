// Package term is the edge to the terminal: what is written (one mutex, whole frames), what is read (keys in the
// one form that Bubble Tea knows), what is restored whatever happens, and what the terminal can do.
//
// It is the only package of the interface that touches standard input and output, and it knows nothing of what is
// drawn. It needs a Unix terminal.
package term

import (
	"bytes"
	"io"
	"os"
	"sync"
)

const (
	syncBegin = "\x1b[?2026h"
	syncEnd   = "\x1b[?2026l"
)

// Out is the terminal's output. A write of rows is a frame: it goes out in one piece and between the marks of
// synchronized output, so that no terminal shows half of it. Out embeds the file, so that Bubble Tea finds its
// descriptor and its size. It is safe for concurrent use.
type Out struct {
	*os.File

	mu  sync.Mutex
	buf []byte // one frame with its marks; guarded by mu
}

// NewOut returns the output over a file, which stays the caller's to close.
func NewOut(f *os.File) *Out { return &Out{File: f} }

// Write writes p, as a frame when it has more than one row.
func (o *Out) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !bytes.ContainsRune(p, '\n') {
		return o.File.Write(p)
	}
	o.buf = append(o.buf[:0], syncBegin...)
	o.buf = append(o.buf, p...)
	o.buf = append(o.buf, syncEnd...)
	n, err := o.File.Write(o.buf)
	return min(max(n-len(syncBegin), 0), len(p)), err
}

// WriteString is [Out.Write] for a string, so that no writer goes around the mutex.
func (o *Out) WriteString(s string) (int, error) { return o.Write([]byte(s)) }

// ReadFrom copies through [Out.Write]: that of the file would go around the mutex.
func (o *Out) ReadFrom(r io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{o}, r)
}

// Raw writes a control sequence between two frames, never inside of one.
func (o *Out) Raw(seq string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, err := io.WriteString(o.File, seq)
	return err
}

// Sequences around the life of the interface. The kitty keyboard protocol and modifyOtherKeys, which a program
// before may have left on, are turned off; text direction is fixed from left to right cell by cell, so that a
// right-to-left title can not reorder a row.
const (
	Enter = "\x1b[<u\x1b[>4;0m\x1b[8l"
	Leave = "\x1b[8h"
)

// Reset is what brings a terminal back whatever was on: end of a frame, mouse, focus, paste, keys, alternate
// screen, styles, cursor. It is harmless twice.
const Reset = syncEnd +
	"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l" +
	"\x1b[?1004l\x1b[?2004l\x1b[?1l\x1b>\x1b[<u\x1b[>4;0m" + Leave +
	"\x1b[?1049l\x1b[0m\x1b[?25h"

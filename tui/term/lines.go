package term

import (
	"bufio"
	"errors"
	"io"
	"os"
	"strings"

	xterm "github.com/charmbracelet/x/term"

	"arbiter/tui/textsafe"
)

// maxTyped is the longest line that is read as one answer.
const maxTyped = 64 << 10

// Answered is one line that was read, or why there is none.
type Answered struct {
	// Text is the line without its end and without what a person can not have meant to type.
	Text string
	// Raw says that the line held keys that are no text, such as arrows.
	Raw bool
	// Err is io.EOF at the end of the input.
	Err error
}

// Lines reads lines when it is asked to, one at a time, so that between two questions the input belongs to whoever else reads
// it: an editor. It changes nothing about a terminal. Its methods are called from one goroutine.
type Lines struct {
	in    io.Reader
	tty   *os.File // nil when the input is no terminal
	want  chan struct{}
	got   chan Answered
	ended chan struct{}
	asked bool
}

// NewLines returns a reader of lines over in. [Lines.Close] ends it.
func NewLines(in io.Reader) *Lines {
	l := &Lines{in: in, want: make(chan struct{}), got: make(chan Answered), ended: make(chan struct{})}
	if f, ok := in.(*os.File); ok && xterm.IsTerminal(f.Fd()) {
		l.tty = f
	}
	return l
}

// Terminal reports whether a person types into a terminal.
func (l *Lines) Terminal() bool { return l.tty != nil }

// Run reads until Close is called or the input ends. A read that has begun is not interrupted: it ends with the next line or with the
// input.
func (l *Lines) Run() {
	r := bufio.NewReader(l.in)
	for range l.want {
		a := read(r)
		select {
		case l.got <- a:
		case <-l.ended:
			return
		}
		if a.Err != nil {
			return
		}
	}
}

// read reads one line. The last one needs no end.
func read(r *bufio.Reader) Answered {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		if b.Len() <= maxTyped {
			b.Write(part)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && b.Len() > 0:
		case err != nil:
			return Answered{Err: err}
		}
		line := strings.TrimRight(b.String(), "\r\n")
		if b.Len() > maxTyped {
			return Answered{Raw: true}
		}
		text := textsafe.Drop(strings.ReplaceAll(line, "\t", " "))
		return Answered{Text: text, Raw: text != strings.ReplaceAll(line, "\t", " ")}
	}
}

// Ask lets the next line be read, unless one is being read already.
func (l *Lines) Ask() {
	if !l.asked {
		l.asked = true
		l.want <- struct{}{}
	}
}

// Got gives the line that was asked for; whoever receives from it calls Took.
func (l *Lines) Got() <-chan Answered { return l.got }

// Took notes that the line was received.
func (l *Lines) Took() { l.asked = false }

// Close ends Run once no line is being read.
func (l *Lines) Close() {
	close(l.ended)
	close(l.want)
}

// Discard throws away what was typed into a terminal and not read yet. Of a pipe nothing is thrown away: its lines are answers in
// their order.
func (l *Lines) Discard() {
	if l.tty != nil {
		flush(l.tty.Fd())
	}
}

package main

import (
	"fmt"
	"time"
)

// progressAfter is how long a command runs before it says how far it is.
const progressAfter = 150 * time.Millisecond

// progress is one line on a terminal at standard error that says how far a command is.
type progress struct {
	a     *app
	unit  string
	next  time.Time
	drawn bool
}

// progress begins to count. Without a terminal nothing is shown.
func (a *app) progress(unit string) *progress {
	p := &progress{a: a, unit: unit}
	if a.terminalErr() {
		p.next = time.Now().Add(progressAfter)
	}
	return p
}

// show draws how much is done; a total of 0 is not known.
func (p *progress) show(done, total uint64) {
	now := time.Now()
	if p.next.IsZero() || now.Before(p.next) {
		return
	}
	p.next, p.drawn = now.Add(progressAfter), true
	if total == 0 {
		fmt.Fprintf(p.a.stderr, "\r%d %s", done, p.unit)
		return
	}
	fmt.Fprintf(p.a.stderr, "\r%d of %d %s", done, total, p.unit)
}

// bytes shows how much of a file of this size was read, in KB.
func (p *progress) bytes(size int64) func(int, int64) {
	return func(_ int, done int64) { p.show(uint64(done)>>10, uint64(max(size, 0))>>10) }
}

// end wipes the line.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprint(p.a.stderr, "\r\x1b[K")
		p.drawn = false
	}
}

//go:build linux || darwin

package sandbox

import (
	"os"
	"slices"
	"sync"
)

// talk writes to a program that listens while it works, in a goroutine of its own: a program that does not read holds nobody up.
type talk struct {
	feed *os.File
	mu   sync.Mutex
	more *sync.Cond
	rest [][]byte
	over bool // nothing more is to be said
	busy bool // something is being written
}

func newTalk(feed *os.File, first []byte) *talk {
	t := &talk{feed: feed}
	t.more = sync.NewCond(&t.mu)
	if len(first) > 0 {
		t.rest = [][]byte{first}
	}
	return t
}

// write says what there is to say until talk is over, closes the pipe, and reports whether all was written.
func (t *talk) write() bool {
	defer t.feed.Close()
	for {
		t.mu.Lock()
		for len(t.rest) == 0 && !t.over {
			t.more.Wait()
		}
		if len(t.rest) == 0 {
			t.mu.Unlock()
			return true
		}
		next := t.rest[0]
		t.rest, t.busy = t.rest[1:], true
		t.mu.Unlock()
		_, err := t.feed.Write(next)
		t.mu.Lock()
		t.busy = false
		t.mu.Unlock()
		if err != nil {
			t.drop()
			return false
		}
	}
}

// said reports whether all that was to be said is in the pipe.
func (t *talk) said() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rest) == 0 && !t.busy
}

// say queues b, unless talk is over.
func (t *talk) say(b []byte) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return false
	}
	t.rest = append(t.rest, b)
	t.more.Signal()
	return true
}

// close ends talk behind what is queued; drop forgets that too.
func (t *talk) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	t.more.Signal()
}

func (t *talk) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over, t.rest = true, nil
	t.more.Signal()
}

// Send writes b to the standard input of a program that was started with Spec.Talk, in order and without waiting for it to be read. It
// reports whether the input was still open; what it took may all the same never be read.
func (p *Process) Send(b []byte) bool {
	return p.talk != nil && p.talk.say(slices.Clone(b))
}

// CloseInput gives the program the end of its standard input, behind what was sent. Further calls do nothing.
func (p *Process) CloseInput() {
	if p.talk != nil {
		p.talk.close()
	}
}

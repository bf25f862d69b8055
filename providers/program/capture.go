package program

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
	"time"
)

// tailSize is how much of the end of standard error a failed turn shows.
const tailSize = 8 << 10

// capture takes what the program writes: it counts, logs, and knows when the last sign of life came. It is safe for concurrent
// use.
type capture struct {
	mu     sync.Mutex
	log    io.Writer // nil without a log
	logErr error
	left   int64
	last   time.Time
	over   chan struct{} // closed when more came than is allowed
	tail   []byte
}

func newCapture(log io.Writer, limit int64) *capture {
	return &capture{log: log, left: limit, last: time.Now(), over: make(chan struct{})}
}

// take records b and reports whether it is within the limit.
func (c *capture) take(b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
	if c.left < 0 {
		return false
	}
	if c.left -= int64(len(b)); c.left < 0 {
		close(c.over)
		return false
	}
	if c.log != nil && c.logErr == nil {
		_, c.logErr = c.log.Write(b)
	}
	return true
}

// noteWriter writes to the log what the program did not write.
type noteWriter struct{ c *capture }

func (n noteWriter) Write(b []byte) (int, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if n.c.logErr == nil {
		_, n.c.logErr = n.c.log.Write(b)
	}
	return len(b), n.c.logErr
}

// touch counts as a sign of life: the program was not waited for, we were busy.
func (c *capture) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = time.Now()
}

// idle is how long no sign of life came.
func (c *capture) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Since(c.last)
}

// lines reads standard output and sends it line by line, the last one also without its newline. It closes out at the end. What
// goes over the limit is read and forgotten, so that the program is not held up while it is being ended.
func (c *capture) lines(r io.Reader, out chan<- []byte) {
	defer close(out)
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if c.take(part) {
			line = append(line, part...)
		} else {
			line = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > 0 {
			out <- line
			line = nil
		}
		if err != nil {
			return
		}
	}
}

// errors reads standard error and keeps its end.
func (c *capture) errors(r io.Reader) {
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 && c.take(buf[:n]) {
			c.mu.Lock()
			c.tail = append(c.tail, buf[:n]...)
			c.tail = c.tail[max(0, len(c.tail)-tailSize):]
			c.mu.Unlock()
		}
		if err != nil {
			return
		}
	}
}

// end is the end of standard error as valid text.
func (c *capture) end() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ToValidUTF8(string(c.tail), "\uFFFD")
}

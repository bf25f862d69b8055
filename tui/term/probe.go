package term

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"
	"golang.org/x/sys/unix"
)

// ProbeTimeout is how long a terminal has to answer.
const ProbeTimeout = 150 * time.Millisecond

// Answer is what a terminal said about itself. Unknown stays unknown: a terminal may answer nothing at all.
type Answer struct {
	Answered   bool // it said anything
	Background *RGB // nil: not known
	WideSigns  bool // signs such as ● take two cells; only with Measured
	Measured   bool
}

// RGB is a colour with eight bits per channel.
type RGB struct{ R, G, B uint8 }

// Dark reports whether light text is readable on the colour.
func (c RGB) Dark() bool { return 299*int(c.R)+587*int(c.G)+114*int(c.B) < 128*1000 }

// The questions: background, width of an ambiguous sign (drawn, measured, erased), and at last the device
// attributes, which every terminal answers, so that there is no wait for one that knows nothing of the others.
const questions = "\x1b]11;?\x1b\\" + "\x1b7\r●\x1b[6n\r  \x1b[K\x1b8" + "\x1b[c"

// Probe asks the terminal, in raw mode, and waits at most [ProbeTimeout]. It must run before the program reads
// input. Keys typed meanwhile are dropped: they were meant for something else than what is about to be drawn.
// It is no error when the terminal does not answer.
func Probe(in *os.File, out *Out) (Answer, error) {
	if !term.IsTerminal(in.Fd()) || !term.IsTerminal(out.Fd()) {
		return Answer{}, nil
	}
	state, err := term.MakeRaw(in.Fd())
	if err != nil {
		return Answer{}, err
	}
	defer term.Restore(in.Fd(), state) //nolint:errcheck // it could be set a moment ago
	if err := out.Raw(questions); err != nil {
		return Answer{}, err
	}
	deadline := time.Now().Add(ProbeTimeout)
	var got []byte
	buf := make([]byte, 512)
	for !complete(got) {
		ready, err := readable(int(in.Fd()), time.Until(deadline))
		if err != nil || !ready {
			return parseAnswer(got), err
		}
		n, err := in.Read(buf)
		if err != nil || n == 0 {
			return parseAnswer(got), nil // closed: the program will find out itself
		}
		got = append(got, buf[:n]...)
	}
	return parseAnswer(got), nil
}

// complete reports whether the device attributes, the last answer, are there, or more than any terminal says.
func complete(got []byte) bool {
	i := bytes.LastIndex(got, []byte("\x1b[?"))
	return i >= 0 && bytes.IndexByte(got[i:], 'c') > 0 || len(got) >= 8<<10
}

// readable waits for input.
func readable(fd int, wait time.Duration) (bool, error) {
	for {
		if wait <= 0 {
			return false, nil
		}
		start := time.Now()
		var set unix.FdSet
		set.Set(fd)
		tv := unix.NsecToTimeval(wait.Nanoseconds())
		n, err := unix.Select(fd+1, &set, nil, nil, &tv)
		if errors.Is(err, unix.EINTR) {
			wait -= time.Since(start)
			continue
		}
		return n > 0, err
	}
}

// parseAnswer reads the answers in any order and ignores all else.
func parseAnswer(got []byte) Answer {
	var a Answer
	s := string(got)
	if _, rest, ok := strings.Cut(s, "\x1b]11;"); ok {
		if i := strings.IndexAny(rest, "\x07\x1b"); i >= 0 {
			a.Background = parseColour(rest[:i])
			a.Answered = true
		}
	}
	for rest := s; ; {
		i := strings.Index(rest, "\x1b[")
		if i < 0 {
			break
		}
		rest = rest[i+2:]
		end := strings.IndexFunc(rest, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
		if end < 0 {
			break
		}
		switch rest[end] {
		case 'R':
			if _, col, ok := strings.Cut(rest[:end], ";"); ok {
				a.Measured, a.WideSigns = true, col == "3"
				a.Answered = true
			}
		case 'c':
			a.Answered = true
		}
	}
	return a
}

// parseColour reads "rgb:1e1e/1e1e/2e2e", with one to four digits per channel, and "#1e1e2e".
func parseColour(s string) *RGB {
	var parts []string
	if hex, ok := strings.CutPrefix(s, "#"); ok && len(hex) == 6 {
		parts = []string{hex[:2], hex[2:4], hex[4:]}
	} else if _, rest, ok := strings.Cut(s, ":"); ok {
		parts = strings.Split(rest, "/")
	}
	if len(parts) < 3 {
		return nil
	}
	var c [3]uint8
	for i := range c {
		v, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil || parts[i] == "" {
			return nil
		}
		c[i] = uint8(v * 255 / (1<<(4*len(parts[i])) - 1))
	}
	return &RGB{c[0], c[1], c[2]}
}

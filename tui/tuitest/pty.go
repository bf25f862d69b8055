package tuitest

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Pty is a real process in a pseudo terminal with an emulated terminal behind it.
type Pty struct {
	*Terminal
	Cmd *exec.Cmd

	tb   testing.TB
	file *os.File
	done chan struct{}
	raw  rawLog
	err  error // of the process, after done
}

// PtyOption changes how [Exec] runs a process.
type PtyOption func(*ptyConfig)

type ptyConfig struct{ mute bool }

// Mute makes a terminal that answers nothing, as pseudo terminals without a terminal behind them.
func Mute() PtyOption { return func(c *ptyConfig) { c.mute = true } }

// Exec starts cmd in a pseudo terminal of w by h cells. Process and terminal are ended with the test. The
// environment is the command's own; TERM and the locale are set to xterm-256color and UTF-8 if it has none.
func Exec(tb testing.TB, cmd *exec.Cmd, w, h int, opts ...PtyOption) *Pty {
	tb.Helper()
	var c ptyConfig
	for _, o := range opts {
		o(&c)
	}
	if cmd.Env == nil {
		cmd.Env = append(os.Environ(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	}
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	if err != nil {
		tb.Fatalf("start %s in a pseudo terminal: %v", cmd.Path, err)
	}
	var replies io.Writer = f
	if c.mute {
		replies = discard{}
	}
	p := &Pty{Terminal: NewTerminal(w, h, replies), Cmd: cmd, tb: tb, file: f, done: make(chan struct{})}
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = io.Copy(io.MultiWriter(&p.raw, p.Terminal), f) }) // ends when the process is gone
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
		reader.Wait()
	}()
	tb.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-p.done
		_ = f.Close()
		p.Close()
	})
	return p
}

// Done is closed when the process has ended and all it wrote is on the screen.
func (p *Pty) Done() <-chan struct{} { return p.done }

// Exit waits for the process to end and returns its error. It fails the test after a minute.
func (p *Pty) Exit() error {
	p.tb.Helper()
	select {
	case <-p.done:
		return p.err
	case <-time.After(limit):
		p.tb.Fatalf("the process does not end:\n%s", p.Text())
		return nil
	}
}

// Type sends bytes as they are.
func (p *Pty) Type(bytes string) *Pty {
	p.tb.Helper()
	if _, err := io.WriteString(p.file, bytes); err != nil {
		p.tb.Fatalf("type into the pseudo terminal: %v", err)
	}
	return p
}

// Press sends keys by name.
func (p *Pty) Press(keys ...string) *Pty {
	p.tb.Helper()
	for _, k := range keys {
		p.Type(Bytes(p.tb, k))
	}
	return p
}

// WaitFor returns when the screen shows text.
func (p *Pty) WaitFor(text string) *Pty {
	p.tb.Helper()
	p.Wait(p.tb, strconv.Quote(text), p.done, func(all string) bool { return strings.Contains(all, text) })
	return p
}

// WaitGone returns when the screen does not show text.
func (p *Pty) WaitGone(text string) *Pty {
	p.tb.Helper()
	p.Wait(p.tb, strconv.Quote(text)+" to go", p.done, func(all string) bool { return !strings.Contains(all, text) })
	return p
}

// WaitMode returns when a DEC mode is on or off.
func (p *Pty) WaitMode(mode int, on bool) *Pty {
	p.tb.Helper()
	p.Wait(p.tb, "mode "+strconv.Itoa(mode), p.done, func(string) bool { return p.Mode(mode) == on })
	return p
}

// Resize changes the size of terminal and pseudo terminal; the process gets the signal.
func (p *Pty) Resize(w, h int) *Pty {
	p.tb.Helper()
	p.Terminal.Resize(w, h)
	if err := pty.Setsize(p.file, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)}); err != nil {
		p.tb.Fatalf("resize the pseudo terminal: %v", err)
	}
	return p
}

// Signal sends a signal to the process.
func (p *Pty) Signal(sig os.Signal) *Pty {
	p.tb.Helper()
	if err := p.Cmd.Process.Signal(sig); err != nil {
		p.tb.Fatalf("send %v: %v", sig, err)
	}
	return p
}

// Raw returns every byte the process wrote: for assertions on what must never be sent.
func (p *Pty) Raw() string { return p.raw.String() }

// File returns the pseudo terminal: for its modes.
func (p *Pty) File() *os.File { return p.file }

type rawLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (r *rawLog) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.Write(p)
}

func (r *rawLog) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

package term

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
)

// patience is how long a program may take to leave after a signal before it is ended the hard way.
const patience = 2 * time.Second

// Guard brings the terminal back, whatever ends the program. It is safe for concurrent use.
type Guard struct {
	out   *Out
	fd    uintptr
	state *term.State // nil when the input is no terminal
	dir   string

	wg     sync.WaitGroup
	held   atomic.Bool
	titled atomic.Bool // the terminal keeps the title that was there before

	mu    sync.Mutex // guards what follows
	kill  func()
	crash *Crash
}

// Crash is a panic that the guard has seen.
type Crash struct {
	Value any
	File  string // where the trace is; "" when it could not be written
	Trace []byte
}

// Error returns one sentence with the place of the trace.
func (c *Crash) Error() string {
	if c.File == "" {
		return fmt.Sprintf("the interface crashed: %v", c.Value)
	}
	return fmt.Sprintf("the interface crashed: %v; the trace is in %s", c.Value, c.File)
}

// NewGuard remembers the state of the terminal on in, before anything changes it. Crash files go to dir.
func NewGuard(out *Out, in *os.File, dir string) *Guard {
	g := &Guard{out: out, fd: in.Fd(), dir: dir}
	if s, err := term.GetState(g.fd); err == nil {
		g.state = s
	}
	return g
}

// OnPanic sets what ends the program after a panic in a goroutine, usually Program.Kill. It is called at most
// once per panic, from the goroutine that panicked.
func (g *Guard) OnPanic(kill func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kill = kill
}

// Go runs fn in a goroutine. A panic in it restores the terminal, is written to a crash file and ends the
// program. It is the only way to start a goroutine in the interface; [Guard.Wait] waits for all of them.
func (g *Guard) Go(fn func()) {
	g.wg.Go(func() { g.Protect(fn) })
}

// Wait returns when every goroutine of [Guard.Go] has ended.
func (g *Guard) Wait() { g.wg.Wait() }

// Protect runs fn in the calling goroutine under the same promise and reports whether it ended well. It is for
// commands: Bubble Tea recovers their panics too, but prints the trace where nobody can read it.
func (g *Guard) Protect(fn func()) (ok bool) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		ok = false
		g.note(r, debug.Stack())
		g.Restore()
		g.mu.Lock()
		kill := g.kill
		g.mu.Unlock()
		if kill != nil {
			kill()
		}
	}()
	fn()
	return true
}

// Note is for a deferred call in Update and View: it writes a panic to a crash file and lets it go on, so that
// Bubble Tea restores the terminal.
func (g *Guard) Note() {
	if r := recover(); r != nil {
		g.note(r, debug.Stack())
		panic(r)
	}
}

// Crashed returns the first panic seen, nil if there was none.
func (g *Guard) Crashed() *Crash {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.crash
}

func (g *Guard) note(value any, trace []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.crash != nil {
		return
	}
	g.crash = &Crash{Value: value, Trace: trace}
	now := time.Now().UTC()
	file := filepath.Join(g.dir, "crash-"+now.Format("20060102T150405.000")+".txt")
	text := fmt.Sprintf("%s\npanic: %v\n\n%s", now.Format(time.RFC3339Nano), value, trace)
	if os.MkdirAll(g.dir, 0o700) == nil && os.WriteFile(file, []byte(text), 0o600) == nil {
		g.crash.File = file
	}
}

// KeepTitle asks the terminal to remember its title, which Restore brings back once. Terminals that cannot ignore it.
func (g *Guard) KeepTitle() {
	if g.state != nil && g.out.Raw(pushTitle) == nil {
		g.titled.Store(true)
	}
}

// Restore brings the terminal back to what it was, as far as it still can. It may be called any number of times;
// a program calls it once more after Bubble Tea has ended, because not every end restores everything.
func (g *Guard) Restore() {
	if g.state == nil {
		return
	}
	if g.titled.CompareAndSwap(true, false) {
		_ = g.out.Raw(popTitle) // as below
	}
	_ = g.out.Raw(Reset)            // the terminal may be gone: there is nobody left to tell
	_ = term.Restore(g.fd, g.state) // the same
}

// Signals calls quit, once, when INT, HUP, QUIT or TERM arrives, until ctx ends. quit should save state and end
// the program. When the process is still there after two seconds, or on a second signal, the terminal is restored
// and the signal takes its default course.
//
// The program must run with tea.WithoutSignalHandler: Bubble Tea's own handler knows only INT and TERM, and its
// shutdown waits for ever when the program is told to quit at the moment the signal arrives.
func (g *Guard) Signals(ctx context.Context, quit func(os.Signal)) {
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGTERM)
	g.Go(func() {
		defer signal.Stop(ch)
		sig := g.next(ctx, ch)
		if sig == nil {
			return
		}
		g.Go(func() { quit(sig) })
		select {
		case <-ctx.Done():
			return
		case sig = <-ch:
		case <-time.After(patience):
		}
		g.Restore()
		signal.Reset(sig)
		_ = syscall.Kill(os.Getpid(), sig.(syscall.Signal)) // a signal to oneself can not fail
	})
}

// Hold makes INT and QUIT be ignored while another program has the terminal, such as an editor: the keys that
// send them are meant for that program, but every process of the terminal receives them.
func (g *Guard) Hold(on bool) { g.held.Store(on) }

// next returns the next signal that counts, nil when ctx ended.
func (g *Guard) next(ctx context.Context, ch <-chan os.Signal) os.Signal {
	for {
		select {
		case <-ctx.Done():
			return nil
		case sig := <-ch:
			if g.held.Load() && (sig == syscall.SIGINT || sig == syscall.SIGQUIT) {
				continue
			}
			return sig
		}
	}
}

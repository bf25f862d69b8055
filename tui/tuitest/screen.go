package tuitest

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	_ "arbiter/tui/preterm" // before Bubble Tea's init
)

// Screen is a program in process in front of an emulated terminal.
type Screen struct {
	*Terminal
	tb    testing.TB
	prog  *tea.Program
	keys  *keyboard
	done  chan struct{}
	model tea.Model // the final model, after done
	err   error     // the same
	sync  int
}

// Start runs a model in a terminal of w by h cells, in the alternate screen, and waits for its first frame. The
// program is ended with the test. Signal handling is off; more options may be given.
func Start(tb testing.TB, m tea.Model, w, h int, opts ...tea.ProgramOption) *Screen {
	tb.Helper()
	keys := newKeyboard()
	s := &Screen{tb: tb, keys: keys, done: make(chan struct{}), Terminal: NewTerminal(w, h, keys)}
	all := append([]tea.ProgramOption{
		tea.WithInput(keys), tea.WithOutput(s.Terminal), tea.WithAltScreen(), tea.WithoutSignalHandler(),
		tea.WithFPS(120),
	}, opts...)
	s.prog = tea.NewProgram(&witness{inner: m}, all...)
	go func() {
		defer close(s.done)
		final, err := s.prog.Run()
		if w, ok := final.(*witness); ok {
			s.model = w.inner
		}
		s.err = err
	}()
	tb.Cleanup(s.stop)
	s.prog.Send(tea.WindowSizeMsg{Width: w, Height: h})
	s.Settle()
	return s
}

func (s *Screen) stop() {
	s.prog.Kill()
	<-s.done
	s.keys.Close()
	s.Close()
}

// Done is closed when the program has ended.
func (s *Screen) Done() <-chan struct{} { return s.done }

// Send sends a message to the program.
func (s *Screen) Send(msg tea.Msg) *Screen {
	s.prog.Send(msg)
	return s
}

// Press sends keys by name, each in a read of its own, as a person types, and settles.
func (s *Screen) Press(keys ...string) *Screen {
	s.tb.Helper()
	for _, k := range keys {
		s.keys.send(Bytes(s.tb, k), s.done)
	}
	return s.Settle()
}

// Burst sends bytes in one read, as typing ahead and pasting without marks do, and settles.
func (s *Screen) Burst(bytes string) *Screen {
	s.tb.Helper()
	s.keys.send(bytes, s.done)
	return s.Settle()
}

// Paste sends text between the marks of a paste and settles.
func (s *Screen) Paste(text string) *Screen {
	s.tb.Helper()
	return s.Burst(PasteBytes(text))
}

// Click presses and releases the left button at a cell counted from 0, and settles.
func (s *Screen) Click(x, y int) *Screen {
	s.tb.Helper()
	return s.Burst(ClickBytes(x, y))
}

// Wheel turns the wheel by one step over a cell, and settles.
func (s *Screen) Wheel(x, y int, down bool) *Screen {
	s.tb.Helper()
	return s.Burst(WheelBytes(x, y, down))
}

// Resize changes the size of the terminal, and settles.
func (s *Screen) Resize(w, h int) *Screen {
	s.tb.Helper()
	s.Terminal.Resize(w, h)
	s.prog.Send(tea.WindowSizeMsg{Width: w, Height: h})
	return s.Settle()
}

// Settle returns when everything sent before was handled and its frame is on the screen. It does not wait for
// commands that still run: for those there is [Screen.WaitFor].
func (s *Screen) Settle() *Screen {
	s.tb.Helper()
	s.keys.send("", s.done) // taken only when all before it was handed to the program
	s.sync++
	want := strconv.Itoa(s.sync)
	s.prog.Send(syncMsg(want))
	for {
		marker, changed := s.state()
		if marker == want {
			return s
		}
		select {
		case <-changed:
		case <-s.done:
			return s
		}
	}
}

func (s *Screen) state() (string, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marker, s.changed
}

// WaitFor returns when the screen shows text.
func (s *Screen) WaitFor(text string) *Screen {
	s.tb.Helper()
	s.Wait(s.tb, strconv.Quote(text), s.done, func(all string) bool { return strings.Contains(all, text) })
	return s
}

// WaitGone returns when the screen does not show text.
func (s *Screen) WaitGone(text string) *Screen {
	s.tb.Helper()
	s.Wait(s.tb, strconv.Quote(text)+" to go", s.done, func(all string) bool { return !strings.Contains(all, text) })
	return s
}

// Shows fails the test unless the screen shows every text now.
func (s *Screen) Shows(texts ...string) *Screen {
	s.tb.Helper()
	all := s.Text()
	for _, t := range texts {
		if !strings.Contains(all, t) {
			s.tb.Errorf("the screen does not show %q:\n%s", t, all)
		}
	}
	return s
}

// Hides fails the test if the screen shows one of the texts now.
func (s *Screen) Hides(texts ...string) *Screen {
	s.tb.Helper()
	all := s.Text()
	for _, t := range texts {
		if strings.Contains(all, t) {
			s.tb.Errorf("the screen shows %q:\n%s", t, all)
		}
	}
	return s
}

// Final waits for the program to end by itself and returns its model.
func (s *Screen) Final() (tea.Model, error) {
	<-s.done
	return s.model, s.err
}

type syncMsg string

// witness draws its model with an invisible mark, so that a test can see that a frame has reached the terminal.
type witness struct {
	inner tea.Model
	mark  string
}

func (w *witness) Init() tea.Cmd { return w.inner.Init() }

func (w *witness) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if m, ok := msg.(syncMsg); ok {
		w.mark = "\x1b]" + strconv.Itoa(oscMarker) + ";" + string(m) + "\x07"
		return w, nil
	}
	var cmd tea.Cmd
	w.inner, cmd = w.inner.Update(msg)
	return w, cmd
}

func (w *witness) View() string { return w.inner.View() + w.mark }

// keyboard is the program's input. Each send is one read; an empty one is taken when the reader comes back for
// more, which it does after it has handed over everything before.
type keyboard struct {
	in     chan string
	rest   string // touched by the reader alone
	once   sync.Once
	closed chan struct{}
}

func newKeyboard() *keyboard {
	return &keyboard{in: make(chan string), closed: make(chan struct{})}
}

func (k *keyboard) Read(p []byte) (int, error) {
	for k.rest == "" {
		select {
		case k.rest = <-k.in:
		case <-k.closed:
			return 0, io.EOF
		}
	}
	n := copy(p, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}

func (k *keyboard) send(s string, done <-chan struct{}) {
	select {
	case k.in <- s:
	case <-done:
	case <-k.closed:
	}
}

// Write takes the answers of the terminal.
func (k *keyboard) Write(p []byte) (int, error) {
	k.send(string(p), nil)
	return len(p), nil
}

func (k *keyboard) Close() { k.once.Do(func() { close(k.closed) }) }

package term_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	xterm "github.com/charmbracelet/x/term"
	"github.com/creack/pty"

	_ "arbiter/tui/preterm"
	"arbiter/tui/term"
	"arbiter/tui/tuitest"
)

// TestMain is also the program that the tests below start in a pseudo terminal.
func TestMain(m *testing.M) {
	switch os.Getenv("TERM_TEST_PROGRAM") {
	case "":
		os.Exit(m.Run())
	case "version":
		fmt.Println("version 1")
	case "probe":
		a, err := term.Probe(os.Stdin, term.NewOut(os.Stdout))
		fmt.Printf("answered %v background %v measured %v wide %v err %v\n", a.Answered, a.Background, a.Measured, a.WideSigns, err)
	case "tui":
		os.Exit(program())
	}
}

// keys is a model that shows what it is sent and breaks on demand.
type keys struct {
	guard *term.Guard
	seen  []string
	h     int
}

func (k *keys) Init() tea.Cmd { return nil }

func (k *keys) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	defer k.guard.Note()
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		k.h = msg.Height
	case tea.MouseMsg, tea.FocusMsg:
		k.seen = append(k.seen, fmt.Sprint(msg))
	case tea.KeyMsg:
		k.seen = append(k.seen, msg.String())
		switch msg.String() {
		case "q":
			return k, tea.Quit
		case "p":
			panic("in Update")
		case "c":
			return k, func() tea.Msg {
				k.guard.Protect(func() { panic("in a command") })
				return nil
			}
		case "g":
			k.guard.Go(func() { panic("in a goroutine") })
		case "z":
			return k, tea.Suspend
		}
	}
	return k, nil
}

func (k *keys) View() string {
	return strings.Repeat("\n", max(k.h-1, 1)) + "seen " + strings.Join(k.seen, ",")
}

func program() int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := term.NewOut(os.Stdout)
	guard := term.NewGuard(out, os.Stdin, os.Getenv("TERM_TEST_DIR"))
	if err := out.Raw(term.Enter); err != nil {
		return 5
	}
	p := tea.NewProgram(&keys{guard: guard}, tea.WithInput(term.NewIn(os.Stdin)), tea.WithOutput(out),
		tea.WithAltScreen(), tea.WithMouseCellMotion(), tea.WithReportFocus(), tea.WithoutSignalHandler())
	guard.OnPanic(p.Kill)
	guard.Signals(ctx, func(s os.Signal) {
		if os.Getenv("TERM_TEST_STUCK") == "" {
			p.Quit()
		}
	})
	_, err := p.Run()
	cancel()
	guard.Wait()
	guard.Restore()
	if c := guard.Crashed(); c != nil {
		fmt.Println(c)
		return 3
	}
	if err != nil && !errors.Is(err, tea.ErrProgramKilled) {
		return 4
	}
	fmt.Println("bye")
	return 0
}

func start(t *testing.T, mode string, opts ...tuitest.PtyOption) (*tuitest.Pty, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "TERM_TEST_PROGRAM="+mode, "TERM_TEST_DIR="+dir, "TERM=xterm-256color", "LC_ALL=C.UTF-8")
	return tuitest.Exec(t, cmd, 60, 10, opts...), dir
}

// restored fails unless the terminal is as it was before the program.
func restored(t *testing.T, p *tuitest.Pty) {
	t.Helper()
	for mode, name := range map[int]string{1049: "alternate screen", 1002: "mouse", 1006: "mouse (SGR)", 2004: "paste", 1004: "focus", 2026: "frame"} {
		if p.Mode(mode) {
			t.Errorf("%s (mode %d) is still on", name, mode)
		}
	}
	if p.CursorHidden() {
		t.Error("the cursor is still hidden")
	}
	cooked(t, p)
}

// cooked fails unless the modes of the pseudo terminal are those of a new one: echo, lines, signals.
func cooked(t *testing.T, p *tuitest.Pty) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer slave.Close()
	want, err := xterm.GetState(master.Fd())
	if err != nil {
		t.Fatal(err)
	}
	got, err := xterm.GetState(p.File().Fd())
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", *want) {
		t.Errorf("the modes are %+v, want those of a new terminal, %+v", *got, *want)
	}
}

func TestGuard_everyEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end   func(p *tuitest.Pty)
		code  int
		says  string
		trace string
	}{
		"quit":             {func(p *tuitest.Pty) { p.Press("q") }, 0, "bye", ""},
		"panic in Update":  {func(p *tuitest.Pty) { p.Press("p") }, 3, "the interface crashed: in Update", "guard_test.go"},
		"panic in command": {func(p *tuitest.Pty) { p.Press("c") }, 3, "the interface crashed: in a command", "guard_test.go"},
		"panic, goroutine": {func(p *tuitest.Pty) { p.Press("g") }, 3, "the interface crashed: in a goroutine", "guard_test.go"},
		"HUP":              {func(p *tuitest.Pty) { p.Signal(syscall.SIGHUP) }, 0, "bye", ""},
		"QUIT":             {func(p *tuitest.Pty) { p.Signal(syscall.SIGQUIT) }, 0, "bye", ""},
		"INT":              {func(p *tuitest.Pty) { p.Signal(syscall.SIGINT) }, 0, "bye", ""},
		"TERM":             {func(p *tuitest.Pty) { p.Signal(syscall.SIGTERM) }, 0, "bye", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := start(t, "tui")
			p.WaitFor("seen").WaitMode(1002, true)
			if !p.Mode(1049) || !p.CursorHidden() {
				t.Error("the program did not take the terminal")
			}
			p.Press("x").WaitFor("seen x")
			tc.end(p)
			_ = p.Exit()
			if got := p.Cmd.ProcessState.ExitCode(); got != tc.code {
				t.Errorf("exit code %d, want %d:\n%s", got, tc.code, p.Text())
			}
			if !strings.Contains(strings.ReplaceAll(p.Text(), "\n", ""), tc.says) {
				t.Errorf("it does not say %q:\n%s", tc.says, p.Text())
			}
			restored(t, p)
			files, err := filepath.Glob(filepath.Join(dir, "crash-*.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if tc.trace == "" {
				if len(files) != 0 {
					t.Errorf("crash files without a crash: %v", files)
				}
				return
			}
			if len(files) != 1 {
				t.Fatalf("crash files: %v, want one", files)
			}
			text, err := os.ReadFile(files[0])
			if err != nil || !strings.Contains(string(text), tc.trace) {
				t.Errorf("the crash file has no trace (%v):\n%s", err, text)
			}
		})
	}
}

// TestGuard_stuck: a program that does not leave is ended by the signal itself, with the terminal restored.
func TestGuard_stuck(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "TERM_TEST_PROGRAM=tui", "TERM_TEST_STUCK=1", "TERM_TEST_DIR="+t.TempDir(), "TERM=xterm")
	p := tuitest.Exec(t, cmd, 60, 10)
	p.WaitFor("seen").WaitMode(1002, true)
	p.Signal(syscall.SIGHUP)
	p.Signal(syscall.SIGHUP) // the second does not wait for the two seconds
	_ = p.Exit()
	if s := p.Cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGHUP {
		t.Errorf("it ended with %v, want the signal", s)
	}
	restored(t, p)
}

func TestOut_framesAndKeys(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "tui")
	p.WaitFor("seen").WaitMode(1002, true)
	p.Type("\x1b[97;2u").WaitFor("seen A")
	p.Type(tuitest.ClickBytes(3, 2)).WaitFor("left press")
	raw := p.Raw()
	begin, end := strings.Count(raw, "\x1b[?2026h"), strings.Count(raw, "\x1b[?2026l")
	if begin == 0 || begin != end {
		t.Errorf("%d frames begin and %d end", begin, end)
	}
	for _, frame := range strings.Split(raw, "\x1b[?2026h")[1:] {
		if body, _, ok := strings.Cut(frame, "\x1b[?2026l"); !ok || !strings.Contains(body, "\n") {
			t.Errorf("a frame without rows: %q", body)
		}
	}
	if strings.Index(raw, term.Enter) != 0 {
		t.Errorf("it does not begin with the sequence of the start: %q", raw[:min(len(raw), 40)])
	}
	w, h := 0, 0
	p.Resize(40, 5)
	p.WaitFor("seen A")
	if w, h = p.Size(); w != 40 || h != 5 {
		t.Errorf("size %dx%d", w, h)
	}
	p.Press("q")
	if err := p.Exit(); err != nil {
		t.Error(err)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "probe")
	p.WaitFor("answered true").WaitFor("measured true").WaitFor("wide false")
	_ = p.Exit()
	if !strings.Contains(p.Text(), "background &{0 0 0}") {
		t.Errorf("the background of the emulator is black:\n%s", p.Text())
	}
	if strings.Contains(p.Text(), "●") {
		t.Errorf("the measured sign was not erased:\n%s", p.Text())
	}
	restored(t, p)
}

func TestProbe_mute(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "probe", tuitest.Mute())
	p.WaitFor("answered false")
	err := p.Exit()
	if text := strings.ReplaceAll(p.Text(), "\n", ""); err != nil || !strings.Contains(text, "err <nil>") {
		t.Errorf("a terminal that answers nothing is an error: %v\n%s", err, p.Text())
	}
}

// TestVersionInAMuteTerminal: the failure that preterm guards against asks for the background and takes five
// seconds.
func TestVersionInAMuteTerminal(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	p, _ := start(t, "version", tuitest.Mute())
	if err := p.Exit(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.Raw(), "\x1b") {
		t.Errorf("it asks the terminal: %q", p.Raw())
	}
	t.Logf("took %v", time.Since(begin))
}

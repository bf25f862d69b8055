package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	xterm "github.com/charmbracelet/x/term"

	"arbiter/tui/term"
	"arbiter/tui/theme"
)

// ErrNoTerminal says that input or output is no terminal that screens can be drawn on.
var ErrNoTerminal = errors.New("input and output must be a terminal that can be drawn on")

// Run shows the interface until the admin leaves it or ctx ends. It brings the terminal back whatever happens; after a crash
// the error is a [*term.Crash] that names the file with the trace. Leaving stops nothing but the interface. It returns
// [ErrNoTerminal], before anything is written, where there is no terminal.
func Run(ctx context.Context, cfg Config) error {
	in, outFile := term.Standard()
	kind := term.Detect(os.Getenv)
	if !xterm.IsTerminal(in.Fd()) || !xterm.IsTerminal(outFile.Fd()) {
		return ErrNoTerminal
	}
	if kind.Plain {
		return fmt.Errorf("TERM is %q: %w", os.Getenv("TERM"), ErrNoTerminal)
	}
	out := term.NewOut(outFile)
	guard := term.NewGuard(out, in, stateDir(cfg.State))
	defer guard.Restore()
	answer, err := term.Probe(in, out)
	if err != nil {
		return fmt.Errorf("ask the terminal: %w", err)
	}
	th, err := chooseTheme(cfg, kind, answer)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var state *stateFile
	if cfg.Home != "" {
		state = openState(stateDir(cfg.State), cfg.Home)
	}
	m := newModel(ctx, cfg, parts{
		state: state,
		theme: th, now: time.Now, newID: newID, zone: time.Local, guard: guard,
		copied: func(text string) string { return copyText(out, kind, text) },
	})
	options := []tea.ProgramOption{
		tea.WithAltScreen(), tea.WithInput(term.NewIn(in)), tea.WithOutput(out), tea.WithContext(ctx),
		tea.WithoutSignalHandler(),
	}
	if cfg.Mouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	if err := out.Raw(term.Enter); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	p := tea.NewProgram(m, options...)
	guard.OnPanic(p.Kill)
	guard.Signals(ctx, func(os.Signal) { p.Quit() })
	m.pump.goes = func(fn func()) { guard.Protect(fn) }
	guard.Go(func() { m.pump.run(ctx) })
	_, err = p.Run()
	ended := ctx.Err()
	cancel()
	kept := m.saveNow()
	guard.Wait()
	guard.Restore()
	if crash := guard.Crashed(); crash != nil {
		return crash
	}
	if err != nil && ended != nil {
		return ended // the caller ended the program, and knows why
	}
	if err == nil && !m.env.saved.failed {
		err = kept
	}
	return err
}

// chooseTheme compiles the theme that was asked for, or the one that suits the terminal.
func chooseTheme(cfg Config, kind term.Kind, answer term.Answer) (*theme.Theme, error) {
	name := cfg.Theme
	if name == "" {
		name = kind.ThemeName(answer)
	}
	signs := kind.Signs(answer)
	if cfg.ASCII {
		signs = theme.ASCII
		if kind.UTF8 {
			signs = theme.Narrow
		}
	}
	return theme.New(name, kind.Profile, signs)
}

// copyText offers a text to the terminal's clipboard and says so.
func copyText(out *term.Out, kind term.Kind, text string) string {
	seq, ok := term.Clipboard(kind.Mux, text)
	if !ok {
		return fmt.Sprintf("%d bytes are too many for the clipboard of a terminal", len(text))
	}
	if err := out.Raw(seq); err != nil {
		return "the clipboard could not be reached: " + err.Error()
	}
	return fmt.Sprintf("%d bytes offered to the terminal's clipboard (OSC 52)", len(text))
}

// stateDir is where crash files go.
func stateDir(dir string) string {
	if dir != "" {
		return dir
	}
	if base := os.Getenv("XDG_STATE_HOME"); base != "" {
		return filepath.Join(base, "arbiter")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".local", "state", "arbiter")
	}
	return filepath.Join(os.TempDir(), "arbiter")
}

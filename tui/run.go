package tui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	xterm "github.com/charmbracelet/x/term"

	"arbiter/tui/term"
	"arbiter/tui/theme"
)

// ErrNoTerminal says that input or output is no terminal that screens can be drawn on.
var ErrNoTerminal = errors.New("input and output must be a terminal that can be drawn on")

// flushRate is how often a second the renderer looks whether there is something to write. Its clock never stops, so it is also
// what an idle screen costs: at 60 a second more than one percent of a core on a slow machine.
const flushRate = 50

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
		theme: th, now: time.Now, newID: newID, zone: time.Local, guard: guard, left: leftByEditors(cfg),
		copied: func(text string) string { return copyText(out, kind, text) },
	})
	m.env.hold = guard.Hold
	m.env.noShell = !term.ShellWaits()
	m.call = func(title, body string, bell bool) error { return callAdmin(out, kind, title, body, bell) }
	dump, writeDump, err := newDumper(os.Getenv("TUI_DUMP"))
	if err != nil {
		return err
	}
	m.dump = dump
	options := []tea.ProgramOption{
		tea.WithAltScreen(), tea.WithInput(term.NewIn(in)), tea.WithOutput(out), tea.WithContext(ctx),
		tea.WithoutSignalHandler(), tea.WithReportFocus(), tea.WithFPS(flushRate),
	}
	if cfg.Mouse {
		options = append(options, tea.WithMouseCellMotion())
	}
	guard.KeepTitle()
	if err := out.Raw(term.Enter); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	p := tea.NewProgram(m, options...)
	guard.OnPanic(p.Kill)
	guard.Signals(ctx, func(os.Signal) { p.Quit() })
	if writeDump != nil {
		guard.Go(func() { writeDump(ctx) })
	}
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
	if err == nil {
		err = m.untaken()
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
	return theme.New(name, kind.Profile, chooseSigns(cfg.Signs, kind, answer))
}

// chooseSigns returns the signs that were asked for, or those that suit the terminal.
func chooseSigns(want string, kind term.Kind, answer term.Answer) *theme.Signs {
	switch {
	case want == "utf8":
		return theme.UTF8
	case want == "ascii" && kind.UTF8:
		return theme.Narrow // of the signs; text keeps its letters
	case want == "ascii":
		return theme.ASCII
	}
	return kind.Signs(answer)
}

// copyText puts a text into the clipboard, with a program of this machine or else through the terminal, and says which and how
// much.
func copyText(out *term.Out, kind term.Kind, text string) string {
	size := plural(len(text), "byte")
	tool := term.ClipboardTool(os.Getenv, exec.LookPath, kind)
	var failed error
	if tool != nil {
		if failed = term.RunClipboard(tool, text); failed == nil {
			return size + " copied with " + tool[0]
		}
	}
	seq, ok := term.Clipboard(kind.Mux, text)
	if !ok {
		return fmt.Sprintf("%s are too many for the clipboard of a terminal; at most %d", size, term.MaxClipboard)
	}
	if err := out.Raw(seq); err != nil {
		return "the clipboard could not be reached: " + err.Error()
	}
	text = size + " offered to the terminal's clipboard (OSC 52)"
	if failed != nil {
		text += "; " + failed.Error()
	}
	return text
}

// callAdmin rings for the admin who looks at another window.
func callAdmin(out *term.Out, kind term.Kind, title, body string, bell bool) error {
	seq := term.Notify(kind.Mux, title, body)
	if bell {
		seq += term.Bell
	}
	return out.Raw(seq)
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

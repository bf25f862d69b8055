package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/term"
)

// editing is the person's editor on a temporary file. The program gives it the terminal and takes it back after.
type editing struct {
	name string
	text []byte
	line int
	read bool // only to read: the file cannot be written

	stdin          io.Reader
	stdout, stderr io.Writer
	got            []byte
}

// SetStdin, SetStdout and SetStderr are called by the program before Run. The editor gets the terminal itself: with a pipe in
// between it would see none, and its end would be noticed at the next key only.
func (x *editing) SetStdin(r io.Reader) {
	x.stdin = r
	if in, ok := r.(*term.In); ok {
		x.stdin = in.File
	}
}

// SetStdout is called by the program before Run.
func (x *editing) SetStdout(w io.Writer) {
	x.stdout = w
	if out, ok := w.(*term.Out); ok {
		x.stdout = out.File
	}
}

// SetStderr is called by the program before Run.
func (x *editing) SetStderr(w io.Writer) { x.stderr = w }

// Run writes the file, runs the editor on it and reads it back. The text that is there is kept in got even when the
// editor fails.
func (x *editing) Run() error {
	dir, err := os.MkdirTemp("", "arbiter-edit-")
	if err != nil {
		return fmt.Errorf("make a folder for the text: %w", err)
	}
	file := filepath.Join(dir, x.name)
	mode := os.FileMode(0o600)
	if x.read {
		mode = 0o400
	}
	if err := os.WriteFile(file, x.text, mode); err != nil {
		return fmt.Errorf("write the text: %w", err)
	}
	argv := editorCommand(os.Getenv, file, x.line)
	c := exec.CommandContext(context.Background(), argv[0], argv[1:]...) // it ends when the person leaves it
	c.Stdin, c.Stdout, c.Stderr = x.stdin, x.stdout, x.stderr
	ran := c.Run()
	x.got, err = os.ReadFile(file)
	switch {
	case ran != nil:
		return fmt.Errorf("run %s: %w; its text is in %s", argv[0], ran, file)
	case err != nil:
		return fmt.Errorf("read the edited text: %w", err)
	}
	return os.RemoveAll(dir)
}

// editorCommand is how the editor is called: $VISUAL, else $EDITOR, else vi, at a line where it takes one.
func editorCommand(getenv func(string) string, file string, line int) []string {
	argv := strings.Fields(getenv("VISUAL"))
	if len(argv) == 0 {
		argv = strings.Fields(getenv("EDITOR"))
	}
	if len(argv) == 0 {
		argv = []string{"vi"}
	}
	if line > 0 {
		switch filepath.Base(argv[0]) {
		case "vi", "vim", "nvim", "view", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "mg":
			argv = append(argv, "+"+strconv.Itoa(line))
		case "hx", "helix":
			return append(argv, file+":"+strconv.Itoa(line))
		case "code", "codium":
			return append(argv, "--goto", file+":"+strconv.Itoa(line))
		}
	}
	return append(argv, file)
}

// edit hands a text to the person's editor, and the result to done.
func (e *env) edit(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
	if run := e.desk.edit; run != nil {
		return run(name, text, line, done)
	}
	return e.runEditor(name, text, line, done)
}

// runEditor edits a text and hands the result to done, whose message goes through the program.
func (e *env) runEditor(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
	return openEditor(&editing{name: name, text: text, line: line}, done)
}

// readInEditor shows a text in the person's editor, as a file that cannot be written.
func (e *env) readInEditor(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
	return openEditor(&editing{name: name, text: text, line: line, read: true}, done)
}

func openEditor(x *editing, done func([]byte, error) tea.Msg) tea.Cmd {
	return tea.Exec(x, func(err error) tea.Msg { return done(x.got, editorError(err)) })
}

// editorError says what to do when there is no such editor.
func editorError(err error) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%w; set EDITOR to the editor that you use", err)
	}
	return err
}

// repaint sets the terminal right after another program had it: it has forgotten mouse and focus and may show anything.
func (e *env) repaint() tea.Cmd {
	if e.Mouse {
		return tea.Batch(tea.ClearScreen, tea.EnableMouseCellMotion, tea.EnableReportFocus)
	}
	return tea.Batch(tea.ClearScreen, tea.EnableReportFocus)
}

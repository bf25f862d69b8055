package tui

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/tui/editor"
	"arbiter/tui/term"
	"arbiter/tui/theme"
)

// editing is the person's editor on a text. The program gives it the terminal and takes it back after.
type editing struct {
	in   string // the folder of texts
	name string
	text []byte
	line int
	read bool // only to read: the file cannot be written

	stdin          io.Reader
	stdout, stderr io.Writer
	hold           func(on bool) // keeps the keys that end programs for the editor
	got            []byte
	file           *editor.Text // nil when there is nothing to take
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

// Run writes the file, runs the editor on it and reads it back. What was typed is in got even when the editor fails, and in the file until
// it is taken.
func (x *editing) Run() error {
	file, err := editor.Open(x.in, x.name, x.text)
	if err != nil {
		return err
	}
	if x.read {
		err = file.Protect()
	} else {
		x.file = file
	}
	if err == nil {
		if x.hold != nil {
			x.hold(true)
			defer x.hold(false)
		}
		x.got, err = file.Run(editor.Command(os.Getenv, file.File(), x.line), x.stdin, x.stdout, x.stderr)
	}
	if x.read {
		return errors.Join(err, file.Taken())
	}
	if where := file.Where(); err != nil && where != "" {
		err = fmt.Errorf("%w; its text is in %s", err, where)
	}
	return err
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
	return e.openEditor(&editing{name: name, text: text, line: line}, done)
}

// readInEditor shows a text in the person's editor, as a file that cannot be written.
func (e *env) readInEditor(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
	return e.openEditor(&editing{name: name, text: text, line: line, read: true}, done)
}

func (e *env) openEditor(x *editing, done func([]byte, error) tea.Msg) tea.Cmd {
	e.opens(x)
	return tea.Exec(x, func(err error) tea.Msg { return x.end(err, done) })
}

// opens notes that an editor is opened, with what it needs of the program.
func (e *env) opens(x *editing) {
	x.in, x.hold = EditsFolder(e.Config.State), e.hold
	e.desk.opened = x
}

// editorEndedMsg is the end of the person's editor. Its text stays in its file until msg was delivered.
type editorEndedMsg struct {
	of  *editing
	err error
	msg tea.Msg
}

func (x *editing) end(err error, done func([]byte, error) tea.Msg) tea.Msg {
	return editorEndedMsg{x, err, done(x.got, editorError(err))}
}

// editorEnded delivers what an editor left. Its file goes when the text is kept by whoever asked, also on disk.
func (m *model) editorEnded(msg editorEndedMsg) tea.Cmd {
	e, file := m.env, msg.of.file
	e.desk.opened = nil
	asked, ok := msg.msg.(pageMsg)
	lost := ok && m.receiver(asked.to) == nil
	cmd := m.route(msg.msg)
	if file == nil {
		return cmd
	}
	if lost && msg.err == nil {
		if where := file.Where(); where != "" {
			e.report(untaken(where))
		}
	}
	save := m.write()
	return tea.Batch(cmd, func() tea.Msg {
		var saved stateWrittenMsg
		if save != nil {
			saved = save().(stateWrittenMsg)
		}
		end := file.Taken
		if lost || msg.err != nil || saved.err != nil {
			end = file.Keep
		}
		if err := end(); err != nil {
			return toastMsg{theme.Danger, err.Error()}
		}
		if save == nil {
			return nil
		}
		return saved
	})
}

// untaken is where the text of an editor is that nobody took, when the program has ended.
func (m *model) untaken() error {
	x := m.env.desk.opened
	if x == nil || x.file == nil {
		return nil
	}
	where := x.file.Where()
	err := x.file.Keep()
	if where != "" {
		err = errors.Join(fmt.Errorf("the program ended before it took the text of the editor, which is in %s", where), err)
	}
	return err
}

// leftByEditors tells of texts that programs which ended had open in an editor.
func leftByEditors(cfg Config) []failure {
	left, err := editor.Left(EditsFolder(cfg.State), time.Now())
	var out []failure
	if err != nil {
		out = append(out, failure{What: err.Error(), Means: "Texts that were typed in an editor before may be there.", Next: "Look there yourself."})
	}
	for _, where := range left {
		out = append(out, untaken(where))
	}
	return out
}

// untaken tells of a text that nobody took.
func untaken(where string) failure {
	return failure{
		What: "the text of an editor was not taken: it is in " + where, Means: "The program ended before it had the text, or what was to be edited is gone.",
		Next: "Take what you need from it; it is removed after 30 days.",
	}
}

// EditsFolder is where texts for the person's editor are, below the folder of [Config.State], which may be empty.
func EditsFolder(state string) string { return filepath.Join(stateDir(state), "edits") }

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

package tui

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"arbiter/amp"
	"arbiter/tui/theme"
	"arbiter/tui/tuitest"
)

// The real run: a program that writes into the file, one that fails after it wrote, one that fails before, and one that only shows the file.
func TestEditing(t *testing.T) {
	for name, tc := range map[string]struct {
		body       string
		read, fail bool
		got        string
		files      int
	}{
		"writes":         {body: "printf ' more' >> \"$1\"", got: "text more", files: 1},
		"fails":          {body: "printf ' more' >> \"$1\"; exit 3", fail: true, got: "text more", files: 1},
		"fails at once":  {body: "exit 3", fail: true, files: 1},
		"shows":          {body: "test ! -w \"$1\" || test \"$(id -u)\" = 0", read: true, got: "text"},
		"shows no more":  {body: "exit 3", read: true, fail: true},
		"keeps the keys": {body: "test \"$HELD\" = yes", got: "text", files: 1},
	} {
		script := filepath.Join(t.TempDir(), "editor")
		if err := os.WriteFile(script, []byte("#!/bin/sh\n"+tc.body+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("VISUAL", script)
		x := &editing{in: t.TempDir(), name: "plan.toml", text: []byte("text"), read: tc.read}
		x.hold = func(on bool) { t.Setenv("HELD", map[bool]string{true: "yes", false: "no"}[on]) }
		if err := x.Run(); (err != nil) != tc.fail {
			t.Errorf("%s: %v", name, err)
		}
		if string(x.got) != tc.got || os.Getenv("HELD") != "no" {
			t.Errorf("%s: got %q, keys held: %s", name, x.got, os.Getenv("HELD"))
		}
		if n := len(edits(t, x.in)); n != tc.files || (n == 0) != (x.file == nil) {
			t.Errorf("%s: %d files before the text is taken, want %d", name, n, tc.files)
		}
	}
}

// edits are the texts below a folder.
func edits(t *testing.T, in string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(in, "*", "*.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// editOn opens the whole plan of the first task in an editor that is a line of shell, and returns how it ended.
func editOn(t *testing.T, dir, body string) (m *model, ended editorEndedMsg) {
	t.Helper()
	script := filepath.Join(dir, "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", script)
	s := tuitest.NewScript(begin)
	task := s.NewTask("Split planner package").Propose()
	m = stillWith(t, s, 80, 24, theme.Default(), func(p *parts) { p.state = openState(dir, "/data/a") }, func(c *Config) { c.State = dir })
	m.env.desk.edit = func(name string, text []byte, line int, done func([]byte, error) tea.Msg) tea.Cmd {
		x := &editing{name: name, text: text, line: line, stdout: io.Discard, stderr: io.Discard}
		m.env.opens(x)
		return func() tea.Msg { return x.end(x.Run(), done) }
	}
	m.env.Go(Place{Kind: KindPlan, ID: string(task.ID)})
	run(m.nav.top().page.(*planPage).editAll(), func(msg tea.Msg) { ended = msg.(editorEndedMsg) })
	return m, ended
}

// hand gives the model what the editor left.
func hand(m *model, ended editorEndedMsg) {
	_, cmd := m.Update(ended)
	run(cmd, func(msg tea.Msg) {
		switch msg.(type) {
		case stateWrittenMsg, toastMsg:
			m.Update(msg)
		}
	})
}

// kept are the drafts of plans that the next program begins with.
func kept(dir string) string { return string(openState(dir, "/data/a").parts["drafts"]) }

// The file of an edited text goes when the text is on disk as a draft.
func TestEditor_taken(t *testing.T) {
	dir := t.TempDir()
	m, ended := editOn(t, dir, `sed -i~ 's/Port the callers/Port all callers/' "$1"`)
	if len(edits(t, EditsFolder(dir))) != 1 {
		t.Fatal("there is no file before the text was taken")
	}
	hand(m, ended)
	if !strings.Contains(kept(dir), "Port all callers") {
		t.Errorf("the text is nowhere; drafts: %s", kept(dir))
	}
	if left := edits(t, EditsFolder(dir)); left != nil {
		t.Errorf("left: %q", left)
	}
	if err := m.untaken(); err != nil {
		t.Error(err)
	}
}

// What an editor that failed left is a draft, and stays in its file, as the error says.
func TestEditor_failed(t *testing.T) {
	dir := t.TempDir()
	m, ended := editOn(t, dir, `echo '# typed' >> "$1"; exit 1`)
	hand(m, ended)
	left := edits(t, EditsFolder(dir))
	if len(left) != 1 || !strings.Contains(m.env.errors[0].What, "its text is in "+left[0]) || !strings.Contains(kept(dir), "# typed") {
		t.Errorf("left: %q; failures %+v; drafts %s", left, m.env.errors, kept(dir))
	}
	if again := leftByEditors(m.env.Config); again != nil {
		t.Errorf("told again: %v", again)
	}
	m, ended = editOn(t, t.TempDir(), `exit 1`)
	hand(m, ended)
	if left := edits(t, EditsFolder(m.env.Config.State)); left != nil || m.env.desk.drafts != nil {
		t.Errorf("an editor that failed at once left %q, %v", left, m.env.desk.drafts)
	}
}

// A program that ends before it has the text says where it is; one that is killed leaves it for the next one to tell.
func TestEditor_notTaken(t *testing.T) {
	dir := t.TempDir()
	m, _ := editOn(t, dir, `echo '# typed' >> "$1"`)
	left := edits(t, EditsFolder(dir))
	if err := m.untaken(); len(left) != 1 || err == nil || !strings.Contains(err.Error(), left[0]) {
		t.Errorf("left: %q; %v", left, err)
	}
	if again := leftByEditors(m.env.Config); again != nil {
		t.Errorf("told again: %v", again)
	}

	dir = t.TempDir()
	m, ended := editOn(t, dir, `echo '# typed' >> "$1"`)
	folder := filepath.Dir(ended.of.file.File())
	if err := os.Rename(folder, folder+"0"); err != nil { // nobody holds its lock, as when the program was killed
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder+"0", ".arbiter-lock")); err != nil {
		t.Fatal(err)
	}
	left = edits(t, EditsFolder(dir))
	s := tuitest.Scene()
	next := stillWith(t, s, 80, 24, theme.Default(), func(p *parts) { p.left = leftByEditors(m.env.Config) })
	if len(left) != 1 || len(next.env.errors) != 1 || !strings.Contains(next.env.errors[0].What, left[0]) {
		t.Errorf("left: %q; told %+v", left, next.env.errors)
	}
}

// Whoever asked for a text may be gone when the editor ends.
func TestEditor_askerGone(t *testing.T) {
	dir := t.TempDir()
	m, ended := editOn(t, dir, `echo '# typed' >> "$1"`)
	m.env.Go(Place{Kind: KindNow})
	hand(m, ended)
	left := edits(t, EditsFolder(dir))
	if len(left) != 1 || len(m.env.errors) != 1 || !strings.Contains(m.env.errors[0].What, left[0]) {
		t.Errorf("left: %q; told %+v", left, m.env.errors)
	}
}

// While the editor has the terminal, the conversation asks nothing, and keys are not its own.
func TestPlain_editorOpen(t *testing.T) {
	t.Parallel()
	talking(t, "", waitingPlan(amp.Low), func(k *talk) {
		leave := make(chan struct{})
		k.plain.e.desk.edit = func(_ string, text []byte, _ int, done func([]byte, error) tea.Msg) tea.Cmd {
			x := &editing{got: text}
			k.plain.e.opens(x)
			return func() tea.Msg {
				<-leave
				return x.end(nil, done)
			}
		}
		k.says("4", "1", "3")
		before := k.text()
		time.Sleep(time.Hour) // in the bubble
		k.stop <- os.Interrupt
		synctest.Wait()
		if k.text() != before {
			t.Errorf("said while the editor was open: %s", strings.TrimPrefix(k.text(), before))
		}
		close(leave)
		synctest.Wait()
		k.hears("Nothing was changed")
	})
}

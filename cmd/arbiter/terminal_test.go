package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"arbiter/providers/command/scripted"
	"arbiter/tui/tuitest"
)

// seat is a data directory with scripted agents and a repository, for the real program in a real terminal.
type seat struct {
	t         *testing.T
	self, dir string
	env       []string
}

func newSeat(t *testing.T) *seat {
	t.Helper()
	if testing.Short() {
		t.Skip("starts the real program")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &seat{t: t, self: self, dir: t.TempDir()}
	var b strings.Builder
	for _, role := range []string{"coordinator", "executor", "reviewer"} {
		fmt.Fprintf(&b, "[agents.%s]\nkind = \"command\"\nsandbox = \"off\"\nvendor = %q\nargv = [%q, \"demo-agent\", \"--role\", %q]\nenv = {ARBITER_TEST_SELF = \"1\"}\n",
			role, role, self, role)
	}
	b.WriteString("[roles]\ncoordinator = \"coordinator\"\nexecutor = \"executor\"\nreviewer = \"reviewer\"\n")
	config := filepath.Join(d.dir, "config", "arbiter", "config.toml")
	if err := os.MkdirAll(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := scripted.Repository(filepath.Join(d.dir, "till")); err != nil {
		t.Fatal(err)
	}
	d.env = []string{
		"ARBITER_TEST_SELF=1", "PATH=" + os.Getenv("PATH"), "HOME=" + d.dir, "ARBITER_HOME=" + d.home(), "TZ=UTC",
		"XDG_CONFIG_HOME=" + filepath.Join(d.dir, "config"), "XDG_DATA_HOME=" + filepath.Join(d.dir, "data"),
		"XDG_STATE_HOME=" + filepath.Join(d.dir, "state"), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com",
		"TERM=xterm-256color", "LC_ALL=C.UTF-8",
	}
	t.Cleanup(func() {
		a := &app{stderr: io.Discard, stdout: io.Discard}
		if _, err := a.down(context.Background(), d.home(), time.Minute); err != nil {
			t.Log("end the coordinator:", err)
		}
	})
	return d
}

func (d *seat) home() string { return filepath.Join(d.dir, "home") }

// arbiter runs a command to its end.
func (d *seat) arbiter(args ...string) {
	d.t.Helper()
	c := exec.CommandContext(d.t.Context(), d.self, args...)
	c.Env = d.env
	if out, err := c.CombinedOutput(); err != nil {
		d.t.Fatalf("arbiter %q: %v\n%s", args, err, out)
	}
}

// output is what a command prints.
func (d *seat) output(args ...string) string {
	d.t.Helper()
	c := exec.CommandContext(d.t.Context(), d.self, args...)
	c.Env = d.env
	out, err := c.Output()
	if err != nil {
		d.t.Fatalf("arbiter %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// wish states the wish of a scenario.
func (d *seat) wish(n int) {
	d.t.Helper()
	s := scripted.Scenarios[n]
	d.arbiter("task", "new", "--repo", filepath.Join(d.dir, "till"), "--branch", s.Branch, "--risk", string(s.Risk), s.Wish)
}

// open runs the screens in a terminal.
func (d *seat) open(w, h int, opts ...tuitest.PtyOption) *tuitest.Pty {
	d.t.Helper()
	return d.run(w, h, []string{d.self}, opts...)
}

func (d *seat) run(w, h int, argv []string, opts ...tuitest.PtyOption) *tuitest.Pty {
	d.t.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Env, c.Dir = d.env, d.dir
	return tuitest.Exec(d.t, c, w, h, opts...)
}

// The modes that the screens turn on.
var screenModes = map[int]string{1049: "alternate screen", 1002: "mouse", 1006: "mouse (SGR)", 2004: "paste", 1004: "focus"}

func taken(t *testing.T, p *tuitest.Pty) {
	t.Helper()
	for mode := range screenModes {
		p.WaitMode(mode, true)
	}
}

func givenBack(t *testing.T, p *tuitest.Pty) {
	t.Helper()
	for mode, name := range screenModes {
		if p.Mode(mode) {
			t.Errorf("%s (mode %d) is still on", name, mode)
		}
	}
	if p.CursorHidden() {
		t.Error("the cursor is still hidden")
	}
}

// However the program ends, the terminal is as it was, and the next run begins where this one was.
func TestTerminal_everyEnd(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.arbiter("up")
	for _, tc := range []struct {
		name string
		end  func(p *tuitest.Pty)
		code int
	}{
		{"q", func(p *tuitest.Pty) { p.Press("q", "q") }, 0},
		{"ctrl+c", func(p *tuitest.Pty) { p.Press("ctrl+c") }, 0},
		{"HUP", func(p *tuitest.Pty) { p.Signal(syscall.SIGHUP) }, 0},
		{"QUIT", func(p *tuitest.Pty) { p.Signal(syscall.SIGQUIT) }, 0},
		{"TERM", func(p *tuitest.Pty) { p.Signal(syscall.SIGTERM) }, -1},
		{"INT", func(p *tuitest.Pty) { p.Signal(syscall.SIGINT) }, -1},
	} {
		if err := os.RemoveAll(filepath.Join(d.dir, "state")); err != nil {
			t.Fatal(err)
		}
		p := d.open(80, 24).WaitFor("● live")
		taken(t, p)
		p.Press("2").WaitFor("[2 Tasks]")
		tc.end(p)
		err := p.Exit()
		if got := p.Cmd.ProcessState.ExitCode(); tc.code >= 0 && got != tc.code {
			t.Errorf("%s: exit code %d, %v:\n%s", tc.name, got, err, p.Text())
		}
		givenBack(t, p)
		raw := p.Raw()
		if push, pop := strings.Count(raw, "\x1b[22;2t"), strings.Count(raw, "\x1b[23;2t"); push != 1 || pop != 1 {
			t.Errorf("%s: the title was kept %d times and brought back %d times", tc.name, push, pop)
		}
		if state, err := os.ReadFile(filepath.Join(d.dir, "state", "arbiter", "tui.json")); err != nil || !bytes.Contains(state, []byte(`"kind": "tasks"`)) {
			t.Errorf("%s: the state of the screens is %q, %v", tc.name, state, err)
		}
	}
	p := d.open(80, 24).WaitFor("[2 Tasks]") // where the last one was left
	p.Press("ctrl+c")
	_ = p.Exit()
}

func TestTerminal_mute(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.arbiter("up")
	p := d.open(80, 24, tuitest.Mute()).WaitFor("● live")
	p.Press("?").WaitFor("Help · now")
	p.Press("esc").WaitGone("Help · now") // esc and q together would be alt+q
	p.Press("q")
	if err := p.Exit(); err != nil {
		t.Errorf("it ended with %v:\n%s", err, p.Text())
	}
	givenBack(t, p)
}

// ctrl+z gives the terminal to the shell; fg brings modes and picture back.
func TestTerminal_suspend(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed: ctrl+z and fg were not tried")
	}
	d := newSeat(t)
	d.arbiter("up")
	d.env = append(d.env, "PS1=shell> ", "PROGRAM="+d.self)
	p := d.run(80, 24, []string{bash, "--norc", "--noprofile", "-i"}).WaitFor("shell>")
	p.Type("bind 'set enable-bracketed-paste off'; clear; echo rea''dy\r").WaitFor("ready").WaitMode(2004, false) // the shell's own
	p.Type("\"$PROGRAM\"\r").WaitFor("● live")
	taken(t, p)
	p.Press("2").WaitFor("[2 Tasks]")
	for range 2 {
		p.Press("ctrl+z").WaitFor("Stopped")
		givenBack(t, p)
		p.Type("clear; echo $((6*7))\r").WaitFor("42").WaitGone("Stopped") // else the next stop would seem to have been announced
		p.Type("fg; echo quit-$((6*7))\r").WaitFor("[2 Tasks]").WaitGone("Stopped")
		taken(t, p)
	}
	p.Press("q").WaitFor("quit-42")
	givenBack(t, p)
	p.Type("exit\r")
	_ = p.Exit()
}

// Where no shell waits, as in a window that a multiplexer opened with the program, nothing could bring it back: ctrl+z says so, and the screen stays.
func TestTerminal_suspendWithoutShell(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.arbiter("up")
	p := d.open(80, 24).WaitFor("● live")
	p.Press("ctrl+z").WaitFor("no shell to go to")
	taken(t, p)
	p.Press("2").WaitFor("[2 Tasks]")
	p.Press("q", "q")
	if err := p.Exit(); err != nil {
		t.Error(err)
	}
	givenBack(t, p)
}

func TestTerminal_resizeStorm(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.arbiter("up")
	p := d.open(80, 24).WaitFor("● live")
	for i := range 200 {
		p.Resize(20+(i*37)%180, 3+(i*13)%60)
	}
	p.Resize(100, 30).WaitFor("● live").WaitFor("? help")
	p.Press("2").WaitFor("[2 Tasks")
	rows := p.Rows()
	if !strings.HasPrefix(rows[0], "ARBITER") || strings.TrimSpace(rows[29]) == "" {
		t.Errorf("header and keys are not at their places:\n%s", p.Text())
	}
	p.Press("q", "q")
	if err := p.Exit(); err != nil {
		t.Error(err)
	}
	givenBack(t, p)
}

// Keys of the kitty protocol, pastes, clicks and the clipboard, as terminals send and take them.
func TestTerminal_inAndOut(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.wish(0)
	p := d.open(80, 24).WaitFor("Bills count quantities").WaitFor("◇")
	taken(t, p)
	p.Type("\x1b[52;1u").WaitFor("[4 Plans") // "4" in the kitty protocol
	p.Press("1").WaitFor("[1 Now")
	p.Type(tuitest.PasteBytes("A\rq2")).WaitFor("a paste does nothing here")
	x, y, ok := p.Find("3 Inbox")
	if !ok {
		t.Fatalf("there is no tab of the inbox:\n%s", p.Text())
	}
	p.Type(tuitest.ClickBytes(x+2, y)).WaitFor("[3 Inbox")
	p.Press("2").WaitFor("[2 Tasks")
	p.Press("y").WaitFor("bytes offered to the terminal's clipboard (OSC 52)")
	if osc := strings.Join(p.OSC(), " "); !strings.Contains(osc, "52;c;VC0") { // "T-" and the first digit
		t.Errorf("the clipboard got %q", osc)
	}
	if strings.Contains(p.Raw(), "\x1b]11;?") && strings.Count(p.Raw(), "\x1b]11;?") > 1 {
		t.Error("the terminal was asked for its background more than once")
	}
	p.Press("ctrl+c")
	_ = p.Exit()
	givenBack(t, p)
}

// The editor has the terminal to itself, and the screens come back with all modes.
func TestTerminal_editor(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	editor := filepath.Join(d.dir, "editor")
	script := "#!/bin/sh\ntest -t 0 && test -t 1 && test -t 2 && printf 'EDITOR HAS THE TERMINAL'\nread -r line\n"
	if err := os.WriteFile(editor, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "EDITOR="+editor)
	d.wish(0)
	p := d.open(100, 30).WaitFor("Bills count quantities").WaitFor("◇")
	taken(t, p)
	p.Press("4").WaitFor("[4 Plans")
	p.Press("enter").WaitFor("Contract")
	p.Press("E").WaitFor("EDITOR HAS THE TERMINAL")
	givenBack(t, p)
	p.Type("\r").WaitFor("Contract").WaitGone("EDITOR HAS")
	taken(t, p)
	p.Type(tuitest.ClickBytes(14, 0)) // a mouse that works
	p.Press("ctrl+c")
	_ = p.Exit()
	givenBack(t, p)
	if left, err := filepath.Glob(filepath.Join(d.dir, "state", "arbiter", "edits", "[0-9a-f]*")); left != nil || err != nil {
		t.Errorf("the editor left %q, %v", left, err)
	}
}

// What was typed when the program was killed under its editor is told at the next start, once.
func TestTerminal_editorKilled(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	editor := filepath.Join(d.dir, "editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\necho '# typed' >>\"$1\"\nprintf 'EDITOR HAS THE TERMINAL'\nread -r line\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	d.env = append(d.env, "EDITOR="+editor)
	d.wish(0)
	p := d.open(100, 30).WaitFor("Bills count quantities").WaitFor("◇")
	p.Press("4").WaitFor("[4 Plans")
	p.Press("enter").WaitFor("Contract")
	p.Press("E").WaitFor("EDITOR HAS THE TERMINAL")
	p.Signal(syscall.SIGKILL)
	_ = p.Exit()
	locks, err := filepath.Glob(filepath.Join(d.dir, "state", "arbiter", "edits", "*", ".arbiter-lock"))
	if err != nil || len(locks) != 1 {
		t.Fatalf("locks of folders: %q, %v", locks, err)
	}
	lock, err := os.Open(locks[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // until the editor has ended too
		t.Fatal(err)
	}
	if err := errors.Join(syscall.Flock(int(lock.Fd()), syscall.LOCK_UN), lock.Close()); err != nil {
		t.Fatal(err)
	}
	p = d.open(100, 30).WaitFor("the text of an editor was not taken")
	p.Press("q", "q")
	_ = p.Exit()
	p = d.open(100, 30).WaitFor("Bills count quantities").WaitFor("● live")
	if strings.Contains(p.Text(), "was not taken") {
		t.Errorf("it was told again:\n%s", p.Text())
	}
	p.Press("q", "q")
	_ = p.Exit()
}

// Who looks elsewhere is called once for what comes within a minute; who looks is not.
func TestTerminal_calls(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.arbiter("up")
	p := d.open(100, 30).WaitFor("● live")
	taken(t, p)
	d.wish(0)
	p.WaitFor("Bills count quantities").WaitFor("4 Plans ◇1")
	if p.Bells() != 0 || len(p.OSC()) != 0 {
		t.Errorf("%d bells and %v while the terminal had the focus", p.Bells(), p.OSC())
	}
	p.Press("blur")
	d.wish(1)
	p.WaitFor("4 Plans ◇2")
	d.wish(2)
	p.WaitFor("4 Plans ◇3")
	p.Press("2").WaitFor("[2 Tasks") // all that came before was drawn
	if p.Bells() != 1 {
		t.Errorf("%d bells, want one", p.Bells())
	}
	osc := strings.Join(p.OSC(), "\n")
	for _, form := range []string{"9;arbiter: 2 things need you", "777;notify;arbiter: 2 things need you", "99;i=1:d=0;arbiter: 2 things need you"} {
		if strings.Count(osc, form) != 1 {
			t.Errorf("the form %q was sent %d times:\n%s", form, strings.Count(osc, form), osc)
		}
	}
	if got := p.Title(); !strings.HasPrefix(got, "(3) arbiter") {
		t.Errorf("the title is %q", got)
	}
	p.Press("ctrl+c")
	_ = p.Exit()
}

// A coordinator that goes away is said at once; what is known stays, and :up brings it back.
func TestTerminal_connection(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.wish(0)
	p := d.open(100, 30).WaitFor("Bills count quantities").WaitFor("◇").WaitFor("● live")
	d.arbiter("down")
	p.WaitFor("◌ retry")
	p.Press("A").WaitFor("is off: the coordinator is away")
	p.Press("?").WaitFor("Help · now")
	p.Press("esc").WaitGone("Help · now")
	p.Type(":up").WaitFor("start the coordinator")
	p.Press("enter").WaitFor("● live").WaitFor("Bills count quantities")
	p.Press("ctrl+c")
	_ = p.Exit()
}

// TUI_DUMP writes down what the program handled.
func TestTerminal_dump(t *testing.T) {
	t.Parallel()
	d := newSeat(t)
	d.arbiter("up")
	file := filepath.Join(d.dir, "dump")
	d.env = append(d.env, "TUI_DUMP="+file)
	p := d.open(80, 24).WaitFor("● live")
	p.Press("2").WaitFor("[2 Tasks")
	p.Press("q", "q")
	_ = p.Exit()
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), `key: "2"`) || !strings.Contains(string(text), "size: 80x24") {
		t.Errorf("the dump is %q, %v", text, err)
	}
}

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"arbiter/providers/command/scripted"
	"arbiter/tui/tuitest"
)

// rig is the real program with a data directory, a configuration and a repository of its own.
type rig struct {
	t   *testing.T
	bin string
	env []string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{t: t, bin: filepath.Join(dir, "arbiter")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", r.bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	var cfg strings.Builder
	for _, role := range []string{"coordinator", "executor", "reviewer"} {
		cfg.WriteString("[agents." + role + "]\nkind = \"command\"\nsandbox = \"off\"\nvendor = \"" + role + "\"\nargv = [" + strconv.Quote(r.bin) +
			", \"demo-agent\", \"--role\", \"" + role + "\"]\n")
	}
	cfg.WriteString("[roles]\ncoordinator = \"coordinator\"\nexecutor = \"executor\"\nreviewer = \"reviewer\"\n[policy]\nundo = \"1h\"\n")
	file := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(file, []byte(cfg.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := scripted.Repository(filepath.Join(dir, "till")); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(), "ARBITER_HOME="+filepath.Join(dir, "home"), "ARBITER_CONFIG="+file, "HOME="+dir, "LC_ALL=C.UTF-8",
		"GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "TERM=dumb", "XDG_RUNTIME_DIR=", "XDG_STATE_HOME="+dir)
	t.Cleanup(func() { r.run(0, "down") })
	return r
}

// command is the program with arguments, to be started.
func (r *rig) command(args ...string) *exec.Cmd {
	c := exec.Command(r.bin, args...)
	c.Env, c.Dir = r.env, filepath.Dir(r.bin)
	return c
}

// run runs the program and wants an exit code.
func (r *rig) run(code int, args ...string) string {
	r.t.Helper()
	c := r.command(args...)
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Run(); c.ProcessState == nil || c.ProcessState.ExitCode() != code {
		r.t.Fatalf("arbiter %q: %v, want exit code %d\n%s", args, err, code, out.String())
	}
	return out.String()
}

// On a terminal that can not move its cursor the program asks in sentences by itself, and writes nothing but text.
func TestPlain_dumbTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	t.Parallel()
	r := newRig(t)
	r.run(0, "task", "new", "--repo", "till", "--branch", "feature/total", "A bill with two teas only charges one. Make lib/total.awk count the quantity.")
	r.run(4, "task", "watch", "1")
	p := tuitest.Exec(t, r.command(), 80, 200)
	p.WaitFor("Quit.").WaitFor("Your choice:").Type("plans\n")
	p.WaitFor("1. Plan of T-").Type("1\n").WaitFor("1. Approve.")
	p.Type("1\nyes\n").WaitFor("Type yes to approve") // the yes was typed ahead: the terminal throws it away
	for n := 1; !strings.Contains(p.Raw(), "is entry #"); n++ {
		for range 4 * n { // a person reads first; each time this reads longer
			r.run(0, "status")
		}
		p.Type("yes\n").Wait(t, "an answer", p.Done(), func(string) bool {
			return strings.Contains(p.Raw(), "is entry #") || strings.Count(p.Raw(), "Type yes to approve") > n // came too early
		})
	}
	p.Type("u\n").WaitFor("is taken back")
	p.Type("\x03").WaitFor("Control c once more leaves").Type("\x03")
	if err := p.Exit(); err != nil {
		t.Errorf("exit: %v\n%s", err, p.Text())
	}
	if i := strings.IndexFunc(strings.ReplaceAll(p.Raw(), "\r\n", "\n"), func(c rune) bool { return c < 0x20 && c != '\n' || c == 0x7f }); i >= 0 {
		t.Errorf("a control character was written: %q", p.Raw()[i:min(i+20, len(p.Raw()))])
	}
	if out := r.run(0, "task", "show", "1", "--json"); !strings.Contains(out, `"status":"awaiting_approval"`) {
		t.Errorf("the task is not as it was: %s", out)
	}
}

package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tempSize bounds the /tmp of a cage, which is kept in memory.
const tempSize = 2 << 30

// manyProcesses is more than an honest turn runs.
const manyProcesses = 4096

// shielded lets bwrap itself outlive the signals that ask a program to end: it would take the program with it before that could end by
// itself. The shim gives the program the ordinary handling back.
const shielded = `trap "" TERM INT HUP QUIT && exec "$@"`

// bubblewrap is the command that runs argv in namespaces of its own. The environment is that of [environ] already, so nothing is to be
// cleared, and no value of it stands on a command line.
func (c *Cage) bubblewrap(spec *Spec, argv []string) ([]string, error) {
	b, err := findBubblewrap()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program that confines: %w", err)
	}
	extra := []string{self}
	shim := []string{self, ShimCommand, "-reset"}
	if c.proxy != nil {
		extra = append(extra, filepath.Dir(c.proxy.socket))
		shim = append(shim, "-listen", strconv.Itoa(cagePort), "-to", c.proxy.socket)
	}
	shim = append(shim, "-processes", strconv.Itoa(cmp.Or(spec.Limits.Processes, manyProcesses)))
	v := c.view(spec, argv, extra...)
	args := b.frame(v)
	for _, p := range v.paths() {
		if v.write[p] {
			args = append(args, "--bind", p, p)
		} else {
			args = append(args, "--ro-bind", p, p)
		}
	}
	args = append(args, "--remount-ro", "/", "--chdir", filepath.Clean(spec.Dir), "--")
	whole := append([]string{"/bin/sh", "-c", shielded, "sh", b.path}, args...)
	return append(append(append(whole, shim...), "--"), argv...), nil
}

// frame are the arguments for the namespaces and what every cage shows.
func (b *wrapper) frame(v *view) []string {
	args := []string{"--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "arbiter"}
	if os.Geteuid() == 0 {
		// Without capabilities root cannot make user namespaces of its own, which programs need that confine their commands themselves.
		args = append(args, "--unshare-user", "--uid", "1000", "--gid", "1000")
	}
	for _, f := range v.systemFolders() {
		if target, err := os.Readlink(f); err == nil {
			args = append(args, "--symlink", target, f)
		} else {
			args = append(args, "--ro-bind", f, f)
		}
	}
	for _, f := range systemFiles {
		args = append(args, "--ro-bind-try", f, f)
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev", "--dir", "/run", "--dir", "/var")
	if b.sizes {
		args = append(args, "--size", strconv.Itoa(tempSize))
	}
	return append(args, "--tmpfs", "/tmp", "--symlink", "../tmp", "/var/tmp")
}

// wrapper is the installed bubblewrap.
type wrapper struct {
	path, version string
	sizes         bool // it can bound a temporary folder (0.7.0)
}

var findBubblewrap = sync.OnceValues(func() (*wrapper, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, &MissingError{Mode: Bubblewrap, Why: "bubblewrap is not installed", Next: Install()}
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return nil, &MissingError{Mode: Bubblewrap, Why: fmt.Sprintf("%s does not run: %v", path, err), Next: Install()}
	}
	version := strings.TrimSpace(strings.TrimPrefix(string(out), "bubblewrap "))
	var major, minor int
	_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor) // an unknown version counts as an old one
	return &wrapper{path: path, version: version, sizes: major > 0 || minor >= 7}, nil
})

// tryBubblewrap runs a program in an empty cage.
var tryBubblewrap = sync.OnceValues(func() (string, error) {
	b, err := findBubblewrap()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	v := &view{}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, b.path, append(b.frame(v), "--remount-ro", "/", "--", "/bin/sh", "-c", "exit 42")...)
	cmd.Stderr, cmd.Env = &stderr, []string{"PATH=/usr/bin:/bin"}
	if err = leaders.start(cmd); err == nil {
		err = cmd.Wait()
		leaders.remove(cmd.Process.Pid)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 42 {
		return "bubblewrap " + b.version, nil
	}
	why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
	if why == "" {
		why = fmt.Sprint(err)
	}
	next := Install()
	if strings.Contains(why, "ermission denied") || strings.Contains(why, "not permitted") || strings.Contains(why, "namespace") {
		next = "This system forbids user namespaces: allow them (sysctl kernel.unprivileged_userns_clone=1, or " +
			"kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile for bwrap), or set sandbox = \"off\" for agents that you trust."
	}
	return "", &MissingError{Mode: Bubblewrap, Why: "bubblewrap " + b.version + " is there but does not work: " + why, Next: next}
})

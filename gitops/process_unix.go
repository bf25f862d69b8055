//go:build unix

package gitops

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// ownGroup gives the command a process group of its own; when its context ends, the group is asked to end, so that git removes
// its lock files, and killed after the command's WaitDelay.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return signalGroup(cmd.Process, syscall.SIGTERM) }
}

// killGroup kills what is left of the command's process group and waits, 2 seconds at most, until that is gone: a killed process dies
// a moment later, and what it writes until then would stand in the next check's way.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process == nil {
		return
	}
	_ = signalGroup(cmd.Process, syscall.SIGKILL)
	for range 200 {
		if !groupLives(cmd.Process.Pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// groupLives reports whether a process group has a process that runs. Dead ones that nobody has collected, as in a container without
// an init, do not count where /proc tells them apart.
func groupLives(group int) bool {
	if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		return false
	}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		b, _ := os.ReadFile(name)                 // gone meanwhile: not alive
		rest := b[bytes.LastIndexByte(b, ')')+1:] // behind the name, which may hold anything
		f := bytes.Fields(rest)                   // state, parent, group
		if len(f) > 2 && string(f[2]) == strconv.Itoa(group) && !bytes.ContainsAny(f[0], "ZX") {
			return true
		}
	}
	return len(stats) == 0
}

func signalGroup(p *os.Process, sig syscall.Signal) error {
	if err := syscall.Kill(-p.Pid, sig); err != nil {
		return p.Signal(sig)
	}
	return nil
}

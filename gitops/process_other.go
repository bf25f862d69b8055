//go:build !unix

package gitops

import "os/exec"

// ownGroup does nothing where process groups do not exist: only the command itself is killed.
func ownGroup(*exec.Cmd) {}

// killGroup kills the command.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = cmd.Process.Kill()
	}
}

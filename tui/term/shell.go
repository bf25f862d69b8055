package term

import "golang.org/x/sys/unix"

// ShellWaits reports whether a shell with job control can take the terminal when this program stops. Without one nothing
// continues a program that stopped.
func ShellWaits() bool {
	// A shell gives each job a group of its own. The group that the session began with is an orphan: the kernel throws
	// SIGTSTP away there, and who then waits for SIGCONT waits for ever.
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}

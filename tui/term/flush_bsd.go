//go:build darwin || freebsd || netbsd || openbsd

package term

import "golang.org/x/sys/unix"

// flush throws away what waits to be read from a terminal; where that is not possible it stays.
func flush(fd uintptr) { _ = unix.IoctlSetPointerInt(int(fd), unix.TIOCFLUSH, unix.TCIFLUSH) }

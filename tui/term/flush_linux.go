package term

import "golang.org/x/sys/unix"

// flush throws away what waits to be read from a terminal; where that is not possible it stays.
func flush(fd uintptr) { _ = unix.IoctlSetInt(int(fd), unix.TCFLSH, unix.TCIFLUSH) }

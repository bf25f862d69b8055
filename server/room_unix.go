//go:build unix

package server

import "syscall"

// room is how many connections one of two addresses may hold, so that files are left for everything else: the journal, git, the admin's socket. It
// is 0 where nobody knows.
func room() int {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) != nil || r.Cur > 1<<30 {
		return 0
	}
	return roomOf(int(r.Cur)) //nolint:gosec,unconvert // it is below 2^30; some systems have another type
}

func roomOf(files int) int { return max(files/2-256, files/8, 1) }

package sandbox

import "golang.org/x/sys/unix"

// bound limits the processes of the cage and leaves the keys of the person's session behind. In a user namespace of its own the kernel
// counts the cage's processes alone.
func (s *shim) bound() error {
	_, _ = unix.KeyctlJoinSessionKeyring("") // a kernel without keys has none to leave
	if s.processes == 0 {
		return nil
	}
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &now); err != nil {
		return err
	}
	n := min(uint64(s.processes), now.Max)
	return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: n, Max: n})
}

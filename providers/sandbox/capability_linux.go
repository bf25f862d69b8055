package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// lastCapability is above every capability that a kernel knows.
const lastCapability = 63

// shed gives up every capability of this thread and of what it becomes; the caller has locked it. With any left, root looks into
// processes that Landlock keeps from it: the kernel lets who may watch performance read their environment all the same.
func shed() error {
	for c := range uintptr(lastCapability + 1) {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) { // the kernel knows no more
			break
		}
		if errors.Is(err, unix.EPERM) { // who cannot give them up has none to come by either: no new privileges follow
			break
		}
		if err != nil {
			return fmt.Errorf("give up capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&head, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	return nil
}

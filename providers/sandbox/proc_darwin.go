package sandbox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// inputLeft is the ioctl for the number of unread bytes of a pipe.
const inputLeft = 0x4004667f // FIONREAD, which x/sys does not name here

// attributes put the program into a session of its own, without a terminal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// adopt does nothing: orphans always go to launchd.
func adopt() {}

// list returns every process of this machine.
func list() ([]proc, error) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	procs := make([]proc, 0, len(infos))
	for i := range infos {
		procs = append(procs, fromInfo(&infos[i]))
	}
	return procs, nil
}

// inspect looks at one process. One that is not there is an fs.ErrNotExist.
func inspect(pid int) (proc, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) || err == nil && int(info.Proc.P_pid) != pid {
		return proc{}, fs.ErrNotExist // an empty answer is reported as EIO
	}
	if err != nil {
		return proc{}, err
	}
	return fromInfo(info), nil
}

func fromInfo(info *unix.KinfoProc) proc {
	const zombie = 5 // SZOMB
	pid := int(info.Proc.P_pid)
	started := info.Proc.P_starttime
	session, _ := unix.Getsid(pid)
	return proc{
		pid: pid, parent: int(info.Eproc.Ppid), group: int(info.Eproc.Pgid), session: session,
		start: uint64(started.Sec)*1_000_000 + uint64(started.Usec), zombie: info.Proc.P_stat == zombie,
	}
}

// mark returns the value of the Marker variable in the environment that the process was started with. The kernel gives argc, the
// program's path, padding, the arguments and the environment, all ended by NUL.
func mark(pid int) (string, error) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return "", nil // gone, another user's, or of the system: told apart by no error
	}
	skip := int(binary.NativeEndian.Uint32(raw)) + 1
	fields := bytes.Split(raw[4:], []byte{0})
	for _, f := range fields {
		if skip > 0 {
			if len(f) > 0 {
				skip--
			}
			continue
		}
		if value, ok := bytes.CutPrefix(f, []byte(Marker+"=")); ok {
			return string(value), nil
		}
	}
	return "", nil
}

// worksIn is not known here.
func worksIn(int, []string, []string) (bool, error) { return false, nil }

func pipeName(*os.File) string { return "" }

// send signals the process if it is still the same one.
func send(pr proc, sig unix.Signal) error {
	if Gone(pr.pid, pr.start) {
		return unix.ESRCH
	}
	return unix.Kill(pr.pid, sig)
}

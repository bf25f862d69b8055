package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// inputLeft is the ioctl for the number of unread bytes of a pipe.
const inputLeft = unix.TIOCINQ

// attributes put the program into a session of its own, without a terminal, and let it die with the thread that starts it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// adopt makes this process the parent of what its descendants orphan.
var adopt = sync.OnceFunc(func() {
	// Refused by no kernel since 3.4; without it orphans go to init and are still found by their marker.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
})

// list returns every process of this machine that can be seen.
func list() ([]proc, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	procs := make([]proc, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		pr, err := inspect(pid)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		procs = append(procs, pr)
	}
	return procs, nil
}

// inspect reads /proc/PID/stat: "pid (comm) state ppid pgrp session …", the start time being field 22. The name may hold spaces
// and parentheses. A process that is not there is an fs.ErrNotExist; any other error says nothing about it.
func inspect(pid int) (proc, error) {
	stat, err := readStat(pid)
	if errors.Is(err, unix.ESRCH) {
		err = fs.ErrNotExist // it ended between open and read
	}
	if err != nil {
		return proc{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(f) < 20 {
		return proc{}, fmt.Errorf("read process %d: %q has too few fields", pid, stat)
	}
	start, err := strconv.ParseUint(f[19], 10, 64)
	if err != nil {
		return proc{}, fmt.Errorf("read the start time of process %d: %w", pid, err)
	}
	number := func(i int) int { n, _ := strconv.Atoi(f[i]); return n }
	// The state is that of the first thread: the process is dead only when no other thread is left.
	dead := (f[0] == "Z" || f[0] == "X") && number(17) <= 1
	name := stat[bytes.IndexByte(stat, '(')+1 : bytes.LastIndexByte(stat, ')')]
	return proc{pid: pid, name: string(name), parent: number(1), group: number(2), session: number(3), start: start, zombie: dead}, nil
}

// readStat reads the line without os.File, whose poller costs more than the read: a sweep reads hundreds.
func readStat(pid int) ([]byte, error) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = unix.Close(fd) }() // opened for reading
	buf := make([]byte, 1024)             // the longest line has some 400 bytes, and is read in one piece
	n, err := unix.Read(fd, buf)
	return buf[:max(n, 0)], err
}

// hidden reports whether an error of looking closer means that there is nothing to see for us: the process has gone, or is
// another user's.
func hidden(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrPermission)
}

// mark returns the value of the Marker variable in the environment that the process was started with, "" when it has none or is
// another user's.
func mark(pid int) (string, error) {
	base := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(base + "/environ")
	if err == nil && len(env) == 0 || errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrPermission) && headless(pid) {
		env, err = threadEnviron(base + "/task/")
	}
	if hidden(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for pair := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := bytes.CutPrefix(pair, []byte(Marker+"=")); ok {
			return string(value), nil
		}
	}
	return "", nil
}

// headless reports whether the first thread of a process has ended while others live: then root owns what is known of it, whoever runs it.
func headless(pid int) bool {
	stat, err := readStat(pid)
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return err == nil && bytes.HasPrefix(state, []byte(" Z"))
}

// threadEnviron is the environment of a process whose first thread has ended.
func threadEnviron(dir string) ([]byte, error) {
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, t := range threads {
		env, err := os.ReadFile(dir + t.Name() + "/environ")
		if len(env) > 0 || err != nil && !hidden(err) {
			return env, err
		}
	}
	return nil, nil
}

// worksIn reports whether the process has its working folder below one of the folders or holds one of the pipes.
func worksIn(pid int, dirs, pipes []string) (bool, error) {
	base := "/proc/" + strconv.Itoa(pid)
	cwd, err := os.Readlink(base + "/cwd")
	if err != nil && !hidden(err) {
		return false, err
	}
	for _, d := range dirs {
		if cwd == d || strings.HasPrefix(cwd, d+"/") {
			return true, nil
		}
	}
	fds, err := os.ReadDir(base + "/fd")
	if err != nil && !hidden(err) {
		return false, err
	}
	for _, fd := range fds {
		// One that is closed by now is no longer held.
		if target, err := os.Readlink(base + "/fd/" + fd.Name()); err == nil && slices.Contains(pipes, target) {
			return true, nil
		}
	}
	return false, nil
}

// pipeName is how worksIn sees the pipe.
func pipeName(f *os.File) string {
	var st unix.Stat_t
	conn, err := f.SyscallConn()
	if err != nil {
		return ""
	}
	if cerr := conn.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }); cerr != nil || err != nil {
		return ""
	}
	return "pipe:[" + strconv.FormatUint(st.Ino, 10) + "]"
}

// send signals exactly this process, never a later one with its pid.
func send(pr proc, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(pr.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		if Gone(pr.pid, pr.start) {
			return unix.ESRCH
		}
		return unix.Kill(pr.pid, sig)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // opened for reading
	if Gone(pr.pid, pr.start) {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

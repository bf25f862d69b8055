//go:build linux || darwin

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// killTime is how long killed processes have to vanish before they count as left.
const killTime = 5 * time.Second

// Process is a running program. Stop must be called, also after the program has ended by itself: only Stop proves that nothing
// is left.
type Process struct {
	turn   string
	cmd    *exec.Cmd
	start  uint64 // of the leader, see proc.start
	dirs   []string
	exited chan struct{}

	talk  *talk         // nil unless Spec.Talk
	stdin *os.File      // the program's end of the pipe, kept to see what it has taken; nil without input
	feed  *os.File      // our end of it
	fed   chan struct{} // closed when feeding is over
	// written says that all was written. It is set before the pipe is closed, so that a program which saw the end finds it set.
	written atomic.Bool
	taken   atomic.Bool // StdinTaken, from the first time it was true
	stdout  *output
	stderr  *output
	pipes   []string
	stop    sync.Once
	exit    int
	err     error
}

// Start starts the program, confined by nothing. An error means that nothing runs. ctx bounds the start alone: ending the program is
// for Stop.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	return launch(ctx, spec, func(argv []string) ([]string, error) { return argv, nil })
}

// launch starts what wrap makes of the program.
func launch(ctx context.Context, spec Spec, wrap func(argv []string) ([]string, error)) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	argv, err := spec.program()
	if err == nil {
		argv, err = wrap(argv)
	}
	if err != nil {
		return nil, err
	}
	if limits := spec.Limits.shell(); limits != "" {
		argv = append([]string{"/bin/sh", "-c", limits + `exec "$@"`, "sh"}, argv...)
	}
	adopt()
	p := &Process{turn: spec.Turn, dirs: folders(spec.Dir, spec.Home), exited: make(chan struct{}), fed: make(chan struct{}), exit: -1}
	p.cmd = &exec.Cmd{
		Path: argv[0], Args: argv, Dir: spec.Dir, Env: environ(&spec, os.Environ()),
		SysProcAttr: attributes(),
	}
	ends, err := p.pipe(len(spec.Stdin) > 0 || spec.Talk)
	if err == nil {
		started := make(chan error, 1)
		go p.watch(started)
		err = <-started
	}
	for _, f := range ends {
		f.Close()
	}
	if err != nil {
		p.closeAll()
		return nil, fmt.Errorf("start %s: %w", spec.Argv[0], err)
	}
	if spec.Talk {
		p.talk = newTalk(p.feed, spec.Stdin)
		go func() { defer close(p.fed); p.written.Store(p.talk.write()) }()
		return p, nil
	}
	go p.write(spec.Stdin)
	return p, nil
}

// program is the argv to execute, the program's path found.
func (s *Spec) program() ([]string, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return nil, errors.New("start a program: no program is named")
	}
	if s.Turn == "" || strings.ContainsAny(s.Turn, ":\x00") {
		return nil, fmt.Errorf("start %s: turn id %q cannot mark its processes", s.Argv[0], s.Turn)
	}
	if s.Home == "" || !filepath.IsAbs(s.Home) {
		return nil, fmt.Errorf("start %s: home %q is no absolute path", s.Argv[0], s.Home)
	}
	path, err := exec.LookPath(s.Argv[0])
	if err != nil {
		return nil, fmt.Errorf("find program: %w", err)
	}
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("find program: %q is a relative path; give an absolute one or a name that PATH finds", s.Argv[0])
	}
	if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("start %s: working folder %q is not there", s.Argv[0], s.Dir)
	}
	if err := os.MkdirAll(filepath.Join(s.Home, "tmp"), 0o700); err != nil {
		return nil, fmt.Errorf("create home of the turn: %w", err)
	}
	return append([]string{path}, s.Argv[1:]...), nil
}

// shell sets the limits in the words of a POSIX shell; unlike setting them after the start it cannot be outrun.
func (l *Limits) shell() string {
	var b strings.Builder
	set := func(flag string, n int64) {
		if n > 0 {
			b.WriteString("ulimit " + flag + " " + strconv.FormatInt(n, 10) + " && ")
		}
	}
	set("-t", int64((l.CPU+time.Second-1)/time.Second))
	set("-f", (l.FileSize+511)/512)
	set("-n", int64(l.OpenFiles))
	return b.String()
}

// pipe makes the program's standard streams; ends are the files to close here once the program has them.
func (p *Process) pipe(feed bool) (ends []*os.File, err error) {
	open := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	var outW, errW, outR, errR *os.File
	if feed {
		p.stdin, p.feed = open()
		p.cmd.Stdin = p.stdin
	}
	outR, outW = open()
	errR, errW = open()
	for _, f := range []*os.File{outW, errW} {
		if f != nil {
			ends = append(ends, f)
			p.pipes = append(p.pipes, pipeName(f))
		}
	}
	p.stdout, p.stderr = &output{f: outR}, &output{f: errR}
	p.cmd.Stdout, p.cmd.Stderr = outW, errW
	return ends, err
}

// watch starts the program and returns when it has ended. It holds one OS thread all that time, since on Linux the program is
// killed when the thread that started it ends.
func (p *Process) watch(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := leaders.start(p.cmd); err != nil {
		started <- err
		return
	}
	// An unknown start time, 0, only makes the sweeps look at more processes.
	p.start, _ = StartTime(p.cmd.Process.Pid)
	started <- nil
	waitExit(p.cmd.Process.Pid)
	close(p.exited)
}

// waitExit blocks until the child has ended and leaves it unreaped, so that neither its pid nor its group can be given to
// somebody else before Stop is done with them.
func waitExit(pid int) {
	const byPID = 1
	var info [16]uint64
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info[0])),
			unix.WEXITED|unix.WNOWAIT, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

// write feeds the program. It ends when all is written or Stop closes the pipe.
func (p *Process) write(stdin []byte) {
	defer close(p.fed)
	if p.feed == nil {
		return
	}
	// An error means that Stop closed the pipe; that the program did not read shows in StdinTaken.
	_, err := p.feed.Write(stdin)
	p.written.Store(err == nil)
	p.feed.Close()
}

// PID is the program's process id, also the id of its process group and session.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// StartTime tells the process from a later one with the same id, see [Gone].
func (p *Process) StartTime() uint64 { return p.start }

// Stdout is what the program writes to standard output. It must be read until an error, else the program may stand still. Its end
// comes when every process that holds it has ended, at the latest soon after Stop.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Stderr is what the program writes to standard error; the same rules hold.
func (p *Process) Stderr() io.Reader { return p.stderr }

// Exited is closed when the program has ended. Its descendants may still run.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// over reports whether feeding has ended.
func (p *Process) over() bool {
	select {
	case <-p.fed:
		return true
	default:
		return false
	}
}

// StdinTaken reports whether the program has read all of its standard input, with Spec.Talk all that was sent before. Once true it
// stays so. After Stop it says what was so at the end.
func (p *Process) StdinTaken() bool {
	if p.stdin == nil || p.taken.Load() {
		return true
	}
	if !p.written.Load() && (p.over() || p.talk == nil || !p.talk.said()) {
		return false
	}
	conn, err := p.stdin.SyscallConn()
	if err != nil {
		return false
	}
	left, lerr := 1, error(nil)
	err = conn.Control(func(fd uintptr) { left, lerr = unix.IoctlGetInt(int(fd), inputLeft) })
	if err != nil || lerr != nil || left > 0 {
		return false
	}
	p.taken.Store(true)
	return true
}

// Stop ends the program and everything that it started: it asks first (SIGTERM), kills after grace, and looks until nothing is
// left. It returns the exit code, 128 and the signal's number when a signal ended the program, or -1 when it could not be
// ended. The error is a [*LeftError]. Further calls return the same.
func (p *Process) Stop(grace time.Duration) (exit int, err error) {
	p.stop.Do(func() { p.exit, p.err = p.end(grace) })
	return p.exit, p.err
}

func (p *Process) end(grace time.Duration) (int, error) {
	p.CloseInput()
	s := p.sweep()
	if left, err := s.left(); len(left) > 0 || err != nil {
		s.signal(left, unix.SIGTERM)
		s.wait(grace)
	}
	err := s.kill(killTime)
	if p.feed != nil {
		p.feed.Close()
	}
	if p.talk != nil {
		p.talk.drop()
	}
	<-p.fed
	exit := -1
	if err == nil {
		<-p.exited
	}
	select {
	case <-p.exited:
		exit = p.reap()
	default: // it does not end; its pid stays its own
	}
	if p.stdin != nil {
		p.StdinTaken()
		p.stdin.Close()
	}
	leaders.reapAdopted(time.Now())
	if err != nil {
		p.closeAll()
	}
	return exit, err
}

// reap takes the exit code of the program, which has ended.
func (p *Process) reap() int {
	// An error other than an exit code cannot occur: all streams are files and the program has ended.
	_ = p.cmd.Wait()
	leaders.remove(p.PID())
	state := p.cmd.ProcessState
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

func (p *Process) closeAll() {
	for _, o := range []*output{p.stdout, p.stderr} {
		if o != nil {
			o.close()
		}
	}
	for _, f := range []*os.File{p.stdin, p.feed} {
		if f != nil {
			f.Close()
		}
	}
}

// output is one stream of the program; it closes itself at its end.
type output struct{ f *os.File }

func (o *output) Read(b []byte) (int, error) {
	n, err := o.f.Read(b)
	if err != nil {
		o.close()
		if errors.Is(err, os.ErrClosed) {
			err = io.EOF
		}
	}
	return n, err
}

func (o *output) close() {
	if o.f != nil {
		o.f.Close()
	}
}

// folders are the resolved paths of the given folders.
func folders(dirs ...string) []string {
	var real []string
	for _, d := range dirs {
		if r, err := filepath.EvalSymlinks(d); err == nil {
			real = append(real, r)
		}
	}
	return real
}

//go:build linux || darwin

package sandbox

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

// ShimCommand is the hidden first argument with which a cage starts this program again. The main function of every program that opens
// cages, of test binaries too, hands what follows it to [Main] before it does anything else.
const ShimCommand = "sandbox-shim"

func shimmed(args []string) bool { return len(args) > 1 && args[1] == ShimCommand }

// shimFailed is the exit code of a shim that could not start the program.
const shimFailed = 125

// shim is this program at work inside a cage, between what confines and the program.
type shim struct {
	listen    int    // a port of 127.0.0.1 to listen on, 0 for none
	to        string // the unix socket that it leads to
	processes int
	reset     bool // signals were ignored by what started this
	confine   bool // restrict this process by Landlock and become the program
	connect   int  // with confine: the TCP port to connect to
	read      []string
	write     []string
}

// Main is the shim: it finishes the cage from inside, runs the program named by args and returns its exit code, 128 and the number of the
// signal that ended it.
func Main(args []string) int {
	s := &shim{}
	f := flag.NewFlagSet(ShimCommand, flag.ContinueOnError)
	f.IntVar(&s.listen, "listen", 0, "")
	f.StringVar(&s.to, "to", "", "")
	f.IntVar(&s.processes, "processes", 0, "")
	f.BoolVar(&s.reset, "reset", false, "")
	f.BoolVar(&s.confine, "landlock", false, "")
	f.IntVar(&s.connect, "connect", 0, "")
	list := func(to *[]string) func(string) error {
		return func(p string) error { *to = append(*to, p); return nil }
	}
	f.Func("read", "", list(&s.read))
	f.Func("write", "", list(&s.write))
	if err := f.Parse(args); err != nil {
		return shimFailed
	}
	code, err := s.run(f.Args())
	if err != nil {
		fmt.Fprintf(os.Stderr, "arbiter: the program was not started in its cage: %v\n", err)
		return shimFailed
	}
	return code
}

func (s *shim) run(argv []string) (int, error) {
	if len(argv) == 0 {
		return 0, errors.New("no program is named")
	}
	if err := s.bound(); err != nil {
		return 0, fmt.Errorf("limit its processes: %w", err)
	}
	if s.confine {
		runtime.LockOSThread()
		if err := s.restrict(); err != nil {
			return 0, fmt.Errorf("confine it: %w", err)
		}
		return 0, syscall.Exec(argv[0], argv, os.Environ())
	}
	if s.reset {
		// Handled here, a signal is ordinary again in the program. Who ends a turn signals each process of it, so nothing is passed on.
		caught := make(chan os.Signal, 1)
		signal.Notify(caught, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	}
	if s.listen > 0 {
		var lc net.ListenConfig
		l, err := lc.Listen(context.Background(), "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.listen)))
		if err != nil {
			return 0, fmt.Errorf("listen for the model: %w", err)
		}
		go serve(l, s.to)
	}
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it ends with the namespace
	cmd.Args = argv
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	for _, f := range []*os.File{os.Stdin, os.Stdout} {
		f.Close() // that they end shows outside when the program closes them
	}
	_ = cmd.Wait() // what went wrong is in the state
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// serve leads every connection to the socket, until the namespace ends.
func serve(l net.Listener, socket string) {
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go join(in, socket)
	}
}

func join(in net.Conn, socket string) {
	defer func() { _ = in.Close() }() // both ways are over
	var d net.Dialer
	out, err := d.DialContext(context.Background(), "unix", socket)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }() // the same
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from) // the other side sees the end
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { pass(out, in) })
	pass(in, out)
	both.Wait()
}

package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the program under test: the first argument after playArg says what it does.
const playArg = "sandbox-test-program"

func TestMain(m *testing.M) {
	if shimmed(os.Args) {
		os.Exit(Main(os.Args[2:]))
	}
	if len(os.Args) > 2 && os.Args[1] == playArg {
		os.Exit(play(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

func init() {
	if len(os.Args) > 2 && os.Args[2] == "headless" {
		runtime.LockOSThread() // main runs on the first thread
	}
}

// stay does not return.
func stay() {
	for {
		time.Sleep(time.Hour)
	}
}

func play(what string) int {
	switch what {
	case "hello":
		in, _ := io.ReadAll(os.Stdin)
		fmt.Printf("out %d\n", len(in))
		fmt.Fprintln(os.Stderr, "err")
		return 7
	case "environ":
		fmt.Println(strings.Join(os.Environ(), "\n"))
	case "stubborn": // ignores SIGTERM, reads nothing, says so and stays
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		stay()
	case "headless": // the same, and its first thread ends
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		go stay()
		syscall.RawSyscall(syscall.SYS_EXIT, 0, 0, 0)
	case "daemon-headless":
		return spawn("headless", os.Environ(), nil)
	case "polite": // ends by itself on SIGTERM
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		return 3
	case "flood":
		line := bytes.Repeat([]byte("x"), 1<<16)
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return 0
			}
		}
	case "daemon": // leaves a stubborn daemon in a session of its own and ends
		return spawn("stubborn", nil, nil)
	case "daemon-clean": // the same, and the daemon forgets its environment; it still holds our pipes
		return spawn("stubborn", []string{"PATH=" + os.Getenv("PATH")}, nil)
	case "daemon-quiet": // nor does it hold the pipes, but it stays in the folder
		null, _ := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		return spawn("stubborn", []string{"PATH=" + os.Getenv("PATH")}, null)
	case "daemons": // a daemon that leaves a daemon that leaves a daemon, while the program waits
		spawn("daemon", nil, nil)
		fmt.Println("ready")
		stay()
	case "snoop":
		return snoop()
	case "echo": // answers each line until its input ends
		in := bufio.NewReader(os.Stdin)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return 4
			}
			fmt.Print("heard ", line)
		}
	case "pour": // writes 64 MiB
		line := append(bytes.Repeat([]byte("x"), 1<<16-1), '\n')
		for range 1 << 10 {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
		return 5
	case "get":
		return get(os.Args[3])
	case "starved":
		return starve(os.Args[3])
	case "coordinator":
		return coordinate(os.Args[3], os.Args[4])
	case "brief": // leaves a daemon that ends by itself
		return spawn("hello", nil, nil)
	}
	return 0
}

// spawn starts this program again as a session leader and prints its pid.
func spawn(what string, env []string, stdio *os.File) int {
	cmd := exec.Command(os.Args[0], playArg, what)
	cmd.Env = env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if stdio == nil {
		stdio = os.Stdout
	}
	cmd.Stdout = stdio
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("pid", cmd.Process.Pid)
	fmt.Println(what, cmd.Process.Pid)
	return 0
}

func spec(t *testing.T, what string) Spec {
	t.Helper()
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	return Spec{
		Argv: []string{os.Args[0], playArg, what}, Dir: work, Home: filepath.Join(dir, "home"),
		Turn: "turn-" + rand.Text(),
	}
}

// start starts the program and reads standard error to its end in the background.
func start(t *testing.T, s Spec) (*Process, *bufio.Reader) {
	t.Helper()
	p, err := Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); io.Copy(io.Discard, p.Stderr()) }()
	out := bufio.NewReader(p.Stdout())
	t.Cleanup(func() {
		p.Stop(0)
		io.Copy(io.Discard, out)
		<-done
	})
	return p, out
}

// await reads lines until each of the beginnings has come, in any order, and returns what followed the first of them.
func await(t *testing.T, out *bufio.Reader, beginnings ...string) (rest string) {
	t.Helper()
	for missing := slices.Clone(beginnings); len(missing) > 0; {
		line, err := out.ReadString('\n')
		i := slices.IndexFunc(missing, func(b string) bool { return strings.HasPrefix(line, b) })
		if i >= 0 {
			if missing[i] == beginnings[0] {
				rest = strings.TrimSpace(strings.TrimPrefix(line, beginnings[0]))
			}
			missing = slices.Delete(missing, i, i+1)
			continue
		}
		if err != nil {
			t.Fatalf("output ended before %q: %v", missing, err)
		}
	}
	return rest
}

func pid(t *testing.T, text string) (int, uint64) {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	at, err := StartTime(n)
	if err != nil {
		t.Fatal(err)
	}
	return n, at
}

func TestStart_stdinAndExit(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"nothing": 0, "small": 10, "300 KB": 300 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, "hello")
			s.Stdin = bytes.Repeat([]byte("x"), size)
			p, out := start(t, s)
			if got := await(t, out, "out "); got != strconv.Itoa(size) {
				t.Errorf("the program read %s bytes, want %d", got, size)
			}
			<-p.Exited()
			if exit, err := p.Stop(time.Second); exit != 7 || err != nil {
				t.Errorf("Stop = %d, %v, want 7, nil", exit, err)
			}
			if !p.StdinTaken() {
				t.Error("StdinTaken = false, want true")
			}
		})
	}
}

func TestStart_programThatDoesNotRead(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"in the pipe": 10, "more than the pipe holds": 300 << 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, "stubborn")
			s.Stdin = bytes.Repeat([]byte("x"), size)
			p, out := start(t, s)
			await(t, out, "ready")
			if p.StdinTaken() {
				t.Error("StdinTaken = true for a program that reads nothing")
			}
			if exit, err := p.Stop(time.Millisecond); exit != 128+9 || err != nil {
				t.Errorf("Stop = %d, %v, want 137, nil", exit, err)
			}
		})
	}
}

func TestStop_grace(t *testing.T) {
	t.Parallel()
	p, out := start(t, spec(t, "polite"))
	await(t, out, "ready")
	if exit, err := p.Stop(time.Minute); exit != 3 || err != nil {
		t.Errorf("Stop = %d, %v, want 3, nil: the program ends when it is asked to", exit, err)
	}
	if exit, err := p.Stop(time.Minute); exit != 3 || err != nil {
		t.Errorf("second Stop = %d, %v, want the same", exit, err)
	}
}

func TestStop_floodNobodyReads(t *testing.T) {
	t.Parallel()
	p, _ := start(t, spec(t, "flood"))
	if _, err := p.Stop(time.Millisecond); err != nil {
		t.Error(err)
	}
	if !Gone(p.PID(), p.StartTime()) {
		t.Error("the program still runs")
	}
}

func TestStop_daemons(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"daemon", "daemon-clean", "daemon-quiet", "daemon-headless"} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			p, out := start(t, spec(t, what))
			lines := []string{"pid ", "ready"}
			if what == "daemon-quiet" {
				lines = lines[:1] // nothing that it says comes here
			}
			n, at := pid(t, await(t, out, lines...))
			<-p.Exited()
			if Gone(n, at) {
				t.Fatal("the daemon ended with its parent, nothing to test")
			}
			if _, err := p.Stop(time.Millisecond); err != nil {
				t.Error(err)
			}
			if !Gone(n, at) {
				t.Errorf("daemon %d survived Stop", n)
			}
			if pr, err := inspect(n); err == nil && pr.start == at {
				t.Errorf("daemon %d was not reaped: %+v", n, pr)
			}
		})
	}
}

func TestStop_daemonOfDaemon(t *testing.T) {
	t.Parallel()
	p, out := start(t, spec(t, "daemons"))
	first, firstAt := 0, uint64(0)
	first, _ = strconv.Atoi(await(t, out, "pid "))
	firstAt, _ = StartTime(first)
	n, at := pid(t, await(t, out, "pid "))
	if _, err := p.Stop(time.Millisecond); err != nil {
		t.Error(err)
	}
	for pid, start := range map[int]uint64{first: firstAt, n: at, p.PID(): p.StartTime()} {
		if !Gone(pid, start) {
			t.Errorf("process %d survived Stop", pid)
		}
	}
}

func TestStop_sparesOthers(t *testing.T) {
	t.Parallel()
	a, aOut := start(t, spec(t, "stubborn"))
	s := spec(t, "stubborn")
	s.Turn += "b"
	b, bOut := start(t, s)
	await(t, aOut, "ready")
	await(t, bOut, "ready")
	if _, err := a.Stop(time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if Gone(b.PID(), b.StartTime()) {
		t.Error("ending one turn ended another's program")
	}
}

func TestKillOrphans(t *testing.T) {
	t.Parallel()
	s := spec(t, "daemon")
	p, out := start(t, s)
	n, at := pid(t, await(t, out, "pid "))
	<-p.Exited()
	if turns, err := Turns(); err != nil || !slices.Contains(turns, s.Turn) || !slices.IsSorted(turns) {
		t.Errorf("Turns = %v, %v, want %s among them", turns, err, s.Turn)
	}
	killed, err := KillOrphans(s.Turn)
	if err != nil || !slices.Contains(killed, n) || len(killed) != 1 {
		t.Errorf("KillOrphans = %v, %v, want [%d]", killed, err, n)
	}
	if !Gone(n, at) {
		t.Errorf("daemon %d survived", n)
	}
	if killed, err := KillOrphans(s.Turn); len(killed) > 0 || err != nil {
		t.Errorf("second KillOrphans = %v, %v, want nothing", killed, err)
	}
	if turns, err := Turns(); err != nil || slices.Contains(turns, s.Turn) {
		t.Errorf("Turns = %v, %v, want no %s", turns, err, s.Turn)
	}
	if killed, err := KillOrphans(""); len(killed) > 0 || err != nil {
		t.Errorf("KillOrphans of no turn = %v, %v, want nothing", killed, err)
	}
}

func TestStart_refused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Spec){
		"no program":       func(s *Spec) { s.Argv = nil },
		"missing program":  func(s *Spec) { s.Argv = []string{"no-such-program-anywhere"} },
		"relative program": func(s *Spec) { s.Argv = []string{"./program"} },
		"not executable":   func(s *Spec) { s.Argv = []string{"/etc/hostname"} },
		"no folder":        func(s *Spec) { s.Dir += "/missing" },
		"no home":          func(s *Spec) { s.Home = "" },
		"relative home":    func(s *Spec) { s.Home = "home" },
		"no turn":          func(s *Spec) { s.Turn = "" },
		"turn with colon":  func(s *Spec) { s.Turn = "a:b" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(t, "hello")
			change(&s)
			if p, err := Start(t.Context(), s); err == nil {
				p.Stop(0)
				t.Error("Start succeeded")
			}
		})
	}
}

func TestStart_limits(t *testing.T) {
	t.Parallel()
	s := spec(t, "hello")
	s.Argv = []string{"sh", "-c", "ulimit -n; ulimit -f; ulimit -t; echo end"}
	s.Limits = Limits{CPU: 1500 * time.Millisecond, FileSize: 1000, OpenFiles: 64}
	_, out := start(t, s)
	var got []string
	for line := ""; line != "end"; {
		raw, err := out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSpace(raw)
		got = append(got, line)
	}
	if want := []string{"64", "2", "2", "end"}; !slices.Equal(got, want) {
		t.Errorf("limits = %v, want %v", got, want)
	}
}

// TestCoordinatorCrash: the program dies with the process that started it, and what it left in other sessions is found by the mark.
func TestCoordinatorCrash(t *testing.T) {
	t.Parallel()
	turn := "crash-" + rand.Text()
	dir := t.TempDir()
	parent := exec.CommandContext(t.Context(), os.Args[0], playArg, "coordinator", turn, dir)
	stdout, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(stdout)
	leader, leaderAt := pid(t, await(t, out, "leader "))
	daemon, daemonAt := pid(t, await(t, out, "daemon "))
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	for !Gone(leader, leaderAt) { // the kernel kills it when the thread that started it is gone
		if t.Context().Err() != nil {
			t.Fatal("the program survived the process that started it")
		}
		runtime.Gosched()
	}
	if Gone(daemon, daemonAt) {
		t.Fatal("the daemon ended by itself, nothing to test")
	}
	killed, err := KillOrphans(turn)
	if err != nil || !slices.Contains(killed, daemon) || slices.Contains(killed, leader) {
		t.Errorf("KillOrphans = %v, %v, want %d", killed, err, daemon)
	}
	if !Gone(daemon, daemonAt) {
		t.Error("the daemon survived")
	}
}

// coordinate is a process that starts a program, tells of it, and never stops it.
func coordinate(turn, dir string) int {
	p, err := Start(context.Background(), Spec{Argv: []string{os.Args[0], playArg, "daemons"}, Dir: dir, Home: dir, Turn: turn})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("leader", p.PID())
	last := ""
	ready := 0
	for s := bufio.NewScanner(p.Stdout()); s.Scan(); { // a child may write before its parent does
		if n, ok := strings.CutPrefix(s.Text(), "stubborn "); ok {
			last = n
		}
		if s.Text() == "ready" {
			ready++
		}
		if last != "" && ready == 2 { // the daemon of the daemon is there and writes no more
			fmt.Println("daemon", last)
			last = ""
		}
	}
	return 0
}

// TestStop_cannotLook: when this process is out of file descriptors nothing is proven, and nobody says that it is.
func TestStop_cannotLook(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0], playArg, "starved", t.TempDir())
	out, err := cmd.CombinedOutput()
	if want := "left: true, looked: false, gone: true\n"; err != nil || string(out) != want {
		t.Errorf("output = %q, %v, want %q", out, err, want)
	}
}

// starve is a process that ends a program when it cannot open files.
func starve(dir string) int {
	p, err := Start(context.Background(), Spec{Argv: []string{os.Args[0], playArg, "stubborn"}, Dir: dir, Home: dir, Turn: "starved-" + rand.Text()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	go io.Copy(io.Discard, p.Stderr())
	bufio.NewReader(p.Stdout()).ReadString('\n')
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 3, Max: limit.Max}); err != nil {
		fmt.Println(err)
		return 1
	}
	_, err = p.Stop(time.Millisecond)
	left, ok := errors.AsType[*LeftError](err)
	unknown := Gone(p.PID(), p.StartTime())
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Printf("left: %v, looked: %v, gone: %v\n", ok, unknown || left.Err == nil, Gone(p.PID(), p.StartTime()))
	return 0
}

// TestReapAdopted is not parallel: the dead children of other tests are not to be taken from them.
func TestReapAdopted(t *testing.T) {
	p, out := start(t, spec(t, "brief"))
	n, _ := strconv.Atoi(await(t, out, "pid "))
	<-p.Exited()
	there := func() bool { pr, err := inspect(n); return err == nil && pr.parent == os.Getpid() }
	for pr, err := inspect(n); err == nil && !pr.zombie; pr, err = inspect(n) {
		runtime.Gosched()
	}
	if !there() {
		t.Skip("orphans of this platform go elsewhere")
	}
	now := time.Now().Add(unclaimed) // past any look of this test's own turns
	t.Cleanup(func() { leaders.looked = time.Time{} })
	for _, after := range []time.Duration{0, unclaimed/2 - 1, unclaimed - 1, unclaimed} { // the last one is too soon after the look before
		if leaders.reapAdopted(now.Add(after)); !there() {
			t.Fatalf("reaped after %s, when somebody may still wait for it", after)
		}
	}
	if leaders.reapAdopted(now.Add(2 * unclaimed)); there() {
		t.Error("not reaped although nobody waits for it")
	}
}

func BenchmarkTurn(b *testing.B) {
	dir := b.TempDir()
	plain := func() {
		if err := exec.CommandContext(b.Context(), "/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
	begin := time.Now()
	for range 50 {
		plain()
	}
	alone := time.Since(begin) / 50
	for b.Loop() {
		p, err := Start(b.Context(), Spec{Argv: []string{"/bin/true"}, Dir: dir, Home: dir, Turn: "bench-" + rand.Text()})
		if err != nil {
			b.Fatal(err)
		}
		io.Copy(io.Discard, p.Stdout())
		io.Copy(io.Discard, p.Stderr())
		<-p.Exited()
		if _, err := p.Stop(time.Second); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(alone), "times-plain-exec")
}

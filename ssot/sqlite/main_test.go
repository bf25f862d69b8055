package sqlite

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"arbiter/ssot"
)

// childEnv makes the test binary play another process: the value is the name of a role below, the arguments are its own.
const childEnv = "ARBITER_STORE_CHILD"

var roles = map[string]func(args []string) error{
	"append": playAppend,
	"hold":   playHold,
	"read":   playRead,
	"stay":   playStay,
	"naive":  playNaive,
	"visit":  playVisit,
	"open":   playOpen,
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(childEnv)]
	if !ok {
		if f := flag.Lookup("rapid.checks"); slow && f != nil {
			_ = f.Value.Set("5") // before the flags are parsed, so that a given one wins
		}
		os.Exit(m.Run())
	}
	if err := role(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// leastTimes is how often a loop runs under the race detector all the same, where it is to run as often.
const leastTimes = 8

// times is how often a loop runs: n times, fewer under the race detector, or what an environment variable says.
func times(t *testing.T, env string, n int) int {
	t.Helper()
	if said, err := strconv.Atoi(os.Getenv(env)); err == nil {
		t.Logf("%s: %d instead of %d", env, said, n)
		return said
	}
	if slow {
		return max(n/10, min(n, leastTimes))
	}
	return n
}

// child is another process that plays a role. It is killed with SIGKILL when the context ends.
func child(ctx context.Context, role string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "/proc/self/exe", args...)
	if _, err := os.Stat(c.Path); err != nil {
		c.Path = os.Args[0]
	}
	c.Env = append(os.Environ(), childEnv+"="+role)
	return c
}

// talk is a running child whose lines are read one by one.
type talk struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
	err *boundedBuffer
}

func start(t *testing.T, c *exec.Cmd) *talk {
	t.Helper()
	k := &talk{cmd: c, err: &boundedBuffer{}}
	var err error
	if k.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.out = bufio.NewScanner(out)
	c.Stderr = k.err
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	return k
}

// hear waits for the next line, which must be want.
func (k *talk) hear(t *testing.T, want string) {
	t.Helper()
	if !k.out.Scan() || k.out.Text() != want {
		t.Fatalf("the child said %q, want %q; stderr: %s", k.out.Text(), want, k.err)
	}
}

func (k *talk) say(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(k.in, "go\n"); err != nil {
		t.Fatal(err)
	}
}

// boundedBuffer keeps the beginning of what a child complains.
type boundedBuffer struct{ b []byte }

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if room := 4096 - len(b.b); room > 0 {
		b.b = append(b.b, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (b *boundedBuffer) String() string { return string(b.b) }

// wait reads one line of standard input: the parent says when to go on.
func wait() error {
	_, err := bufio.NewReaderSize(os.Stdin, 16).ReadString('\n')
	return err
}

// playHold holds a data directory until its standard input ends.
func playHold(args []string) (err error) {
	log, err := Open(context.Background(), args[0], Options{Version: "held"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// playRead opens for reading and says how many entries there are.
func playRead(args []string) (err error) {
	log, err := OpenReadOnly(context.Background(), args[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	r, err := log.Verify(context.Background(), nil)
	if err != nil {
		return err
	}
	if err := r.Err(args[0]); err != nil {
		return err
	}
	board, err := ssot.Fold(context.Background(), log)
	if err != nil {
		return err
	}
	fmt.Println(r.Entries, board.Head.Seq)
	return nil
}

// playOpen opens for writing and says how that went.
func playOpen(args []string) error {
	log, err := Open(context.Background(), args[0], Options{})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	return log.Close()
}

// opened opens a journal without an index of searches, and closes it behind f. Its tables are written every few entries.
func opened(dir string, f func(*Log) error) (err error) {
	log, err := Open(context.Background(), dir, Options{Unindexed: true, tail: 5})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	return f(log)
}

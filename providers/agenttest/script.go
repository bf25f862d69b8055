package agenttest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"

	"arbiter/providers/sandbox"
)

// scriptVar is the environment variable that holds the script of the program.
const scriptVar = "ARBITER_AGENTTEST_SCRIPT"

// SecretVar is a variable that [Main] sets in the test process and that no program may see.
const SecretVar = "ARBITER_AGENTTEST_SECRET_KEY"

// Script is what the program behind an adapter does in one turn, step by step, and how it ends.
type Script struct {
	Steps []Step `json:"steps"`
	Exit  int    `json:"exit"`
	// Missing means that the program does not exist.
	Missing bool `json:"missing,omitzero"`
	// Dialect is the name of the protocol that the program speaks; empty is that of providers/command.
	Dialect string `json:"dialect,omitzero"`
}

// Has reports whether the script has a step that does this.
func (s Script) Has(a Action) bool {
	return slices.ContainsFunc(s.Steps, func(step Step) bool { return step.Do == a })
}

// Action is what one step does.
type Action string

// The actions. An adapter whose protocol has no form for one skips the case.
const (
	// ReadStdin reads standard input to its end, or all of the prompt where it stays open, and says "stdin N" as progress, N being the
	// number of bytes. IgnoreStdin does nothing: the script is about a program that never reads.
	ReadStdin   Action = "read_stdin"
	IgnoreStdin Action = "ignore_stdin"
	// AckMessage and RefuseMessage acknowledge; Text is the reason of a refusal.
	AckMessage    Action = "ack"
	RefuseMessage Action = "refuse"
	// Say is progress with Text.
	Say Action = "say"
	// NameSession names the session Text; Use reports N tokens and a hundredth of N dollars.
	NameSession Action = "session"
	Use         Action = "use"
	// Escalate and Answer carry Payload; CutAnswer breaks off in the middle of it, BareAnswer has no newline behind it.
	Escalate   Action = "escalate"
	Answer     Action = "answer"
	CutAnswer  Action = "cut_answer"
	BareAnswer Action = "bare_answer"
	// WriteOut and WriteErr write Raw as it is.
	WriteOut Action = "write_out"
	WriteErr Action = "write_err"
	// Flood writes N bytes in lines of progress; LongLine says one progress text of N bytes.
	Flood    Action = "flood"
	LongLine Action = "long_line"
	// Pause waits N milliseconds; Hang waits for ever. Stubborn ignores the request to end from now on.
	Pause    Action = "pause"
	Hang     Action = "hang"
	Stubborn Action = "stubborn"
	// Daemon leaves a stubborn process in a session of its own, which holds the streams, and says "daemon PID" as progress.
	Daemon Action = "daemon"
	// ShowEnviron says "env NAME=value" for each variable; ShowDir says "dir PATH".
	ShowEnviron Action = "show_environ"
	ShowDir     Action = "show_dir"
)

// Step is one thing that the program does.
type Step struct {
	Do      Action          `json:"do"`
	Text    string          `json:"text,omitzero"`
	Raw     []byte          `json:"raw,omitzero"`
	N       int             `json:"n,omitzero"`
	Payload json.RawMessage `json:"payload,omitempty"`
}

// Env are the variables that make the test binary play the script; see [Main].
func (s Script) Env() map[string]string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("agenttest: script: %v", err))
	}
	// A program built with the race detector would else take a second to end.
	return map[string]string{scriptVar: string(raw), "GORACE": "atexit_sleep_ms=0"}
}

// Main is the body of TestMain of an adapter's tests: it plays the script and exits when the test binary was started as the
// program or as the shim of a cage, and otherwise sets [SecretVar] and calls run, which usually is goleak.VerifyTestMain.
func Main(m *testing.M, run func(*testing.M), dialects ...Dialect) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.ShimCommand {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	if raw, ok := os.LookupEnv(scriptVar); ok {
		var s Script
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		for _, d := range append(dialects, commands{}) {
			if d.Name() == s.Dialect {
				os.Exit(s.play(d, os.Stdin, os.Stdout, os.Stderr))
			}
		}
		fmt.Fprintf(os.Stderr, "no dialect %q\n", s.Dialect)
		os.Exit(95)
	}
	os.Setenv(SecretVar, "not for programs")
	run(m)
}

// play plays the script.
func (s Script) play(d Dialect, stdin io.Reader, stdout, stderr io.Writer) int {
	read, err := d.Greet(s, bufio.NewReader(stdin), stdout)
	if err != nil {
		fmt.Fprintln(stderr, "greet:", err)
		return 98
	}
	text := func(lines [][]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }
	progress := func(format string, args ...any) {
		stdout.Write(text(d.Lines(Step{Do: Say, Text: fmt.Sprintf(format, args...)})))
	}
	for _, step := range s.Steps {
		switch step.Do {
		case ReadStdin:
			n, err := read()
			if err != nil {
				return 98
			}
			progress("stdin %d", n)
		case IgnoreStdin:
		case AckMessage, RefuseMessage, Say, NameSession, Use, Escalate, Answer:
			if lines := d.Lines(step); len(lines) > 0 {
				stdout.Write(text(lines))
			}
		case CutAnswer:
			all := d.Lines(Step{Do: Answer, Payload: step.Payload})
			last := len(all) - 1
			all[last] = all[last][:len(all[last])-5]
			stdout.Write(bytes.Join(all, []byte("\n")))
		case BareAnswer:
			stdout.Write(bytes.Join(d.Lines(Step{Do: Answer, Payload: step.Payload}), []byte("\n")))
		case WriteOut:
			stdout.Write(step.Raw)
		case WriteErr:
			stderr.Write(step.Raw)
		case Flood:
			stdout.Write(bytes.Repeat(append(bytes.Repeat([]byte("x"), 99), '\n'), (step.N+99)/100))
		case LongLine:
			progress("%s", bytes.Repeat([]byte("x"), step.N))
		case Pause:
			time.Sleep(time.Duration(step.N) * time.Millisecond)
		case Hang:
			for {
				time.Sleep(time.Hour)
			}
		case Stubborn:
			signal.Ignore(syscall.SIGTERM)
		case Daemon:
			pid, err := daemon(stdout)
			if err != nil {
				return 97
			}
			progress("daemon %d", pid)
		case ShowEnviron:
			for _, pair := range os.Environ() {
				progress("env %s", pair)
			}
		case ShowDir:
			dir, _ := os.Getwd()
			progress("dir %s", dir)
		default:
			return 96
		}
	}
	return s.Exit
}

// daemon leaves a stubborn process in a session of its own, and returns when it has said that it will not end.
func daemon(stdout io.Writer) (int, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer r.Close()
	cmd := exec.CommandContext(context.Background(), os.Args[0]) // it outlives this program, that is its purpose
	script := Script{Steps: []Step{{Do: Stubborn}, {Do: WriteErr, Raw: []byte("!")}, {Do: Hang}}}
	cmd.Env = append(os.Environ(), scriptVar+"="+script.Env()[scriptVar])
	cmd.Stdout, cmd.Stderr = stdout, w
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return 0, err
	}
	if _, err := r.Read(make([]byte, 1)); err != nil {
		return 0, err
	}
	return cmd.Process.Pid, nil
}

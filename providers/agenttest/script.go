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
	"strings"
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
}

// Action is what one step does.
type Action string

// The actions. An adapter whose protocol has no form for one skips the case.
const (
	// ReadStdin reads standard input to its end and says "stdin N" as progress, N being the number of bytes.
	ReadStdin Action = "read_stdin"
	// AckMessage and RefuseMessage acknowledge; Text is the reason of a refusal.
	AckMessage    Action = "ack"
	RefuseMessage Action = "refuse"
	// Say is progress with Text.
	Say Action = "say"
	// NameSession names the session Text; Use reports N tokens and a hundredth of N dollars.
	NameSession Action = "session"
	Use         Action = "use"
	// Escalate and Answer carry Payload.
	Escalate Action = "escalate"
	Answer   Action = "answer"
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
func Main(m *testing.M, run func(*testing.M)) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.ShimCommand {
		os.Exit(sandbox.Main(os.Args[2:]))
	}
	if raw, ok := os.LookupEnv(scriptVar); ok {
		var s Script
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(99)
		}
		os.Exit(s.play(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Setenv(SecretVar, "not for programs")
	run(m)
}

// play plays the script in the protocol of providers/command.
func (s Script) play(stdin io.Reader, stdout, stderr io.Writer) int {
	out := bufio.NewWriter(stdout)
	say := func(v map[string]any) {
		raw, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		out.Write(append(raw, '\n'))
		out.Flush()
	}
	progress := func(format string, args ...any) {
		say(map[string]any{"event": "progress", "text": fmt.Sprintf(format, args...)})
	}
	for _, step := range s.Steps {
		switch step.Do {
		case ReadStdin:
			in, err := io.ReadAll(stdin)
			if err != nil {
				return 98
			}
			progress("stdin %d", len(in))
		case AckMessage:
			say(map[string]any{"event": "ack", "status": "accepted", "echoed_acceptance_criteria": []string{step.Text}})
		case RefuseMessage:
			say(map[string]any{"event": "ack", "status": "refused", "reason": step.Text})
		case Say:
			progress("%s", step.Text)
		case NameSession:
			say(map[string]any{"event": "session", "session": step.Text})
		case Use:
			say(map[string]any{"event": "usage", "tokens": step.N, "cost_usd": float64(step.N) / 100})
		case Escalate:
			say(map[string]any{"event": "escalation", "payload": step.Payload})
		case Answer:
			say(map[string]any{"event": "final", "payload": step.Payload})
		case WriteOut:
			out.Write(step.Raw)
			out.Flush()
		case WriteErr:
			stderr.Write(step.Raw)
		case Flood:
			for n := 0; n < step.N; n += 100 {
				fmt.Fprintln(out, strings.Repeat("x", 99))
			}
			out.Flush()
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

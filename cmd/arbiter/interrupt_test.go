package main

import (
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stuck is a standard input on which nothing ever comes. It tells once that somebody waits there.
type stuck struct{ asked chan struct{} }

func (s stuck) Read([]byte) (int, error) {
	close(s.asked)
	select {}
}

// Ctrl-C ends whatever waits for standard input, at once and with the code of the shell.
func TestInterrupt_stdin(t *testing.T) { // the signal goes to the whole process: no test beside it
	sandboxed(t)
	for _, args := range []string{
		"validate -", "validate --format sacp -", "validate --json -", "parse -", "parse --format berrys -", "parse --format agentmessage -",
		"message submit -", "task new -f -", "journal import -",
	} {
		t.Run(args, func(t *testing.T) {
			in, code := stuck{make(chan struct{})}, make(chan int, 1)
			var out, errs bytes.Buffer
			go func() { code <- run(strings.Fields(args), in, &out, &errs) }()
			select {
			case <-in.asked:
			case got := <-code:
				t.Fatalf("it ended with %d before it read\n%s%s", got, &out, &errs)
			}
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			select {
			case got := <-code:
				if got != exitInterrupted || !strings.Contains(errs.String(), "interrupted") || out.Len() > 0 {
					t.Errorf("code %d, want %d\n%s%s", got, exitInterrupted, &out, &errs)
				}
			case <-time.After(5 * time.Second):
				t.Fatal("it waits on")
			}
		})
	}
}

package main

import (
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// self makes the test binary the program itself, see TestMain.
func self(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), "ARBITER_TEST_SELF=1", "TERM=xterm-256color")
	return cmd
}

// In a terminal that answers no question --version must not wait: asking for the background colour would cost five seconds.
func TestVersion_muteTerminal(t *testing.T) {
	median := func(once func() (string, error)) time.Duration {
		var took []time.Duration
		for range 5 {
			begin := time.Now()
			out, err := once()
			took = append(took, time.Since(begin))
			if err != nil || !strings.HasPrefix(out, "arbiter ") || strings.Contains(out, "\x1b") {
				t.Fatalf("--version printed %q, %v", out, err)
			}
		}
		slices.Sort(took)
		return took[2]
	}
	piped := median(func() (string, error) {
		out, err := self(t, "--version").Output()
		return string(out), err
	})
	mute := median(func() (string, error) {
		cmd := self(t, "--version")
		f, err := pty.Start(cmd)
		if err != nil {
			return "", err
		}
		defer f.Close()
		out, _ := io.ReadAll(f) // ends with an error when the program closes the terminal
		return string(out), cmd.Wait()
	})
	if limit := 20*piped + 500*time.Millisecond; mute > limit {
		t.Errorf("--version took %v in a mute terminal and %v in a pipe, limit %v", mute, piped, limit)
	}
}

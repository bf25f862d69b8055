package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"arbiter/tui/tuitest"
)

// BenchmarkFirstFrame starts the real program in a terminal of 200x50 on the data directory of ARBITER_BENCH_HOME, whose coordinator
// runs, and reports the time to the first frame, to the frame with the board, and the memory that is resident then.
func BenchmarkFirstFrame(b *testing.B) {
	home := os.Getenv("ARBITER_BENCH_HOME")
	if home == "" {
		b.Skip("ARBITER_BENCH_HOME names no data directory")
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	var first, whole time.Duration
	resident, n := 0, 0
	for b.Loop() {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "ARBITER_TEST_SELF=1", "ARBITER_HOME="+home, "XDG_STATE_HOME="+b.TempDir(), "TERM=xterm-256color", "LC_ALL=C.UTF-8")
		began := time.Now()
		p := tuitest.Exec(b, cmd, 200, 50)
		p.Wait(b, "the first frame", nil, func(text string) bool { return strings.Contains(text, "ARBITER") })
		first += time.Since(began)
		p.Wait(b, "the board", nil, func(text string) bool { return strings.Contains(text, "● live") })
		whole += time.Since(began)
		resident, n = max(resident, residentKB(b, cmd.Process.Pid)), n+1
		if err := cmd.Process.Kill(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(first.Milliseconds())/float64(n), "first-frame-ms")
	b.ReportMetric(float64(whole.Milliseconds())/float64(n), "board-ms")
	b.ReportMetric(float64(resident)/1024, "resident-MB")
}

// residentKB is the most memory that a process has had so far, 0 where the system does not say.
func residentKB(b *testing.B, pid int) (kb int) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				b.Fatal(err)
			}
		}
	}
	return kb
}

package agenttest

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"arbiter/amp"
	"arbiter/providers"
	"arbiter/providers/sandbox"
)

// Overhead measures a turn against its program alone. The program plays a script of 200 lines of progress and a good answer; prompt is what it
// reads, in the form of its protocol. The benchmark reports the time of a turn as a multiple of that of the program, free and in a cage.
func (a *Adapter) Overhead(b *testing.B, prompt string) {
	b.Helper()
	for _, mode := range []sandbox.Mode{sandbox.Off, sandbox.Bubblewrap} {
		b.Run(string(mode), func(b *testing.B) {
			if _, err := mode.Works(); err != nil {
				b.Skipf("NOT MEASURED, since %v", err)
			}
			a.overhead(b, mode, prompt)
		})
	}
}

func (a *Adapter) overhead(b *testing.B, mode sandbox.Mode, prompt string) {
	script := Script{Dialect: a.Dialect}
	for range 200 {
		script.Steps = append(script.Steps, Step{Do: Say, Text: "a line of progress"})
	}
	script.Steps = append(script.Steps, Step{Do: Answer, Payload: json.RawMessage(`{"a":1}`)})
	agent := a.Fake(b, script, mode)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	turn := providers.Turn{
		ID: "overhead", Task: "T-2026-001", Role: amp.Executor, Epoch: 1, Dir: b.TempDir(), Home: b.TempDir(),
		Message: json.RawMessage(`{"type":"task_dispatch","payload":{"acceptance_criteria":["it works"]}}`),
	}
	var alone, whole, first, last time.Duration
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), self)
		cmd.Stdin = strings.NewReader(prompt)
		cmd.Env = os.Environ()
		for name, value := range script.Env() {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		began := time.Now()
		if out, err := cmd.Output(); err != nil || len(out) == 0 {
			b.Fatalf("the program alone: %v, %d bytes", err, len(out))
		}
		alone += time.Since(began)

		began = time.Now()
		var heard time.Time
		_, err := agent.Run(b.Context(), turn, func(e providers.Event) {
			if e.Type == providers.EventStarted {
				first += time.Since(began)
			}
			heard = time.Now()
		})
		if err != nil {
			b.Fatal(err)
		}
		whole, last = whole+time.Since(began), last+time.Since(heard)
	}
	b.ReportMetric(float64(whole)/float64(alone), "times-alone")
	b.ReportMetric(float64(first)/float64(alone), "start/alone")
	b.ReportMetric(float64(last)/float64(alone), "end/alone")
}

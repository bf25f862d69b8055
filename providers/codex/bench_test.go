package codex

import (
	"os"
	"testing"

	"arbiter/providers"
	"arbiter/providers/agenttest"
	"arbiter/providers/program"
	"arbiter/providers/sandbox"
)

// BenchmarkTurn is what a turn takes beside its program, without a cage and in one.
func BenchmarkTurn(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	server := `{"id":1,"method":"initialize"}` + "\n" + `{"id":3,"method":"thread/start"}` + "\n" + `{"id":4,"method":"turn/start"}` + "\n"
	for name, bench := range map[string]struct {
		mode   Mode
		cage   sandbox.Mode
		prompt string
	}{
		"exec": {ModeExec, sandbox.Off, "do it"}, "app-server": {ModeServer, sandbox.Off, server}, "app-server caged": {ModeServer, sandbox.Bubblewrap, server},
	} {
		b.Run(name, func(b *testing.B) {
			if _, err := bench.cage.Works(); err != nil {
				b.Skipf("NOT MEASURED, since %v", err)
			}
			agenttest.Overhead(b, agenttest.Script{Dialect: string(bench.mode)}, []byte(bench.prompt), func(s agenttest.Script) (providers.Agent, error) {
				leash := sandbox.Leash{Mode: bench.cage, Model: sandbox.Model{URL: "http://127.0.0.1:9/v1"}}
				return New(Config{Mode: bench.mode, Config: program.Config{Program: self, Leash: leash, Env: s.Env()}})
			})
		})
	}
}

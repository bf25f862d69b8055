package codex

import "testing"

// BenchmarkTurn is what a turn takes beside its program, free and in a cage.
func BenchmarkTurn(b *testing.B) {
	server := `{"id":1,"method":"initialize"}` + "\n" + `{"id":3,"method":"thread/start"}` + "\n" + `{"id":4,"method":"turn/start"}` + "\n"
	for mode, prompt := range map[Mode]string{ModeExec: "do it", ModeServer: server} {
		b.Run(string(mode), func(b *testing.B) { adapterOf(mode).Overhead(b, prompt) })
	}
}

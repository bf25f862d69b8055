package acp

import "testing"

// BenchmarkTurn is what a turn takes beside its program, free and in a cage.
func BenchmarkTurn(b *testing.B) {
	adapter.Overhead(b, `{"id":1,"method":"initialize"}`+"\n"+`{"id":3,"method":"session/new"}`+"\n"+`{"id":100,"method":"session/prompt"}`+"\n")
}

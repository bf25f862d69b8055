package gemini

import "testing"

// BenchmarkTurn is what a turn takes beside its program, free and in a cage.
func BenchmarkTurn(b *testing.B) { adapter.Overhead(b, "do it") }

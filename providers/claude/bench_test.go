package claude

import "testing"

// BenchmarkTurn is what a turn takes beside its program, free and in a cage.
func BenchmarkTurn(b *testing.B) {
	adapter.Overhead(b, `{"type":"control_request","request_id":"1"}`+"\n"+`{"type":"user"}`+"\n")
}

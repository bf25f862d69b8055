package coordinator

import (
	"slices"
	"sync"

	"arbiter/amp"
)

// recent holds the last entries of the journal, so that those who follow at its end take them from here and do not each read them from the store.
// The bodies are shared.
type recent struct {
	mu      sync.Mutex
	entries []amp.Entry // without gaps
	bytes   int
}

// The bounds of what is held.
const (
	recentEntries = 2048
	recentBytes   = 8 << 20
)

// keep adds the entry that was stored last.
func (r *recent) keep(e amp.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n := len(r.entries); n > 0 && r.entries[n-1].Seq+1 != e.Seq {
		r.entries, r.bytes = nil, 0
	}
	r.entries = append(r.entries, e)
	r.bytes += len(e.Body)
	drop := 0
	for len(r.entries)-drop > recentEntries || r.bytes > recentBytes {
		r.bytes -= len(r.entries[drop].Body)
		drop++
	}
	clear(r.entries[:drop]) // their bodies are let go
	r.entries = r.entries[drop:]
}

// after are at most n entries after a seq, none beyond head; none at all where the first of them is not held.
func (r *recent) after(seq, head uint64, n int) []amp.Entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) == 0 || seq+1 < r.entries[0].Seq {
		return nil
	}
	first := r.entries[0].Seq
	from, to := seq+1-first, min(head+1-first, uint64(len(r.entries)), seq+1-first+uint64(n))
	if from >= to {
		return nil
	}
	return slices.Clone(r.entries[from:to])
}

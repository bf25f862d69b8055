package ssot

import (
	"context"
	"io"

	"arbiter/amp"
)

// Snapshot is the JSON form of an [amp.Board], which a store keeps in pieces and need not decode to hand it on.
type Snapshot struct {
	// Head is that of the board.
	Head amp.Head
	// parts are at most snapshotPart long, so that none is ever copied to grow.
	parts [][]byte
}

const snapshotPart = 1 << 20

// Write adds to the snapshot.
func (s *Snapshot) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		last := len(s.parts) - 1
		if last < 0 || len(s.parts[last]) == cap(s.parts[last]) {
			s.parts = append(s.parts, make([]byte, 0, snapshotPart))
			continue
		}
		n := min(len(rest), cap(s.parts[last])-len(s.parts[last]))
		s.parts[last] = append(s.parts[last], rest[:n]...)
		rest = rest[n:]
	}
	return len(p), nil
}

// WriteTo writes the board as [amp.EncodeBody] does.
func (s *Snapshot) WriteTo(w io.Writer) (n int64, err error) {
	for _, p := range s.parts {
		k, err := w.Write(p)
		if n += int64(k); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Snapshotter is a Log that knows the JSON form of its board.
type Snapshotter interface {
	// Snapshot is the fold of all entries at the head; nil when it has to be folded first.
	Snapshot(ctx context.Context) (*Snapshot, error)
}

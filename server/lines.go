package server

import (
	"sync"

	"arbiter/amp"
)

// lines are the last entries as JSON, so that those who follow at the end of the journal have each entry written once for all of them.
type lines struct {
	mu    sync.Mutex
	by    [1024]line // by seq modulo its length
	bytes int
}

type line struct {
	seq  uint64
	hash amp.Hash
	data []byte
}

// maxLines bounds the bytes that are held.
const maxLines = 8 << 20

// of is an entry as JSON, which is shared: it stays as it is. Older entries than those that are held take no place from them.
func (l *lines) of(e *amp.Entry) ([]byte, error) {
	l.mu.Lock()
	at := &l.by[e.Seq%uint64(len(l.by))]
	if at.data != nil && at.seq == e.Seq && at.hash == e.Hash {
		defer l.mu.Unlock()
		return at.data, nil
	}
	l.mu.Unlock()
	data, err := e.MarshalJSON()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(data) > maxLines/8 || at.seq > e.Seq {
		return data, nil
	}
	if l.bytes+len(data)-len(at.data) > maxLines {
		clear(l.by[:])
		l.bytes = 0
	}
	l.bytes += len(data) - len(at.data)
	*at = line{e.Seq, e.Hash, data}
	return data, nil
}

package sqlite

import (
	"testing"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
)

// The writer keeps tasks up to so many bytes, those that just changed before others.
func TestTables_bound(t *testing.T) {
	t.Parallel()
	p := newTables(nil)
	const each = cacheBytes / 8
	hold := func(n int) {
		id := ssottest.Task(n)
		p.board.Tasks[id], p.acks[id] = &amp.Task{ID: id}, nil
		p.sized(id, each)
	}
	for n := range 8 {
		hold(n)
	}
	p.wrote()
	if len(p.board.Tasks) != 8 || p.bytes != cacheBytes {
		t.Errorf("%d tasks of %d bytes are kept, there is room for them", len(p.board.Tasks), p.bytes)
	}
	hold(8)
	p.complete = true
	p.dirty[ssottest.Task(3)], p.dirty[ssottest.Task(8)] = struct{}{}, struct{}{}
	p.sized(ssottest.Task(3), each/2)
	p.wrote()
	if len(p.board.Tasks) != 2 || p.board.Tasks[ssottest.Task(3)] == nil || p.board.Tasks[ssottest.Task(8)] == nil {
		t.Errorf("kept are %v, want those that changed", p.board.Tasks)
	}
	if p.bytes != each+each/2 || len(p.sizes) != 2 || len(p.acks) != 2 || p.complete {
		t.Errorf("%d bytes are counted of %d tasks, %d with ACKs; complete is %v", p.bytes, len(p.sizes), len(p.acks), p.complete)
	}
}

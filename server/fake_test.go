package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"arbiter/amp"
)

// fake is a Coordinator of function fields; a nil field is a test that asks for what it did not prepare.
type fake struct {
	submit  func(amp.Command) (amp.Entry, error)
	receive func(amp.Received) (amp.Receipt, error)
	query   func(amp.Query) (amp.Page, error)
	follow  func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error
}

func (f *fake) Submit(_ context.Context, c amp.Command) (amp.Entry, error) { return f.submit(c) }
func (f *fake) Receive(_ context.Context, r amp.Received) (amp.Receipt, error) {
	return f.receive(r)
}
func (f *fake) Query(_ context.Context, q amp.Query) (amp.Page, error) { return f.query(q) }
func (f *fake) Follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	return f.follow(ctx, after, batch)
}

// chain is a journal of n entries.
func chain(n int) []amp.Entry {
	var head amp.Head
	entries := make([]amp.Entry, n)
	for i := range entries {
		entries[i] = head.Chain(amp.Record{
			Kind: amp.KindCommand, TaskID: "T-2026-001", Role: amp.Admin, Actor: "mira",
			At: time.UnixMilli(1790000000000 + int64(i)).UTC(), ID: fmt.Sprintf("c%d", i), Body: fmt.Appendf(nil, "{\n \"i\": %d}", i),
		})
		head = amp.Head{Seq: entries[i].Seq, Hash: entries[i].Hash}
	}
	return entries
}

// journal is a Follow over fixed entries that ends the stream after every cut entries and notes where each stream began.
type journal struct {
	entries []amp.Entry
	cut     int
	mu      sync.Mutex
	begun   []uint64
}

func (j *journal) follow(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
	j.mu.Lock()
	j.begun = append(j.begun, after)
	j.mu.Unlock()
	end := min(int(after)+j.cut, len(j.entries))
	for i := int(after); i < end; i += 3 {
		if err := batch(j.entries[i:min(i+3, end)]); err != nil {
			return err
		}
	}
	if end == len(j.entries) {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

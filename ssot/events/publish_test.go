package events

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"arbiter/amp"
)

// Many receivers at the end of the journal cost as many reads of it as one.
func TestPublisher_derivesOnce(t *testing.T) {
	t.Parallel()
	f := newFeed()
	life(f, t, 1)
	var reads atomic.Int64
	count := func(ctx context.Context, filter amp.Filter) ([]amp.Entry, error) {
		reads.Add(1)
		return f.Read(ctx, filter)
	}
	want := len(wanted(t, f))
	enough := errors.New("enough")
	cost := func(receivers int) int64 {
		reads.Store(0)
		p := NewPublisher(count, f.follow)
		begin := make(chan struct{})
		var wg sync.WaitGroup
		lines := make([][]byte, receivers)
		for i := range receivers {
			wg.Go(func() {
				<-begin
				got := 0
				err := p.Subscribe(t.Context(), Position{}, nil, func(all []Delivery, _ Position) error {
					got += len(all)
					if lines[i] == nil && len(all) > 0 {
						lines[i], _ = all[0].Encode()
					}
					if got < want {
						return nil
					}
					return enough
				})
				if !errors.Is(err, enough) || got != want {
					t.Errorf("%d events, %v; want %d", got, err, want)
				}
			})
		}
		close(begin)
		wg.Wait()
		for _, line := range lines {
			if &line[0] != &lines[0][0] {
				t.Error("an event was written for each receiver by itself")
			}
		}
		return reads.Load()
	}
	if one, many := cost(1), cost(50); many > one {
		t.Errorf("%d reads for one receiver, %d for fifty", one, many)
	}
}

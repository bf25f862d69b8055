package events

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
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

// A panic while an entry is derived is an error to whoever asked, is said with where it was, and harms nothing that comes after it.
func TestPublisher_fault(t *testing.T) {
	t.Parallel()
	f := newFeed()
	life(f, t, 1)
	var broken atomic.Bool
	broken.Store(true)
	p := NewPublisher(func(ctx context.Context, filter amp.Filter) ([]amp.Entry, error) {
		if broken.Load() {
			panic("half of it is folded")
		}
		return f.Read(ctx, filter)
	}, f.follow)
	var log bytes.Buffer
	p.Logger = slog.New(slog.NewTextHandler(&log, nil))
	got, want := 0, len(wanted(t, f))
	enough := errors.New("enough")
	take := func(all []Delivery, _ Position) error {
		if got += len(all); got < want {
			return nil
		}
		return enough
	}
	if err := p.Subscribe(t.Context(), Position{}, nil, take); err == nil || errors.Is(err, enough) {
		t.Errorf("Subscribe = %v", err)
	}
	if said := log.String(); !strings.Contains(said, "half of it is folded") || !strings.Contains(said, "publish_test.go") {
		t.Errorf("the log says\n%s", said)
	}
	broken.Store(false)
	got = 0
	if err := p.Subscribe(t.Context(), Position{}, nil, take); !errors.Is(err, enough) || got != want {
		t.Errorf("after that: %d events, %v; want %d", got, err, want)
	}
}

package sqlite

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// The index waits while the writer is busy, never for long, never far behind, and not when somebody waits for it.
func TestIndex_gather(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		each    uint64 // entries in a pause
		lasts   time.Duration
		waiting bool
		want    time.Duration
	}{
		"one":        {each: 1, lasts: time.Millisecond, want: indexPause},
		"few":        {each: indexBusy / 3, lasts: time.Minute, want: indexPause},
		"burst":      {each: 2 * indexBusy, lasts: 5 * indexPause, want: 6 * indexPause},
		"busy":       {each: 10 * indexBusy, lasts: time.Minute, want: indexLong},
		"far":        {each: indexFar / 4, lasts: time.Minute, want: 3 * indexPause},
		"waited for": {each: 2 * indexBusy, lasts: time.Minute, waiting: true, want: indexPause},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				x := newLog(t.TempDir()).index
				if c.waiting {
					x.waiting.Add(1)
				}
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				start := time.Now()
				go func() {
					defer close(done)
					for n := uint64(0); time.Since(start) < c.lasts; {
						n += c.each
						x.grown(n)
						select {
						case <-ctx.Done():
							return
						case <-time.After(indexPause - time.Nanosecond):
						}
					}
				}()
				if err := x.gather(ctx, 0); err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took < c.want-indexPause/2 || took > c.want+indexPause/2 {
					t.Errorf("indexed after %v, want %v", took, c.want)
				}
				stop()
				<-done
			})
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := newLog(t.TempDir()).index.gather(ctx, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

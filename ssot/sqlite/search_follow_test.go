package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"arbiter/amp"
	"arbiter/ssot/ssottest"
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

// However large entries are, few of them are in memory at once while they are indexed.
func TestIndex_largeEntries(t *testing.T) {
	t.Parallel()
	log, err := Open(t.Context(), t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}()
	const n, size = 3*indexBytes/(1<<20) + 5, 1 << 20
	for i := range n {
		body := bytes.Repeat(fmt.Appendf(nil, "word%d ", i), size/6+1)[:size]
		if _, err := log.Append(t.Context(), []amp.Record{ssottest.Raw(fmt.Sprint("large", i), "", body)}); err != nil {
			t.Fatal(err)
		}
	}
	for after := uint64(0); after < n; {
		batch, more, err := log.index.next(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 || len(batch) > indexBytes/size || more != (len(batch) == indexBytes/size) || batch[0].Seq != after+1 {
			t.Fatalf("%d entries of %d bytes together behind entry %d, more: %v", len(batch), size, after, more)
		}
		after = batch[len(batch)-1].Seq
	}
	if err := log.Index(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := log.Find(t.Context(), ssottest.Search(t, fmt.Sprint("word", n-1)))
	if err != nil || found.Count != 1 {
		t.Errorf("%d found, %v", found.Count, err)
	}
}

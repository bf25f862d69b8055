package ssot

import (
	"context"
	"fmt"
	"sync"

	"arbiter/amp"
)

// pages calls f with the pages of what a filter selects, ascending, and reads the next one meanwhile. An error of f ends it.
func pages(ctx context.Context, log Log, q amp.Filter, f func([]amp.Entry) error) error {
	type answer struct {
		page []amp.Entry
		err  error
	}
	ctx, stop := context.WithCancel(ctx)
	next := make(chan answer)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		defer close(next)
		for {
			page, err := log.Read(ctx, q)
			if err != nil {
				err = fmt.Errorf("read the journal after entry %d: %w", q.After, err)
			}
			select {
			case next <- answer{page, err}:
			case <-ctx.Done():
				return
			}
			if err != nil || len(page) < Limit(&q) {
				return
			}
			q.After = page[len(page)-1].Seq
		}
	})
	for a := range next {
		if a.err != nil {
			return a.err
		}
		if err := f(a.page); err != nil {
			return err
		}
	}
	return ctx.Err()
}

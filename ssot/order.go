package ssot

import (
	"context"
	"runtime"
	"sync"
)

// InOrder calls work for each block that next returns, on as many processors as there are, up to four, and done for each of them in
// the order of next, when its work is done. next is called from one goroutine, done from the caller's, whose error ends it; a few
// blocks are under way at any time. It returns when no call is under way any more.
func InOrder[B any](ctx context.Context, next func() (block *B, more bool), work func(*B), done func(*B) error) error {
	type job struct {
		block *B
		ready chan struct{}
	}
	ctx, stop := context.WithCancel(ctx)
	workers := min(runtime.GOMAXPROCS(0), 4)
	order, todo := make(chan job, workers), make(chan job)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() {
		defer close(order)
		defer close(todo)
		for {
			b, more := next()
			if !more {
				return
			}
			j := job{b, make(chan struct{})}
			for _, to := range []chan job{order, todo} {
				select {
				case to <- j:
				case <-ctx.Done():
					return
				}
			}
		}
	})
	for range workers {
		wg.Go(func() {
			for j := range todo {
				work(j.block)
				close(j.ready)
			}
		})
	}
	for j := range order {
		select {
		case <-j.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := done(j.block); err != nil {
			return err
		}
	}
	return ctx.Err()
}

package ssot_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"arbiter/ssot"
)

func TestInOrder(t *testing.T) {
	t.Parallel()
	stop := errors.New("stop")
	for name, c := range map[string]struct{ blocks, stopAt int }{"none": {0, -1}, "one": {1, -1}, "many": {1000, -1}, "stopped": {1000, 500}, "stopped_at_first": {5, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, seen := 0, 0
			var under atomic.Int32
			err := ssot.InOrder(t.Context(), func() (*[2]int, bool) {
				n++
				return &[2]int{n - 1, 0}, n <= c.blocks
			}, func(b *[2]int) {
				under.Add(1)
				b[1] = b[0] * b[0]
				under.Add(-1)
			}, func(b *[2]int) error {
				if b[0] != seen || b[1] != seen*seen {
					t.Errorf("block %v comes as number %d", *b, seen)
				}
				if seen == c.stopAt {
					return stop
				}
				seen++
				return nil
			})
			if c.stopAt >= 0 && !errors.Is(err, stop) || c.stopAt < 0 && (err != nil || seen != c.blocks) || under.Load() != 0 {
				t.Errorf("%d of %d blocks, %v, %d under way", seen, c.blocks, err, under.Load())
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ssot.InOrder(ctx, func() (*int, bool) { return new(int), true }, func(*int) {}, func(*int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
}

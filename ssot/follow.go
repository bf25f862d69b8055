package ssot

import (
	"context"
	"fmt"

	"arbiter/amp"
)

// Follow hands the entries after a position to batch, in order and without gaps, as they are appended: at most [MaxPage] in one
// call. It reads once at the start and again after each value on wake; a value may stand for any number of appends, and a wake
// without one costs one read. It returns nil when wake was closed and everything appended before was handed on, and otherwise
// the context's error, the first error of batch, or the log's.
//
// A follower that dies starts again after the last seq that it dealt with: facts are read from the journal, so a slow or dead
// follower holds up nobody and misses nothing.
func Follow(ctx context.Context, log Log, after uint64, wake <-chan struct{}, batch func([]amp.Entry) error) error {
	for open := true; ; {
		page, err := log.Read(ctx, amp.Filter{After: after})
		if err != nil {
			return fmt.Errorf("follow the journal after %d: %w", after, err)
		}
		if len(page) > 0 {
			if page[0].Seq != after+1 || page[len(page)-1].Seq != after+uint64(len(page)) {
				return fmt.Errorf("follow the journal after %d: entries %d to %d came, which leaves a gap", after, page[0].Seq,
					page[len(page)-1].Seq)
			}
			if err := batch(page); err != nil {
				return err
			}
			after += uint64(len(page))
		}
		if len(page) == MaxPage {
			continue
		}
		if !open {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case _, open = <-wake:
		}
	}
}

package audit

import (
	"context"
	"log/slog"
	"time"

	"arbiter/amp"
)

// FollowFunc hands on the entries of a journal after a position as they come, until ctx or the journal ends, which is no error, or batch
// fails.
type FollowFunc func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error

// retry is how long a trouble is left alone.
const retry = 30 * time.Second

// Run writes the daily logs of a data directory until ctx or the journal ends. It ends nothing else: what cannot be written is said to the
// logger and tried again, and nothing is lost by then.
func Run(ctx context.Context, home string, follow FollowFunc, logger *slog.Logger) {
	for {
		err := write(ctx, home, follow)
		if err == nil || ctx.Err() != nil {
			return
		}
		logger.Error("the daily log of the planning chain is not written", "err", err, "again_in", retry)
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
	}
}

func write(ctx context.Context, home string, follow FollowFunc) error {
	w, err := Open(home)
	if err != nil {
		return err
	}
	return follow(ctx, w.After(), w.Take)
}

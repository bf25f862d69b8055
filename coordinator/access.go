package coordinator

import (
	"context"
	"time"

	"arbiter/amp"
)

// NoteAccess writes down that by gave somebody outside the right to take part, or took it back. It changes no task.
func (c *Coordinator) NoteAccess(ctx context.Context, by string, a amp.Access) error {
	_, err := c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
		return []amp.Record{c.record(amp.KindBus, "", amp.Admin, by, now, a)}, nil
	})
	return err
}

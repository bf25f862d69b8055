package coordinator

import (
	"context"
	"fmt"
	"time"

	"arbiter/amp"
)

// NoteBus stores facts of the AgentMessage bus, and what it refused, in their order and all at once. They belong to no task and change none.
func (c *Coordinator) NoteBus(ctx context.Context, records []amp.Record) error {
	for i := range records {
		if r := &records[i]; r.TaskID != "" || r.Kind != amp.KindBus && r.Kind != amp.KindRefusal {
			return fmt.Errorf("note a %s of task %q: it is none of the bus's facts", r.Kind, r.TaskID)
		}
	}
	appended, err := c.call(ctx, fromClient, "", func(time.Time) ([]amp.Record, error) { return records, nil })
	if err != nil {
		return err
	}
	for _, a := range appended {
		if a.Err != nil {
			return a.Err
		}
	}
	return nil
}

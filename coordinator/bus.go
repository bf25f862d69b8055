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

// Ended are those of these tasks that have ended, for a host of agents that asks what it may remove. A task counts when repository and base are
// those of the space, too: another coordinator's task can have the same id.
func (c *Coordinator) Ended(ctx context.Context, spaces []amp.Workspace) (ended []amp.TaskID, err error) {
	err = c.view(ctx, func(b *amp.Board) {
		for _, w := range spaces {
			t := b.Task(w.TaskID)
			if t == nil || !t.Status.Ended() {
				continue
			}
			if own := t.Workspace(); own.Repo == w.Repo && own.BaseCommit == w.BaseCommit {
				ended = append(ended, w.TaskID)
			}
		}
	})
	return ended, err
}

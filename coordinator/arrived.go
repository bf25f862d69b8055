package coordinator

import (
	"context"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// Arrive keeps an event of somebody else, once: the same id with the same bytes changes nothing, with other bytes it is
// [ssot.ErrConflict]. It moves no task and starts nothing.
func (c *Coordinator) Arrive(ctx context.Context, by string, a amp.Arrived) (entry amp.Entry, fresh bool, err error) {
	a.Event = amp.EventReceived
	r := amp.Record{Kind: amp.KindBus, Role: amp.System, Actor: by, ID: "event/" + a.ID, Body: amp.EncodeBody(a)}
	c.arriving.Lock() // two with one id are never judged before either is stored
	defer c.arriving.Unlock()
	appended, err := c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
		stored, err := c.cfg.Log.Read(ctx, amp.Filter{ID: r.ID, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(stored) > 0 {
			if entry = stored[0]; !ssot.Same(&entry, &r) {
				return nil, fmt.Errorf("event %s: %w", a.ID, ssot.ErrConflict)
			}
			return nil, nil
		}
		r.At = now
		return []amp.Record{r}, nil
	})
	if err != nil || len(appended) == 0 {
		return entry, false, err
	}
	return appended[0].Entry, appended[0].Fresh, appended[0].Err
}

// Refuse writes what was refused to the error log, and returns it as a [*amp.RefusedError] with the entry's seq.
func (c *Coordinator) Refuse(ctx context.Context, by string, r amp.Refusal) error {
	appended, err := c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
		return []amp.Record{c.refuse(now, amp.System, by, r)}, nil
	})
	if err != nil {
		return err
	}
	refused := &amp.RefusedError{What: r.What, Problems: r.Problems}
	if len(appended) > 0 {
		refused.Seq = appended[0].Entry.Seq
	}
	return refused
}

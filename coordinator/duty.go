package coordinator

import (
	"context"
	"strings"
	"time"

	"arbiter/amp"
	"arbiter/ssot"
)

// dutyMark marks the lease of something that one coordinator does for all. No task has an id like that.
const dutyMark = "#"

// Duty runs work until ctx ends, at one coordinator of the team at a time: at the one that holds the lease of this name. The others stand by,
// and one of them begins when that one ends, or is gone for as long as a lease lasts. The context of work ends with the lease; work has to
// return then, and may begin anew later. What it keeps to itself the next one does not know. A coordinator that writes alone just runs it.
func (c *Coordinator) Duty(ctx context.Context, name string, work func(ctx context.Context)) {
	if c.team == nil {
		work(ctx)
		return
	}
	id := amp.TaskID(dutyMark + name)
	for ctx.Err() == nil {
		if h := c.team.takeDuty(ctx, id); h != nil {
			c.cfg.Logger.Info("this coordinator does this for the team now", "duty", name)
			bounded, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(h.ctx, cancel)
			work(bounded)
			stop()
			cancel()
			c.team.leave(id)
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.team.ttl / 3):
		}
	}
}

// maxLooked is how many pages of entries are looked through for how far a duty came.
const maxLooked = 20

// NoteReached writes down how far a duty came.
func (c *Coordinator) NoteReached(ctx context.Context, r amp.Reached) error {
	r.Event = amp.DutyReached
	_, err := c.call(ctx, fromClient, "", func(now time.Time) ([]amp.Record, error) {
		return []amp.Record{c.record(amp.KindBus, "", amp.System, c.cfg.Owner, now, r)}, nil
	})
	return err
}

// Reached is how far a duty came by what was written down last, zero when nothing was, or so long ago that it is not looked for.
func (c *Coordinator) Reached(ctx context.Context, duty string) (r amp.Reached, err error) {
	f := amp.Filter{Kinds: []amp.Kind{amp.KindBus}, Newest: true, Limit: ssot.MaxPage}
	for range maxLooked {
		page, err := c.lookUp(ctx, f)
		if err != nil || len(page) == 0 {
			return r, err
		}
		for i := range page {
			if got, err := amp.DecodeBody[amp.Reached](&page[i]); err == nil && got.Event == amp.DutyReached && got.Duty == duty {
				return got, nil
			}
		}
		f.Before = page[len(page)-1].Seq
	}
	return r, nil
}

// takeDuty takes the lease of a duty, nil when another coordinator has it or the store does not answer.
func (m *team) takeDuty(ctx context.Context, id amp.TaskID) *tenure {
	ctx, cancel := context.WithTimeout(ctx, m.ttl/3)
	defer cancel()
	sent := time.Now()
	got, err := m.log.Take(ctx, m.owner, m.ttl, 1, []amp.TaskID{id})
	if err != nil || len(got) == 0 {
		return nil
	}
	m.enter(got, sent, time.Now())
	return m.tenure(id)
}

// duties are what coordinators do for the team, as last seen; the caller holds mu.
func (m *team) duties(owner string) (names []string) {
	for _, l := range m.seen {
		if name, is := strings.CutPrefix(string(l.Task), dutyMark); is && l.Owner == owner {
			names = append(names, name)
		}
	}
	return names
}

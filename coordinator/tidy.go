package coordinator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"arbiter/amp"
)

// askEvery is how many rounds of tidying there are to one in which the remotes are asked too: what was passed on when its task had
// ended already, by a machine that stood still or was killed meanwhile, may have left no trace here.
const askEvery = 5

// tidy removes what ended tasks left at the remote and on this machine, also those that ended on another one, until ctx ends.
func (c *Coordinator) tidy(ctx context.Context) {
	p := c.passer()
	if p == nil {
		return
	}
	said := ""
	for n := 0; ; n++ {
		err := c.tidyOnce(ctx, p, n%askEvery == 0)
		switch {
		case err == nil:
			said = ""
		case ctx.Err() == nil && err.Error() != said:
			said = err.Error()
			c.cfg.Logger.Warn("what ended tasks left stays for now", "remote", p.Remote(), "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(2 * c.team.ttl):
		}
	}
}

// tidyOnce looks for what is left of tasks, and removes it where they have ended.
func (c *Coordinator) tidyOnce(ctx context.Context, p Passer, ask bool) error {
	repos, over := map[string]bool{}, false
	err := c.view(ctx, func(b *amp.Board) {
		for _, id := range b.Order {
			t := b.Task(id)
			if w := t.Workspace(); w.BaseCommit != "" {
				repos[w.Repo] = true
				over = over || t.Status.Ended()
			}
		}
	})
	if err != nil || !over {
		return err
	}
	left, failed := p.Left(ctx, slices.Sorted(maps.Keys(repos)), ask)
	var ended []amp.Workspace
	err = c.view(ctx, func(b *amp.Board) {
		for _, id := range left {
			t := b.Task(id)
			if t == nil || !t.Status.Ended() || !t.Released && t.Round > 0 || c.busy(t) {
				continue
			}
			if w := t.Workspace(); w.BaseCommit != "" {
				ended = append(ended, w)
			}
		}
	})
	if err != nil || len(ended) == 0 {
		return errors.Join(failed, err)
	}
	return errors.Join(failed, p.Withdraw(ctx, ended))
}

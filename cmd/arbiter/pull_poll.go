package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/forge"
	"arbiter/ssot"
)

// pollEvery is how often open pull requests are asked for.
const pollEvery = time.Minute

// poller asks for what happened to open pull requests, where no webhook tells.
type poller struct {
	client *forge.Client
	coord  *coordinator.Coordinator
	every  time.Duration
	logger *slog.Logger
}

// newPoller is nil where webhooks tell, or no token is configured.
func newPoller(c *config, configDir string, coord *coordinator.Coordinator, logger *slog.Logger) (*poller, error) {
	if c.Hooks.github().keys() > 0 {
		return nil, nil
	}
	client, err := c.GitHub.client(configDir, logger)
	if client == nil || err != nil {
		return nil, err
	}
	return &poller{client: client, coord: coord, every: cmp.Or(time.Duration(c.GitHub.Poll), pollEvery), logger: logger}, nil
}

// run asks until ctx ends.
func (p *poller) run(ctx context.Context) {
	for wait := p.every; forge.Sleep(ctx, wait) == nil; {
		wait = p.every
		if err := p.pass(ctx); err != nil && ctx.Err() == nil {
			wait = forge.PollWait(err, p.every)
			p.logger.Warn("pull requests could not be asked for", "err", forge.Plain(err), "again_in", wait)
		}
	}
}

// pass asks once for each pull request that is open.
func (p *poller) pass(ctx context.Context) error {
	page, err := p.coord.Query(ctx, amp.Query{Kind: amp.QueryBoard})
	if err != nil || page.Board == nil {
		return err
	}
	for _, id := range page.Board.Order {
		t := page.Board.Task(id)
		if t.Outside == nil || t.Outside.Pull == nil || t.Outside.Pull.State != amp.PullOpen {
			continue
		}
		all, err := p.client.Look(ctx, *t.Outside.Pull, t.Commit)
		for i := range all {
			if _, heard := p.coord.Hear(ctx, "github", all[i]); heard != nil && !errors.Is(heard, ssot.ErrConflict) {
				return heard
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"arbiter/coordinator"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/events"
)

// outside is what the API offers besides the client API itself.
type outside struct {
	logger  *slog.Logger
	metrics *metrics
	events  *eventsDoor
	tracer  *tracer
	coord   *coordinator.Coordinator
	bus     *busHub
	hooks   *hooksDoor
	polls   *poller
}

func newOutside(home string, logger *slog.Logger) *outside {
	return &outside{logger: logger, metrics: newMetrics(home, logger)}
}

// join lets the coordinator be watched, and publishes its journal.
func (o *outside) join(ctx context.Context, home string, c *config, configDir string, coord *coordinator.Coordinator, log ssot.Log) error {
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	if o.events, err = newEventsDoor(home, c, configDir, coord, head.Seq, log, o.logger); err != nil {
		return err
	}
	if o.hooks, err = newHooksDoor(c, configDir, coord, o.metrics.hook, o.logger); err != nil {
		return err
	}
	if o.polls, err = newPoller(c, configDir, coord, o.logger); err != nil {
		return err
	}
	if o.tracer, err = newTracer(ctx, home, c.Observe.OTLP, head.Seq, log.Read, o.logger); err != nil {
		return err
	}
	if o.tracer != nil {
		o.metrics.state.follow("traces", o.tracer)
	}
	o.coord, o.metrics.state.coord = coord, coord
	if o.bus != nil {
		o.metrics.bus.read = o.bus.bus.Metrics
	}
	for name, f := range o.events.outbox.Followers() {
		o.metrics.state.follow("webhook "+name, f)
	}
	return nil
}

// run delivers events and traces until ctx ends.
func (o *outside) run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { o.events.outbox.Run(ctx) })
	if o.polls != nil {
		wg.Go(func() { o.polls.run(ctx) })
	}
	if o.tracer != nil {
		wg.Go(func() { o.tracer.run(ctx, events.FollowFunc(follower(o.coord))) })
	}
	wg.Wait()
}

// furtherRoutes are the operations of o; of nil they are described and cannot be served.
func furtherRoutes(o *outside) []server.Route {
	if o == nil {
		o = &outside{}
	}
	return slices.Concat([]server.Route{o.metrics.route()}, o.events.routes(), o.bus.routes(), o.hooks.routes())
}

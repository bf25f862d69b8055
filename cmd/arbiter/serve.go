package main

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"arbiter/amp"
	"arbiter/coordinator"
	"arbiter/providers/sandbox"
	"arbiter/scratch"
	"arbiter/server"
	"arbiter/ssot/audit"
	"arbiter/ssot/sqlite"
)

func newServe(a *app) *cobra.Command {
	var verbose bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the coordinator in the foreground",
		Args:  takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGHUP)
			defer stop()
			return a.serve(ctx, verbose)
		}),
	}
	c.Flags().BoolVar(&verbose, "verbose", false, "log each request")
	return c
}

// serve runs the loop and the client API until ctx ends or a client asks for the end.
func (a *app) serve(ctx context.Context, verbose bool) (err error) {
	home, err := a.makeHome()
	if err != nil {
		return err
	}
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	logger := cfg.Observe.logger(a.stderr, verbose)
	where, owner := home, ""
	if cfg.Store.URL != "" {
		release, err2 := sqlite.Claim(home, version(), starting)
		if err2 != nil {
			return err2
		}
		defer func() { err = errors.Join(err, release()) }()
		where = cfg.Store.URL
		if owner, err = cfg.Team.owner(home); err != nil {
			return err
		}
		logger = logger.With("owner", owner)
	}
	out := newOutside(home, logger)
	log, err := a.writeStore(ctx, where, cfg.Store, sqlite.Options{Work: starting})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	if err := errors.Join(scratch.Sweep(home, tryName, importName), sandbox.Sweep()); err != nil {
		logger.Warn("what a killed process left is not removed", "err", err)
	}
	file, _ := a.configPath()
	mirror, err := cfg.mirror(home, filepath.Dir(file), log, logger, nil)
	if err != nil {
		return err
	}
	if out.bus, err = cfg.newBus(ctx, home, filepath.Dir(file), log, logger); err != nil {
		return err
	}
	coord, err := assemble(ctx, home, cfg, filepath.Dir(file), log, owner, logger, mirror, out.metrics.stored)
	if err != nil {
		return errors.Join(err, out.bus.close())
	}
	keeper, err := newKeeper(home, owner, cfg, filepath.Dir(file), coord, logger)
	if err != nil {
		return errors.Join(err, out.bus.close())
	}
	l, err := server.Listen(home)
	if err != nil {
		return errors.Join(err, out.bus.close())
	}
	tcp, hosts, err := cfg.Listen.open(ctx, filepath.Dir(file))
	if err != nil {
		return errors.Join(err, l.Close(), out.bus.close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	address := ""
	if tcp != nil {
		address = tcp.Addr().String()
	}
	if err := out.join(ctx, home, cfg, filepath.Dir(file), coord, log); err != nil {
		return errors.Join(err, l.Close(), out.bus.close())
	}
	api := server.New(server.Config{
		Listen: address, Version: version(),
		Coordinator: coord, Shutdown: cancel, Sentinels: sentinels, Marker: sandbox.Marker, TurnOf: coord.TurnOf, Logger: logger,
		Tokens: server.NewTokens(home), Hosts: hosts, Note: coord.NoteAccess, Routes: furtherRoutes(out), Observe: out.metrics.request,
	})
	working(home, running, logger)
	logger.Info("the coordinator runs", "home", home, "store", where, "socket", l.Addr().String(), "version", version())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		<-ctx.Done()
		working(home, ending, logger)
		return nil
	})
	g.Go(func() error {
		return cfg.notify(ctx, home, filepath.Dir(file), coord, out.metrics.notify.tally, logger)
	})
	g.Go(func() error { return coord.Run(ctx) })
	g.Go(func() error { out.run(ctx); return nil })
	g.Go(func() error { return api.Serve(ctx, l) })
	if tcp != nil {
		logger.Info("the client API listens", "tcp", address, "tls", cfg.Listen.TLSCert != "")
		g.Go(func() error { return api.Serve(ctx, tcp) })
	}
	g.Go(func() error { audit.Run(ctx, home, follower(coord), logger); return nil })
	g.Go(func() error { keeper.run(ctx); return nil })
	if out.bus != nil {
		out.bus.coord = coord
		g.Go(func() error { return out.bus.run(ctx) })
	}
	if mirror != nil {
		out.metrics.state.follow("github", mirrorPosition(mirror.State))
		g.Go(func() error { coord.Duty(ctx, "mirror", mirror.Run); return nil })
	}
	err = g.Wait()
	logger.Info("the coordinator ended")
	return err
}

// follower follows the journal of a coordinator until either ends.
func follower(coord *coordinator.Coordinator) audit.FollowFunc {
	return func(ctx context.Context, after uint64, batch func([]amp.Entry) error) error {
		err := coord.Follow(ctx, after, batch)
		if errors.Is(err, coordinator.ErrNotRunning) {
			return nil
		}
		return err
	}
}

func newUp(a *app) *cobra.Command {
	store := ""
	up := &cobra.Command{
		Use:   "up",
		Short: "Start the background coordinator",
		Args:  takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			home, err := a.makeHome()
			if err != nil {
				return err
			}
			if store != "" {
				if err := a.joinStore(c.Context(), store); err != nil {
					return err
				}
			}
			client := server.NewClient(home, sentinels)
			was, err := a.running(c.Context(), client)
			if err != nil {
				return err
			}
			if client, err = a.attach(c.Context()); err != nil {
				return err
			}
			state, err := client.Status(c.Context())
			if err != nil {
				return err
			}
			if a.json {
				a.outJSON(struct {
					Running bool   `json:"running"`
					Started bool   `json:"started"`
					PID     int    `json:"pid"`
					Home    string `json:"home"`
				}{true, !was, state.PID, home})
				return nil
			}
			word := "started"
			if was {
				word = "runs already"
			}
			if was && len(a.sets) > 0 {
				a.complain("arbiter: the coordinator runs with the configuration that it began with: --set has no effect on it; end it first: arbiter down")
			}
			a.out("The coordinator %s: process %d, data in %s\n", word, state.PID, home)
			return nil
		}),
	}
	up.Flags().StringVar(&store, "store", "", "join the team of a database, postgres://user@host/database; the configuration names it from then on")
	return up
}

func newDown(a *app) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "down",
		Short: "End the background coordinator; its agents are stopped, and go on when it is started again",
		Args:  takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			home, err := a.home()
			if err != nil {
				return err
			}
			ended, err := a.down(c.Context(), home, timeout)
			if err != nil {
				return err
			}
			switch {
			case a.json:
				a.outJSON(struct {
					Running bool `json:"running"`
					Ended   bool `json:"ended"`
				}{false, ended})
			case ended:
				a.out("The coordinator has ended.\n")
			default:
				a.out("No coordinator runs for %s.\n", home)
			}
			return nil
		}),
	}
	c.Flags().DurationVar(&timeout, "timeout", 90*time.Second, "how long to wait until it is gone")
	return c
}

// down ends the coordinator and waits until the data directory is free. It reports whether there was one.
func (a *app) down(whole context.Context, home string, timeout time.Duration) (ended bool, err error) {
	ctx, cancel := context.WithTimeout(whole, timeout)
	defer cancel()
	c := server.NewClient(home, sentinels)
	defer func() {
		if whole.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			err = silent(c, home, timeout, "has not ended")
		}
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for asked := false; ; {
		if !asked {
			err := c.Shutdown(ctx)
			if asked = err == nil; !asked && !errors.Is(err, server.ErrNotRunning) {
				return false, err
			}
		}
		held, err := sqlite.Holder(home)
		switch {
		case err != nil:
			return false, err
		case held == nil:
			return asked || ended, nil
		case !asked && !isCoordinator(held):
			return false, held
		}
		ended = true // it is starting or ending: it is asked again, or waited for
		select {
		case <-tick.C:
		case <-ctx.Done():
			return false, fmt.Errorf("wait until process %d is gone: %w", held.PID, ctx.Err())
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/charmbracelet/x/term"
	"github.com/spf13/cobra"

	"arbiter/cmd/arbiter/demo"
	uiterm "arbiter/tui/term"
)

// demoFlags are what arbiter demo is told.
type demoFlags struct {
	headless, keep, plain bool
	pace                  time.Duration
}

// newDemo runs the whole loop on a throw-away repository.
func newDemo(a *app) *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show the whole loop on a throw-away repository: no keys, no network",
		Long: "Makes a small repository with failing checks in a temporary folder and runs real tasks in it, with scripted agents that\n" +
			"edit files and run commands. On a terminal you are the admin; it says which key to press. Without a terminal, or with\n" +
			"--headless, it decides by itself, prints what came of it and exits 0 only if every scenario ended as it should.",
		Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			plain := f.plain || a.onScreen() && uiterm.Detect(os.Getenv).Plain
			if !f.headless && !a.json && (plain || a.onScreen()) {
				return a.demoScreens(c.Context(), f, plain)
			}
			return a.demoHeadless(c.Context(), f)
		}),
	}
	c.Flags().BoolVar(&f.headless, "headless", false, "no screens: the demo decides by itself")
	c.Flags().BoolVar(&f.plain, "plain", false, "no full screen: sentences and numbered choices, also through a pipe")
	c.Flags().BoolVar(&f.keep, "keep", false, "keep the repository and the journal, and say where")
	c.Flags().DurationVar(&f.pace, "pace", 0, "how long each step of an agent takes at least (default 1.2s on screens, 0 without)")
	return c
}

// newDemoIn makes the demo in a temporary folder; end closes it and removes the folder unless it is to be kept.
func (a *app) newDemoIn(ctx context.Context, f demoFlags, cfg demo.Config) (d *demo.Demo, end func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp("", "arbiter-demo-")
	if err != nil {
		return nil, nil, fmt.Errorf("make a folder for the demo: %w", err)
	}
	logFile, err := os.OpenFile(filepath.Join(dir, "demo.log"), os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	cfg.Agent, cfg.Dir, cfg.Version = []string{self, "demo-agent"}, dir, version()
	cfg.Logger, cfg.LogFile = slog.New(slog.NewTextHandler(logFile, nil)), logFile.Name()
	d, err = demo.New(ctx, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, logFile.Close(), os.RemoveAll(dir))
	}
	return d, func() error {
		err := errors.Join(d.Close(), logFile.Close())
		if f.keep {
			fmt.Fprintf(a.stderr, "kept: repository %s, data %s (arbiter --home %s task list)\n", d.Repo, d.Home, d.Home)
			return err
		}
		return errors.Join(err, os.RemoveAll(dir))
	}, nil
}

func (a *app) demoHeadless(ctx context.Context, f demoFlags) (err error) {
	if !signal.Ignored(syscall.SIGHUP) { // under nohup it goes on
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP)
		defer stop()
	}
	d, end, err := a.newDemoIn(ctx, f, demo.Config{Pace: f.pace, AckTimeout: 6 * time.Second, Undo: time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	step := func(s string) { fmt.Fprintln(a.stderr, s) }
	if a.json {
		step = func(string) {}
	}
	run, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- d.Run(run) }()
	played := d.Play(ctx, step)
	if played == nil {
		played = d.Settle(ctx)
	}
	stop()
	if err := errors.Join(played, <-done); err != nil {
		return err
	}
	r, err := d.Report(ctx)
	if err != nil {
		return err
	}
	broken, err := d.Judge(ctx, r)
	if err != nil {
		return err
	}
	if a.json {
		a.outJSON(r)
	} else {
		a.out("%s", r)
	}
	if len(broken) > 0 {
		return &demoError{broken: broken}
	}
	return nil
}

// demoError says which scenarios ended another way than they should.
type demoError struct{ broken []string }

func (e *demoError) Error() string {
	return fmt.Sprintf("%d promises of the demo were not kept: %q", len(e.broken), e.broken)
}

// onScreen reports whether a person sits at standard input and sees standard output.
func (a *app) onScreen() bool {
	f, ok := a.stdout.(*os.File)
	return ok && a.terminal() && term.IsTerminal(f.Fd())
}

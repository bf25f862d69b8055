package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"arbiter/server"
	"arbiter/ssot/sqlite"
)

const (
	// logName is the log of the background coordinator, in the data directory.
	logName = "arbiter.log"
	// startTime is how long a coordinator may take until it answers: it folds the journal first.
	startTime = 60 * time.Second
	// answerTime is how long a running coordinator may take to say that it is there.
	answerTime = 10 * time.Second
)

// attach returns a client of the coordinator of this data directory, which it starts in the background when none runs.
func (a *app) attach(ctx context.Context) (*server.Client, error) {
	if a.url() != "" {
		c, err := a.client()
		if err == nil {
			_, err = a.running(ctx, c)
		}
		return c, err
	}
	home, err := a.makeHome()
	if err != nil {
		return nil, err
	}
	c := server.NewClient(home, sentinels)
	running, err := a.running(ctx, c)
	if err != nil || running {
		return c, err
	}
	held, err := a.outwait(ctx, c, home)
	if err != nil {
		return nil, err
	}
	if held {
		return c, nil
	}
	return c, a.start(ctx, c, home)
}

// reach returns a client of the coordinator that runs. Looking starts none.
func (a *app) reach(ctx context.Context) (*server.Client, error) {
	c, err := a.client()
	if err != nil {
		return nil, err
	}
	switch running, err := a.running(ctx, c); {
	case err != nil:
		return nil, err
	case !running:
		return nil, fmt.Errorf("%w, and only it knows", server.ErrNotRunning)
	}
	return c, nil
}

// running reports whether a coordinator answers, and warns of one of another version.
func (a *app) running(ctx context.Context, c *server.Client) (bool, error) {
	home := ""
	if c.Remote() == "" {
		var err error
		if home, err = a.home(); err != nil {
			return false, err
		}
	}
	state, err := hail(ctx, c, home, answerTime)
	if errors.Is(err, server.ErrNotRunning) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if state.Version != version() && !a.json {
		a.complain(fmt.Sprintf("arbiter: the coordinator is version %s, this program %s; restart it with arbiter down, arbiter up",
			state.Version, version()))
	}
	return true, nil
}

// outwait waits while another process owns the data directory: until that one answers, which gives true, or is gone. It is starting,
// ending, or at work on the journal.
func (a *app) outwait(ctx context.Context, c *server.Client, home string) (answers bool, err error) {
	begun, told := time.Now(), a.json
	for {
		held, err := sqlite.Holder(home)
		if err != nil || held == nil {
			return false, err
		}
		if !told && !isCoordinator(held) && held.PID > 0 {
			told = true
			a.complain("arbiter: " + held.Error() + "; it is waited for")
		}
		patience := answerTime
		if isCoordinator(held) && held.Work != running {
			patience = startTime
		}
		err = a.await(ctx, c, nil, 100*time.Millisecond)
		if err == nil || ctx.Err() != nil {
			return err == nil, err
		}
		if time.Since(begun) > patience {
			return false, held
		}
	}
}

// start runs arbiter serve as a process of its own, which outlives this one, and waits until it answers.
func (a *app) start(ctx context.Context, c *server.Client, home string) error {
	cfg, err := a.loadConfig()
	if err != nil {
		return err
	}
	if !a.json {
		a.complain("arbiter: no coordinator runs for " + home + "; starting one in the background")
		if len(cfg.Agents) == 0 {
			a.complain("arbiter: no agent is configured, so nothing will be done yet; arbiter init writes a configuration")
		}
	}
	path := filepath.Join(home, logName)
	if err := turnLog(path); err != nil {
		return err
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the coordinator's log: %w", err)
	}
	defer log.Close()
	begin, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("open the coordinator's log: %w", err)
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	args := []string{"serve", "--home", home}
	if a.configFlag != "" {
		abs, err := filepath.Abs(a.configFlag)
		if err != nil {
			return fmt.Errorf("find the configuration: %w", err)
		}
		args = append(args, "--config", abs)
	}
	for _, s := range a.sets {
		args = append(args, "--set", s)
	}
	cmd := exec.Command(exe, args...) //nolint:noctx // it outlives this process and its context
	cmd.Dir = home
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the coordinator: %w", err)
	}
	gone := make(chan error, 1) // one send: nobody receives it when the coordinator lives on
	go func() { gone <- cmd.Wait() }()
	err = a.await(ctx, c, gone, startTime)
	if ended, ok := errors.AsType[*endedError](err); ok {
		if answers, _ := a.outwait(ctx, c, home); answers {
			return nil // another one was faster
		}
		return startFailed(log, begin, path, ended)
	}
	return err
}

// endedError is a coordinator that ended before it answered.
type endedError struct{ err error }

func (e *endedError) Error() string {
	if e.err == nil {
		return "the coordinator ended at once"
	}
	return "the coordinator ended at once: " + e.err.Error()
}

// await asks until a coordinator answers, the process that should become one is gone, or the time is up.
func (a *app) await(ctx context.Context, c *server.Client, gone <-chan error, atMost time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := c.Status(ctx)
		if err == nil {
			return nil
		}
		if !errors.Is(err, server.ErrNotRunning) && ctx.Err() == nil {
			return err
		}
		select {
		case err := <-gone:
			return &endedError{err}
		case <-ctx.Done():
			return fmt.Errorf("wait for the coordinator: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

// startFailed says with the coordinator's own words why it did not start.
func startFailed(log *os.File, begin int64, path string, ended *endedError) error {
	text, err := io.ReadAll(io.LimitReader(io.NewSectionReader(log, begin, 64<<10), 64<<10))
	if err != nil {
		return fmt.Errorf("read the coordinator's log: %w", err)
	}
	said := strings.TrimSpace(string(text))
	if i := strings.LastIndex(said, "arbiter: "); i >= 0 {
		said = said[i+len("arbiter: "):]
	}
	what, rest, _ := strings.Cut(said, "\n")
	if what == "" {
		what = ended.Error()
	}
	means, next, _ := strings.Cut(rest, "next: ")
	e := &startError{code: exitFailed, e: explanation{
		What:  "the coordinator did not start: " + what,
		Means: strings.Join(strings.Fields(means), " "), Next: strings.TrimSpace(next),
	}}
	if x, ok := errors.AsType[*exec.ExitError](ended.err); ok && x.ExitCode() > 0 {
		e.code = x.ExitCode()
	}
	if e.e.Next == "" {
		e.e.Next = "Look at " + path + "."
	}
	return e
}

// startError is the explanation of a coordinator that did not start, in its words.
type startError struct {
	e    explanation
	code int
}

func (e *startError) Error() string { return e.e.What }

// turnLog keeps the log of the background coordinator from growing for ever: above 16 MiB it becomes arbiter.log.1, in place of
// the one before.
func turnLog(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() < 16<<20 {
		return nil //nolint:nilerr // without a log there is nothing to turn; opening it tells the rest
	}
	if err := os.Rename(path, path+".1"); err != nil {
		return fmt.Errorf("turn the coordinator's log: %w", err)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot/sqlite"
)

// silentError is a coordinator that took a request and does not answer: it stands still, or has too much to do.
type silentError struct {
	// held says which process it is, nil of one elsewhere.
	held *sqlite.HeldError
	url  string
	// after is how long it was waited for, and while what it was at.
	after time.Duration
	while string
}

// Error says who, and for how long.
func (e *silentError) Error() string {
	who := "the coordinator at " + e.url
	if e.held != nil {
		who = fmt.Sprintf("the coordinator, process %d on %s,", e.held.PID, e.held.Host)
	}
	return fmt.Sprintf("%s %s within %s", who, e.while, e.after.Round(time.Millisecond))
}

// hail asks a coordinator how it is. One that is there and does not answer in time is a *silentError.
func hail(ctx context.Context, c *server.Client, home string, within time.Duration) (amp.CoordinatorState, error) {
	short, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	state, err := c.Status(short)
	if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return state, err
	}
	return state, silent(c, home, within, "has not answered")
}

// silent says which coordinator is silent.
func silent(c *server.Client, home string, after time.Duration, while string) error {
	e := &silentError{url: c.Remote(), after: after, while: while}
	if e.url != "" {
		return e
	}
	held, err := sqlite.Holder(home)
	if err != nil {
		return err
	}
	if held == nil { // it is gone
		return fmt.Errorf("%w for %s", server.ErrNotRunning, home)
	}
	e.held = held
	return e
}

func explainSilent(err error, e *explanation) bool {
	x, ok := errors.AsType[*silentError](err)
	if !ok {
		return false
	}
	e.Means = "It stands still, as after Ctrl-Z or kill -STOP, or its machine has too much to do. What it acknowledged is in the journal."
	e.Next = "See on that machine whether its process stands still."
	switch h := x.held; {
	case h == nil || h.PID == 0:
	case h.Work == starting:
		e.Means, e.Next = "It is starting, and reads its journal before it answers.", "Wait, and give the same command again."
	case h.Work == ending:
		e.Means = "It is ending: its agents are being stopped. What it acknowledged is in the journal."
		e.Next = fmt.Sprintf("Wait, and give the same command again. kill -9 %d ends it at once; arbiter up then goes on where it was.", h.PID)
	default:
		e.Next = fmt.Sprintf("If it was stopped: kill -CONT %d. Else look at its log, and end it with kill -9 %d; arbiter up then goes on where it was.", h.PID, h.PID)
	}
	return true
}

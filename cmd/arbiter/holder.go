package main

import (
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"arbiter/ssot/sqlite"
)

// What a coordinator is at, for those who ask who holds its data directory. Everybody else says which command it is.
const (
	starting = "the coordinator, which is starting"
	running  = "the coordinator"
	ending   = "the coordinator, which is ending"
)

// working says what this coordinator is at. That it cannot be said stops nothing.
func working(home, what string, logger *slog.Logger) {
	if err := sqlite.Working(home, what); err != nil {
		logger.Warn("what the coordinator is at is not noted", "err", err)
	}
}

// isCoordinator reports whether who holds a data directory is its coordinator.
func isCoordinator(held *sqlite.HeldError) bool {
	return slices.Contains([]string{starting, running, ending}, held.Work)
}

// atWork says who has the data directory while no coordinator answers; nil is nobody.
func atWork(held *sqlite.HeldError, now time.Time) string {
	if held == nil {
		return "does not run; start it with arbiter up"
	}
	if held.PID == 0 {
		return "does not run; another process works on the journal: wait until that one has ended"
	}
	who := fmt.Sprintf("process %d", held.PID)
	if host, err := os.Hostname(); err == nil && host != held.Host {
		who += " on " + held.Host
	}
	who += ", since " + ago(held.Started, now)
	switch held.Work {
	case starting:
		return "is starting: " + who + "; it reads its journal before it answers"
	case ending:
		return "is ending: " + who + "; its agents are being stopped"
	case running:
		return fmt.Sprintf("does not answer: %s; its log says what it does; if it was stopped: kill -CONT %d", who, held.PID)
	case "":
		return fmt.Sprintf("does not run; %s works on the journal: wait until that one has ended, or end it", who)
	}
	return fmt.Sprintf("does not run; %s (%s) works on the journal: wait until that one has ended, or end it", who, held.Work)
}

// explainHeld says what to do about a data directory that another process has.
func explainHeld(held *sqlite.HeldError, e *explanation) {
	e.Means = "One process owns a data directory; a second one would write over the first."
	switch {
	case held.PID == 0:
		e.Next = "Use it: arbiter status. Or end it first: arbiter down."
	case held.Work == starting:
		e.Next = "Wait until it answers: arbiter status. Or end it: arbiter down."
	case held.Work == ending:
		e.Next = "Wait until it is gone, then try again: arbiter status says when."
	case held.Work == "" || isCoordinator(held):
		e.Next = fmt.Sprintf("Use it: arbiter status. Or end it first: arbiter down (it is process %d).", held.PID)
	default:
		e.Next = fmt.Sprintf("Wait until it is done, or end it: kill %d. Or name another data directory with --home.", held.PID)
	}
}

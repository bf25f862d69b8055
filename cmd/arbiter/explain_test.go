package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"arbiter/amp"
	"arbiter/server"
	"arbiter/ssot"
	"arbiter/ssot/postgres"
	"arbiter/ssot/sqlite"
)

// Every error that a person can meet says what happened, what it means and what to do, with the exit code of the design.
func TestExplain(t *testing.T) {
	t.Parallel()
	problems := []amp.Problem{{Rule: "AMP-020", Field: "task_id", Message: "x"}}
	for name, tc := range map[string]struct {
		err  error
		code int
	}{
		"usage":       {usage("x").then("y"), exitUsage},
		"not found":   {&notFoundError{what: "x", next: "y"}, exitFailed},
		"kept":        {&keptError{path: "x"}, exitFailed},
		"refused":     {&amp.RefusedError{What: "approve", Problems: problems, Seq: 3}, exitRefused},
		"invalid":     {&amp.InvalidError{Problems: problems}, exitRefused},
		"transition":  {&amp.TransitionError{TaskID: "T-2026-001", From: amp.Held, Step: "approve", Why: "x"}, exitRefused},
		"guard":       {&amp.GuardError{Repo: "/r", Why: "x"}, exitRefused},
		"branch":      {&amp.GuardError{Repo: "/r", Branch: "main", Why: "x"}, exitRefused},
		"held":        {&sqlite.HeldError{Dir: "/d", PID: 7}, exitFailed},
		"damaged":     {&sqlite.DamagedError{Path: "/d/journal.db", Seq: 4, Why: "x"}, exitFailed},
		"newer":       {&sqlite.NewerError{Path: "/d", Have: 9, Know: 1}, exitFailed},
		"older":       {&ssot.OlderError{Path: "/d/journal.db", Have: 1, Know: 9}, exitFailed},
		"older there": {&ssot.OlderError{Path: "postgres://h/d?search_path=arbiter", Have: 1, Know: 9}, exitFailed},
		"address":     {&postgres.AddressError{Store: "postgres://h/d", Why: "x"}, exitFailed},
		"takes none":  {fmt.Errorf("%w: %w", ssot.ErrBusy, &postgres.UnreachableError{Store: "postgres://h/d", Why: "x", ReadOnly: true}), exitFailed},
		"pooler":      {&postgres.PoolerError{Store: "postgres://h/d?search_path=arbiter"}, exitFailed},
		"newer kind":  {fmt.Errorf("fold: %w", &amp.UnknownKindError{Kind: "dream"}), exitFailed},
		"partly":      {&partlyError{context.Canceled, 7}, exitInterrupted},
		"file as dir": {syscall.ENOTDIR, exitFailed},
		"dir as file": {syscall.EISDIR, exitFailed},
		"link":        {&sqlite.LinkError{Path: "/d/journal.db", Target: "/e/journal.db"}, exitFailed},
		"hard link":   {&sqlite.LinkError{Path: "/d/journal.db"}, exitFailed},
		"network":     {&sqlite.NetworkError{Dir: "/d", FS: "nfs"}, exitFailed},
		"stale":       {&staleError{errors.New("x")}, exitFailed},
		"full":        {ssot.ErrFull, exitFailed},
		"no space":    {syscall.ENOSPC, exitFailed},
		"busy":        {ssot.ErrBusy, exitFailed},
		"conflict":    {ssot.ErrConflict, exitFailed},
		"failed":      {ssot.ErrFailed, exitFailed},
		"closed":      {ssot.ErrClosed, exitFailed},
		"not running": {server.ErrNotRunning, exitFailed},
		"ending":      {server.ErrShuttingDown, exitFailed},
		"broken":      {server.ErrBroken, exitFailed},
		"forbidden":   {&server.Error{Code: "forbidden", What: "x", Means: "y"}, exitRefused},
		"internal":    {&server.Error{Code: "internal", What: "x"}, exitFailed},
		"canceled":    {context.Canceled, exitInterrupted},
		"deadline":    {context.DeadlineExceeded, exitFailed},
		"missing":     {fs.ErrNotExist, exitFailed},
		"permission":  {fs.ErrPermission, exitFailed},
		"read-only":   {syscall.EROFS, exitFailed},
		"ended task":  {&endedTaskError{"T-2026-001"}, exitFailed},
		"unknown":     {errors.New("x"), exitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := explain(fmt.Errorf("do it: %w", tc.err))
			if e.What == "" || e.Means == "" || e.Next == "" || e.Code != tc.code {
				t.Errorf("explain = %+v, want all three sentences and code %d", e, tc.code)
			}
		})
	}
	if e := explain(&waitsError{what: "x", next: "y"}); e.Code != exitWaits || e.Next != "y" {
		t.Errorf("explain a task that waits = %+v", e)
	}
}

// What crosses the socket is explained as what did not.
func TestSentinels_areExplained(t *testing.T) {
	t.Parallel()
	for word, err := range sentinels {
		if e := explain(err); e.Means == "Nothing more is known about it." {
			t.Errorf("%s (%v) is not explained", word, err)
		}
	}
}

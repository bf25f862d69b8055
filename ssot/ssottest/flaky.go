package ssottest

import (
	"context"
	"sync"

	"arbiter/amp"
	"arbiter/ssot"
)

// Plan says which appends of a [FlakyLog] fail. Appends are counted from 1.
type Plan struct {
	// FailBefore makes the nth append fail with nothing stored, FailAfter with everything stored: the answer was lost.
	FailBefore, FailAfter map[int]error
	// Dead makes every call after the first failure fail with the same error, as in a process that died there.
	Dead bool
}

// FlakyLog is a log whose appends fail as planned.
type FlakyLog struct {
	log  ssot.Log
	plan Plan

	mu      sync.Mutex
	appends int
	dead    error
}

var (
	_ ssot.Log     = (*FlakyLog)(nil)
	_ ssot.Boarder = (*FlakyLog)(nil)
)

// Flaky wraps a log so that its appends fail as planned. Closing it closes the log.
func Flaky(log ssot.Log, plan Plan) *FlakyLog {
	return &FlakyLog{log: log, plan: plan}
}

// Appends is how many calls of Append were made.
func (f *FlakyLog) Appends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.appends
}

// Append fails as planned, and else stores as [ssot.Log] says.
func (f *FlakyLog) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	f.mu.Lock()
	if f.dead != nil {
		defer f.mu.Unlock()
		return nil, f.dead
	}
	f.appends++
	n := f.appends
	err := f.plan.FailBefore[n]
	if err != nil {
		f.die(err)
	}
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	out, err := f.log.Append(ctx, records)
	if err != nil {
		return nil, err
	}
	if err := f.plan.FailAfter[n]; err != nil {
		f.mu.Lock()
		f.die(err)
		f.mu.Unlock()
		return nil, err
	}
	return out, nil
}

func (f *FlakyLog) die(err error) {
	if f.plan.Dead && f.dead == nil {
		f.dead = err
	}
}

// Read reads from the log.
func (f *FlakyLog) Read(ctx context.Context, q amp.Filter) ([]amp.Entry, error) {
	if err := f.alive(); err != nil {
		return nil, err
	}
	return f.log.Read(ctx, q)
}

// Head is the head of the log.
func (f *FlakyLog) Head(ctx context.Context) (amp.Head, error) {
	if err := f.alive(); err != nil {
		return amp.Head{}, err
	}
	return f.log.Head(ctx)
}

// Board is the fold of the log's entries.
func (f *FlakyLog) Board(ctx context.Context) (*amp.Board, error) {
	if err := f.alive(); err != nil {
		return nil, err
	}
	return ssot.Fold(ctx, f.log)
}

// Close closes the log, dead or not.
func (f *FlakyLog) Close() error { return f.log.Close() }

func (f *FlakyLog) alive() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

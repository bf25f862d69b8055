package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"arbiter/amp"
	"arbiter/ssot"
)

// lateLog is the journal of a store that has none yet. It is made when the first entries are stored, so that what is refused before leaves none.
type lateLog struct {
	open func(context.Context) (ownedJournal, error)
	log  ownedJournal
	// folders are those that were made for it, the innermost first. They go again when it was never made.
	folders []string
}

var _ ssot.Log = (*lateLog)(nil)

// importLog is the journal that an import goes into.
func (a *app) importLog(ctx context.Context) (*lateLog, error) {
	err := a.existingJournal()
	if err == nil {
		log, err := a.ownJournal(ctx)
		if err != nil {
			return nil, err
		}
		return &lateLog{log: log}, nil
	}
	if _, none := errors.AsType[*notFoundError](err); !none {
		return nil, err
	}
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	l := &lateLog{open: a.ownJournal, folders: missing(home)}
	if _, err := a.makeHome(); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// missing are the folders that making dir will make, the innermost first.
func missing(dir string) (all []string) {
	for {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			return all
		}
		all, dir = append(all, dir), filepath.Dir(dir)
	}
}

// made is the journal itself, which is made now when it is not there.
func (l *lateLog) made(ctx context.Context) (ownedJournal, error) {
	if l.log != nil {
		return l.log, nil
	}
	log, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	l.log = log
	head, err := log.Head(ctx)
	if err == nil && head.Seq > 0 {
		err = fmt.Errorf("%w: somebody else began one meanwhile", ssot.ErrOther)
	}
	return log, err
}

// Append stores entries in the journal.
func (l *lateLog) Append(ctx context.Context, records []amp.Record) ([]ssot.Appended, error) {
	log, err := l.made(ctx)
	if err != nil {
		return nil, err
	}
	return log.Append(ctx, records)
}

// Read reads entries; there are none before the journal is made.
func (l *lateLog) Read(ctx context.Context, f amp.Filter) ([]amp.Entry, error) {
	if l.log == nil {
		return nil, nil
	}
	return l.log.Read(ctx, f)
}

// Head is the last entry of the journal.
func (l *lateLog) Head(ctx context.Context) (amp.Head, error) {
	if l.log == nil {
		return amp.Head{}, nil
	}
	return l.log.Head(ctx)
}

// Close closes the journal, or removes the folders that were made for one that never was.
func (l *lateLog) Close() error {
	if l.log != nil {
		return l.log.Close()
	}
	for _, dir := range l.folders {
		if os.Remove(dir) != nil { // somebody else has put something there
			break
		}
	}
	return nil
}

package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"arbiter/ssot"
	"arbiter/ssot/postgres"
	"arbiter/ssot/sqlite"
)

// journal is a store that was opened, at least for reading.
type journal interface {
	ssot.Log
	ssot.Boarder
	// Verify checks every hash, every entry and every table.
	Verify(ctx context.Context, progress func(done, total uint64)) (ssot.Report, error)
}

// ownedJournal is a store that was opened for writing. One in a database is an [ssot.Shared].
type ownedJournal interface {
	journal
	// Rebuild makes every table beside the entries anew, and tells progress, which may be nil, of entries that were folded.
	Rebuild(ctx context.Context, progress func(done, total uint64)) error
}

// store says where the journal of this run is: the address of a database, or the data directory.
func (a *app) store() (string, storeConfig, error) {
	cfg, err := a.loadStore()
	if err != nil || cfg.URL != "" {
		return cfg.URL, cfg, err
	}
	home, err := a.home()
	return home, cfg, err
}

// readStore opens a store for reading: a folder, or a database by its address.
func (a *app) readStore(ctx context.Context, where string, cfg storeConfig) (journal, error) {
	if isDatabase(where) {
		opts, err := cfg.options(where, a.configDir())
		if err != nil {
			return nil, err
		}
		opts.Patience = answerTime // somebody waits
		log, err := postgres.OpenReadOnly(ctx, opts)
		if x, ok := errors.AsType[*postgres.NotThereError](err); ok {
			return nil, &notFoundError{what: x.Error(), next: "Correct store.url, or begin one with arbiter up."}
		}
		if err != nil {
			return nil, &unsentError{err}
		}
		return log, nil
	}
	log, err := sqlite.OpenReadOnly(ctx, where)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &notFoundError{what: "there is no journal in " + where, next: "Name another data directory with --home, restore a lost one from a backup (docs/journal.md), or begin one with arbiter up."}
	}
	if err != nil {
		return nil, err
	}
	return log, nil
}

// writeStore opens a store for writing, and makes it when there is none. Of a folder no other process may have it open meanwhile, and
// the options are for that.
func (a *app) writeStore(ctx context.Context, where string, cfg storeConfig, folder sqlite.Options) (ownedJournal, error) {
	if isDatabase(where) {
		opts, err := cfg.options(where, a.configDir())
		if err != nil {
			return nil, err
		}
		opts.Index = !folder.Unindexed
		log, err := postgres.Open(ctx, opts)
		if err != nil {
			return nil, &unsentError{err}
		}
		return log, nil
	}
	folder.Version, folder.Work = version(), cmp.Or(folder.Work, a.path)
	log, err := sqlite.Open(ctx, where, folder)
	if err != nil {
		return nil, err
	}
	return log, nil
}

// unsentError is the error of an opening or a reading: nothing was sent that could be stored.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }

func (e *unsentError) Unwrap() error { return e.err }

// configDir is the folder of the configuration, beside which files are named.
func (a *app) configDir() string {
	file, _ := a.configPath()
	return filepath.Dir(file)
}

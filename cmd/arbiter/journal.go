package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/sqlite"
)

func newJournal(a *app) *cobra.Command {
	return group("journal", "Read, verify and copy the journal, where every fact is",
		newJournalVerify(a), newJournalExport(a), newJournalImport(a), newJournalCopy(a), newJournalArchive(a), newJournalRebuild(a),
		newJournalBackup(a), newJournalGrant(a), newJournalSearch(a), newJournalShow(a))
}

// openJournal opens the journal for reading, and says where the data directory is. One that is not there is an error: there is nothing
// to verify.
func (a *app) openJournal(ctx context.Context) (journal, string, error) {
	where, cfg, err := a.store()
	if err != nil {
		return nil, "", err
	}
	home, err := a.home()
	if err != nil {
		return nil, "", err
	}
	log, err := a.readStore(ctx, where, cfg)
	return log, home, err
}

// ownJournal opens the journal for writing. Of one in the data directory no coordinator may run meanwhile.
func (a *app) ownJournal(ctx context.Context) (ownedJournal, error) {
	where, cfg, err := a.store()
	if err != nil {
		return nil, err
	}
	if !isDatabase(where) {
		if where, err = a.makeHome(); err != nil {
			return nil, err
		}
	}
	return a.writeStore(ctx, where, cfg, sqlite.Options{Unindexed: true})
}

func (a *app) reportHead(ctx context.Context, log ssot.Log, what string, n int) error {
	head, err := log.Head(ctx)
	if err != nil {
		return err
	}
	if a.json {
		a.outJSON(struct {
			Done    string   `json:"done"`
			Entries int      `json:"entries"`
			Head    amp.Head `json:"head"`
		}{what, n, head})
		return nil
	}
	a.out("%d entries %s; head is entry %d, %s\n", n, what, head.Seq, head.Hash)
	return nil
}

func newJournalRebuild(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "rebuild", Short: "Make every table beside the entries anew from the entries", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) (err error) {
			if err := a.existingJournal(); err != nil {
				return err
			}
			log, err := a.ownJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			p := a.progress("entries folded")
			err = log.Rebuild(c.Context(), p.show)
			p.end()
			if err != nil {
				return err
			}
			head, err := log.Head(c.Context())
			if err != nil {
				return err
			}
			return a.reportHead(c.Context(), log, "folded", int(head.Seq))
		}),
	}
}

// existingJournal refuses to make a journal where only an old one is meant.
func (a *app) existingJournal() error {
	log, _, err := a.openJournal(context.Background())
	if err != nil {
		if _, ok := errors.AsType[*notFoundError](err); ok {
			return err
		}
		return nil //nolint:nilerr // opening it for writing says what is wrong, or mends it
	}
	return log.Close()
}

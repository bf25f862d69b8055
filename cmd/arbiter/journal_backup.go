package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
)

func newJournalBackup(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the journal as of now to a new file, also while the coordinator runs", Args: takes("a FILE"),
		Long: "Copies the journal as of now to a new file and verifies the copy: every hash, every entry and every table. A running coordinator\n" +
			"goes on meanwhile. To restore it, put it as journal.db into an empty data directory.",
		RunE: a.do(func(c *cobra.Command, args []string) (err error) {
			log, _, err := a.openJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			p := a.progress("entries verified")
			defer p.end()
			file, ok := log.(interface {
				Backup(ctx context.Context, path string, progress func(done, total uint64)) (amp.Head, error)
			})
			if !ok {
				return usage("a journal in a database is backed up by the database").
					then("Use pg_dump, or copy it into a folder: arbiter journal copy --to DIR")
			}
			head, err := file.Backup(c.Context(), args[0], p.show)
			p.end()
			switch {
			case errors.Is(err, fs.ErrExist):
				return usage("%s is there already", args[0]).then("Name a new file; a backup replaces none.")
			case errors.Is(err, ssot.ErrFull), errors.Is(err, ssot.ErrFailed):
				return &outputError{args[0], err}
			case err != nil:
				return err
			}
			if a.json {
				a.outJSON(struct {
					File string   `json:"file"`
					Head amp.Head `json:"head"`
				}{args[0], head})
				return nil
			}
			a.out("%s holds %d entries and is verified, head %s\n", safe(args[0]), head.Seq, head.Hash)
			return nil
		}),
	}
}

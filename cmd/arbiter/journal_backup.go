package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot/sqlite"
)

func newJournalBackup(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the journal as of now to a new file, also while the coordinator runs", Args: takes("a FILE"),
		Long: "Copies the journal as of now to a new file and verifies the copy: every hash, every entry and every table. A running coordinator\n" +
			"goes on meanwhile. To restore it, put it as journal.db into an empty data directory.",
		RunE: a.do(func(c *cobra.Command, args []string) (err error) {
			log, home, err := a.openJournal(c.Context())
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
			if err := a.backupTarget(home, args[0]); err != nil {
				return err
			}
			head, err := file.Backup(c.Context(), args[0], p.show)
			p.end()
			if x, ok := errors.AsType[*sqlite.TargetError](err); ok {
				if errors.Is(err, fs.ErrExist) {
					return thereAlready(args[0])
				}
				return &outputError{args[0], x.Err}
			}
			if err != nil {
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

func thereAlready(file string) error {
	return usage("%s is there already", file).then("Name a new file; a backup replaces none.")
}

// backupTarget says what is wrong with the file that was named, as far as that can be seen before.
func (a *app) backupTarget(home, file string) error {
	if file == "" || file == "-" || strings.HasSuffix(file, string(filepath.Separator)) {
		return usage("%q is no file; a backup is a file that is written in place, not a stream", file).then("Name a new file: arbiter journal backup FILE")
	}
	st, err := os.Stat(file)
	if err != nil {
		return nil //nolint:nilerr // the backup says what is wrong
	}
	if own, err := os.Stat(filepath.Join(home, "journal.db")); err == nil && os.SameFile(st, own) {
		return usage("%s is the journal itself", file).then("Name a new file, best on another disk.")
	}
	if st.IsDir() {
		return usage("%s is a folder", file).then("Name a new file in it: arbiter journal backup " + filepath.Join(file, "journal.db"))
	}
	return thereAlready(file)
}

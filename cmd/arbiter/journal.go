package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
	"arbiter/ssot/sqlite"
)

func newJournal(a *app) *cobra.Command {
	return group("journal", "Read, verify and copy the journal, where every fact is",
		newJournalVerify(a), newJournalExport(a), newJournalImport(a), newJournalRebuild(a), newJournalBackup(a), newJournalSearch(a), newJournalShow(a))
}

// openJournal opens the journal for reading. One that is not there is an error: there is nothing to verify.
func (a *app) openJournal(ctx context.Context) (*sqlite.Log, string, error) {
	home, err := a.home()
	if err != nil {
		return nil, "", err
	}
	log, err := sqlite.OpenReadOnly(ctx, home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", &notFoundError{what: "there is no journal in " + home, next: "Name another data directory with --home, or begin one with arbiter up."}
	}
	return log, home, err
}

// ownJournal opens the journal for writing, which no coordinator may do meanwhile.
func (a *app) ownJournal(ctx context.Context) (*sqlite.Log, error) {
	home, err := a.makeHome()
	if err != nil {
		return nil, err
	}
	return sqlite.Open(ctx, home, sqlite.Options{Version: version()})
}

func newJournalVerify(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Check every hash, every entry and every table; names the first bad entry", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) error { return a.verifyJournal(c.Context()) }),
	}
}

func (a *app) verifyJournal(ctx context.Context) (err error) {
	log, home, err := a.openJournal(ctx)
	if damaged, ok := errors.AsType[*sqlite.DamagedError](err); ok {
		if a.json {
			a.outJSON(verifyReport{Report: sqlite.Report{Damage: []sqlite.Problem{{Seq: damaged.Seq, What: damaged.Why}}, Projections: []sqlite.Problem{}}})
		}
		return err
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var progress func(done, total uint64)
	if a.terminalErr() {
		progress = func(done, total uint64) { fmt.Fprintf(a.stderr, "\r%d of %d entries", done, total) }
		defer fmt.Fprint(a.stderr, "\r\x1b[K")
	}
	r, err := log.Verify(ctx, progress)
	if err != nil {
		return err
	}
	if r.Damage == nil {
		r.Damage = []sqlite.Problem{}
	}
	if r.Projections == nil {
		r.Projections = []sqlite.Problem{}
	}
	bad := r.Err(filepath.Join(home, "journal"))
	if a.json {
		a.outJSON(verifyReport{Verified: bad == nil, Report: r})
		if bad != nil {
			return &quietError{code: exitFailed}
		}
		return nil
	}
	if bad == nil {
		a.out("The journal is whole: %d entries, head %s\n", r.Entries, r.Head.Hash)
		return nil
	}
	for _, p := range slices.Concat(r.Damage, r.Projections) {
		a.out("entry %d: %s\n", p.Seq, safe(p.What))
	}
	if len(r.Damage) == 0 {
		return &staleError{err: bad}
	}
	return bad
}

// verifyReport is the JSON form of a verification.
type verifyReport struct {
	Verified bool `json:"verified"`
	sqlite.Report
}

// staleError is a journal whose entries are whole and whose tables are not their fold.
type staleError struct{ err error }

func (e *staleError) Error() string { return e.err.Error() }

func newJournalExport(a *app) *cobra.Command {
	file, task, after := "", "", uint64(0)
	c := &cobra.Command{
		Use: "export", Short: "Write the journal as JSON Lines, one entry per line", Args: takes(),
		RunE: a.do(func(c *cobra.Command, _ []string) (err error) {
			log, _, err := a.openJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			f := amp.Filter{After: after}
			if task != "" {
				b, err := ssot.Fold(c.Context(), log)
				if err != nil {
					return err
				}
				t, err := findTask(b, task)
				if err != nil {
					return err
				}
				f.TaskID = t.ID
			}
			n := 0
			err = a.toFile(file, func(w io.Writer) error {
				n, err = log.Export(c.Context(), w, f)
				return err
			})
			if err == nil && file != "" && file != "-" {
				a.complain(fmt.Sprintf("arbiter: %d entries are in %s", n, file))
			}
			return err
		}),
	}
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write (default standard output)")
	c.Flags().StringVar(&task, "task", "", "only the entries of one task; that cannot be imported")
	c.Flags().Uint64Var(&after, "after", 0, "only the entries after this one; that cannot be imported into an empty journal")
	return c
}

func newJournalImport(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Read an exported journal into an empty data directory; every hash is verified", Args: takes("a FILE, or - for standard input"),
		RunE: a.do(func(c *cobra.Command, args []string) (err error) {
			in := a.stdin
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return fmt.Errorf("read the export: %w", err)
				}
				defer f.Close()
				in = f
			}
			log, err := a.ownJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			n, err := log.Import(c.Context(), in)
			if e, ok := errors.AsType[*ssot.ImportError](err); ok {
				return &usageError{
					what: args[0] + ", " + e.Error(), means: fmt.Sprintf("The %d entries before it are stored; nothing else was changed.", n),
					next: "Import the whole export of one journal into an empty data directory (--home).",
				}
			}
			if err != nil {
				return err
			}
			return a.reportHead(c.Context(), log, "imported", n)
		}),
	}
}

func (a *app) reportHead(ctx context.Context, log *sqlite.Log, what string, n int) error {
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
			if _, _, err := a.existingJournal(); err != nil {
				return err
			}
			log, err := a.ownJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			if err := log.Rebuild(c.Context()); err != nil {
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
func (a *app) existingJournal() (*sqlite.Log, string, error) {
	log, home, err := a.openJournal(context.Background())
	if err != nil {
		if _, ok := errors.AsType[*notFoundError](err); ok {
			return nil, "", err
		}
		return nil, home, nil //nolint:nilerr // opening it for writing says what is wrong, or mends it
	}
	return nil, home, log.Close()
}

func newJournalBackup(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the journal as of now to a new file, also while the coordinator runs", Args: takes("a FILE"),
		RunE: a.do(func(c *cobra.Command, args []string) (err error) {
			log, _, err := a.openJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			head, err := log.Backup(c.Context(), args[0])
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
			a.out("%s holds %d entries, head %s\n", safe(args[0]), head.Seq, head.Hash)
			return nil
		}),
	}
}

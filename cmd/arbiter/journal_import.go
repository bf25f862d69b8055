package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/scratch"
	"arbiter/ssot"
	"arbiter/ssot/sqlite"
)

func newJournalImport(a *app) *cobra.Command {
	mirror, with := "", ""
	c := &cobra.Command{
		Use: "import FILE", Short: "Read an exported journal into an empty data directory; every hash is verified", Args: cobra.MaximumNArgs(1),
		Long: "Reads the export of a whole journal into an empty data directory, which then has the same head. Every line is verified before the\n" +
			"first one is stored. An import that was interrupted goes on when it is given again.",
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if err := a.elsewhere(); err != nil {
				return err
			}
			switch {
			case mirror != "" && len(args) > 0, with != "" && mirror == "":
				return usage("import takes a FILE or --mirror, and --with only beside --mirror").then("arbiter journal import --mirror DIR")
			case mirror != "":
				return a.importMirror(c.Context(), mirror, with)
			case len(args) == 0:
				return usage("arbiter journal import needs a FILE, or - for standard input").then("See arbiter journal import --help.")
			}
			return a.importFile(c.Context(), args[0])
		}),
	}
	c.Flags().StringVar(&mirror, "mirror", "", "make the journal from a clone of its mirror, or from its repository as owner/name")
	c.Flags().StringVar(&with, "with", "", "an export that holds what was withheld from the mirror")
	return c
}

func (a *app) importFile(ctx context.Context, file string) (err error) {
	in, size, err := a.input(file)
	if err != nil {
		return err
	}
	defer in.Close()
	log, err := a.importLog(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	twice, ok := in.(io.ReadSeeker)
	if !ok {
		kept, err := a.spool(in)
		if err != nil {
			return err
		}
		defer kept.Close()
		twice = kept
	}
	p := a.progress("KB")
	defer p.end()
	n, err := ssot.Import(ctx, log, twice, p.bytes(size))
	p.end()
	stored := storedText(n)
	switch line, isLine := errors.AsType[*ssot.LineError](err); {
	case isLine && line.Newer:
		return &usageError{what: file + ", " + line.Error(), means: "A newer version of Arbiter wrote it. " + stored, next: newerNext}
	case isLine:
		return &usageError{what: file + ", " + line.Error(), means: "The export is not what was written, or not all of it. " + stored, next: "Export the journal again, and import that."}
	case errors.Is(err, ssot.ErrPart):
		return &usageError{what: file + ": " + err.Error(), means: stored, next: "Import the export of a whole journal: arbiter journal export -o FILE"}
	case errors.Is(err, ssot.ErrChanged):
		return &usageError{what: file + ": " + err.Error(), means: stored, next: "Give it again when nobody writes to it; the import goes on where it ended."}
	case err != nil:
		return takeover(err, n, "Import into an empty data directory: --home DIR")
	}
	if _, err := log.made(ctx); err != nil { // of nothing
		return err
	}
	return a.reportHead(ctx, log, "imported", n)
}

// newerNext is what helps with what a newer version wrote.
const newerNext = "Install a newer version of Arbiter, at least the one that wrote it, and give the same command again."

// storedText says how much of another journal was stored.
func storedText(n int) string {
	if n == 0 {
		return "Nothing was stored."
	}
	return fmt.Sprintf("%s of it are stored, and are right.", entriesOf(n))
}

// takeover is the error of a journal that was taken over up to n new entries, into a store that may be another one.
func takeover(err error, n int, elsewhere string) error {
	if x, ok := errors.AsType[*ssot.AheadError](err); ok {
		return &usageError{what: x.Error(), means: "Nothing is missing there. " + storedText(n), next: "Use it as it is. " + elsewhere}
	}
	if errors.Is(err, ssot.ErrOther) {
		return &usageError{what: err.Error(), means: storedText(n), next: elsewhere}
	}
	return &partlyError{err, n}
}

// partlyError is what ended the taking over of a journal after n new entries.
type partlyError struct {
	err error
	n   int
}

func (e *partlyError) Error() string { return e.err.Error() }

func (e *partlyError) Unwrap() error { return e.err }

// explainPartly says what became of the entries, whatever ended it.
func explainPartly(err error, e *explanation) bool {
	x, ok := errors.AsType[*partlyError](err)
	if !ok {
		return false
	}
	*e = explain(x.err)
	e.Means = storedText(x.n) + " Given again, the same command goes on from there."
	if errors.Is(x.err, context.Canceled) {
		e.Next = "Give the same command again."
	}
	return true
}

// importName begins the names of the folders in which an import of standard input is kept.
const importName = ".import"

// spool keeps standard input in a file of its own, since it is read twice. The file has no name and goes when it is closed.
func (a *app) spool(in io.Reader) (_ *os.File, err error) {
	home, err := a.home()
	if err != nil {
		return nil, err
	}
	if err := scratch.Sweep(home, importName); err != nil {
		return nil, fmt.Errorf("keep the import: %w", err)
	}
	dir, remove, err := scratch.Make(home, importName)
	if err != nil {
		return nil, fmt.Errorf("keep the import: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "input"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err = errors.Join(err, remove()); err == nil {
		_, err = io.Copy(f, in)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
		return nil, fmt.Errorf("keep the import: %w", err)
	}
	return f, nil
}

func newJournalCopy(a *app) *cobra.Command {
	from, to := "", ""
	c := &cobra.Command{
		Use: "copy --to DIR|URL", Short: "Copy the journal entry by entry into another store, with the same head", Args: takes(),
		Long: "Copies the journal entry by entry into another store, which is empty or holds the beginning of the same journal, until both have\n" +
			"the same head. It may run beside a coordinator; what is appended meanwhile is copied too. Given again, it goes on.\n" +
			"A store is a data directory or a database, as postgres://user@host/database?search_path=schema. The password of a database is\n" +
			"the one that [store] names, else PGPASSWORD or ~/.pgpass; never write it into the address.",
		Example: `  arbiter journal copy --to postgres://arbiter@db.example/arbiter
  arbiter journal copy --from ~/.local/share/arbiter --to postgres://arbiter@db.example/arbiter`,
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			if to == "" {
				return usage("journal copy needs --to with a data directory or a database").then("arbiter journal copy --to DIR")
			}
			for _, store := range []string{from, to} {
				if !strings.Contains(store, "://") {
					continue
				}
				if err := checkDatabase(store); err != nil {
					return usage("the store cannot be opened: %v", err)
				}
			}
			return a.copyJournal(c.Context(), from, to)
		}),
	}
	c.Flags().StringVar(&to, "to", "", "the other store: a data directory, or the address of a database")
	c.Flags().StringVar(&from, "from", "", "the store to copy, in place of the one that is in use")
	return c
}

func (a *app) copyJournal(ctx context.Context, source, to string) (err error) {
	used, cfg, err := a.store()
	if err != nil {
		return err
	}
	if source == "" {
		source = used
	}
	from, err := a.readStore(ctx, source, cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if same, err := sameStore(source, to); err != nil || same {
		if same {
			err = usage("%s is the store itself", to).then("Name another one with --to.")
		}
		return err
	}
	store, err := a.writeStore(ctx, to, cfg, sqlite.Options{Unindexed: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	p := a.progress("entries")
	defer p.end()
	_, n, err := ssot.Copy(ctx, from, store, p.show)
	p.end()
	if err != nil {
		return takeover(err, n, "Copy into an empty data directory, or go on with one that holds the beginning of this journal; --from names what is copied, --to where to.")
	}
	return a.reportHead(ctx, store, "copied", n)
}

// sameStore reports whether two stores are one; a folder that is not there is no other.
func sameStore(a, b string) (bool, error) {
	if isDatabase(a) || isDatabase(b) {
		return a == b, nil
	}
	x, err := os.Stat(a)
	if err != nil {
		return false, err
	}
	y, err := os.Stat(b)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(x, y), err
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
)

func newJournalExport(a *app) *cobra.Command {
	file, task, since, until, after, force := "", "", "", "", uint64(0), false
	c := &cobra.Command{
		Use: "export", Short: "Write the journal as JSON Lines, one entry per line", Args: takes(),
		Long: "Writes the journal as JSON Lines, one entry per line with the exact bytes of its body: as text in body where they are valid UTF-8,\n" +
			"else in body_base64. The last line names the head and the count, so that arbiter journal verify --file checks the file by itself.\n" +
			"--task, --since, --until and --after write a part, which verifies too and cannot be imported.",
		RunE: a.do(func(c *cobra.Command, _ []string) (err error) {
			p := ssot.Part{After: after}
			if p.Since, err = moment("since", since); err != nil {
				return err
			}
			if p.Until, err = moment("until", until); err != nil {
				return err
			}
			log, _, err := a.openJournal(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, log.Close()) }()
			if task != "" {
				b, err := ssot.Fold(c.Context(), log)
				if err != nil {
					return err
				}
				t, err := findTask(b, task)
				if err != nil {
					return err
				}
				p.Task = t.ID
			}
			end, err := a.exportTo(c.Context(), log, file, force, p)
			if err == nil && file != "" && file != "-" {
				a.complain(fmt.Sprintf("arbiter: %s are in %s; head is entry %d, %s", entriesOf(end.Entries), safe(file), end.Head.Seq, end.Head.Hash))
			}
			return err
		}),
	}
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write (default standard output)")
	c.Flags().BoolVar(&force, "force", false, "replace the file when it is there")
	c.Flags().StringVar(&task, "task", "", "only the entries of one task")
	c.Flags().StringVar(&since, "since", "", "only entries written then or later, as 2026-02-26 or 7d")
	c.Flags().StringVar(&until, "until", "", "only entries written before; of a day, up to its end")
	c.Flags().Uint64Var(&after, "after", 0, "only the entries after this one")
	return c
}

// exportTo writes a part of the journal to a file, whole or not at all.
func (a *app) exportTo(ctx context.Context, log ssot.Log, file string, force bool, part ssot.Part) (end ssot.ExportEnd, err error) {
	p := a.progress("entries")
	defer p.end()
	err = a.toFile(file, force, func(w io.Writer) error {
		end, err = ssot.Export(ctx, log, w, part, p.show)
		return err
	})
	return end, err
}

// moment reads a time as the search does after since: and until:.
func moment(flag, value string) (time.Time, error) {
	if value == "" {
		return time.Time{}, nil
	}
	field := "since"
	if flag == "until" {
		field = flag
	}
	if strings.ContainsAny(value, " \t\n\"") {
		return time.Time{}, usage("--%s is %q, which is no time", flag, value).then("Give an age such as 7d or 12h, a day such as 2026-02-26, or a time in RFC 3339.")
	}
	f, err := amp.ParseSearch(field+":"+value, time.Now())
	if x, ok := errors.AsType[*amp.SearchError](err); ok {
		return time.Time{}, usage("--%s: %s", flag, strings.TrimPrefix(x.Error(), field+": ")).then("Give an age such as 7d or 12h, a day such as 2026-02-26, or a time in RFC 3339.")
	}
	if err != nil {
		return time.Time{}, err
	}
	if flag == "until" {
		return f.Search.Until.UTC(), nil
	}
	return f.Search.Since.UTC(), nil
}

// input opens an export that was named, or standard input for -. Its size is -1 when that is not known, and then it is read once only.
func (a *app) input(file string) (io.ReadCloser, int64, error) {
	if file == "-" {
		return io.NopCloser(a.typed), -1, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, 0, fmt.Errorf("read the export: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() && !st.IsDir() {
		return struct {
			io.Reader
			io.Closer
		}{f, f}, -1, nil // a pipe, as a shell makes of <(command)
	}
	if err == nil {
		err = noExport(file, f)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, st.Size(), nil
}

// The first bytes of files that are taken for an export.
var (
	databaseMark = []byte("SQLite format 3\x00")
	gzipMark     = []byte{0x1f, 0x8b}
)

// noExport says what a file is that somebody takes for an export.
func noExport(file string, f *os.File) error {
	start := make([]byte, len(databaseMark))
	n, err := f.ReadAt(start, 0)
	switch start = start[:n]; {
	case errors.Is(err, syscall.EISDIR):
		return usage("%s is a folder, no export", file).then("Name a file. What is in a data directory is copied by: arbiter journal copy --from " + file + " --to DIR")
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read the export: %w", err)
	case bytes.Equal(start, databaseMark):
		return usage("%s is a database, no export", file).then("A backup is restored by putting it as journal.db into an empty data directory, then arbiter journal verify; docs/journal.md says how.")
	case bytes.HasPrefix(start, gzipMark):
		return usage("%s is compressed", file).then("Unpack it, or read it unpacked from standard input: gzip -dc " + file + " | arbiter journal import -")
	}
	return nil
}

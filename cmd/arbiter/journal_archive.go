package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
)

func newJournalArchive(a *app) *cobra.Command {
	before, to := "", ""
	c := &cobra.Command{
		Use: "archive --before DATE --to DIR", Short: "Write ended tasks into verified files of their own; the journal keeps every entry", Args: takes(),
		Long: "Writes every task that ended, and of which the last entry was written before DATE, into a file of its own, T-2026-001.jsonl, and\n" +
			"verifies each file as it lies on the disk. A file that is there already is verified and left.\n" +
			"The journal is never edited: it keeps the entries and its size. An archive is for keeping or handing on single tasks.",
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			if before == "" || to == "" {
				return usage("journal archive needs --before and --to").then("arbiter journal archive --before 2026-01-01 --to DIR")
			}
			return a.archive(c.Context(), before, to)
		}),
	}
	c.Flags().StringVar(&before, "before", "", "only tasks whose last entry is older, as 2026-02-26 or 90d")
	c.Flags().StringVar(&to, "to", "", "the folder for the files")
	return c
}

// archived is one task in a file.
type archived struct {
	Task    amp.TaskID `json:"task"`
	File    string     `json:"file"`
	Entries int        `json:"entries"`
	Last    uint64     `json:"last"`
	Sum     amp.Hash   `json:"sum"`
	Fresh   bool       `json:"fresh"`
}

func (a *app) archive(ctx context.Context, before, to string) (err error) {
	at, err := moment("before", before)
	if err != nil {
		return err
	}
	log, _, err := a.openJournal(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	b, err := ssot.Fold(ctx, log)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return &outputError{to, err}
	}
	done, fresh := 0, 0
	for _, id := range b.Order {
		t := b.Task(id)
		if !t.Status.Ended() || !t.LastAt.Before(at) {
			continue
		}
		x, err := a.archiveTask(ctx, log, t, to)
		if err != nil {
			if done > 0 {
				a.archiveSum(done, fresh, to)
			}
			return err
		}
		if done++; x.Fresh {
			fresh++
		}
		if a.json {
			a.outJSON(x)
		} else if x.Fresh {
			a.out("%s  %s  %s\n", x.Task, entriesOf(x.Entries), safe(x.File))
		}
	}
	a.archiveSum(done, fresh, to)
	return nil
}

// archiveSum says in the end what there is.
func (a *app) archiveSum(done, fresh int, to string) {
	if done == 0 {
		a.complain("arbiter: no ended task is that old; nothing was written")
		return
	}
	a.complain(fmt.Sprintf("arbiter: %s in %s, verified, %d of them new. The journal was not changed: it keeps these entries and its size.",
		plural(done, "task"), safe(to), fresh))
}

// archiveTask writes one task, unless its file is there, and verifies what is on the disk.
func (a *app) archiveTask(ctx context.Context, log ssot.Log, t *amp.Task, dir string) (x archived, err error) {
	file := filepath.Join(dir, string(t.ID)+".jsonl")
	there, err := exists(file)
	if err != nil {
		return x, err
	}
	if !there {
		if _, err := a.exportTo(ctx, log, file, false, ssot.Part{Task: t.ID}); err != nil {
			return x, err
		}
	}
	in, _, err := a.input(file)
	if err != nil {
		return x, err
	}
	defer in.Close()
	r, err := ssot.VerifyExport(ctx, in, nil)
	if line, ok := errors.AsType[*ssot.LineError](err); ok {
		return x, &exportError{file: file, line: line}
	}
	if err != nil {
		return x, err
	}
	if r.Part != (ssot.Part{Task: t.ID}) || r.Last != t.LastSeq {
		return x, usage("%s does not hold task %s up to entry %d", file, t.ID, t.LastSeq).then("Move it away, then archive again.")
	}
	return archived{t.ID, file, r.Entries, r.Last, r.Sum, !there}, nil
}

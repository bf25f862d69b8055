package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
)

func newTaskExport(a *app) *cobra.Command {
	format, file, force := "md", "", false
	c := &cobra.Command{
		Use: "export TASK", Short: "Write the whole story of a task: as a page to read, or entry by entry", Args: takes("a TASK"),
		Long: "Writes the whole story of a task. md is a page to read: the wish, the plan with who approved it on what evidence, each round with its\n" +
			"result, the claims as they were checked, the verdict, escalations, decisions, costs, the delivery and the journal's head. json is one\n" +
			"object with the state of the task and every entry with its hashes; jsonl is what arbiter journal export --task writes.",
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if a.json {
				format = "json"
			}
			if format != "md" && format != "json" && format != "jsonl" {
				return usage("--format is %q, want md, json or jsonl", format)
			}
			return a.exportTask(c, args[0], format, file, force)
		}),
	}
	c.Flags().StringVar(&format, "format", format, "md, json, or jsonl: one entry per line, which arbiter journal verify --file checks")
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write (default standard output)")
	c.Flags().BoolVar(&force, "force", false, "replace the file when it is there")
	return c
}

func (a *app) exportTask(c *cobra.Command, name, format, file string, force bool) (err error) {
	log, _, err := a.openJournal(c.Context())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	b, err := ssot.Fold(c.Context(), log)
	if err != nil {
		return err
	}
	t, err := findTask(b, name)
	if err != nil {
		return err
	}
	if format == "jsonl" {
		_, err := a.exportTo(c.Context(), log, file, force, ssot.Part{Task: t.ID})
		return err
	}
	return a.toFile(file, force, func(w io.Writer) error {
		if format == "json" {
			return writeTask(w, c, reading{log}, t, b.Head)
		}
		return writeStory(w, c, reading{log}, t, b.Head)
	})
}

// reading answers questions from a log.
type reading struct{ log ssot.Log }

func (r reading) Query(ctx context.Context, q amp.Query) (amp.Page, error) {
	return readPage(ctx, r.log, q)
}

// writeTask writes a task as one JSON object, its entries one on a line.
func writeTask(w io.Writer, c *cobra.Command, from querier, t *amp.Task, head amp.Head) error {
	if _, err := fmt.Fprintf(w, "{\"head\":%s,\"task\":%s,\"entries\":[", encodeJSON(head), encodeJSON(t)); err != nil {
		return err
	}
	comma := "\n"
	err := eachEntry(c, from, amp.Filter{TaskID: t.ID, Before: head.Seq + 1}, func(e *amp.Entry) error {
		_, err := fmt.Fprintf(w, "%s%s", comma, encodeJSON(e))
		comma = ",\n"
		return err
	})
	if err == nil {
		_, err = fmt.Fprint(w, "\n]}\n")
	}
	return err
}

// eachEntry reads the entries that a filter selects, page by page.
func eachEntry(c *cobra.Command, q querier, f amp.Filter, each func(*amp.Entry) error) error {
	for {
		page, err := q.Query(c.Context(), amp.Query{Kind: amp.QueryEntries, Filter: f})
		if err != nil {
			return err
		}
		for i := range page.Entries {
			if err := each(&page.Entries[i]); err != nil {
				return err
			}
		}
		if !page.More || len(page.Entries) == 0 {
			return nil
		}
		f.After = page.Entries[len(page.Entries)-1].Seq
	}
}

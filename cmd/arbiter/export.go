package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/tui/textsafe"
)

func newTaskExport(a *app) *cobra.Command {
	format, file, force := "md", "", false
	c := &cobra.Command{
		Use: "export TASK", Short: "Write the whole story of a task: as a page to read, or entry by entry", Args: takes("a TASK"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			if a.json {
				format = "jsonl"
			}
			if format != "md" && format != "jsonl" {
				return usage("--format is %q, want md or jsonl", format)
			}
			return a.looking(func(l *look) error {
				b, err := board(c.Context(), l)
				if err != nil {
					return err
				}
				t, err := findTask(b, args[0])
				if err != nil {
					return err
				}
				return a.toFile(file, force, func(w io.Writer) error {
					if format == "md" {
						if err := taskHead(w, t); err != nil {
							return err
						}
					}
					return eachEntry(c, l, amp.Filter{TaskID: t.ID}, func(e *amp.Entry) error { return exportEntry(w, e, format) })
				})
			})
		}),
	}
	c.Flags().StringVar(&format, "format", format, "md, or jsonl: one entry per line, as arbiter journal import reads it")
	c.Flags().StringVarP(&file, "output", "o", "", "the file to write (default standard output)")
	c.Flags().BoolVar(&force, "force", false, "replace the file when it is there")
	return c
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

func exportEntry(w io.Writer, e *amp.Entry, format string) error {
	if format == "jsonl" {
		_, err := fmt.Fprintf(w, "%s\n", encodeJSON(e))
		return err
	}
	_, err := fmt.Fprintf(w, "- `#%d` %s **%s** %s: %s\n", e.Seq, e.At.Local().Format(time.DateTime), e.Kind, textsafe.Line(e.Actor),
		markdownLine(entryLine(e)))
	return err
}

func taskHead(w io.Writer, t *amp.Task) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s %s\n\nStatus: %s. Rounds: %d, rejected %d.\n", t.ID, markdownLine(t.Title), t.Status, t.Round, t.RejectTotal)
	if p := t.Plan; p != nil {
		fmt.Fprintf(&b, "Repository: `%s`, branch `%s` from `%s`. Plan revision %d, content `%s`.\n", textsafe.Line(p.Repo),
			textsafe.Line(p.Branch), short(p.BaseCommit), p.Revision, p.Hash)
		b.WriteString("\nAcceptance criteria:\n\n")
		for i, c := range p.AcceptanceCriteria {
			fmt.Fprintf(&b, "%d. %s\n", i+1, markdownLine(c))
		}
	}
	b.WriteString("\n## Entries\n\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// markdownLine makes text of others safe on a terminal and plain in Markdown.
func markdownLine(s string) string {
	return strings.NewReplacer("`", "ˋ", "<", "&lt;", "*", "\\*", "_", "\\_", "[", "\\[").Replace(textsafe.Line(s))
}

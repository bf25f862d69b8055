package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
)

// ofTask narrows a filter to the task that was named, if one was.
func ofTask(ctx context.Context, l *look, f *amp.Filter, task string) error {
	if task == "" {
		return nil
	}
	b, err := board(ctx, l)
	if err != nil {
		return err
	}
	t, err := findTask(b, task)
	if err != nil {
		return err
	}
	f.TaskID = t.ID
	return nil
}

// listEntries prints the entries that a filter selects, of one task when one is named.
func (a *app) listEntries(c *cobra.Command, f amp.Filter, task, none string) error {
	if f.Limit < 1 || f.Limit > ssot.MaxPage {
		return usage("--limit is %d, want 1 to %d", f.Limit, ssot.MaxPage)
	}
	return a.looking(func(l *look) error {
		if err := ofTask(c.Context(), l, &f, task); err != nil {
			return err
		}
		page, err := l.Query(c.Context(), amp.Query{Kind: amp.QueryEntries, Filter: f})
		if err != nil {
			return err
		}
		if a.json {
			for i := range page.Entries {
				a.outJSON(&page.Entries[i])
			}
			return nil
		}
		if len(page.Entries) == 0 {
			a.out("%s\n", none)
			return nil
		}
		t := &table{}
		t.addEntries(page.Entries)
		t.print(a)
		if page.More {
			a.complain("arbiter: there are more; raise --limit")
		}
		return nil
	})
}

func newJournalShow(a *app) *cobra.Command {
	raw := false
	c := &cobra.Command{
		Use: "show SEQ|ID", Short: "Show one entry whole", Args: takes("a SEQ or an ID"),
		RunE: a.do(func(c *cobra.Command, args []string) error {
			return a.looking(func(l *look) error {
				e, err := findEntry(c, l, args[0])
				if err != nil {
					return err
				}
				switch {
				case raw:
					a.rawBody(e.Body)
				case a.json:
					a.outJSON(e)
				default:
					a.showEntry(e)
				}
				return nil
			})
		}),
	}
	c.Flags().BoolVar(&raw, "raw", false, "print the body byte for byte")
	return c
}

// findEntry is the entry with a seq, as 12 or #12, or with an id.
func findEntry(c *cobra.Command, q querier, name string) (*amp.Entry, error) {
	f := amp.Filter{ID: name, Limit: 1}
	if seq, err := strconv.ParseUint(strings.TrimPrefix(name, "#"), 10, 64); err == nil {
		if seq == 0 {
			return nil, &notFoundError{what: "entries are counted from 1", next: "arbiter journal show 1"}
		}
		f = amp.Filter{After: seq - 1, Before: seq + 1, Limit: 1}
	}
	page, err := q.Query(c.Context(), amp.Query{Kind: amp.QueryEntries, Filter: f})
	if err != nil {
		return nil, err
	}
	if len(page.Entries) == 0 {
		return nil, &notFoundError{what: fmt.Sprintf("there is no entry %q; the journal has %d", name, page.Head.Seq), next: "Find one: arbiter journal search QUERY"}
	}
	return &page.Entries[0], nil
}

func (a *app) showEntry(e *amp.Entry) {
	t := &table{}
	t.add("ENTRY", fmt.Sprintf("#%d", e.Seq))
	t.add("kind", string(e.Kind))
	t.add("id", e.ID)
	t.add("task", orDash(string(e.TaskID)))
	t.add("role", string(e.Role))
	t.add("actor", e.Actor)
	t.add("at", e.At.Local().Format(time.RFC3339))
	t.add("previous", e.PrevHash.String())
	t.add("hash", e.Hash.String())
	t.add("says", entryLine(e))
	t.print(a)
	a.out("\n")
	a.block("", indented(e.Body))
}

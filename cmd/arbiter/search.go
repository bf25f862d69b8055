package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
)

func newJournalSearch(a *app) *cobra.Command {
	task, limit, only, before := "", 50, []string{}, uint64(0)
	c := &cobra.Command{
		Use: "search QUERY…", Short: "Find entries by words, phrases and fields, newest first", Long: searchHelp(),
		Example: `  arbiter journal search session type:review_verdict from:claude since:7d
  arbiter journal search '"no session reference"' severity:critical
  arbiter journal search -- is:refused -rule:AMP-174`,
		ValidArgsFunction: completeSearch,
		RunE: a.do(func(c *cobra.Command, args []string) error {
			f, err := amp.ParseSearch(strings.Join(args, " "), time.Now())
			if err != nil {
				return err
			}
			if f, err = searchFlags(f, only, before, limit); err != nil {
				return err
			}
			if len(args) == 0 && len(f.Kinds) == 0 && task == "" {
				return usage("journal search needs a QUERY, --kind or --task").then(`arbiter journal search "calendar type:task_result"`)
			}
			if task != "" && f.TaskID != "" {
				return usage("--task and task: name a task twice").then("Leave one of them out.")
			}
			return a.search(c, f, task)
		}),
	}
	c.Flags().StringVar(&task, "task", "", "only entries of one task, which may be named by its number")
	c.Flags().StringArrayVar(&only, "kind", nil, "the same as kind: in the query; may be repeated")
	c.Flags().IntVar(&limit, "limit", limit, "how many at most, up to 1000")
	c.Flags().Uint64Var(&before, "before", 0, "only entries before this one: the next page")
	return c
}

// searchFlags adds what flags say to the filter of the query.
func searchFlags(f amp.Filter, only []string, before uint64, limit int) (amp.Filter, error) {
	kinds := searchValues("kind")
	for _, k := range only {
		if !slices.Contains(kinds, k) {
			return f, usage("there is no kind %q", k).then(fmt.Sprintf("Known: %s.", strings.Join(kinds, " ")))
		}
		f.Kinds = append(f.Kinds, amp.Kind(k))
	}
	if limit < 1 || limit > ssot.MaxPage {
		return f, usage("--limit is %d, want 1 to %d", limit, ssot.MaxPage)
	}
	f.Limit = limit
	if before != 0 && (f.Before == 0 || before < f.Before) {
		f.Before = before
	}
	return f, nil
}

func (a *app) search(c *cobra.Command, f amp.Filter, task string) error {
	if f.Search == nil { // kinds and tasks alone are counted too
		f.Search, f.Kinds = &amp.Search{Kinds: f.Kinds}, nil
	}
	return a.looking(func(l *look) error {
		if err := ofTask(c.Context(), l, &f, task); err != nil {
			return err
		}
		page, err := l.Query(c.Context(), amp.Query{Kind: amp.QueryEntries, Filter: f})
		if err != nil {
			return err
		}
		switch {
		case a.json:
			for i := range page.Entries {
				a.outJSON(&page.Entries[i])
			}
		case len(page.Entries) == 0:
			a.out("No entry matches. Words are found where a word begins: try fewer, or their beginnings, or no since: and until:.\n")
		default:
			t := &table{}
			t.addEntries(page.Entries)
			t.print(a)
		}
		if page.More {
			a.complain(fmt.Sprintf("arbiter: %d of %s; for the next ones add --before %d", len(page.Entries), countOf(&page),
				page.Entries[len(page.Entries)-1].Seq))
		}
		return nil
	})
}

// countOf says how many entries a search found.
func countOf(p *amp.Page) string {
	switch {
	case p.CountCapped && p.Count >= ssot.MaxCount:
		return "1,000+"
	case p.CountCapped:
		return fmt.Sprintf("%d+", p.Count)
	}
	return fmt.Sprint(p.Count)
}

func searchValues(field string) []string {
	for _, f := range amp.SearchFields() {
		if f.Name == field {
			return f.Values
		}
	}
	return nil
}

// searchHelp is the language of a query.
func searchHelp() string {
	var b strings.Builder
	b.WriteString(`Finds the entries in which every word, every "exact phrase" and every field of the query holds, newest first. A word is found where
a word begins, in any case: sess finds session and BreathSession. A phrase in double quotes also ends where a word ends. Of a field
that stands more than once, one value is enough. A minus before a word, a phrase or a field excludes; put -- before the query then.

Fields:
`)
	for _, f := range amp.SearchFields() {
		fmt.Fprintf(&b, "  %-10s %s\n", f.Name+":", f.About)
		takes := f.Takes
		if len(f.Values) > 0 {
			takes = strings.Join(f.Values, ", ")
		}
		fmt.Fprintf(&b, "             %s\n", takes)
	}
	return strings.TrimRight(b.String(), "\n")
}

// completeSearch completes fields and their values.
func completeSearch(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var all []cobra.Completion
	for _, f := range amp.SearchFields() {
		if strings.HasPrefix(f.Name, typed) {
			all = append(all, cobra.CompletionWithDesc(f.Name+":", f.About))
		}
		if value, ok := strings.CutPrefix(typed, f.Name+":"); ok {
			for _, v := range f.Values {
				if strings.HasPrefix(v, value) {
					all = append(all, cobra.Completion(f.Name+":"+v))
				}
			}
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func explainSearch(err error, e *explanation) bool {
	x, ok := errors.AsType[*amp.SearchError](err)
	if ok {
		e.What, e.Means, e.Code = x.Error(), "Nothing was searched.", exitUsage
		e.Next = "See the fields and what they take: arbiter journal search --help"
	}
	return ok
}

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"arbiter/amp"
	"arbiter/ssot"
)

func newJournalVerify(a *app) *cobra.Command {
	file, against := "", ""
	c := &cobra.Command{
		Use: "verify", Short: "Check every hash, every entry and every table; names the first bad entry", Args: takes(),
		Long: "Checks the journal of the data directory: every hash, every entry and every table beside them; names the first bad entry.\n" +
			"With --file it checks an export instead, by itself and without any journal: its hashes, its order, and that nothing was cut off.\n" +
			"With --against it compares the journal with its mirror: a folder that git cloned, a bare repository, or owner/name.",
		RunE: a.do(func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("file") {
				return a.verifyFile(c.Context(), file)
			}
			if against != "" {
				return a.verifyAgainst(c.Context(), against)
			}
			return a.verifyJournal(c.Context())
		}),
	}
	c.Flags().StringVar(&file, "file", "", "an export to check instead, or - for standard input")
	c.Flags().StringVar(&against, "against", "", "a clone of the mirror to compare with, or its repository as owner/name")
	c.MarkFlagsMutuallyExclusive("file", "against")
	return c
}

func (a *app) verifyFile(ctx context.Context, file string) error {
	in, size, err := a.input(file)
	if err != nil {
		return err
	}
	defer in.Close()
	p := a.progress("KB")
	defer p.end()
	r, err := ssot.VerifyExport(ctx, in, p.bytes(size))
	p.end()
	if x, ok := errors.AsType[*ssot.LineError](err); ok {
		if a.json {
			a.outJSON(struct {
				Verified bool   `json:"verified"`
				Line     int    `json:"line"`
				Why      string `json:"why"`
			}{Line: x.Line, Why: x.Why})
		}
		return &exportError{file: file, line: x}
	}
	if err != nil {
		return err
	}
	if a.json {
		a.outJSON(struct {
			Verified bool `json:"verified"`
			ssot.ExportReport
		}{true, r})
		return nil
	}
	if r.Whole() {
		a.out("%s holds a whole journal: %s, head %s\n", safe(file), entriesOf(r.Entries), r.Head.Hash)
		return nil
	}
	a.out("%s holds %s of a journal of %d, each with its own hash; head then %s\n", safe(file), entriesOf(r.Entries), r.Head.Seq, r.Head.Hash)
	a.out("It is a part: %s. %s, %s missing: %s\n", partText(r.Part), plural(r.GapCount, "gap"), entriesOf(int(r.Missing)), gapText(&r))
	a.out("What an entry behind a gap says was before it is not proven by this file; the whole journal proves it.\n")
	return nil
}

// entriesOf is "1 entry", "2 entries".
func entriesOf(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

func partText(p ssot.Part) string {
	var all []string
	if p.Task != "" {
		all = append(all, "task "+safe(string(p.Task)))
	}
	if p.After != 0 {
		all = append(all, fmt.Sprintf("after entry %d", p.After))
	}
	if !p.Since.IsZero() {
		all = append(all, "since "+amp.FormatTime(p.Since))
	}
	if !p.Until.IsZero() {
		all = append(all, "until "+amp.FormatTime(p.Until))
	}
	return strings.Join(all, ", ")
}

// gapText names the first gaps.
func gapText(r *ssot.ExportReport) string {
	var all []string
	for _, g := range r.Gaps[:min(10, len(r.Gaps))] {
		if g.From == g.To {
			all = append(all, fmt.Sprint(g.From))
		} else {
			all = append(all, fmt.Sprintf("%d–%d", g.From, g.To))
		}
	}
	if len(all) < r.GapCount {
		all = append(all, "…")
	}
	return strings.Join(all, " ")
}

// exportError is an export with a wrong line.
type exportError struct {
	file string
	line *ssot.LineError
}

func (e *exportError) Error() string { return e.file + ", " + e.line.Error() }

func (a *app) verifyJournal(ctx context.Context) (err error) {
	where, cfg, err := a.store()
	if err != nil {
		return err
	}
	log, err := a.readStore(ctx, where, cfg)
	if damaged, ok := errors.AsType[*ssot.DamagedError](err); ok {
		if a.json {
			a.outJSON(verifyReport{Report: ssot.Report{Damage: []ssot.Problem{{Seq: damaged.Seq, What: damaged.Why}}, Projections: []ssot.Problem{}}})
		}
		return err
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	p := a.progress("entries")
	defer p.end()
	r, err := log.Verify(ctx, p.show)
	p.end()
	if err != nil {
		return err
	}
	if r.Damage == nil {
		r.Damage = []ssot.Problem{}
	}
	if r.Projections == nil {
		r.Projections = []ssot.Problem{}
	}
	bad := r.Err(where)
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
	ssot.Report
}

// staleError is a journal whose entries are whole and whose tables are not their fold.
type staleError struct{ err error }

func (e *staleError) Error() string { return e.err.Error() }
